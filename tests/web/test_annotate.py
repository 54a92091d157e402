"""Annotation: the answers of the server, and a browser that is used by keys alone, in two tabs, and with a server that is killed."""

import json
import subprocess
import sys
from contextlib import contextmanager

import pytest
from browsing import CHROMIUM, DRIVER, NO_BROWSER, Page, serving, start_browser
from selenium.webdriver.common.keys import Keys
from starlette.testclient import TestClient

from gramian.annotate.bank import AnnotationBank
from gramian.annotate.proposals import LabelSet
from gramian.annotate.session import AnnotationSession
from gramian.web.annotation_view import AnnotationView
from gramian.web.app import create_app
from gramian.web.explore import Explorer
from gramian.web.service import Service

SENTENCES = ("Anna saw the picture with a telescope .", "The dog slept .", "Anna slept .")
in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=NO_BROWSER)


@contextmanager
def annotating(folder, model=None):
    """A service with a bank, with or without a model."""
    explorer = None if model is None else Explorer(model, 5.0)
    parser = None if explorer is None else explorer.parser
    with AnnotationBank(folder, LabelSet(("S", "NP", "VP", "PP"), ("X", "NN"))) as bank:
        if not bank.sentences:
            bank.add([sentence.split() for sentence in SENTENCES])
        session = AnnotationSession(bank, parser)
        yield Service([explorer] if explorer else [], annotation=AnnotationView(session, explorer))


@pytest.fixture
def client(tmp_path, models):
    with (
        annotating(tmp_path / "bank", models["one"]) as service,
        TestClient(create_app(service, n_jobs=2, max_seconds=300), base_url="http://localhost") as client,
    ):
        yield client


def ask(client, request, status=200, headers=None, **fields):
    fields = {"annotator": "anna", "name": "00001", **fields}
    response = client.post(f"/api/{request}", json=fields, headers=headers or {})
    assert response.status_code == status, response.text
    return response.json()


def test_an_edit_is_parsed_again_at_once(client):
    before = ask(client, "annotated")
    assert before["revision"] == 0
    low, high = {"start": 2, "end": 7, "label": "NP"}, {"start": 4, "end": 7, "label": "PP"}
    made_from = {"revision": 0, "generation": 0}
    has = {(one["label"], one["start"], one["end"]) for one in before["nodes"]}
    assert ("NP", 2, 7) in has
    after = ask(client, "annotate", action="remove", **low, **made_from)
    assert "(VP (VBD saw) (NP (DT the) (NN picture)) (PP (IN with)" in after["tree"]
    assert after["forbidden"] == [low]
    assert (after["revision"], after["undoable"]) == (1, 1)
    assert not [one for one in after["suggestions"] if one["node"] == low]
    assert "retag" in {one["action"] for one in after["suggestions"]}
    kept = ask(client, "annotate", action="require", **high, revision=1, generation=0)
    assert [one["label"] for one in kept["nodes"] if one["held"]] == ["PP"]
    assert all(node["confidence"] is not None for node in kept["nodes"])  # colours stay
    back = ask(client, "annotate_undo", revision=2)
    assert (back["tree"], back["forbidden"], back["revision"]) == (after["tree"], [low], 3)
    assert ask(client, "annotate_undo", revision=3)["tree"] == before["tree"]
    ask(client, "annotate_undo", 400, revision=4)


def test_two_tabs_never_overwrite_each_other(client):
    change = {"action": "require", "start": 2, "end": 7, "label": "NP", "generation": 0}
    ask(client, "annotate", revision=0, **change)
    for request, fields in (
        ("annotate", change),
        ("annotate_comment", {"comment": "x", "generation": 0}),
        ("annotate_finish", {"done": True, "generation": 0}),
    ):
        assert "elsewhere" in ask(client, request, 409, revision=0, **fields)["error"]
    assert ask(client, "annotated")["revision"] == 1
    assert (
        "retrained"
        in ask(client, "annotate_finish", 409, name="00002", revision=0, generation=7, done=True)["error"]
    )


def test_other_sites_cannot_change_the_bank(client):
    fields = {"revision": 0, "generation": 0, "done": True}
    for origin in ("http://evil.example", "null", "http://localhost.evil.example"):
        ask(client, "annotate_finish", 403, {"Origin": origin}, **fields)
    response = client.post(
        "/api/annotate_finish", content=json.dumps(fields), headers={"Content-Type": "text/plain"}
    )
    assert response.status_code == 415
    assert ask(client, "annotated")["revision"] == 0
    ask(client, "annotate_finish", 200, {"Origin": "http://localhost"}, **fields)


