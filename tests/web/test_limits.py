"""Wrong questions, too large, too slow or too many: the right status, and the server stays up."""

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
from gramian.web.fields import Fields

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
    assert "confidences must be a list of numbers" in response.json()["error"]


def test_short_questions_do_not_wait_for_long_ones(service):
    slow = Slow(service)
    app = create_app(slow, n_jobs=4, max_seconds=120)
    with TestClient(app, base_url="http://localhost") as client, ThreadPoolExecutor(8) as pool:
        try:
            question = {"sentence": "the dog slept . " * 100}
            long = [pool.submit(client.post, "/api/parse", json=question) for _ in range(6)]
            for _ in range(3):
                assert ask(client, "export", tree="(A a)", format="brackets") == {"text": "(A a)"}
            assert not any(one.done() for one in long)
        finally:
            slow.go.set()
        assert {one.result().status_code for one in long} == {200}


SENTENCE_TREE = "(S (NP (DT the) (NN dog)) (VP (VBD slept)) (. .)) "
FLAT = f"(S {'(NN dog) ' * 400})"


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ("about", {}),
        ("parse", {"sentence": "the dog slept ."}),
        ("text", {"text": "The dog slept. "}),
        ("bank", {"trees": SENTENCE_TREE * 20}),
        ("best_states", {"tree": SENTENCE_TREE}),
        ("compare", {"one": SENTENCE_TREE, "two": SENTENCE_TREE}),
    ],
)
def test_short_questions(service, question, fields):
    assert not service.is_long(question, Fields(fields))


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ("parse", {"sentence": "the dog slept . " * 200}),
        ("parse", {"sentence": "the dog slept . " * 40, "k": 20, "decoders": ["max-recall", "viterbi"]}),
        ("parse", {"sentence": "_" * 80_000}),
        ("parse", {"sentence": "--".join(["dog"] * 800)}),
        ("text", {"text": "The dog slept. " * 400}),
        ("bank", {"trees": FLAT, "judge": True}),
        ("best_states", {"tree": FLAT}),
    ],
)
def test_long_questions(service, question, fields):
    assert service.is_long(question, Fields(fields))


def test_states_are_shown_at_once_when_they_were_read(service):
    views, fields = service._explorers[1].views, Fields({"symbol": "VP", "model": 1})
    assert service.is_long("states", fields) != views.is_read("VP")
    views.states("VP")
    assert not service.is_long("states", fields)
