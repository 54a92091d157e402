"""How good are Universal Dependencies that follow from phrases? Words are given, tags and trees are predicted.

    python -m benchmarks.universal_dependencies DEV.conllu [--model MODEL]

Prints one JSON object: UAS, LAS with and without subtypes of relations, and the share of right UPOS; and the commonest wrong relations of
words whose head is right.
"""

import argparse
import json
from collections import Counter

from benchmarks import machine

ARGUMENTS = ("dev.conllu",)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dev")
    parser.add_argument("--model")
    options = parser.parse_args()

    import gramian
    from gramian.evaluate import attachment_scores
    from gramian.trees.universal import to_universal

    gold = [sentence for sentence in gramian.read_conllu(options.dev) if sentence.tokens]
    words = [[word.replace(" ", "_") for word in sentence.words] for sentence in gold]
    found = [to_universal(result.tree) for result in gramian.load(options.model).parse_many(words)]
    pairs = [
        pair
        for ours, theirs in zip(gold, found, strict=True)
        for pair in zip(ours.tokens, theirs.tokens, strict=True)
    ]
    wrong = Counter(
        f"{right.deprel} as {token.deprel}"
        for right, token in pairs
        if right.head == token.head and right.deprel != token.deprel
    )
    plain = attachment_scores(gold, found, subtypes=False)
    scores = attachment_scores(gold, found)
    upos = 100 * sum(right.upos == token.upos for right, token in pairs) / len(pairs)
    print(json.dumps({
        "benchmark": "universal_dependencies", "model": options.model or "bundled", "sentences": len(gold), "words": len(pairs),
        "uas": round(scores.uas, 2), "las": round(scores.las, 2), "las without subtypes": round(plain.las, 2), "upos": round(upos, 2),
        "wrong relations": dict(wrong.most_common(12)), **machine.about(),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
