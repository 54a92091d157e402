"""The JSON API: the results of Python, and the right answer to a wrong question."""

import re
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import gramian
import gramian.web
from gramian.automata import WFA
from gramian.chart.chart_parser import Pruning
from gramian.evaluate import score
from gramian.grammar.describe import Describer
from gramian.grammar.state_names import state_name
from gramian.trees import SCHEMES, HeadRules, Tree, to_dependencies
from gramian.web.explore import Explorer, example_sentences

SENTENCE = "Anna saw the picture of wood with a telescope ."
GOLD = (
    "( (S (NP-SBJ (NNP Anna)) (VP (VBD saw) (NP (DT the) (NN picture)) "
    "(PP (IN with) (NP (DT a) (NN telescope)))) (. .)) )"
)
LATEX = shutil.which("tectonic") or shutil.which("pdflatex")
STATIC = Path(gramian.web.__file__).parent / "static"


@pytest.fixture(scope="module")
def parser(models):
    return gramian.load(models["one"])


def ask(client, path, status=200, **question):
    response = client.post(f"/api/{path}", json=question)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    return response.json()


def look(client, path, status=200, **question):
    response = client.get(f"/api/{path}", params=question)
    assert response.status_code == status, response.text
    return response.json()


# -- the same as Python --------------------------------------------------------------------------------------------------


def test_a_parse_is_that_of_the_parser(client, parser):
    expected = parser.parse(SENTENCE)
    answer = ask(client, "parse", sentence=SENTENCE)
    [parse] = answer["parses"]
    assert answer["words"] == list(expected.words)
    assert [tuple(one) for one in answer["offsets"]] == list(expected.offsets)
    assert parse["tree"] == str(expected.tree)
    assert (parse["log_prob_words"], parse["log_prob_tree"]) == (expected.log_prob_words, None)
    assert parse["status"] == expected.status == "parsed"
    spans = [(one["label"], one["start"], one["end"], one["confidence"]) for one in parse["nodes"]]
    assert spans == expected.spans
    assert not any(one["differs"] for one in parse["nodes"])
    assert answer["gold"] is None


def test_an_ambiguous_sentence_has_a_second_reading(client, parser):
    sentence = "Anna saw the picture with a telescope ."
    answer = ask(client, "parse", sentence=sentence, readings=True)
    first, second = answer["parses"]
    assert answer["readings"]
    alternatives = parser.parse(sentence, k=4).alternatives
    assert {first["tree"], second["tree"]} <= {str(one.tree) for one in alternatives}
    assert second["log_prob_tree"] - first["log_prob_tree"] > np.log(1 / 3)
    for parse in (first, second):  # the two phrases that a PP is attached to or not, and the PP
        assert {node["label"] for node in parse["nodes"] if node["moved"]} == {"NP", "PP"}
    for certain in ("Anna slept .", GOLD):
        answer = ask(client, "parse", sentence=certain, readings=True)
        assert not answer["readings"]
        assert len(answer["parses"]) == 1


def test_foreign_text_and_restored_case_are_reported(client, parser):
    [foreign] = ask(client, "parse", sentence="Der Hund schläft und die Katze ist auf dem Sofa.")["parses"]
    assert foreign["language"] == "und"  # the model does not say which language is its own
    [title] = ask(client, "parse", sentence="Anna Saw The Picture Of Wood")["parses"]
    assert title["restored"] == list(parser.parse("Anna Saw The Picture Of Wood").restored)
    assert title["restored"][:3] == ["Anna", "saw", "the"]
    [plain] = ask(client, "parse", sentence=SENTENCE)["parses"]
    assert plain["restored"] is plain["language"] is None


def test_an_unclosed_tree_is_an_error_with_a_remedy(client):
    for text in ("(S (NP (NN a)", "((S (NN a)", "( (S"):
        error = ask(client, "parse", 400, sentence=text)["error"]
        assert "never closed" in error
        assert "Options" in error
    assert ask(client, "parse", sentence="(Laughs) Anna slept .")["words"][:3] == ["(", "Laughs", ")"]


