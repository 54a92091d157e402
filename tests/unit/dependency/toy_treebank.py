"""Sentences made by a small hand-written grammar, with their dependency trees."""

import numpy as np

from gramian.trees import Sentence, Token

NOUNS = ("dog", "cat", "man", "bird", "house", "telescope")
VERBS = ("sees", "likes", "hears")


def toy_sentences(count: int, seed: int = 0) -> list[Sentence]:
    """Clauses such as ``the old dog sees a cat with a telescope .``; the word after the noun says where a phrase goes.

    ``with`` hangs on the verb, ``of`` on the noun before it, though both have the tags ADP and IN: only the form
    tells.
    """
    rng = np.random.default_rng(seed)
    return [_sentence(rng) for _ in range(count)]


def _sentence(rng: np.random.Generator) -> Sentence:
    rows: list[list[object]] = []  # form, upos, xpos, head, relation

    def add(form: str, upos: str, xpos: str, relation: str) -> int:
        rows.append([form, upos, xpos, 0, relation])
        return len(rows)

    def noun_phrase(relation: str) -> int:
        determiner = add(str(rng.choice(["the", "a"])), "DET", "DT", "det")
        adjectives = [add("old", "ADJ", "JJ", "amod") for _ in range(rng.integers(0, 3))]
        noun = add(str(rng.choice(NOUNS)), "NOUN", "NN", relation)
        for word in (determiner, *adjectives):
            rows[word - 1][3] = noun
        return noun

    subject = noun_phrase("nsubj")
    verb = add(str(rng.choice(VERBS)), "VERB", "VBZ", "root")
    rows[subject - 1][3] = verb
    if rng.random() < 0.8:
        object_ = noun_phrase("obj")
        rows[object_ - 1][3] = verb
        if rng.random() < 0.7:
            preposition = str(rng.choice(["with", "of"]))
            case = add(preposition, "ADP", "IN", "case")
            noun = noun_phrase("obl" if preposition == "with" else "nmod")
            rows[case - 1][3] = noun
            rows[noun - 1][3] = verb if preposition == "with" else object_
    stop = add(".", "PUNCT", ".", "punct")
    rows[stop - 1][3] = verb
    return Sentence(
        tuple(
            Token(number, form, upos=upos, xpos=xpos, head=head, deprel=relation)  # type: ignore[arg-type]
            for number, (form, upos, xpos, head, relation) in enumerate(rows, 1)
        )
    )
