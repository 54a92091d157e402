"""The server under many clients, polite and rude ones: answers, wrong answers, how long they take, and whether its memory grows.

    python -m tools.server_load [MODEL] [--clients 50] [--greedy 0] [--seconds 60]

Starts ``gramian serve`` with MODEL, or with one learnt from a made-up English. Polite clients ask for trees of short sentences without
pause; beside them rude ones send bodies over the limit, bytes that are not UTF-8, sentences of 1,000 words, paths that lead out, wrong
methods, and headers that do not end. Greedy ones ask without pause for twenty trees of 300 words by every decoder, or of words of many
kilobytes, unbroken or between tabs; a polite client should not notice. Prints one JSON object; exits with 1 if an answer is not as it
should be, if one of a hundred polite answers took more than 2 s, or if memory grew by more than a tenth after half as long a time before,
in which caches fill and threads start.
"""

import argparse
import http.client
import itertools
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlparse

from benchmarks.page import Client, cpu_seconds, megabytes

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

JSON = {"Content-Type": "application/json"}
RUDE: dict[str, tuple[str, str, bytes, int]] = {
    "body over the limit": ("POST", "/api/parse", b'{"sentence": "' + b"a " * (1 << 18) + b'"}', 413),
    "not UTF-8": ("POST", "/api/parse", b'{"sentence": "\xff"}', 400),
    "1,000 words": ("POST", "/api/parse", json.dumps({"sentence": "the dog slept . " * 250}).encode(), 200),
    "path that leads out": ("GET", "/..%2f..%2fapp.py", b"", 404),
    "wrong method": ("DELETE", "/api/parse", b"", 405),
}
DECODERS = ["max-recall", "max-rule-product", "max-rule-sum", "variational", "viterbi"]
GREEDY = (
    json.dumps({"sentence": "the dog slept and " * 75, "decoders": DECODERS, "k": 20}).encode(),
    json.dumps({"sentence": "the dog slept . " * 250, "decoders": DECODERS, "k": 20}).encode(),
    json.dumps({"sentence": f"the {'x' * 120_000} slept ."}).encode(),
    json.dumps({"sentence": "_" * 80_000}).encode(),
    json.dumps({"sentence": "the\tdog\tslept\t" * 600}).encode(),
    json.dumps({"sentence": "a@b." * 20_000}).encode(),
)
_GROWTH, _SECONDS = 1.1, 2.0


