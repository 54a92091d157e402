"""Wrong questions, too large, too slow or too many: the right status, and the server stays up."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import gramian
from gramian.web.app import create_app

SENTENCE = "Anna saw the picture of wood with a telescope ."
GOLD = "( (S (NP-SBJ (NNP Anna)) (VP (VBD saw) (NP (DT the) (NN picture))) (. .)) )"


@pytest.fixture(scope="module")
def parser(models):
    return gramian.load(models["one"])


def ask(client, path, status=200, **question):
    response = client.post(f"/api/{path}", json=question)
    assert response.status_code == status, response.text
    return response.json()


@pytest.mark.parametrize(
    "path",
    [
        "/nothing", "/api", "/api/", "/api/nothing", "/static/page.js", "/../pyproject.toml", "/..%2f..%2fapp.py",
        "/%2e%2e/app.py", "/page.js/../../app.py", "/page.js%00.html", "//etc/passwd", "/etc/passwd", "/app.py", "/..\\app.py",
    ],
)  # fmt: skip
def test_no_path_leads_out(client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert "error" in response.json()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/parse"), ("DELETE", "/api/parse"), ("PUT", "/"), ("POST", "/"), ("POST", "/api/about"),
        ("PATCH", "/api/node"), ("OPTIONS", "/api/parse"),
    ],
)  # fmt: skip
def test_wrong_methods(client, method, path):
    response = client.request(method, path)
    assert response.status_code == 405
    assert "error" in response.json()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400), (b"{", 400), (b"[]", 400), (b'"a"', 400), (b"null", 400), (b"\xff\xfe", 400),
        (b'{"sentence": "\xff"}', 400), (b'{"sentence": "\\ud800"}', 400), (b'{"sentence": NaN}', 400),
        (b'{"sentence": 1}', 400), (b'{"sentence": null}', 400), (b'{"sentence": "a", "k": 0}', 400),
        (b'{"sentence": "a", "k": 1.5}', 400), (b'{"sentence": "a", "k": true}', 400), (b'{"sentence": "a", "k": 21}', 400),
        (b'{"sentence": "a", "models": [2]}', 400), (b'{"sentence": "a", "models": []}', 400),
        (b'{"sentence": "a", "models": "0"}', 400), (b'{"sentence": "a", "decoders": ["best"]}', 400),
        (b'{"sentence": "a", "input": "xml"}', 400), (b'{"sentence": "(S (NP", "input": "brackets"}', 400),
        (b'{"sentence": "a", "input": "tagged"}', 400), (b'{"sentence": "(A a) (B b)", "input": "brackets"}', 400),
        (b'{"sentence": "(S (-NONE- *))", "input": "brackets"}', 400), (b"[" * 100_000, 400),
        (b'{"k": ' + b"1" * 10_000 + b"}", 400), (b'{"sentence": "a\\u0000b"}', 200),
    ],
)  # fmt: skip
def test_wrong_bodies(client, body, status):
    response = client.post("/api/parse", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == status, response.text
    if status == 400:
        assert response.json()["error"]


def test_a_body_is_json_and_says_so(client):
    response = client.post("/api/parse", content=b'{"sentence": "a"}', headers={"Content-Type": "text/plain"})
    assert response.status_code == 415


def test_names_of_other_hosts_are_refused(client):
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
    assert client.get("/", headers={"Host": "127.0.0.1:8000"}).status_code == 200


def test_bodies_over_the_limit(client, service):
    large = b'{"sentence": "' + b"a " * (1 << 18) + b'"}'
    headers = {"Content-Type": "application/json"}
    assert client.post("/api/parse", content=large, headers=headers).status_code == 413
    # Also where no length was announced.
    pieces = (large[at : at + 4096] for at in range(0, len(large), 4096))
    assert client.post("/api/parse", content=pieces, headers=headers).status_code == 413


def test_sentences_that_are_too_long(client):
    answer = ask(client, "parse", sentence="the dog slept . " * 250)
    assert len(answer["words"]) == 1000
    assert len([one for one in answer["parses"][0]["nodes"] if one["word"] is not None]) == 1000
    assert "too many" in ask(client, "parse", 400, sentence="a " * 3000)["error"]
    assert "too many" in ask(client, "parse", 400, sentence="a " * 3000, input="tokens")["error"]
    assert (
        "deep"
        in ask(client, "parse", 400, sentence="(X" * 5000 + " (A a)" + ")" * 5000, input="brackets")["error"]
    )


class Slow:
    """A service that answers when it is told to."""

    def __init__(self, service) -> None:
        self._service = service
        self.go = threading.Event()

    def __getattr__(self, name):
        return getattr(self._service, name)

    def parse(self, fields):
        self.go.wait(120)
        return {"words": []}


def test_slow_answers_are_cut_off_and_others_go_on(service):
    slow = Slow(service)
    app = create_app(slow, n_jobs=2, max_seconds=0.3, max_waiting=1)
    with TestClient(app, base_url="http://localhost") as client, ThreadPoolExecutor(8) as pool:
        try:
            first = [pool.submit(client.post, "/api/parse", json={"sentence": "a"}) for _ in range(6)]
            assert client.get("/").status_code == 200
            answers = [one.result() for one in first]
            assert {one.status_code for one in answers} == {503}
            errors = {one.json()["error"].partition(";")[0] for one in answers}
            assert errors <= {"no answer within 0.3 s", "too many questions at once"}
            assert "no answer within 0.3 s" in errors
        finally:
            slow.go.set()
        deadline = time.monotonic() + 120
        while client.get("/api/about").status_code != 200:  # the threads are free again
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_body_that_does_not_end(service):
    """The application gives up on a client that sends its question too slowly."""
    app = create_app(service, max_seconds=0.2)
    sent = []

    async def ask_slowly() -> None:
        async def receive():
            await asyncio.sleep(0.05)
            return {"type": "http.request", "body": b" ", "more_body": True}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http", "method": "POST", "path": "/api/parse", "raw_path": b"/api/parse", "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "scheme": "http",
            "server": ("localhost", 80), "client": ("127.0.0.1", 1), "http_version": "1.1", "root_path": "",
        }  # fmt: skip
        await app(scope, receive, send)

    asyncio.run(asyncio.wait_for(ask_slowly(), 60))
    assert sent[0]["status"] == 408


def test_a_fault_is_answered_and_logged(service, caplog):
    class Broken(Slow):
        def parse(self, fields):
            raise KeyError("secret")

    app = create_app(Broken(service))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        response = client.post("/api/parse", json={"sentence": "a"})
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "secret" in caplog.text


def test_answers_do_not_depend_on_who_else_asks(client, parser):
    sentences = [
        f"{name} saw the {thing} ."
        for name in ("Anna", "Peter", "Maria")
        for thing in ("book", "map", "boat", "lamp")
    ]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda one: ask(client, "parse", sentence=one), sentences * 2))
    for sentence, answer in zip(sentences * 2, answers, strict=True):
        assert answer["parses"][0]["tree"] == str(parser.parse(sentence).tree)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
NAMES = ["sentence", "input", "models", "decoders", "k", "model", "label", "start", "end", "tag", "symbol", "tree", "format",
         "confidences", "head", "direction", "symbols", "clusters"]  # fmt: skip
PATHS = ["parse", "node", "export", "dependency", "head", "automaton"]
TYPED = st.text("ab(). /\n\0é", max_size=30) | st.sampled_from(
    [SENTENCE, GOLD, "(A (B b))", "Anna/NNP slept/VBD"]
)


@settings(max_examples=40)
@given(
    path=st.sampled_from(PATHS),
    question=st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6),
    typed=st.dictionaries(
        st.sampled_from(["sentence", "tree", "label", "head", "symbol"]), TYPED, max_size=4
    ),
)
def test_any_question_gets_an_answer(client, path, question, typed):
    body = json.dumps({**question, **typed})
    response = client.post(f"/api/{path}", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in (200, 400)
    assert isinstance(response.json(), dict)


@settings(max_examples=25)
@given(body=st.binary(max_size=200), path=st.sampled_from(PATHS))
def test_any_bytes_get_an_answer(client, path, body):
    response = client.post(f"/api/{path}", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in (200, 400)


@settings(max_examples=25)
@given(path=st.text(max_size=30), query=st.text(max_size=30))
def test_any_path_gets_an_answer(client, path, query):
    for wanted in (f"/{path}", f"/api/{path}"):
        response = client.get(quote(wanted, errors="ignore"), params={"symbol": query})
        assert response.status_code in (200, 400, 404, 405)


@pytest.mark.parametrize("number", ["-1e400", "1e400", "1" * 400, "-" + "9" * 400])
def test_confidences_beyond_all_numbers(client, number):
    body = b'{"tree": "(S (A a))", "format": "svg", "confidences": [0.5, %s]}' % number.encode()
    response = client.post("/api/export", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400, response.text
    assert "confidences is a list of numbers" in response.json()["error"]


def test_short_questions_come_first_and_have_places_of_their_own():
    from gramian.web.admission import Gate, Refused

    async def play():
        gate, order = Gate(2, most_waiting=5, most_seconds=10.0), []

        async def ask(name, seconds):
            await gate.enter(seconds)
            order.append(name)

        await ask("long", 3.0)
        waiting = [asyncio.create_task(ask("longer", 6.0)), asyncio.create_task(ask("less long", 2.0))]
        await asyncio.sleep(0)
        assert order == ["long"]  # half of the places are not for them
        with pytest.raises(Refused):
            await gate.enter(3.0)  # 6 + 2 + 3 seconds are more than can be answered in time
        await ask("short", 0.1)
        waiting.append(asyncio.create_task(ask("next short", 0.2)))
        await asyncio.sleep(0)
        gate.leave(0.1)
        await asyncio.sleep(0)
        assert order == ["long", "short", "next short"]
        gate.leave(3.0)
        await asyncio.sleep(0)
        assert order[3:] == ["less long"]
        waiting[0].cancel()
        await asyncio.sleep(0)
        gate.leave(2.0)
        gate.leave(0.2)
        await ask("after all", 1.0)  # who gave up takes no place
        return order

    assert asyncio.run(play())[-1] == "after all"


def test_costs_are_foretold(service):
    from gramian.web.fields import Fields

    def seconds(**question):
        return service.expected_seconds("parse", Fields(question))

    short = seconds(sentence="the dog slept .")
    assert short < 0.1 < seconds(sentence="the dog slept . " * 200)
    assert seconds(sentence="the dog slept .", decoders=["max-recall", "viterbi"], k=20) > 4 * short
    for space in (
        "\t",
        "\n",
        "\u00a0",
        "\u2003",
        ", ",
        "--",
    ):  # words are counted by the parser's own tokenizer
        assert seconds(sentence=space.join(["dog"] * 800)) > 0.5 * seconds(sentence=" ".join(["dog"] * 800))
    assert seconds(sentence="(S " + "(NN dog) " * 800 + ")") > 0.5 * seconds(sentence="dog " * 800)
    assert service.expected_seconds("about", Fields({})) < 0.25


def test_a_long_text_is_let_in_as_such_before_it_is_read():
    from gramian.web.admission import SHORT
    from gramian.web.fields import Fields
    from gramian.web.request_cost import reading_seconds

    assert reading_seconds(Fields({"sentence": "the dog slept ."})) < SHORT / 10
    for name in ("sentence", "text"):
        assert reading_seconds(Fields({name: "_" * 80_000})) > SHORT
    assert reading_seconds(Fields({"trees": "(A a)" * 40_000})) > SHORT


def test_the_cost_of_texts_treebanks_and_states_is_foretold(service):
    from gramian.web.fields import Fields

    def seconds(question, **fields):
        return service.expected_seconds(question, Fields(fields))

    sentence, tree = "The dog slept. ", "(S (NP (DT the) (NN dog)) (VP (VBD slept)) (. .)) "
    assert seconds("text", text=sentence) < 0.05 < seconds("text", text=sentence * 400)
    assert seconds("text", text=sentence * 4000) < 20 * seconds(
        "text", text=sentence * 400
    )  # all is read, the first few are parsed
    assert seconds("text", text="the dog slept " * 400) > 2 * seconds("text", text=sentence * 400)
    flat = f"(S {'(NN dog) ' * 400})"
    assert seconds("bank", trees=tree * 20) < 0.05 < seconds("bank", trees=flat, judge=True)
    assert seconds("best_states", tree=tree) < 0.1 * seconds("best_states", tree=flat)
    assert seconds("compare", one=tree, two=tree) < 0.25
    views = service._explorers[1].views
    if not views.is_read("VP"):
        assert seconds("states", symbol="VP", model=1) > 0.25
    views.states("VP")
    assert seconds("states", symbol="VP", model=1) < 0.25