def test_models_and_decoders_side_by_side(client, models):
    decoders = ["max-recall", "viterbi"]
    answer = ask(client, "parse", sentence=SENTENCE, models=[1, 0], decoders=decoders)
    assert [(one["model"], one["decoder"]) for one in answer["parses"]] == [
        (1, "max-recall"), (1, "viterbi"), (0, "max-recall"), (0, "viterbi"),
    ]  # fmt: skip
    for parse in answer["parses"]:
        other = gramian.load(models[("one", "two")[parse["model"]]], decoder=parse["decoder"])
        assert parse["tree"] == str(other.parse(SENTENCE).tree)


def test_the_best_trees_with_confidences(client, parser):
    expected = parser.parse(SENTENCE, k=4)
    parses = ask(client, "parse", sentence=SENTENCE, k=4)["parses"]
    assert [one["tree"] for one in parses] == [str(one.tree) for one in expected.alternatives]
    assert [one["log_prob_tree"] for one in parses] == [one.log_prob_tree for one in expected.alternatives]
    assert {one["log_prob_words"] for one in parses} == {expected.log_prob_words}
    known = {(label, start, end): sure for label, start, end, sure in expected.spans}
    shared = 0
    for parse in parses:
        for node in parse["nodes"]:
            assert 0 <= node["confidence"] <= 1
            key = node["label"], node["start"], node["end"]
            if key in known:
                shared += 1
                assert node["confidence"] == pytest.approx(known[key], abs=1e-5)
    assert shared > len(known)


def test_words_can_be_given_in_several_ways(client, parser):
    tokens = ask(client, "parse", sentence="Anna slept .", input="tokens")
    assert tokens["words"] == ["Anna", "slept", "."]
    assert tokens["offsets"] is None
    tagged = ask(client, "parse", sentence="Anna/NNP slept/NN ./.", input="tagged")
    assert tagged["parses"][0]["tree"] == str(
        parser.parse([("Anna", "NNP"), ("slept", "NN"), (".", ".")]).tree
    )
    assert ask(client, "parse", sentence="( slept", input="auto")["words"] == ["(", "slept"]
    empty = ask(client, "parse", sentence=" ")
    assert empty["words"] == []
    assert empty["parses"][0]["status"] == "empty"


def test_gold_is_compared(client, parser):
    answer = ask(client, "parse", sentence=GOLD)
    gold = Tree.parse(
        "(S (NP (NNP Anna)) (VP (VBD saw) (NP (DT the) (NN picture)) (PP (IN with) (NP (DT a) (NN telescope)))) (. .))"
    )
    assert answer["gold"]["tree"] == str(gold)
    tree = parser.parse(gold.words).tree
    [parse] = answer["parses"]
    assert parse["tree"] == str(tree)
    assert parse["scores"]["f1"] == score([gold], [tree]).f1_gold_tags
    wrong = ask(client, "parse", sentence=GOLD.replace("PP", "XP"))["parses"][0]
    pp = [one for one in wrong["nodes"] if one["label"] == "PP"]
    assert pp
    assert all(one["differs"] for one in pp)
    assert {"label": "XP", "start": 4, "end": 7, "tag": False} in wrong["missing"]
    assert answer["gold"]["nodes"][0]["confidence"] > 0.5


def test_states_of_a_node_against_enumeration(models):
    """The posterior of a node's states equals that of all trees with states, found one by one."""
    explorer = Explorer(models["one"], 10.0)
    grammar = explorer.grammar
    words = ("Anna", "slept", ".")
    explorer.parser.pruning = Pruning(0.0, 0.0, 0.0, 0.0, split=0.0)
    seen = explorer.look(words)
    node = explorer.node(seen, "S", 0, 3)
    root = grammar.symbols.index("S")
    assert node["symbol"] == "S"
    # Inside probabilities of each symbol and state over each span, by the definition.
    n = len(words)
    inside = {}
    for place, word in enumerate(words):
        scores = grammar.lexicon.score(word, place == 0)
        sizes = grammar.lexicon.n_states[scores.tags]
        for tag, weight, states in zip(
            scores.tags, scores.coarse, np.split(scores.states, np.cumsum(sizes)[:-1]), strict=True
        ):
            inside[place, place + 1, int(tag) + grammar.n_phrases] = weight * states.astype(float)
        for rule, (parent, child) in enumerate(grammar.unary_rules.tolist()):
            if (place, place + 1, child) in inside:
                key = place, place + 1, parent
                inside[key] = inside.get(key, 0) + grammar.unary_block(rule) @ inside[place, place + 1, child]
    for width in range(2, n + 1):
        for start in range(n - width + 1):
            for split in range(start + 1, start + width):
                for rule, (parent, left, right) in enumerate(grammar.binary_rules.tolist()):
                    one, two = inside.get((start, split, left)), inside.get((split, start + width, right))
                    if one is not None and two is not None:
                        key = start, start + width, parent
                        inside[key] = inside.get(key, 0) + np.einsum(
                            "abc,b,c", grammar.binary_block(rule), one, two
                        )
    weights = inside[0, n, root] * grammar.root[grammar.state_start[root] : grammar.state_start[root + 1]]
    np.testing.assert_allclose(node["states"], weights / weights.sum(), atol=1e-4)


