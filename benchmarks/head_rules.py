"""How near the dependencies of head rules come to those of people: attachment scores against CoNLL-U of the same sentences.

python -m benchmarks.head_rules TREES GOLD.conllu [--head-rules auto collins left]

Sentences are matched by their letters. A word of the trees that is several in CoNLL-U (du: de le; parce_que) counts as one, whose head
is that of the group. UAS counts all words, and all but punctuation.
"""

import argparse
import json
import unicodedata
from collections.abc import Sequence
from typing import Any

ARGUMENTS = ("dev.mrg", "dev.conllu")


def groups(words: Sequence[str], others: Sequence[tuple[int, int]]) -> list[int] | None:
    """Return, for each of `others` (places in letters), the number of the word that it belongs to."""
    ends, place = [], 0
    for word in words:
        place += len(word.replace("_", ""))
        ends.append(place)
    found = []
    for start, _ in others:
        number = next((number for number, end in enumerate(ends) if start < end), None)
        if number is None:
            return None
        found.append(number)
    return found if set(found) == set(range(len(words))) else None


def gold_heads(words: Sequence[str], sentence: Any, written: Any) -> list[int] | None:
    """Return the head of each word of a tree, from 0, -1 for the root, as CoNLL-U has it."""
    letters = [len(written.text[:place].replace(" ", "")) for place in range(len(written.text) + 1)]
    places = [(letters[token.start], letters[token.end]) for token in written.tokens]
    group = groups(words, places)
    if group is None:
        return None
    heads: list[int | None] = [None] * len(words)
    for number, head in enumerate(sentence.heads):
        above = -1 if head == 0 else group[head - 1]
        if above != group[number] and heads[group[number]] is None:
            heads[group[number]] = above
    return None if None in heads else heads


def is_punctuation(word: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in word)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees")
    parser.add_argument("gold")
    parser.add_argument("--head-rules", nargs="+", default=["auto", "collins", "left"])
    options = parser.parse_args()

    from gramian.text.detokenizer import detokenize_conllu
    from gramian.trees import HeadRules, normalise, read_conllu, read_trees, to_dependencies
    from gramian.trees.scheme import find_scheme

    def letters(text: str) -> str:
        return text.replace(" ", "").replace("_", "")

    sentences = list(read_conllu(options.gold))
    gold = {
        letters(written.text): (sentence, written)
        for sentence, written in zip(sentences, detokenize_conllu(sentences), strict=True)
    }
    scheme, read = find_scheme(read_trees(options.trees))
    trees = list(read)
    result: dict[str, Any] = {"preset": scheme.name}
    for name in options.head_rules:
        rules = HeadRules.select(name, scheme, trees=trees)
        form = rules.keep_functions(scheme.options)
        normal = [normalise(tree, form).tree for tree in trees]
        right = total = right_words = total_words = matched = 0
        for tree in normal:
            found = gold.get(letters("".join(tree.words)))
            heads = None if found is None else gold_heads(tree.words, *found)
            if heads is None:
                continue
            matched += 1
            for word, head, token in zip(tree.words, heads, to_dependencies(tree, rules).tokens, strict=True):
                same = (token.head or 0) - 1 == head
                right, total = right + same, total + 1
                if not is_punctuation(word):
                    right_words, total_words = right_words + same, total_words + 1
        result[name] = {
            "UAS": round(100 * right / max(1, total), 2),
            "without punctuation": round(100 * right_words / max(1, total_words), 2),
            "sentences": matched,
        }
    if {"auto", "collins"} <= result.keys():
        result["auto / collins"] = round(result["auto"]["UAS"] / result["collins"]["UAS"], 3)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