@pytest.mark.parametrize(
    ("request_name", "fields"),
    [
        ("annotated", {"name": "../bank"}),
        ("annotated", {"annotator": "../x"}),
        ("annotate", {"action": "add", "start": 0, "end": 99, "label": "", "new_label": "NP", "revision": 0, "generation": 0}),
        ("annotate", {"action": "add", "start": 0, "end": 2, "label": "", "new_label": "N)P", "revision": 0, "generation": 0}),
        ("annotate", {"action": "split", "start": 0, "end": 2, "label": "NP", "revision": -1, "generation": 0}),
        ("annotate_comment", {"comment": "x" * 20_000, "revision": 0, "generation": 0}),
        ("annotate_add", {"text": " "}),
        ("agreement", {"other": "ben"}),
        ("annotate_undo", {"revision": 0}),
    ],
)  # fmt: skip
def test_wrong_requests_are_refused(client, request_name, fields):
    assert ask(client, request_name, 400, **fields)["error"]


def test_without_a_bank_nothing_can_be_annotated(service):
    with TestClient(create_app(service), base_url="http://localhost") as client:
        assert client.post("/api/annotated", json={}).status_code == 404


def test_from_nothing_to_a_parser(tmp_path):
    """Without a model: flat trees are corrected, a parser is trained on them, and it proposes the trees of the rest."""
    nouns = ("cat", "bird", "child", "wolf", "bear", "fox")
    with (
        annotating(tmp_path / "bank") as service,
        TestClient(create_app(service, max_seconds=300), base_url="http://localhost") as client,
    ):
        names = ask(client, "annotate_add", text=" ".join(f"The {noun} slept." for noun in nouns))["names"]
        assert len(names) == len(nouns)
        for name in names[:5]:
            state = ask(client, "annotated", name=name)
            tags = [("retag", index, index + 1, tag) for index, tag in enumerate(("DT", "NN", "VBD", "."))]
            for action, start, end, label in (*tags, ("add", 0, 2, "NP"), ("add", 2, 3, "VP")):
                edit = {"action": action, "start": start, "end": end, "label": "", "new_label": label}
                state = ask(client, "annotate", name=name, revision=state["revision"], generation=0, **edit)
            state = ask(
                client, "annotate_finish", name=name, done=True, revision=state["revision"], generation=0
            )
            assert state["tree"].startswith("(S (NP (DT The) (NN ")
        ask(client, "annotate_train")
        while (overview := ask(client, "annotations"))["training"]:
            pass
        assert overview["message"] == "Trained on 5 trees."
        assert (
            ask(client, "annotated", name=names[5])["tree"]
            == "(S (NP (DT The) (NN fox)) (VP (VBD slept)) (. .))"
        )
        assert ask(client, "annotated_trees")["text"].count("\n") == 5
        assert ask(client, "annotate_next")["name"] not in names[:5]


# -- in a browser ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, tmp_path, models):
    with annotating(tmp_path / "bank", models["one"]) as service, serving(service) as address:
        yield Page(browser, address)


def tree(page):
    return page.attributes("svg.tree .node", "aria-label")


@in_browser
def test_keys_alone_are_enough_to_annotate(page, tmp_path):
    page.open("tab=annotate&who=anna&name=00001")
    focused = lambda: page.browser.switch_to.active_element.get_attribute("aria-label") or ""  # noqa: E731
    page.until(lambda: focused().startswith("S:"))
    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    assert focused().startswith("NP: the picture with a telescope")
    page.press(Keys.ENTER)
    page.until(lambda: page.attributes("svg.tree .held", "aria-label"))
    assert page.attributes("svg.tree .held", "aria-label")[0].startswith("NP: the picture with")
    page.until(lambda: focused().startswith("NP: the picture with"))
    page.press("x")
    page.until(lambda: "Removed: NP" in page.text("#anno-forbidden"))
    page.until(lambda: not any("picture with" in one and one.startswith("NP") for one in tree(page)))
    page.press("z")
    page.until(lambda: any(one.startswith("NP: the picture with") for one in tree(page)))
    page.until(lambda: page.all("svg.tree .node:focus"))
    page.press(Keys.HOME, Keys.ARROW_DOWN, "r")
    page.until(lambda: page.browser.switch_to.active_element.get_attribute("id") == "anno-label")
    page.press("QP", Keys.ENTER)
    page.until(lambda: any(one.startswith("QP: Anna") for one in tree(page)))
    page.until(lambda: focused().startswith("QP: Anna"))
    page.press("c")
    page.until(lambda: page.browser.switch_to.active_element.get_attribute("id") == "anno-comment")
    page.press("odd", Keys.TAB)
    page.until(lambda: "comment" in page.text("#anno-list"))
    page.browser.execute_script("document.querySelector('svg.tree .node').focus()")
    page.press("d")
    page.until(lambda: "1 of 3 sentences finished" in page.text("#anno-progress"))
    page.until(lambda: "Sentence 00001" not in page.text("#anno-editor h2"))
    stored = json.loads((tmp_path / "bank" / "anna" / "00001.json").read_text("utf-8"))
    assert (stored["done"], stored["comment"]) == (True, "odd")
    assert "QP 0-1" in stored["required"]