def test_a_node(client, parser):
    parse = ask(client, "parse", sentence=SENTENCE)["parses"][0]
    phrase = next(one for one in parse["nodes"] if one["label"] == "NP" and one["end"] - one["start"] > 1)
    node = ask(client, "node", sentence=SENTENCE, label="NP", start=phrase["start"], end=phrase["end"])
    assert sum(node["states"]) == pytest.approx(1, abs=1e-4)
    assert node["posterior"] <= 1 + 1e-4
    over = {one["label"]: one["posterior"] for one in node["labels"]}
    assert over["NP"] == pytest.approx(phrase["confidence"], abs=1e-5)
    assert sum(rule["share"] for rule in node["rules"]) == pytest.approx(1, abs=0.02)
    for rule in node["rules"]:
        left, right = rule["children"]
        assert (left["start"], left["end"], right["end"]) == (phrase["start"], right["start"], phrase["end"])
    inner = node["rules"][0]["children"][0]
    below = ask(
        client,
        "node",
        sentence=SENTENCE,
        label="?",
        symbol=inner["symbol"],
        start=inner["start"],
        end=inner["end"],
    )
    assert below["symbol"] == inner["symbol"]
    tag = ask(client, "node", sentence=SENTENCE, label="VBD", start=1, end=2, tag=True)
    assert tag["symbol"].endswith("VBD")
    assert tag["rules"] == []
    none = ask(client, "node", sentence=SENTENCE, label="ADVP", start=0, end=2)
    assert none["symbol"] is None
    assert "within" in ask(client, "node", 400, sentence=SENTENCE, label="NP", start=5, end=5)["error"]
    assert "end must be" in ask(client, "node", 400, sentence=SENTENCE, label="NP", start=0, end=99)["error"]


def test_cards_and_map_of_states(client, parser):
    grammar = parser.model.grammar
    answer = look(client, "states", model=0, symbol="NP")
    expected = Describer(grammar).describe(grammar.symbols.index("NP"))
    assert [one["state"] for one in answer["states"]] == [one.state for one in expected.states]
    for card, state in zip(answer["states"], expected.states, strict=True):
        assert card["share"] == state.share
        assert card["rules"] == [{"name": one.name, "share": one.share} for one in state.rules]
        assert card["contexts"] == [{"name": one.name, "share": one.share} for one in state.contexts]
        assert tuple(card["examples"]) == state.examples
        assert card["name"] == state_name(state, "NP", "phrase")
        assert card["typical"]
        assert card["parent"] in {one.name.partition(" → ")[0] for one in state.contexts}
        assert len(set(card["nearest"]) - {card["state"]}) == min(3, len(expected.states) - 1)
    assert len(answer["states"]) > 1
    assert 0 < answer["explained"] <= 1 + 1e-9
    assert len({(round(one["x"], 6), round(one["y"], 6)) for one in answer["states"]}) == len(
        answer["states"]
    )
    tag = look(client, "states", symbol="NN")
    assert tag["kind"] == "tag"
    assert "no symbol" in look(client, "states", 400, symbol="QQ")["error"]


