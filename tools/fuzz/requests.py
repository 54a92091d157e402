"""HTTP requests, byte by byte, to the real server on a socket of this machine."""

import json
import logging
import socket
import tempfile
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

from tools.fuzz import models
from tools.fuzz.mutate import mutated
from tools.fuzz.texts import Make, Read, _fast, changed_json

_BODIES: dict[str, dict[str, Any]] = {
    "/api/parse": {"sentence": "the dog saw a cat .", "input": "text", "models": [0], "decoders": ["max-recall"], "k": 2},
    "/api/node": {"sentence": "the dog", "input": "text", "model": 0, "start": 0, "end": 2, "label": "NP", "node": 1, "k": 1},
    "/api/export": {"tree": "(S (NP (DT the) (NN dog)))", "format": "svg", "confidences": [0.5, 1.0]},
    "/api/dependency": {"sentence": "the/DT dog/NN", "input": "tagged"},
    "/api/head": {"head": "NN", "direction": "left", "symbols": ["DT"], "clusters": 3},
    "/api/automaton": {"symbols": ["a", "b"], "clusters": 2},
}  # fmt: skip
_GETS = (
    "/",
    "/page.js",
    "/page.css",
    "/api/about",
    "/api/states?symbol=NP&model=0",
    "/api/rule?parent=S&left=NP&right=VP&state=0&model=0",
    "/../app.py",
    "/%2e%2e/x",
    "/x",
)
_TOKENS = (b"\r\n", b"\r\n\r\n", b"HTTP/1.1", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: evil\r\n", b"POST ",
           b"Upgrade: websocket\r\nConnection: Upgrade\r\n", b"../", b"%00", b"\xff", b'{"', b"[" * 3000,
    b"Expect: 100-continue\r\n")  # fmt: skip


class Refused(Exception):
    """An answer that is no success; its name is what is counted."""


class _Server:
    """The application and its socket, in a thread of this process."""

    def __init__(self) -> None:
        import uvicorn

        from gramian.automata import WFA
        from gramian.parsing.model import Model
        from gramian.parsing.model_store import save_model
        from gramian.web import server
        from gramian.web.app import create_app
        from gramian.web.explore import Explorer
        from gramian.web.sequence_views import AutomatonView
        from gramian.web.service import Service

        folder = Path(tempfile.mkdtemp(dir=_fast()))
        save_model(Model(models._grammars()[0]), folder / "one.grammar")
        WFA([1.0, 0.0], [0.2, 0.3], [[[0.3, 0.2], [0.1, 0.1]], [[0.1, 0.2], [0.2, 0.3]]], ("a", "b")).save(
            folder / "a.wfa"
        )
        service = Service(
            [Explorer(str(folder / "one.grammar"), 1.0)], None, AutomatonView.load(str(folder / "a.wfa"))
        )
        self.path = str(folder / "socket")
        opened = socket.socket(socket.AF_UNIX)
        opened.bind(self.path)
        opened.listen(64)
        self.faults: list[str] = []
        # `server.run` serves until the process ends; only what installs signal handlers cannot be done in a thread.
        uvicorn.Server.capture_signals = lambda self: _nothing()  # type: ignore[method-assign]
        app = create_app(service, n_jobs=2, max_seconds=5)
        threading.Thread(target=server.run, args=(app, opened), daemon=True).start()
        for _ in range(100):
            try:
                self.ask(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                break
            except OSError:
                time.sleep(0.05)
        else:
            raise RuntimeError("the server does not answer")
        for name in ("gramian.web", "uvicorn.error"):
            log = logging.getLogger(name)
            log.propagate = False
            log.setLevel(logging.ERROR)
            log.addHandler(_Notes(self.faults))

    def ask(self, data: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(self.path)
            try:
                client.sendall(data)
                if not _is_whole(data):
                    client.shutdown(socket.SHUT_WR)  # else the server waits for the rest
                return client.recv(1 << 16)
            except (BrokenPipeError, ConnectionResetError):
                return b""


def _is_whole(data: bytes) -> bool:
    """Whether a request ends within `data`, or is none."""
    import h11

    reader = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 16)
    reader.receive_data(data)
    try:
        while data and (event := reader.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            if isinstance(event, h11.EndOfMessage):
                return True
    except h11.RemoteProtocolError:
        return True
    return False


class _Notes(logging.Handler):
    def __init__(self, notes: list[str]) -> None:
        super().__init__()
        self._notes = notes

    def emit(self, record: logging.LogRecord) -> None:
        self._notes.append(logging.Formatter().format(record))


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def _request(random: Random) -> bytes:
    if random.random() < 0.2:
        path, method, body = (
            random.choice(_GETS),
            random.choice(("GET", "GET", "HEAD", "PUT", "OPTIONS")),
            b"",
        )
    else:
        path, method = (
            random.choice(list(_BODIES)),
            random.choice(("POST", "POST", "POST", "POST", "GET", "DELETE")),
        )
        fields = _BODIES[path]
        for _ in range(random.choice((0, 1, 1, 2))):
            fields = changed_json(random, fields)
        body = json.dumps(fields, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
        if random.random() < 0.2:
            body = mutated(random, body, _TOKENS)
    length = len(body) if random.random() < 0.95 else random.choice((0, -1, len(body) + 5, 10**12, 10**30))
    host = "localhost" if random.random() < 0.95 else random.choice(("evil", "", "[::1]", "localhost:1"))
    kind = (
        "application/json"
        if random.random() < 0.95
        else random.choice(("text/plain", "", "application/json; charset=latin-1"))
    )
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def http() -> tuple[Make, Read]:
    ready = _Server()
    for path, fields in _BODIES.items():  # compiles what it needs
        body = json.dumps(fields).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        while b"503" in ready.ask(head.encode() + body)[:20]:
            pass

    def make(random: Random) -> bytes:
        data = _request(random)
        return mutated(random, data, _TOKENS) if random.random() < 0.3 else data

    def read(data: bytes) -> None:
        received = ready.ask(data)
        if ready.faults:
            fault = ready.faults.pop()
            ready.faults.clear()
            raise RuntimeError(fault)
        if not received:
            raise type("closed", (Refused,), {})
        status = received.split(None, 2)[1].decode()
        if status.startswith("5") and status != "503":  # 503: too busy; what keeps it busy counts as a hang
            raise RuntimeError(received[:200])
        if not status.startswith("2"):
            raise type(f"status {status}", (Refused,), {})

    return make, read
