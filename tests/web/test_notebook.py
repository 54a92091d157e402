"""Results draw themselves in a notebook, as they do on the page."""

import gramian


def test_a_parse_is_drawn_with_its_confidences(models, client):
    sentence = "Anna saw the picture with a telescope ."
    result = gramian.load(models["one"]).parse(sentence)
    drawing = result._repr_svg_()
    label, start, end, sure = next(span for span in result.spans if span[0] == "PP")
    assert f"<title>{label} {start}–{end}: {sure:.4g}</title>" in drawing
    question = {"tree": str(result.tree), "format": "svg", "confidences": list(result.confidences)}
    assert client.post("/api/export", json=question).json()["text"] == drawing


def test_nothing_is_drawn_as_nothing(models):
    assert gramian.load(models["one"]).parse("")._repr_svg_().startswith("<svg")