def test_the_tensor_of_a_rule(client, parser):
    grammar = parser.model.grammar
    number = next(at for at, rule in enumerate(grammar.binary_rules) if (grammar.n_states[rule] > 1).all())
    parent, left, right = (grammar.symbols[one] for one in grammar.binary_rules[number])
    block = grammar.binary_block(number)
    whole = look(client, "rule", parent=parent, left=left, right=right)
    assert whole["shape"] == list(block.shape)
    prior = grammar.prior(grammar.binary_rules[number, 0])
    np.testing.assert_allclose(whole["matrix"], np.einsum("a,abc", prior, block), rtol=0.01, atol=1e-12)
    one = look(client, "rule", parent=parent, left=left, right=right, state=1)
    np.testing.assert_allclose(one["matrix"], block[1], rtol=0.01, atol=1e-12)
    top = whole["largest"][0]
    assert block[tuple(top["states"])] == pytest.approx(block.max()) == pytest.approx(top["value"])
    assert (
        "states 0 to" in look(client, "rule", 400, parent=parent, left=left, right=right, state=99)["error"]
    )
    assert "no rule" in look(client, "rule", 400, parent=parent, left=parent, right="@NP")["error"]
    unary = grammar.unary_rules[0]
    answer = look(client, "rule", parent=grammar.symbols[unary[0]], left=grammar.symbols[unary[1]])
    np.testing.assert_allclose(answer["matrix"], grammar.unary_block(0), rtol=0.01, atol=1e-12)


def test_exports(client):
    tree = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
    assert ask(client, "export", tree=tree, format="brackets")["text"] == Tree.parse(tree).pretty()
    assert ask(client, "export", tree=tree, format="svg")["text"] == Tree.parse(tree).svg()
    coloured = ask(client, "export", tree=tree, format="svg", confidences=[1, 0.5, 1, 1, 0.25, 1])["text"]
    assert "VP 2–3: 0.25" in coloured
    latex = ask(client, "export", tree="(NP (JJ 100%_a) ([ [))", format="latex")["text"]
    assert r"[JJ [100\%\_a]]" in latex
    assert "[{[} [{[}]]" in latex
    assert latex.count("[") - latex.count("{[}") == latex.count("]")
    assert "one of" in ask(client, "export", 400, tree=tree, format="png")["error"]
    assert "6, one a node" in ask(client, "export", 400, tree=tree, format="svg", confidences=[1])["error"]


def test_dependencies_follow_from_head_rules(client, parser):
    answer = ask(client, "parse", sentence=GOLD)
    for tree, found in (
        (answer["gold"]["tree"], answer["gold"]),
        (answer["parses"][0]["tree"], answer["parses"][0]),
    ):
        heads = HeadRules.for_conllu("auto", SCHEMES["penn"], "en")
        expected = to_dependencies(Tree.parse(tree), heads).tokens
        assert found["dependencies"]["heads"] == [token.head for token in expected]
        assert found["dependencies"]["relations"] == [token.deprel for token in expected]
    assert ask(client, "parse", sentence=" ")["parses"][0]["dependencies"] is None


def test_a_text_comes_in_pieces(client, parser):
    text = "Anna slept. The dog saw Anna. " * 15
    first = ask(client, "text", text=text)
    assert len(first["sentences"]) == 20
    rest = ask(client, "text", text=text[first["end"] :])
    assert rest["end"] is None
    found = first["sentences"] + rest["sentences"]
    expected = parser.parse_text(text)
    assert [one["tree"] for one in found] == [str(one.tree) for one in expected]
    assert [one["words"] for one in found] == [list(one.words) for one in expected]
    assert [node["confidence"] for node in found[0]["nodes"]] == list(expected[0].confidences)
    assert ask(client, "text", text=" ") == {"sentences": [], "end": None}
    for question in ({"text": "Anna " * 2001}, {"trees": f"(S {'(A a)' * 2001})"}):
        assert (
            "too many to look at"
            in ask(client, "text" if "text" in question else "bank", 400, **question)["error"]
        )


