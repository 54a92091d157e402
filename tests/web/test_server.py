"""The server on a real socket, and the command that starts it."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import pytest
import uvicorn
from typer.testing import CliRunner

from gramian.cli import app
from gramian.errors import GramianError
from gramian.web import server
from gramian.web.app import create_app


def ask(address, question):
    body = json.dumps(question).encode()
    request = urllib.request.Request(f"{address}api/parse", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def test_the_command_serves_until_interrupted(models):
    command = [sys.executable, "-m", "gramian", "serve", "-m", models["one"], "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=120) as response:
            assert b"<title>gramian</title>" in response.read()
        assert ask(address, {"sentence": "Anna slept ."})["words"] == ["Anna", "slept", "."]
    finally:
        process.send_signal(signal.SIGINT)
        _, talk = process.communicate(timeout=120)
    assert process.returncode in (0, 130)
    assert "Traceback" not in talk


SLOW = """
import sys, time
from gramian.cli import main
from gramian.web.service import Service

def compare(self, fields):
    print("asked", flush=True)
    time.sleep(600)

Service.compare = compare
main()
"""


def test_sigterm_does_not_wait_for_long_answers(models):
    command = [sys.executable, "-c", SLOW, "serve", "-m", models["one"], "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        connection = http.client.HTTPConnection(urllib.parse.urlparse(address).netloc, timeout=120)
        connection.request("POST", "/api/compare", b"{}", {"Content-Type": "application/json"})
        assert process.stdout.readline() == "asked\n"
    finally:
        process.terminate()
        _, talk = process.communicate(timeout=120)
    response = connection.getresponse()
    assert (response.status, json.load(response)["error"]) == (
        503,
        "the server is stopping; try: again later",
    )
    assert process.returncode == -signal.SIGTERM
    assert "Traceback" not in talk


def fails(*arguments):
    result = CliRunner().invoke(app, ["serve", *map(str, arguments)])
    assert result.exit_code == 1
    assert isinstance(result.exception, GramianError)
    assert "address" not in result.stdout
    return str(result.exception)


def test_faults_are_said_in_one_sentence(models, tmp_path, monkeypatch):
    assert "there is no such model file" in fails("-m", tmp_path / "none")
    assert "not" in fails("-m", models["one"], "--dependency", models["tags"])
    assert fails("-m", models["one"], "--automaton", models["one"])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        message = fails("-m", models["one"], "--port", port)
    assert f"port {port}" in message
    assert "--port 0" in message
    assert "cannot listen on no.such.host.invalid" in fails(
        "-m", models["one"], "--host", "no.such.host.invalid"
    )
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'gramian[web]'" in fails("-m", models["one"])


@pytest.fixture
def address(service, monkeypatch):
    monkeypatch.setattr(server, "_HEADER_SECONDS", 2.0)
    opened = server.listen("127.0.0.1", 0)
    found = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: found.append((self, sockets)))
    server.run(create_app(service), opened)
    monkeypatch.undo()
    monkeypatch.setattr(server, "_HEADER_SECONDS", 2.0)
    [(running, sockets)] = found
    thread = threading.Thread(target=running.run, kwargs={"sockets": sockets}, daemon=True)
    thread.start()
    yield opened.getsockname()
    running.should_exit = True
    thread.join(10)


@pytest.mark.parametrize("start", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "])
def test_headers_that_do_not_end(address, start):
    with socket.create_connection(address, timeout=120) as slow:
        slow.sendall(start)
        # Others are answered meanwhile.
        with urllib.request.urlopen(f"http://127.0.0.1:{address[1]}/", timeout=120) as response:
            assert response.status == 200
        assert slow.recv(1000) == b""


def test_a_second_request_on_a_slow_connection(address):
    with socket.create_connection(address, timeout=120) as slow:
        request = b"GET /page.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in range(2):
            slow.sendall(request)
            received = b""
            while b".columns" not in received or not received.rstrip().endswith(b"}"):
                received += slow.recv(1 << 16)
            assert received.startswith(b"HTTP/1.1 200")
            time.sleep(2.3)  # longer than headers may take: waiting between requests is allowed
        slow.sendall(request[:-2])
        assert slow.recv(1000) == b""


def test_what_is_no_http(address):
    with socket.create_connection(address, timeout=120) as odd:
        odd.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20 + b"\r\n\r\n")
        assert b"400" in odd.recv(1000)
    with socket.create_connection(address, timeout=120) as long:
        long.sendall(b"GET /" + b"a" * (1 << 17))
        assert b"400" in long.recv(1000)
