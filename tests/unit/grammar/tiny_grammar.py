"""A grammar written by hand: small enough to reckon with, with two states of NP and NN and a real ambiguity.

Run as a script it writes the model file of the current format into ``fixtures/``; files of older formats stay.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from gramian.grammar import LPCFG, Lexicon
from gramian.grammar.lpcfg import Factors
from gramian.parsing.model import Model
from gramian.trees import Tree
from gramian.trees.binarise import binarise

FIXTURES = Path(__file__).with_name("fixtures")

PHRASES = ("@S", "@VP", "NP", "PP", "S", "VP")
TAGS = (".", "DT", "IN", "NN", "VB")
SYMBOLS = PHRASES + TAGS
N_STATES = {symbol: 2 if symbol in ("NP", "NN") else 1 for symbol in SYMBOLS}

# rule -> one row a state of the parent, over the states of the children (left first)
BINARY: dict[tuple[str, str, str], list[list[float]]] = {
    ("@S", "NP", "VP"): [[0.7, 0.3]],
    ("@VP", "VB", "NP"): [[0.4, 0.6]],
    ("NP", "DT", "NN"): [[0.6, 0.1], [0.05, 0.55]],
    ("NP", "NP", "PP"): [[0.1, 0.05], [0.1, 0.1]],
    ("PP", "IN", "NP"): [[0.3, 0.7]],
    ("S", "@S", "."): [[0.5]],
    ("S", "NP", "VP"): [[0.3, 0.1]],
    ("VP", "@VP", "PP"): [[0.25]],
    ("VP", "VB", "NP"): [[0.2, 0.25]],
}
UNARY: dict[tuple[str, str], list[list[float]]] = {
    ("NP", "NN"): [[0.1, 0.05], [0.1, 0.1]],
    ("S", "NN"): [[0.06, 0.04]],
    ("VP", "VB"): [[0.3]],
}
ROOT = {"S": [0.9], "NP": [0.07, 0.03]}
STATE_PRIOR = {"NP": [0.6, 0.4], "NN": [0.55, 0.45]}

COUNT = {
    "the": 10,
    "a": 6,
    "dog": 4,
    "cat": 3,
    "telescope": 2,
    "saw": 5,
    "barks": 2,
    "with": 4,
    ".": 8,
    "(": 1,
}
TAG_OF = {
    "the": {"DT": 1.0}, "a": {"DT": 1.0}, "dog": {"NN": 1.0}, "cat": {"NN": 1.0}, "telescope": {"NN": 1.0},
    "saw": {"NN": 0.2, "VB": 0.8}, "barks": {"NN": 0.1, "VB": 0.9}, "with": {"IN": 1.0}, ".": {".": 1.0},
    "(": {".": 1.0},
}  # fmt: skip
NOUN_STATES = {  # P(state | NN, word) / P(state | NN)
    "dog": [1.6, 0.25], "cat": [1.5, 0.4], "telescope": [0.2, 1.9], "saw": [0.4, 1.7], "barks": [1.0, 1.0],
}  # fmt: skip
TAG_PRIOR = {tag: sum(COUNT[w] * TAG_OF[w].get(tag, 0) for w in COUNT) / sum(COUNT.values()) for tag in TAGS}


def tiny_lexicon() -> Lexicon:
    entries = [(word, tag, chance) for word in COUNT for tag, chance in TAG_OF[word].items()]
    states = [NOUN_STATES[word] if tag == "NN" else [1.0] for word, tag, _ in entries]
    weights = {"s1:s": {"VB": 1.0, "NN": 0.5}, "s3:ing": {"VB": 2.0}, "f:Xx": {"NN": 2.0}, "f:p": {".": 3.0}}
    bias = {".": -2.0, "DT": -2.0, "IN": -1.0, "NN": 1.5, "VB": 0.5}
    rows = [[row.get(tag, 0.0) for tag in TAGS] for row in (*weights.values(), bias)]
    return Lexicon(
        tags=TAGS,
        n_states=np.array([N_STATES[tag] for tag in TAGS], np.int32),
        tag_prior=np.array([TAG_PRIOR[tag] for tag in TAGS], np.float32),
        words=tuple(COUNT),
        word_count=np.array(list(COUNT.values()), np.int32),
        entry_start=np.cumsum([0] + [len(TAG_OF[word]) for word in COUNT]).astype(np.int32),
        entry_tag=np.array([TAGS.index(tag) for _, tag, _ in entries], np.int32),
        entry_probability=np.array([chance for _, _, chance in entries], np.float32),
        entry_states=np.concatenate(states).astype(np.float32),
        features=tuple(weights),
        feature_weights=np.array(rows, np.float32),
        classes=("3", "3 Xx", "4 x/s"),
        class_states=np.array([0.9, 1.1, 1.4, 0.5, 1.0], np.float32),
    )


def tiny_grammar() -> LPCFG:
    number = {symbol: place for place, symbol in enumerate(SYMBOLS)}
    ones = {symbol: [1.0] * N_STATES[symbol] for symbol in SYMBOLS}
    width = len(TAGS) + 1
    return LPCFG(
        symbols=SYMBOLS,
        n_phrases=len(PHRASES),
        n_states=np.array([N_STATES[symbol] for symbol in SYMBOLS], np.int32),
        state_prior=np.concatenate([STATE_PRIOR.get(s, ones[s]) for s in SYMBOLS]).astype(np.float32),
        root=np.concatenate([ROOT.get(s, [0.0] * N_STATES[s]) for s in SYMBOLS]).astype(np.float32),
        binary_rules=np.array([[number[s] for s in rule] for rule in BINARY], np.int32),
        binary=np.concatenate([np.ravel(block) for block in BINARY.values()]).astype(np.float32),
        unary_rules=np.array([[number[s] for s in rule] for rule in UNARY], np.int32),
        unary=np.concatenate([np.ravel(block) for block in UNARY.values()]).astype(np.float32),
        before=np.full((len(SYMBOLS), width), 1 / (width * len(SYMBOLS)), np.float32),
        after=np.full((len(SYMBOLS), width), 1 / width, np.float32),
        lexicon=tiny_lexicon(),
    )


def low_rank_grammar() -> LPCFG:
    """The same grammar, with PP -> IN NP, which is of rank one, as a product of vectors."""
    grammar = tiny_grammar()
    rule = list(BINARY).index(("PP", "IN", "NP"))
    rank, weight = np.zeros(len(BINARY), np.int32), np.ones(len(BINARY), np.float32)
    start = np.zeros((len(BINARY), 3), np.int64)
    rank[rule], start[rule] = 1, [0, 1, 2]
    values = np.array([1.0, 1.0, 0.3, 0.7], np.float32)
    whole = np.delete(grammar.binary, slice(grammar.binary_start[rule], grammar.binary_start[rule + 1]))
    return replace(grammar, binary=whole, factors=Factors(rank, weight, start, values))


def tiny_model() -> Model:
    return Model(
        tiny_grammar(),
        options={"method": "by hand", "states": 2},
        data={"attribution": "nobody", "trees": 0},
        metrics={"f1": None},
        report={"remark": "naïve"},
    )


def emission(tag: str, word: str) -> np.ndarray:
    """P(word | tag, state), up to rounding: P(tag | word) P(state | tag, word) P(word) / P(tag) P(state | tag)."""
    states = NOUN_STATES[word] if tag == "NN" else [1.0]
    return np.array(states) * TAG_OF[word][tag] * COUNT[word] / sum(COUNT.values()) / TAG_PRIOR[tag]


def probability(tree: Tree) -> float:
    """Probability of a tree with its words, from the tables above."""

    def inside(node: Tree) -> np.ndarray:
        if node.word is not None:
            return emission(node.label, node.word)
        below = [inside(child) for child in node.children]
        labels = (node.label, *(child.label for child in node.children))
        if len(below) == 1:
            return np.array(UNARY[labels]) @ below[0]
        return np.array(BINARY[labels]) @ np.outer(*below).ravel()

    tree = binarise(tree)
    return float(np.array(ROOT[tree.label]) @ inside(tree))


if __name__ == "__main__":
    from gramian.parsing.model_store import save_model

    save_model(tiny_model(), sys.argv[1])