def test_a_treebank_is_read_and_judged(client, parser):
    bank = f"{GOLD}\n( (S (NP (NNP Anna)) (VP (VBD slept)) (. .)) )\n((-NONE- *))"
    [one, two] = ask(client, "bank", trees=bank)["trees"]
    assert (one["words"], two["text"]) == (8, "Anna slept .")
    assert "NP" in one["labels"]  # its function is cut
    judged = ask(client, "bank", trees=f"{one['tree']} {two['tree']}", judge=True)["trees"]
    trees = [Tree.parse(tree["tree"]) for tree in (one, two)]
    parsed = [parser.parse(list(tree.words)).tree for tree in trees]
    for gold, found, answer in zip(trees, parsed, judged, strict=True):
        assert answer["f1"] == score([gold], [found]).f1_gold_tags
        assert (answer["differences"] == 0) == (gold == found)
    assert "too many" in ask(client, "bank", 400, trees=two["tree"] * 21, judge=True)["error"]
    assert "closes nothing" in ask(client, "bank", 400, trees="(S (A a))) (")["error"]


def test_two_trees_are_compared(client):
    one, two = "(S (NP (NN a) (NN b)) (VP (VB c)))", "(S (NP (NN a)) (VP (NN b) (VB c)))"
    answer = ask(client, "compare", one=one, two=two)
    assert answer["gold"]["tree"] == one
    [other] = answer["parses"]
    assert [node["label"] for node in other["nodes"] if node["differs"]] == ["NP", "VP"]
    assert {(gone["label"], gone["start"], gone["end"]) for gone in other["missing"]} == {
        ("NP", 0, 2),
        ("VP", 2, 3),
    }
    assert "different words" in ask(client, "compare", 400, one=one, two="(S (A a))")["error"]


def test_the_state_of_every_node(client):
    tree = ask(client, "parse", sentence=SENTENCE)["parses"][0]
    states = ask(client, "best_states", tree=tree["tree"])["states"]
    assert len(states) == len(tree["nodes"])
    for node, state in list(zip(tree["nodes"], states, strict=True))[:4]:
        where = {name: node[name] for name in ("label", "start", "end")}
        inside = ask(client, "node", sentence=SENTENCE, tag=node["word"] is not None, **where)
        full = inside["states"]
        names = {
            one["state"]: one["name"] for one in look(client, "states", symbol=inside["symbol"])["states"]
        }
        best = int(np.argmax(full))
        assert state == {"state": best, "share": max(full), "name": names[best]}
    foreign = ask(client, "best_states", tree="(QQ (NNP Anna) (VBD slept))")["states"]
    assert foreign[0] is None
    assert foreign[1] is not None


def test_dependencies(client, models):
    from gramian.dependency import DependencyParser
    from gramian.trees import Sentence, Token

    answer = ask(client, "dependency", sentence="The/DT dog/NN slept/VBD ./.", input="tagged")
    pairs = [("The", "DT"), ("dog", "NN"), ("slept", "VBD"), (".", ".")]
    tokens = tuple(Token(number, word, xpos=tag) for number, (word, tag) in enumerate(pairs, 1))
    expected = DependencyParser.load(models["dependency"]).parse(Sentence(tokens))
    assert tuple(answer["heads"]) == expected.heads == (2, 3, 0, 3)
    assert tuple(answer["relations"]) == expected.relations
    np.testing.assert_allclose(answer["confidences"], expected.confidences, rtol=1e-9)
    assert answer["svg"].startswith("<svg")
    assert "\tnsubj\t" in answer["conllu"]
    plain = ask(client, "dependency", sentence="Anna slept .")
    assert len(plain["heads"]) == 3
    head = ask(client, "head", head="VBD", direction="left", symbols=["NN"])
    assert [step["symbol"] for step in head["steps"]] == [None, "NN"]
    automaton = DependencyParser.load(models["dependency"]).grammar.automaton("VBD", 0)
    state = automaton.initial @ automaton.transitions[automaton.alphabet.index("NN")]
    following = dict(map(tuple, head["steps"][1]["next"]))
    assert following["STOP"] == pytest.approx(state @ automaton.final / state.sum())
    assert "no symbol" in ask(client, "head", 400, head="QQ", direction="left")["error"]
    assert "'left' or 'right'" in ask(client, "head", 400, head="VBD", direction="up")["error"]


