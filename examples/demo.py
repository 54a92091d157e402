"""Show the main features in about a minute, without any data: ``make demo``.

The demo parses sentences with the bundled model, samples a treebank from it, trains three grammars on this treebank and evaluates them
on other sampled sentences. It prints every command; the output is in ``runs/demo/``.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import gramian

FOLDER = Path("runs/demo")
METHODS = {
    "pcfg": "relative frequencies, no latent states",
    "spectral-cluster": "latent states by spectral clustering",
    "spectral-em": "the same, refined by EM",
}
SENTENCES = (
    "The mutant mice were smaller than their wild-type littermates.",
    "The cat slept on the sofa while the children played in the garden.",
    "Could you tell me where the station is?",
)


def command(*words: str, given: str = "", save: str | None = None, show: bool = True) -> str:
    """Print and run a gramian command; return what it writes to stdout, or put that into a file."""
    line = f"gramian {' '.join(words)}" + (f" > {save}" if save else "")
    print(f"\n$ {f'echo {given!r} | ' if given else ''}{line}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "gramian", *words],
        cwd=FOLDER, input=given, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    if save:
        (FOLDER / save).write_text(done.stdout, encoding="utf-8")
    elif show:
        print(done.stdout, end="", flush=True)
    return done.stdout


def draw_trees() -> None:
    """Parse the sentences once more, in Python, and draw the trees."""
    print('\n>>> parser = gramian.load()\n>>> result = parser.parse("...")\n>>> result.tree.svg(values=...)')
    parser = gramian.load()
    for number, sentence in enumerate(SENTENCES, 1):
        result = parser.parse(sentence)
        values = {(label, start, end): confidence for label, start, end, confidence in result.spans}
        drawing = FOLDER / f"tree-{number}.svg"
        drawing.write_text(result.tree.svg(values=values), encoding="utf-8")
        print(f"{drawing}: phrases coloured by the parser's confidence")


def plot(scores: dict[str, dict[str, float]]) -> Path:
    """Draw the scores as bars."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 2.2), layout="constrained")
    bars = axes.barh(list(scores), [score["f1"] for score in scores.values()], color="#4477aa")
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.invert_yaxis()
    axes.set(xlabel="labelled F1", xlim=(0, 100))
    path = FOLDER / "f1.svg"
    figure.savefig(path)
    return path


def main() -> None:
    began = time.perf_counter()
    FOLDER.mkdir(parents=True, exist_ok=True)
    command("parse", "--pretty", "--quiet", given=" ".join(SENTENCES))
    draw_trees()

    print(
        "\nA grammar can also generate trees: sample a treebank for training, and another one for evaluation."
    )
    for name, count, seed in (("train.mrg", "1000", "1"), ("test.mrg", "200", "2")):
        command("sample", "-n", count, "--seed", seed, "--max-length", "40", "--quiet", save=name)
    command("convert", "test.mrg", "--to", "tokens", "--quiet", save="test.txt")
    scores = {}
    for method in METHODS:
        command(
            "train",
            "train.mrg",
            "--method",
            method,
            "--states",
            "8",
            "-o",
            f"{method}.grammar",
            "--force",
            "--quiet",
        )
        command("parse", "test.txt", "--tokens", "-m", f"{method}.grammar", save=f"{method}.mrg")
        scores[method] = json.loads(command("eval", "test.mrg", f"{method}.mrg", "--json", show=False))["all"]
        print(f'{{"all": {{..., "f1": {scores[method]["f1"]:.2f}, ...')

    print("\nLabelled F1 on 200 sampled sentences that were not in training:\n")
    print(f"  {'method':<18} {'F1':>6} {'exact':>7} {'tags':>7}")
    for method, score in scores.items():
        row = f"{score['f1']:>6.2f} {score['exact']:>7.2f} {score['tagging']:>7.2f}"
        print(f"  {method:<18} {row}   {METHODS[method]}")
    gain = scores["spectral-em"]["f1"] - scores["spectral-cluster"]["f1"]
    print(f"\nEM changed F1 by {gain:+.2f} here; between samples of 200 sentences F1 differs by about 1.")
    print(f"\n{plot(scores)}: the same as a plot")
    command("inspect", "spectral-em.grammar", "--label", "NN", "--top", "4")
    print(f"""
All this took {time.perf_counter() - began:.0f} s. With a treebank of your own:

  gramian inspect TREES.mrg                      counts, labels, unusual trees
  gramian split TREES.mrg -o DATA --seed 1       train, dev and test
  gramian train DATA/train.mrg --dev DATA/dev.mrg -o MY.grammar
  echo 'Time flies .' | gramian parse -m MY.grammar --pretty
  gramian inspect MY.grammar --label NP          its latent states
  gramian serve -m MY.grammar                    all this in a browser""")


if __name__ == "__main__":
    main()
