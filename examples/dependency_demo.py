"""Show dependency parsing in a minute, without any data: ``python examples/dependency_demo.py``.

The demo converts trees of artificial English to dependencies, trains the grammars of Balle et al. (2014) and the default parser, and
evaluates them on other sentences. It prints every command; the output is in ``runs/demo/``.
"""

import json
import subprocess
import sys
from pathlib import Path

from gramian.dependency import DependencyParser
from gramian.trees import read_conllu
from made_up_english import sample

FOLDER = Path("runs/demo")
METHODS = {
    "det": "one state: any modifier after any other",
    "spectral": "latent states by the spectral method",
    "em": "latent states by EM from a spectral start",
    "conditional": "the same, with factors on arcs: the default",
}


def command(*words: str, save: str | None = None) -> str:
    """Print and run a gramian command; return what it writes to stdout, or put that into a file."""
    print(f"\n$ gramian {' '.join(words)}" + (f" > {save}" if save else ""), flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "gramian", *words], cwd=FOLDER, stdout=subprocess.PIPE, text=True, check=True
    )
    if save:
        (FOLDER / save).write_text(done.stdout, encoding="utf-8")
    return done.stdout


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", 500, 1), ("test", 200, 2)):
        trees = "".join(f"{tree}\n" for tree in sample(count, seed))
        (FOLDER / f"{name}.mrg").write_text(trees, encoding="utf-8")
        command("convert", f"{name}.mrg", "--to", "dependencies", "-o", f"{name}.conllu", "--quiet")

    scores = {}
    for method in METHODS:
        command("dep", "train", "train.conllu", "--method", method, "-o", f"{method}.dep", "--force")
        command("dep", "parse", "-m", f"{method}.dep", "test.conllu", save=f"{method}.conllu")
        scores[method] = json.loads(command("dep", "eval", "test.conllu", f"{method}.conllu", "--json"))

    print("\nWords with the right head (UAS), and with the right relation too (LAS), in 200 new sentences:\n")
    print(f"  {'method':<12} {'UAS':>6} {'LAS':>6}")
    for method, score in scores.items():
        print(f"  {method:<12} {score['uas']:>6.2f} {score['las']:>6.2f}   {METHODS[method]}")

    command("dep", "draw", "NN", "left", "-m", "em.dep", "--treebank", "train.conllu", "-o", "automaton.svg")
    parser = DependencyParser.load(FOLDER / "conditional.dep")
    unsure = min(
        parser.parse_many(read_conllu(FOLDER / "test.conllu", arcs=False)),
        key=lambda parse: min(parse.confidences),
    )
    (FOLDER / "arcs.svg").write_text(unsure.svg(), encoding="utf-8")
    print(f"\n{FOLDER / 'automaton.svg'}: what stands left of a noun, as a small automaton.")
    print(f"{FOLDER / 'arcs.svg'}: the tree that the parser is least sure of, arcs coloured by confidence.")


if __name__ == "__main__":
    main()