@in_browser
def test_two_tabs_on_one_bank(page):
    page.open("tab=annotate&who=anna&name=00001")
    page.until(lambda: page.all("svg.tree .node"))
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    second = page.browser.current_window_handle
    page.open("tab=annotate&who=anna&name=00001")
    page.until(lambda: page.all("svg.tree .node"))
    page.click(page.all("svg.tree .node")[1])
    page.until(lambda: len(page.all("svg.tree .held")) == 1)
    page.browser.switch_to.window(first)
    comment = page.one("#anno-comment")
    comment.send_keys("mine", Keys.TAB)
    page.until(lambda: "both comments" in page.text("#status"))
    assert len(page.all("svg.tree .held")) == 1  # what the other tab did is shown now
    assert page.one("#anno-comment").get_attribute("value") == "mine"
    page.one("#anno-comment").send_keys("!", Keys.TAB)
    page.until(lambda: "comment" in page.text("#anno-list"))
    page.browser.get_log("browser")  # it notes the status 409
    page.browser.switch_to.window(second)
    page.browser.close()
    page.browser.switch_to.window(first)


@in_browser
def test_a_suggestion_is_taken_by_a_click(page):
    page.open("tab=annotate&who=anna&name=00001")
    page.until(lambda: page.all("#anno-suggestions button"))
    before = tree(page)
    for button in page.all("#anno-suggestions button"):
        name = button.get_attribute("aria-label")
        if name.endswith(" for Anna"):
            tag = name.partition(" ")[0]
            page.click(button)
            break
    page.until(lambda: tree(page) != before)
    assert any(one.startswith(f"{tag}: Anna") for one in tree(page))
    assert page.attributes("svg.tree .held", "aria-label")[0].startswith(f"{tag}: Anna")


@in_browser
def test_dragging_attaches(page):
    from selenium import webdriver

    page.open("tab=annotate&who=anna&name=00001")
    page.until(lambda: page.all("svg.tree .node"))

    def find(start):
        return next(
            one for one in page.all("svg.tree .node") if one.get_attribute("aria-label").startswith(start)
        )

    webdriver.ActionChains(page.browser).drag_and_drop(find("PP:"), find("VP:")).perform()
    page.until(lambda: not any(one.startswith("NP: the picture with") for one in tree(page)))
    assert "Removed: NP “the picture with a telescope”" in page.text("#anno-forbidden")


@contextmanager
def serving_process(model, folder):
    """A server of its own, which is killed at the end; yield its address."""
    command = [
        sys.executable,
        "-m",
        "gramian",
        "serve",
        "--port",
        "0",
        "-m",
        model,
        "--annotate",
        str(folder),
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()


@in_browser
def test_a_killed_server_loses_nothing(browser, tmp_path, models):
    folder = tmp_path / "bank"
    with AnnotationBank(folder) as bank:
        bank.add([sentence.split() for sentence in SENTENCES])
    with serving_process(models["one"], folder) as address:
        page = Page(browser, address).open("tab=annotate&who=anna&name=00001")
        page.until(lambda: page.all("svg.tree .node"))
        page.click(page.all("svg.tree .node")[1])
        page.until(lambda: len(page.all("svg.tree .held")) == 1)
        kept = page.attributes("svg.tree .held", "aria-label")[0].partition(",")[0]
    with serving_process(models["one"], folder) as address:
        again = Page(browser, address).open("tab=annotate&who=anna&name=00001")
        again.until(lambda: again.attributes("svg.tree .held", "aria-label")[0].startswith(kept))
    browser.get_log("browser")
