"""What people type, as the parser takes it: text, tokens, tokens with tags, or a tree in brackets."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gramian.errors import InputError, OptionError
from gramian.text.rule_tokenizer import TextToken, tokenize
from gramian.trees import AnnotationScheme, Tree, normalise, parse_bracketed
from gramian.trees.scheme import DEFAULT_SCHEME
from gramian.trees.token_lines import split_pairs, split_tokens

INPUTS = ("auto", "text", "tokens", "tagged", "brackets")
MOST_WORDS = 2000
DEEPEST = 400
"""Nodes on the way down a tree."""


_TREE_START = re.compile(r"\s*\(\s*(?:[^\s()]+\s*)?\(|\s*\(\s*[^\s()]+\s+[^\s()]+\s*\)\s*$")


class Typed(NamedTuple):
    """A sentence as it was typed: text yet to be cut into words, or words, with tags and tree if these were typed."""

    text: str | None = None
    words: tuple[str, ...] = ()
    tags: tuple[str, ...] | None = None
    gold: Tree | None = None

    @property
    def sentence(self) -> str | list[str] | list[tuple[str, str]]:
        """What :meth:`gramian.Parser.parse` takes; the tags of a tree are not given away."""
        if self.text is not None:
            return self.text
        if self.tags is None or self.gold is not None:
            return list(self.words)
        return list(zip(self.words, self.tags, strict=True))


def read_typed(
    text: str,
    kind: str = "auto",
    scheme: AnnotationScheme = DEFAULT_SCHEME,
    cut: Callable[[str], Sequence[TextToken]] = tokenize,
) -> Typed:
    """Read what was typed.

    `kind` is one of :data:`INPUTS`; ``"auto"`` reads what begins like a tree, ``(S (`` or ``((``, as a tree, so that an unclosed bracket
    is an error and never a word; all else is text. The conventions of `scheme` bring a tree into the form of the model's trees; `cut` is
    how text is cut into words.

    Examples
    --------
    >>> read_typed("dogs/NNS bark/VBP", "tagged").tags
    ('NNS', 'VBP')
    >>> print(read_typed("(ROOT (S (NP-SBJ (NNS dogs)) (VP (VBP bark))))").gold)
    (S (NP (NNS dogs)) (VP (VBP bark)))
    """
    if kind not in INPUTS:
        raise OptionError(f"input is one of {', '.join(INPUTS)}, not {kind!r}")
    typed = _read(text, kind, scheme)
    check_length(len(typed.words if typed.text is None else cut(typed.text)))
    return typed


def check_length(count: int) -> None:
    """Refuse sentences of more words than can be looked at."""
    if count > MOST_WORDS:
        problem = f"{count:,} words are too many to look at"
        raise InputError(problem, "sentence", hint=f"type up to {MOST_WORDS:,}")


def _read(text: str, kind: str, scheme: AnnotationScheme) -> Typed:
    if kind == "auto":
        return _tree(text, scheme) if _TREE_START.match(text) else Typed(text)
    if kind == "brackets":
        return _tree(text, scheme)
    if kind == "text":
        return Typed(text)
    if kind == "tokens":
        return Typed(words=tuple(split_tokens(text)))
    pairs = split_pairs(text, "sentence")
    return Typed(words=tuple(word for word, _ in pairs), tags=tuple(tag for _, tag in pairs))


def read_tree(text: str) -> Tree:
    """Read one tree that is not too deep to be shown."""
    try:
        trees = parse_bracketed(text)
    except InputError as error:
        hint = "mend the brackets, or choose 'one sentence' in Options if it is no tree"
        raise InputError(error.what, "sentence", error.line, error.column, hint=hint) from None
    if len(trees) != 1:
        raise InputError(f"expected one tree, got {len(trees)}", "sentence", hint="type one tree")
    if trees[0].height > DEEPEST:
        problem = f"the tree is more than {DEEPEST} nodes deep"
        raise InputError(problem, "sentence", hint="type a flatter one")
    check_length(len(trees[0].words))
    return trees[0]


def _tree(text: str, scheme: AnnotationScheme) -> Typed:
    gold = normalise(read_tree(text), scheme.options).tree
    if gold.is_empty:
        raise InputError("the tree has no words", "sentence", hint="type a tree over words")
    return Typed(words=gold.words, tags=gold.tags, gold=gold)