def test_the_automaton_step_by_step(client, models):
    wfa = WFA.load(models["tags"])
    answer = ask(client, "automaton", symbols=["NNP", "VBD", "QQ"], clusters=5)
    steps = answer["steps"]
    state = wfa.initial
    for step, symbol in zip(steps, [None, "NNP", "VBD"], strict=False):
        if symbol is not None:
            state = state @ wfa.transitions[wfa.alphabet.index(symbol)]
        np.testing.assert_allclose(step["states"], state / state.sum(), atol=1e-9)
        following = {
            name: float((state @ wfa.transitions[at]).sum() / state.sum())
            for at, name in enumerate(wfa.alphabet)
        }
        best = max(following, key=following.__getitem__)
        if step["next"][0][0] != "STOP":
            assert step["next"][0] == [best, pytest.approx(following[best])]
    assert [step["known"] for step in steps] == [True, True, True, False]
    assert answer["distribution"]
    assert answer["picture"]["deterministic"]
    assert answer["picture"]["svg"].startswith("<svg")
    for state in range(len(answer["picture"]["stops"])):
        leaving = sum(
            weight
            for arrow in answer["picture"]["arrows"]
            if arrow["source"] == state
            for _, weight in arrow["symbols"]
        )
        # rare arrows are not listed
        assert leaving + answer["picture"]["stops"][state] == pytest.approx(1, abs=0.35)
    assert answer["log_prob"] is None


def test_what_the_page_starts_with(client):
    about = look(client, "about")
    assert [one["name"] for one in about["models"]] == ["one.grammar", "two.grammar"]
    assert about["models"][0]["symbols"][0]["share"] >= about["models"][0]["symbols"][1]["share"]
    assert about["dependency"]["name"] == "dependency.model"
    assert about["automaton"]["states"] == 3
    assert "NP" in {one["symbol"] for one in about["models"][0]["symbols"]}
    first = about["models"][0]
    assert (first["language"], first["scheme"]) == ("en", "penn")
    assert len(first["examples"]) >= 8
    assert first["glossary"]["SBAR"].startswith("subordinate clause")
    assert first["glossary"]["nsubj"] == "subject"


@pytest.mark.parametrize("language", example_sentences())
def test_examples_of_several_kinds(language):
    kinds, sentences = zip(*example_sentences()[language].items(), strict=True)
    assert len(set(kinds)) == len(set(sentences)) == len(kinds) >= 3
    codes = {language.code for scheme in SCHEMES.values() for language in scheme.languages}
    assert codes <= set(example_sentences())


def test_states_are_read_ahead(models):
    views = Explorer(models["one"], 2.0).views
    views.read_ahead()
    thread = next(one for one in threading.enumerate() if one.name == "gramian-states")
    thread.join(60)
    share = views.grammar.before.sum(axis=1)
    frequent = [
        number
        for number, symbol in enumerate(views.grammar.symbols)
        if symbol[0] != "@" and share[number] >= 1e-3
    ]
    assert len(frequent) > 10
    assert set(views._known) == set(frequent)


@pytest.mark.skipif(LATEX is None, reason="no tectonic and no pdflatex")
def test_latex_compiles(client, tmp_path):
    tree = "(S (NP (NN 100%_#&~^{}$)) (VP (VB [a,b]) (X =)) (. .))"
    text = ask(client, "export", tree=tree, format="latex-document")["text"]
    (tmp_path / "tree.tex").write_text(text, encoding="utf-8")
    command = (
        [LATEX, "tree.tex"]
        if LATEX.endswith("tectonic")
        else [LATEX, "-interaction=nonstopmode", "-halt-on-error", "tree.tex"]
    )
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "tree.pdf").read_bytes().startswith(b"%PDF")


# -- the page itself -----------------------------------------------------------------------------------------------------


def test_the_page_is_small_and_loads_nothing_from_elsewhere(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    weight = 0
    for path in STATIC.iterdir():
        text = path.read_text("utf-8")
        weight += path.stat().st_size
        assert client.get("/" if path.name == "index.html" else f"/{path.name}").text == text
        assert not re.findall(r"https?://(?!www\.w3\.org/)", text), path.name
    assert weight < 300_000
