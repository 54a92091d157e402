"""The page: its weight, its answers against those of the parser itself, and how it bears many clients.

    python benchmarks/page.py MODEL TREES [--clients 50] [--seconds 60]

Starts ``gramian serve``, asks for trees of sentences of 15 to 25 words, then has all clients ask at once. Prints one JSON
object; ``ratio`` is the processor time of an answer over that of ``Parser.parse`` on the same sentences in the same run.
"""

import argparse
import http.client
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlencode, urlparse

import gramian
import gramian.web
from gramian.trees import read_trees

ARGUMENTS = ("model.grammar", "dev.mrg")


class Client:
    """One connection that is kept."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(urlparse(address).netloc, timeout=120)

    def parse(self, tokens: str) -> int:
        body = json.dumps({"sentence": tokens, "input": "tokens"})
        self._connection.request("POST", "/api/parse", body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        response.read()
        return response.status

    def get(self, path: str):
        self._connection.request("GET", path)
        return json.load(self._connection.getresponse())


def median_milliseconds(task, sentences) -> float:
    times = []
    for sentence in sentences:
        began = time.perf_counter()
        task(sentence)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def megabytes(process: subprocess.Popen[str]) -> float:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def under_load(address, sentences, clients, seconds) -> dict[str, int]:
    counts = {"answers": 0, "errors": 0}
    lock, end = threading.Lock(), time.monotonic() + seconds

    def work(first: int) -> None:
        client = Client(address)
        for sentence in itertools.islice(itertools.cycle(sentences), first, None):
            if time.monotonic() > end:
                return
            try:
                fine = client.parse(sentence) == 200
            except (OSError, http.client.HTTPException):
                fine, client = False, Client(address)
            with lock:
                counts["answers"] += 1
                counts["errors"] += not fine

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("model")
    options.add_argument("trees")
    options.add_argument("--clients", type=int, default=50)
    options.add_argument("--seconds", type=float, default=60)
    chosen = options.parse_args()
    words = (tree.words for tree in read_trees(chosen.trees))
    sentences = [" ".join(one) for one in itertools.islice((w for w in words if 15 <= len(w) <= 25), 100)]
    parser = gramian.load(chosen.model)
    parser.parse(sentences[0].split())
    command = [sys.executable, "-m", "gramian", "serve", "-m", chosen.model, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        client = Client(address)
        client.parse(sentences[0])
        symbols = client.get("/api/about")["models"][0]["symbols"][:10]
        first = median_milliseconds(
            lambda one: client.get(f"/api/states?{urlencode({'symbol': one['symbol']})}"), symbols
        )
        for sentence in sentences:
            client.parse(sentence)
            parser.parse(sentence.split())
        began = time.process_time()
        for sentence in 5 * sentences:
            parser.parse(sentence.split())
        alone = time.process_time() - began
        client = Client(address)  # the server closes a connection on which nothing is asked
        began = cpu_seconds(process)
        waited = median_milliseconds(client.parse, 5 * sentences)
        served = cpu_seconds(process) - began
        # caches and threads are filled by now
        under_load(address, sentences, chosen.clients, chosen.seconds / 10)
        before = megabytes(process)
        counts = under_load(address, sentences, chosen.clients, chosen.seconds)
        after = megabytes(process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    static = Path(gramian.web.__file__).parent / "static"
    print(
        json.dumps(
            {
                "page kilobytes": round(sum(file.stat().st_size for file in static.iterdir()) / 1000, 1),
                "words": statistics.median(len(one.split()) for one in sentences),
                "answer milliseconds": round(waited, 1),
                "first states milliseconds": round(first, 1),
                "server CPU milliseconds": round(1000 * served / len(5 * sentences), 2),
                "parser CPU milliseconds": round(1000 * alone / len(5 * sentences), 2),
                "ratio": round(served / alone, 2),
                "clients": chosen.clients,
                "seconds": chosen.seconds,
                **counts,
                "megabytes before": round(before),
                "megabytes after": round(after),
                "megabytes ratio": round(after / before, 3),
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
