"""What gramian does, in a few minutes and without any data: ``make demo``.

A treebank of a made-up English is sampled, three grammars are learnt from it, and each parses sentences it has
not seen. Every command is printed as you would type it; what it makes is left in ``runs/demo/``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import gramian
from made_up_english import sample

FOLDER = Path("runs/demo")
METHODS = {
    "pcfg": "relative frequencies, no hidden states",
    "spectral-cluster": "hidden states by spectral clustering",
    "spectral-em": "the same, polished by EM",
}
SENTENCE = "Anna said that the old sailor painted the boat in the harbour with a brush ."


def command(*words: str, save: str | None = None, show: bool = True) -> str:
    """Print and run a gramian command; return what it writes to stdout, or put that into a file."""
    print(f"\n$ gramian {' '.join(words)}" + (f" > {save}" if save else ""), flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "gramian", *words], cwd=FOLDER, stdout=subprocess.PIPE, text=True, check=True
    )
    if save:
        (FOLDER / save).write_text(done.stdout, encoding="utf-8")
    elif show:
        print(done.stdout, end="", flush=True)
    return done.stdout


def main() -> None:
    began = time.perf_counter()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train.mrg", 1500, 1), ("test.mrg", 300, 2)):
        (FOLDER / name).write_text("".join(f"{tree}\n" for tree in sample(count, seed)), encoding="utf-8")
        print(f"{FOLDER / name}: {count:,} trees of a made-up English (examples/made_up_english.py)")
    command("inspect", "train.mrg")
    command("convert", "test.mrg", "--to", "tokens", save="test.txt")

    scores = {}
    for method in METHODS:
        command("train", "train.mrg", "--method", method, "--states", "8", "-o", f"{method}.grammar")
        command("parse", "test.txt", "--tokens", "-m", f"{method}.grammar", save=f"{method}.mrg")
        scores[method] = json.loads(command("eval", "test.mrg", f"{method}.mrg", "--json", show=False))["all"]
        print(f'{{"all": {{..., "f1": {scores[method]["f1"]}, ...')

    print("\nLabelled F1 on 300 sentences that were not in training:\n")
    print(f"  {'method':<18} {'F1':>6} {'exact':>7} {'tags':>7}")
    for method, score in scores.items():
        row = f"{score['f1']:>6.2f} {score['exact']:>7.2f} {score['tagging']:>7.2f}"
        print(f"  {method:<18} {row}   {METHODS[method]}")

    command("inspect", "spectral-em.grammar", "--label", "VBD", "--top", "4")

    print(f'\n>>> parser = gramian.load("{FOLDER}/spectral-em.grammar")')
    print(f'>>> result = parser.parse("{SENTENCE}")')
    result = gramian.load(FOLDER / "spectral-em.grammar").parse(SENTENCE)
    print(f">>> print(result.tree.outline())\n{result.tree.outline()}")
    drawing = FOLDER / "tree.svg"
    values = {(label, start, end): sure for label, start, end, sure in result.spans}
    drawing.write_text(result.tree.svg(values=values), encoding="utf-8")
    print(f"\n{drawing}: the same tree as a picture, phrases coloured by the parser's confidence.")
    print(f"""
All this took {time.perf_counter() - began:.0f} s. With a treebank of your own:

  gramian inspect TREES.mrg                      what is in it, and what looks odd
  gramian split TREES.mrg -o DATA --seed 1       train, dev and test
  gramian train DATA/train.mrg --dev DATA/dev.mrg -o MY.grammar
  echo 'Time flies .' | gramian parse -m MY.grammar --pretty
  gramian inspect MY.grammar --label NP          what its hidden states are""")


if __name__ == "__main__":
    main()
