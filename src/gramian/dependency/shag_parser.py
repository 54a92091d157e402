"""The estimator of dependency parsers, :class:`SHAGParser`, with the interface of scikit-learn."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from typing import Any, Literal, Self

import numpy as np

from gramian.base import Estimator, estimator, number_of_jobs
from gramian.dependency.arc_calibration import ArcCalibration, fit_arc_calibration
from gramian.dependency.arc_models import fit_arc_scorer, fit_labeller
from gramian.dependency.arc_net_scores import NetArcScorer
from gramian.dependency.arc_tokens import TokenTable
from gramian.dependency.conllu_text import fit_word_splitter
from gramian.dependency.dependency_parser import DependencyParse, DependencyParser
from gramian.dependency.head_automata import (
    HeadBasis,
    backoff,
    deterministic,
    expectation_maximisation,
    spectral,
)
from gramian.dependency.head_sequences import HeadSequences, head_sequences, projective
from gramian.dependency.held_out_scores import ArcTraining, with_chosen_weights
from gramian.dependency.morphology import fit_morphological_tagger, tag_held_out_sentences
from gramian.dependency.split_head_automata import SHAG
from gramian.dependency.symbol_map import SymbolChoice, SymbolMap
from gramian.dependency.template_selection import select_templates
from gramian.errors import MissingExtraError, OptionError
from gramian.neural.net_options import Learning, NetSize
from gramian.text.text_training import learn_conllu_processor
from gramian.trees import Sentence
from gramian.value_types import (
    Boolean,
    Either,
    Function,
    InstanceOf,
    Number,
    OneOf,
    Whole,
    option,
    options,
    or_none,
)

Method = Literal["conditional", "em", "spectral", "det", "det+f"]

_LABEL_EPOCHS = 5
_MAX_WORDS = 500  # of a training sentence; the time is cubic in the number of words


@options
class SymbolOptions:
    """How words become symbols of the automata.

    Parameters
    ----------
    tag : {"auto", "upos", "xpos"} or callable
        A tag, or a function of a token. "auto" takes XPOS if the treebank has between 2 and 100 of them, else UPOS.
    frequent_words : int
        Number of most frequent pairs of tag and word that become symbols of their own.
    buckets : int
        If positive, a symbol is a tag and a hash of the form with this number of values.

    Examples
    --------
    >>> from gramian.dependency import SHAGParser
    >>> SHAGParser(symbols=SymbolOptions(tag="upos", frequent_words=100)).symbols.frequent_words
    100
    """

    tag: SymbolChoice = option(Either(OneOf("auto", "upos", "xpos"), Function()), default="auto")
    frequent_words: int = option(Whole(0), default=0)
    buckets: int = option(Whole(0), default=0)


@options
class ArcNetOptions:
    """The nets that score arcs and relations.

    Parameters
    ----------
    count : int
        Number of nets, each trained without another tenth of the trees; their scores are averaged.
    epochs : int
        Epochs at most.
    layers : int
        Layers of the BiLSTM.
    units : int
        Units of a layer of the BiLSTM in each direction.
    hidden : int
        Units of the layer before the scores of heads.
    relation_hidden : int
        Units of the layer before the scores of relations.
    rate : float
        Learning rate.
    batch_words : int
        About how many words the sentences of a step have.
    dropout : float
        Dropout of all layers.
    vectors : mapping of str to ndarray, optional
        Fixed vectors of words; see :func:`gramian.neural.word_vectors.read_vectors`.
    """

    count: int = option(Whole(1, 10), default=1)
    epochs: int = option(Whole(1), default=30)
    layers: int = option(Whole(1), default=2)
    units: int = option(Whole(1), default=100)
    hidden: int = option(Whole(1), default=150)
    relation_hidden: int = option(Whole(1), default=60)
    rate: float = option(Number(above=0), default=3e-3)
    batch_words: int = option(Whole(1), default=300)
    dropout: float = option(Number(0, below=1), default=0.33)
    vectors: Mapping[str, Any] | None = option(or_none(InstanceOf(Mapping)), default=None)

    @property
    def size(self) -> NetSize:
        """The units of all layers."""
        return NetSize(
            word=64,
            char=24,
            char_units=32,
            layers=self.layers,
            units=self.units,
            hidden=self.hidden,
            tag_hidden=self.relation_hidden,
        )

    @property
    def learning(self) -> Learning:
        """How the weights are trained."""
        return Learning(
            rate=self.rate,
            warm_up=100,
            batch_words=self.batch_words,
            unknown=1.0,
            word_dropout=0.1,
            dropout=self.dropout,
            hidden_dropout=self.dropout,
        )


@estimator
class SHAGParser(Estimator):
    """A dependency parser of split head-automata.

    Parameters
    ----------
    method : {"conditional", "em", "spectral", "det", "det+f"}
        How to train the grammar. "conditional", the most accurate: automata by EM, then log-linear factors of arcs that
        maximise the conditional likelihood of the training trees. The others are the unlexicalised models of Balle et
        al. (2014): automata by EM, by the spectral method, and deterministic automata of one and two states.
    n_states : int
        Maximum number of states; an automaton has at most as many states as modifiers, unless EM starts at random.
    max_iter : int
        Iterations of EM.
    start : {"spectral", "random"}
        Initialisation of EM.
    basis : HeadBasis
        Prefixes and suffixes of the spectral method.
    smoothing : float
        Weight of the uniform distribution in every state; for "conditional" only.
    epochs : int
        Epochs of training the factors; for "conditional" only.
    select_templates : bool
        Whether to omit feature templates that held-out trees do not need: faster parsing; for "conditional" only.
    symbols : SymbolOptions
        How words become symbols of the automata.
    tags : {"predicted", "gold", "mixed"}
        Which tags, features and lemmas "conditional" is trained on: those that taggers predict for sentences they have not
        seen, those of the treebank, or both. The first and the last also train a tagger and a tokenizer, so that the parser
        reads text. Other methods always read the tags of the treebank.
    neural : bool
        Whether "conditional" is combined with a net: biaffine scores of arcs and relations from a BiLSTM (Dozat & Manning 2017).
        Training it requires PyTorch, parsing does not.
    net : ArcNetOptions
        Size, number and training of the nets.
    min_confidence : float
        Mean confidence of the arcs of a sentence of text for it to be trained on.
    nonprojective : {"lift", "skip"}
        Lift crossing arcs of training trees and encode their heads in the relations, so that the parser can restore them; or
        omit the sentences.
    single_root : bool
        Whether exactly one word of a sentence is attached to the root.
    n_jobs : int, optional
        Threads; -1 for all processors. The result does not depend on it.
    verbose : bool
        Show progress.
    random_state : int
        The same number gives the same parser.

    Attributes
    ----------
    model_ : DependencyParser
        The trained parser; it can be saved and loaded without scikit-learn.
    lifted_, skipped_ : int
        Number of training sentences with crossing arcs that were lifted or skipped.

    Examples
    --------
    >>> from gramian.trees import Token
    >>> the_dog_barks = Sentence((
    ...     Token(1, "the", upos="DET", head=2, deprel="det"),
    ...     Token(2, "dog", upos="NOUN", head=3, deprel="nsubj"),
    ...     Token(3, "barks", upos="VERB", head=0, deprel="root"),
    ... ))
    >>> parse = SHAGParser("det+f").fit([the_dog_barks]).parse(the_dog_barks)
    >>> parse.heads, parse.relations, parse.confidences
    ((2, 3, 0), ('det', 'nsubj', 'root'), (1.0, 1.0, 1.0))
    """

    method: Method = option(OneOf("conditional", "em", "spectral", "det", "det+f"), default="conditional")
    _: KW_ONLY
    n_states: int = option(Whole(1), default=10)
    max_iter: int = option(Whole(1), default=40)
    start: Literal["spectral", "random"] = option(OneOf("spectral", "random"), default="spectral")
    basis: HeadBasis = option(InstanceOf(HeadBasis), default=HeadBasis())
    smoothing: float = option(Number(above=0, below=1), default=0.1)
    epochs: int = option(Whole(1), default=5)
    select_templates: bool = option(Boolean(), default=True)
    symbols: SymbolOptions = option(InstanceOf(SymbolOptions), default=SymbolOptions())
    tags: Literal["predicted", "gold", "mixed"] = option(
        OneOf("predicted", "gold", "mixed"), default="predicted"
    )
    neural: bool = option(Boolean(), default=False)
    net: ArcNetOptions = option(InstanceOf(ArcNetOptions), default=ArcNetOptions())
    min_confidence: float = option(Number(0, 1), default=0.9)
    nonprojective: Literal["lift", "skip"] = option(OneOf("lift", "skip"), default="lift")
    single_root: bool = option(Boolean(), default=True)
    n_jobs: int | None = None
    verbose: bool = False
    random_state: int = 0
    model_: DependencyParser = field(init=False)
    lifted_: int = field(init=False)
    skipped_: int = field(init=False)

    def fit(self, sentences: Sequence[Sentence], y: None = None, *, text: Iterable[str] = ()) -> Self:
        """Train on sentences with arcs and relations.

        `text` are lines of running text, with their line ends, for self-training: the parser parses them, and is trained again on the
        treebank and on the parses with a mean confidence of at least `min_confidence`.
        """
        with self._fitting():
            self.model_ = self._learn(sentences)
            if silver := self._silver(text):
                self.model_ = self._learn(sentences, silver)
        return self

    def _silver(self, text: Iterable[str]) -> list[Sentence]:
        """Return the trees of sentences of text with a high confidence."""
        lines = list(text)
        if not lines:
            return []
        parses = self.model_.parse_many(self.model_.sentences(lines), n_jobs=number_of_jobs(self.n_jobs))
        return [
            parse.sentence()
            for parse in parses
            if parse.status == "parsed" and np.mean(parse.confidences) >= self.min_confidence
        ]

    def _learn(self, sentences: Sequence[Sentence], silver: Sequence[Sentence] = ()) -> DependencyParser:
        longest = max((len(sentence) for sentence in sentences), default=0)
        if longest > _MAX_WORDS:
            raise OptionError(
                f"a training sentence has {longest:,} words, more than {_MAX_WORDS}; try: removing it"
            )
        trees = projective(sentences, self.nonprojective)
        self.lifted_, self.skipped_ = trees.lifted, trees.skipped
        n_trees, n_words = len(trees.sentences), sum(map(len, trees.sentences))
        tagger, text, splitter = None, None, None
        if self._predicts_tags(trees.sentences):
            tagger = fit_morphological_tagger(trees.sentences, random_state=self.random_state)
            text = learn_conllu_processor(sentences)
            splitter = fit_word_splitter(sentences, random_state=self.random_state)
            tagged = tag_held_out_sentences(trees.sentences, random_state=self.random_state)
            if silver:
                more = projective(silver)
                trees, tagged = trees.joined(more), [*tagged, *more.sentences]
            trees = trees.with_sentences(tagged, add=self.tags == "mixed")
        options = self.symbols
        mapping = SymbolMap.fit(
            trees.sentences, options.tag, frequent_words=options.frequent_words, buckets=options.buckets
        )
        symbols = [mapping(sentence.tokens) for sentence in trees.sentences]
        sequences = head_sequences(mapping.names, symbols, trees.heads)
        grammar = self._grammar(sequences)
        table = TokenTable.fit(trees.sentences, mapping.column)
        tokens = [table.encode(sentence.tokens) for sentence in trees.sentences]
        heads = [np.asarray([-1, *tree], np.int32) for tree in trees.heads]
        training = ArcTraining(
            grammar,
            trees.sentences,
            [grammar.encode(sentence) for sentence in symbols],
            heads,
            trees.relations,
            sorted({name for names in trees.relations for name in names}),
            mapping.column,
            n_trees + len(silver),
            n_trees,
            max_iter=self.epochs,
            random_state=self.random_state,
            n_jobs=number_of_jobs(self.n_jobs),
        )
        if self.select_templates and self.method == "conditional":
            training = replace(training, templates=select_templates(training))
        labeller = fit_labeller(
            table,
            tokens,
            heads,
            trees.relations,
            kept=training.templates.relations,
            max_iter=_LABEL_EPOCHS,
            random_state=self.random_state,
        )
        scorer, net, calibration = None, None, ArcCalibration()
        if self.method == "conditional":
            scorer = fit_arc_scorer(
                grammar,
                table,
                tokens,
                training.symbols,
                heads,
                kept=training.templates.arcs,
                max_iter=self.epochs,
                random_state=self.random_state,
                n_jobs=training.n_jobs,
            )
            parts = training.held_out_parts(self.net.count if self.neural else 1)
            scores = [row for part in parts for row in training.scores(part, has_relations=self.neural)]
            factors = [row.factors for row in scores]
            if self.neural:
                held_out = [[trees.sentences[index] for index in part] for part in parts]
                net, factors = with_chosen_weights(self._fit_net(training, parts), grammar, held_out, scores)
            calibration = fit_arc_calibration(grammar, scores, factors)
        metadata = {
            "method": self.method,
            "states": grammar.n_states,
            "random_state": self.random_state,
            "tags": "gold" if tagger is None else self.tags,
            "sentences": n_trees,
            "words": n_words,
            "parsed_sentences": len(silver),
        }
        return DependencyParser(
            symbols=mapping,
            grammar=grammar,
            backoff=backoff(sequences, self.smoothing),
            table=table,
            labeller=labeller,
            scorer=scorer,
            single_root=self.single_root,
            about=metadata,
            tagger=tagger,
            text=text,
            splitter=splitter,
            calibration=calibration,
            net=net,
        )

    def _fit_net(self, training: ArcTraining, parts: Sequence[Sequence[int]]) -> NetArcScorer:
        try:
            from gramian.dependency.arc_net import fit_net_arc_scorer
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise MissingExtraError("torch", "neural", "learning a neural parser") from None
        options = self.net
        return fit_net_arc_scorer(
            training,
            parts,
            size=options.size,
            learning=options.learning,
            vectors=options.vectors,
            max_iter=options.epochs,
        )

    def _predicts_tags(self, sentences: Sequence[Sentence]) -> bool:
        tagged = any(
            not token.upos == token.xpos == "_" for sentence in sentences for token in sentence.tokens
        )
        return self.method == "conditional" and self.tags != "gold" and tagged

    def _grammar(self, sequences: HeadSequences) -> SHAG:
        if self.method in ("det", "det+f"):
            return deterministic(sequences, first=self.method == "det+f")
        if self.method == "spectral":
            return spectral(sequences, n_states=self.n_states, basis=self.basis)
        grammar = expectation_maximisation(
            sequences,
            n_states=self.n_states,
            max_iter=self.max_iter,
            start=self.start,
            random_state=self.random_state,
        )
        return grammar.smoothed(self.smoothing) if self.method == "conditional" else grammar

    def parse(self, sentence: Sentence) -> DependencyParse:
        """Parse one sentence; see :meth:`DependencyParser.parse` for more."""
        return self.model_.parse(sentence)

    def predict(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Return the sentences with predicted arcs and relations."""
        return [parse.sentence() for parse in self.model_.parse_many(sentences)]

    def score(self, sentences: Sequence[Sentence], y: None = None) -> float:
        """Return the share of words with the right head (UAS), between 0 and 1."""
        from gramian.evaluate.attachments import attachment_scores

        return attachment_scores(sentences, self.predict(sentences)).uas / 100.0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained parser; :meth:`DependencyParser.load` reads it."""
        self.model_.save(path)