class Load:
    """Counts what clients get until a moment."""

    def __init__(self, address: str, seconds: float) -> None:
        self.address, self.end = address, time.monotonic() + seconds
        self.polite: Counter[str] = Counter()
        self.rude: dict[str, Counter[str]] = {name: Counter() for name in (*RUDE, "headers that do not end")}
        self.greedy: Counter[str] = Counter()
        self.seconds: list[float] = []  # of polite answers
        self._lock = threading.Lock()

    def _note(self, counts: Counter[str], outcome: str) -> None:
        with self._lock:
            counts[outcome] += 1

    def ask_politely(self, sentences: list[str], first: int) -> None:
        client = Client(self.address)
        for sentence in itertools.islice(itertools.cycle(sentences), first, None):
            if time.monotonic() > self.end:
                return
            began = time.monotonic()
            try:
                outcome = str(client.parse(sentence))
                self.seconds.append(time.monotonic() - began)
            except (OSError, http.client.HTTPException) as error:
                outcome, client = type(error).__name__, Client(self.address)
            self._note(self.polite, outcome)

    def ask_rudely(self, name: str) -> None:
        method, path, body, _ = RUDE[name]
        while time.monotonic() < self.end:
            connection = http.client.HTTPConnection(urlparse(self.address).netloc, timeout=120)
            try:
                connection.request(method, path, body, JSON)
                outcome = str(connection.getresponse().status)
            except (BrokenPipeError, ConnectionResetError):
                outcome = "413" if len(body) > 1 << 18 else "reset"  # refused before all of it was sent
            finally:
                connection.close()
            self._note(self.rude[name], outcome)
            time.sleep(0.5)

    def ask_greedily(self, number: int) -> None:
        for body in itertools.islice(itertools.cycle(GREEDY), number, None):
            if time.monotonic() > self.end:
                return
            connection = http.client.HTTPConnection(urlparse(self.address).netloc, timeout=120)
            try:
                connection.request("POST", "/api/parse", body, JSON)
                outcome = str(connection.getresponse().status)
            except OSError as error:
                outcome = type(error).__name__
            finally:
                connection.close()
            self._note(self.greedy, outcome)

    def send_slowly(self) -> None:
        host, port = urlparse(self.address).hostname, urlparse(self.address).port
        while time.monotonic() < self.end:
            with socket.create_connection((host, port), timeout=120) as slow:
                slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
                outcome = "closed" if slow.recv(1000) == b"" else "answered"
            self._note(self.rude["headers that do not end"], outcome)

    def run(self, sentences: list[str], clients: int, greedy: int) -> None:
        threads = [
            threading.Thread(target=self.ask_politely, args=(sentences, number)) for number in range(clients)
        ]
        threads += [threading.Thread(target=self.ask_rudely, args=(name,)) for name in RUDE]
        threads += [threading.Thread(target=self.ask_greedily, args=(number,)) for number in range(greedy)]
        threads.append(threading.Thread(target=self.send_slowly))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    @property
    def slow(self) -> float:
        """What 99 of a hundred polite answers took at the most, in seconds."""
        return sorted(self.seconds)[len(self.seconds) * 99 // 100] if self.seconds else float("inf")

    @property
    def errors(self) -> int:
        wrong = sum(count for outcome, count in self.polite.items() if outcome != "200")
        for name, counts in self.rude.items():
            wanted = {str(RUDE[name][3]) if name in RUDE else "closed"}
            wanted |= {"503"} if name == "1,000 words" and self.greedy else set()  # others ask for as much
            wrong += sum(count for outcome, count in counts.items() if outcome not in wanted)
        return wrong


def small_model(folder: Path) -> tuple[str, list[str]]:
    """Learn a model that answers fast; return its file, and sentences to parse."""
    from gramian.learn import SpectralClustering
    from gramian.parsing.model import Model
    from gramian.parsing.model_store import save_model
    from gramian.treebank import Treebank
    from made_up_english import sample

    save_model(
        Model(SpectralClustering(4).fit(Treebank.from_trees(sample(200, 1))).model_),
        folder / "small.grammar",
    )
    return str(folder / "small.grammar"), [" ".join(tree.words) for tree in sample(100, 2)]


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("model", nargs="?")
    options.add_argument("--clients", type=int, default=50)
    options.add_argument(
        "--greedy", type=int, default=0, help="clients whose questions take as long as they may"
    )
    options.add_argument("--seconds", type=float, default=60)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, sentences = small_model(Path(folder))
        command = [sys.executable, "-m", "gramian", "serve", "-m", chosen.model or model, "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            Client(address).parse(sentences[0])
            first = Load(address, chosen.seconds / 2)
            first.run(sentences, chosen.clients, chosen.greedy)  # fills caches and starts all threads
            before, began = megabytes(process), cpu_seconds(process)
            load = Load(address, chosen.seconds)
            load.run(sentences, chosen.clients, chosen.greedy)
            after = megabytes(process)
            used = cpu_seconds(process) - began
            alive = Client(address).parse(sentences[0]) == 200
        finally:
            process.terminate()
            process.wait(60)
    growth = after / before
    print(
        json.dumps(
            {
                "clients": chosen.clients, "seconds": chosen.seconds, "answers": load.polite["200"], "polite": dict(load.polite),
                "rude": {name: dict(counts) for name, counts in load.rude.items()}, "errors": load.errors, "alive": alive,
                "server CPU seconds": round(used, 1), "megabytes before": round(before), "megabytes after": round(after),
                "ratio": round(growth, 3), "greedy clients": chosen.greedy, "greedy": dict(load.greedy),
                "polite seconds": {"median": round(sorted(load.seconds)[len(load.seconds) // 2], 3), "99 %": round(load.slow, 3)},
            }
        )
    )  # fmt: skip
    return 1 if load.errors or not alive or growth > _GROWTH or load.slow > _SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
