"""Tagged text as evidence for a lexicon: how often each word has each tag, whatever the trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gramian.errors import InputError
from gramian.io.reading import open_text, peek_text
from gramian.trees import read_conllu, read_trees
from gramian.trees.token_lines import split_pairs
from gramian.trees.tree import unescape_word


@dataclass(frozen=True)
class TaggedWords:
    """How often words have each tag."""

    count: dict[tuple[str, str], int]
    initial: dict[tuple[str, str], int]  # at the beginning of a sentence

    @classmethod
    def read(cls, path: str) -> TaggedWords:
        """Read CoNLL-U (the language's own tags, or the universal ones where there are none), trees, or token/TAG pairs."""
        count: Counter[tuple[str, str]] = Counter()
        initial: Counter[tuple[str, str]] = Counter()
        for sentence in _sentences(path):
            count.update(sentence)
            initial.update(sentence[:1])
        if not count:
            raise InputError("there is no tagged word here", path, hint="token/TAG pairs, or CoNLL-U")
        return cls(dict(count), dict(initial))


def _sentences(path: str) -> Iterator[list[tuple[str, str]]]:
    source, start = peek_text(path)
    first = start.lstrip()[:1]
    if first == "(":
        for tree in read_trees(source):
            yield [(unescape_word(leaf.word or ""), leaf.label) for leaf in tree.leaves()]
    elif first == "#" or "\t" in start.strip().split("\n", 1)[0]:
        for sentence in read_conllu(source):
            pairs = [
                (token.form, token.xpos if token.xpos != "_" else token.upos) for token in sentence.tokens
            ]
            yield [(word.replace(" ", "_"), tag) for word, tag in pairs if tag != "_"]
    else:
        with open_text(source) as lines:
            for number, line in enumerate(lines, 1):
                pairs = split_pairs(line, path, number, "write token/TAG, or give CoNLL-U")
                yield [(unescape_word(word), tag) for word, tag in pairs]
