"""Learning a dependency parser from a treebank: :class:`SHAGParser`, in the manner of scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from gramian.dependency.arc_labeller import fit_labeller
from gramian.dependency.arc_scorer import fit_arc_scorer
from gramian.dependency.arc_tokens import TokenTable
from gramian.dependency.dependency_parser import DependencyParse, DependencyParser
from gramian.dependency.head_automata import backoff, deterministic, expectation_maximisation, spectral
from gramian.dependency.modifiers import HeadSequences, head_sequences, projective
from gramian.dependency.shag import SHAG
from gramian.dependency.symbols import SymbolChoice, SymbolMap
from gramian.errors import OptionError
from gramian.trees import Sentence

__all__ = ["METHODS", "Method", "SHAGParser"]

Method = Literal["conditional", "em", "spectral", "det", "det+f"]
METHODS: tuple[Method, ...] = ("conditional", "em", "spectral", "det", "det+f")

_LABEL_EPOCHS = 5


class SHAGParser(BaseEstimator):  # type: ignore[misc]
    """A dependency parser of split head-automata.

    Parameters
    ----------
    method : {"conditional", "em", "spectral", "det", "det+f"}
        How the grammar is learnt. "conditional", the best: automata by EM, then log-linear factors on the arcs that
        make the training trees likely given their sentences. The others are the unlexicalised models of Balle et
        al. (2014): automata by EM, by the spectral method, and deterministic ones of one and two states.
    states : int
        Largest number of states; an automaton has no more states than modifiers.
    iterations : int
        EM steps.
    start : {"spectral", "random"}
        Where EM begins.
    basis : {"extended", "symbols"}
        Prefixes and suffixes of the spectral method: frequent substrings of up to four symbols, or single symbols.
    cut_factor : float
        Size of the extended basis, as a multiple of the number of modifiers.
    mass : float
        The spectral method drops directions whose share of the singular values is smaller.
    smoothing : float
        Share of every state that goes to modifiers it never saw; "conditional" only.
    epochs : int
        Passes over the treebank to learn the factors; "conditional" only.
    symbols : {"auto", "upos", "xpos"} or callable
        What words are to the automata: a tag, or what a function makes of a token. "auto" takes XPOS where the
        treebank has between 2 and 100 of them, else UPOS.
    frequent_words : int
        So many of the most frequent pairs of tag and word become symbols of their own.
    buckets : int
        If positive, symbols are tags with a hash of the form, which has so many values.
    nonprojective : {"lift", "skip"}
        What to do about crossing arcs in training: lift them, and let the relation say from where, so that the parser
        may put the word back; or leave their sentences out.
    single_root : bool
        Whether exactly one word of a sentence is attached to the root.
    n_jobs : int, optional
        Threads; without it, one for each processor. The result does not depend on it.
    random_state : int

    Attributes
    ----------
    parser_ : DependencyParser
        What parses; it can be saved and loaded without scikit-learn.
    lifted_, skipped_ : int
        Training sentences with crossing arcs, by what was done about them.

    Examples
    --------
    >>> from gramian.trees import Token
    >>> the_dog_barks = Sentence((
    ...     Token(1, "the", upos="DET", head=2, deprel="det"),
    ...     Token(2, "dog", upos="NOUN", head=3, deprel="nsubj"),
    ...     Token(3, "barks", upos="VERB", head=0, deprel="root"),
    ... ))
    >>> parse = SHAGParser(method="det+f").fit([the_dog_barks]).parse(the_dog_barks)
    >>> parse.heads, parse.relations, parse.confidences
    ((2, 3, 0), ('det', 'nsubj', 'root'), (1.0, 1.0, 1.0))
    """

    def __init__(
        self,
        method: Method = "conditional",
        *,
        states: int = 10,
        iterations: int = 40,
        start: Literal["spectral", "random"] = "spectral",
        basis: Literal["extended", "symbols"] = "extended",
        cut_factor: float = 10.0,
        mass: float = 0.0,
        smoothing: float = 0.1,
        epochs: int = 5,
        symbols: SymbolChoice = "auto",
        frequent_words: int = 0,
        buckets: int = 0,
        nonprojective: Literal["lift", "skip"] = "lift",
        single_root: bool = True,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.states = states
        self.iterations = iterations
        self.start = start
        self.basis = basis
        self.cut_factor = cut_factor
        self.mass = mass
        self.smoothing = smoothing
        self.epochs = epochs
        self.symbols = symbols
        self.frequent_words = frequent_words
        self.buckets = buckets
        self.nonprojective = nonprojective
        self.single_root = single_root
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, sentences: Sequence[Sentence], y: None = None, *, on_epoch: Callable[[int], None] | None = None
    ) -> Self:
        """Learn from sentences with arcs and relations; `on_epoch` is called after each pass over them."""
        self._validate()
        trees = projective(sentences, self.nonprojective)
        self.lifted_, self.skipped_ = trees.lifted, trees.skipped
        mapping = SymbolMap.fit(
            trees.sentences, self.symbols, frequent_words=self.frequent_words, buckets=self.buckets
        )
        symbols = [mapping(sentence.tokens) for sentence in trees.sentences]
        sequences = head_sequences(mapping.names, symbols, trees.heads)
        grammar = self._grammar(sequences)
        table = TokenTable.fit(trees.sentences, mapping.column)
        tokens = [table.encode(sentence.tokens) for sentence in trees.sentences]
        heads = [np.asarray([-1, *tree], np.int32) for tree in trees.heads]
        labeller = fit_labeller(
            table,
            tokens,
            heads,
            trees.relations,
            epochs=_LABEL_EPOCHS,
            random_state=self.random_state,
        )
        scorer = None
        if self.method == "conditional":
            scorer = fit_arc_scorer(
                grammar,
                table,
                tokens,
                [grammar.encode(sentence) for sentence in symbols],
                heads,
                epochs=self.epochs,
                random_state=self.random_state,
                n_jobs=self.n_jobs or os.cpu_count() or 1,
                on_epoch=on_epoch,
            )
        self.parser_ = DependencyParser(
            mapping,
            grammar,
            backoff(sequences, self.smoothing or 0.01),
            table,
            labeller,
            scorer,
            self.single_root,
            {
                "method": self.method,
                "states": grammar.n_states,
                "random_state": self.random_state,
                "sentences": len(trees.sentences),
                "words": sum(len(sentence) for sentence in trees.sentences),
            },
        )
        return self

    def _validate(self) -> None:
        if self.method not in METHODS:
            raise OptionError(f"method: got {self.method!r}; try one of: {', '.join(METHODS)}")
        if self.start not in ("spectral", "random"):
            raise OptionError(f"start: got {self.start!r}; try one of: spectral, random")
        for name, least in (
            ("states", 1),
            ("iterations", 1),
            ("epochs", 1),
            ("frequent_words", 0),
            ("buckets", 0),
        ):
            if getattr(self, name) < least:
                raise OptionError(f"{name}: got {getattr(self, name)}; try: {least} or more")
        if self.method == "conditional" and not 0.0 < self.smoothing < 1.0:
            raise OptionError(f"smoothing: got {self.smoothing}; try a share between 0 and 1, such as 0.1")

    def _grammar(self, sequences: HeadSequences) -> SHAG:
        if self.method in ("det", "det+f"):
            return deterministic(sequences, first=self.method == "det+f")
        if self.method == "spectral":
            return spectral(
                sequences, states=self.states, basis=self.basis, cut_factor=self.cut_factor, mass=self.mass
            )
        grammar = expectation_maximisation(
            sequences,
            states=self.states,
            iterations=self.iterations,
            start=self.start,
            random_state=self.random_state,
        )
        return grammar.smoothed(self.smoothing) if self.method == "conditional" else grammar

    def parse(self, sentence: Sentence) -> DependencyParse:
        """Parse one sentence; see :meth:`DependencyParser.parse` for more."""
        return self.parser_.parse(sentence)

    def predict(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Return the sentences with predicted arcs and relations."""
        return [parse.sentence() for parse in self.parser_.parse_all(sentences)]

    def score(self, sentences: Sequence[Sentence], y: None = None) -> float:
        """Return the share of words with the right head (UAS), between 0 and 1."""
        from gramian.evaluate.attachments import attachment_scores

        return attachment_scores(sentences, self.predict(sentences)).uas / 100.0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained parser; :meth:`DependencyParser.load` reads it."""
        self.parser_.save(path)
