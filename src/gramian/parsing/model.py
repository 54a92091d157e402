"""A learnt grammar with all that parses beside it, and what is worth knowing about it: how, from what, and how well it was learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from gramian.errors import OptionError, counted
from gramian.grammar.lpcfg import LPCFG
from gramian.parsing.calibration import Calibration
from gramian.text.rule_tokenizer import Style, TextToken, tokenize
from gramian.text.text_processor import TextProcessor
from gramian.trees.labels import treebank_labels
from gramian.trees.scheme import SCHEMES

if TYPE_CHECKING:
    from gramian.experts import RerankModel, SpanModel
    from gramian.neural import NeuralModel

METADATA = ("options", "data", "metrics", "report")
"""The fields of a model that steer nothing."""


@dataclass(frozen=True, repr=False)
class Model:
    """A grammar, or several that parse together, what helps them, and metadata.

    Attributes
    ----------
    grammar : LPCFG
    options : mapping
        Metadata: the learner's options. Metadata are free-form, as long as JSON can hold them, and steer nothing.
    data : mapping
        Metadata: what it was learnt from, with names, sizes, licences, whom to credit.
    metrics : mapping
        Metadata: scores, with their signatures.
    report : mapping
        Metadata: what the learner tells about the training.
    others : tuple of LPCFG
        Further grammars of the same treebank, whose posteriors are combined with those of `grammar`.
    expert : SpanModel, optional
        A span CRF of the same treebank.
    expert_weight : float, optional
        What it counts beside the grammars, if that was tuned; see :data:`gramian.chart.combine.EXPERT_WEIGHT`.
    neural : NeuralModel, optional
        A span net of the same treebank.
    neural_weight : float, optional
        What it counts beside all these, if that was tuned; see :data:`gramian.experts.label_expert.NEURAL_WEIGHT`.
    calibration : mapping of str to Calibration
        How posteriors become confidences, for each way to combine grammars; without it they are the same.
    reranker : RerankModel, optional
        What chooses among the best trees of all these.
    kinds : tuple of str
        What kind each grammar is of, for ``combination="hierarchical"``; none for its binarisation.
    tokens : str
        How text is cut into words, where `text` does not say so: ``"penn"`` or ``"spaces"``.
    preset : str, optional
        The treebank's scheme, if it is known: one of :data:`gramian.trees.SCHEMES`.
    text : TextProcessor, optional
        The treebank's language, and how text in it becomes sentences and words.
    """

    grammar: LPCFG
    options: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    others: tuple[LPCFG, ...] = ()
    expert: SpanModel | None = None
    expert_weight: float | None = None
    neural: NeuralModel | None = None
    neural_weight: float | None = None
    calibration: Mapping[str, Calibration] = field(default_factory=dict)
    reranker: RerankModel | None = None
    kinds: tuple[str, ...] = ()
    tokens: Style = "penn"
    preset: str | None = None
    text: TextProcessor | None = None

    def __post_init__(self) -> None:
        if misplaced := ({"tokens", "preset"} & self.options.keys()) | ({"kinds"} & self.report.keys()):
            raise OptionError(f"{min(misplaced)} is a field of its own, not one of a model's metadata")
        named = isinstance(self.kinds, tuple) and all(isinstance(kind, str) for kind in self.kinds)
        if not named or len(self.kinds) not in (0, len(self.grammars)):
            raise OptionError(f"kinds must name each of {len(self.grammars)} grammars, got {self.kinds!r}")
        if self.tokens not in get_args(Style):
            raise OptionError(f"tokens must be one of {', '.join(get_args(Style))}, got {self.tokens!r}")
        if self.preset not in (None, *SCHEMES):
            raise OptionError(f"preset must be one of {', '.join(SCHEMES)}, got {self.preset!r}")
        for name in ("expert_weight", "neural_weight"):
            weight = getattr(self, name)
            if weight is not None and not (type(weight) in (int, float) and 0 <= weight <= 1):
                raise OptionError(f"{name} must be between 0 and 1, got {weight!r}")

    def __repr__(self) -> str:
        parts = [repr(self.grammar)]
        if self.others:
            parts.append(counted(len(self.others), "more grammar"))
        parts += [name for name in ("expert", "neural", "reranker", "calibration") if getattr(self, name)]
        return f"<Model: {', '.join(parts)}>"

    @property
    def grammars(self) -> tuple[LPCFG, ...]:
        """All grammars, the first one first."""
        return (self.grammar, *self.others)

    @property
    def language(self) -> str | None:
        """The language of the treebank, as an ISO 639 code, if it is known."""
        return None if self.text is None else self.text.language

    def tokenize(self, sentence: str) -> list[TextToken]:
        """Return the words of a sentence with their places, as the treebank would have them."""
        if self.text is None or self.text.tokenizer is None:
            return tokenize(sentence, self.tokens)
        return self.text.tokenizer.tokenize(sentence)

    @property
    def labels(self) -> dict[str, list[str]]:
        """The treebank's labels of phrases and of words, free of the marks of binarisation."""
        phrases, tags = treebank_labels(self.grammar.symbols, self.grammar.n_phrases)
        return {"phrases": sorted(phrases), "tags": sorted(tags)}
