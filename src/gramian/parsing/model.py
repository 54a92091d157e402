"""A learnt grammar with all that parses beside it, and what is worth knowing about it: how, from what, and how well it was learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

from gramian.errors import OptionError, counted
from gramian.experts.expert_part import EXPERT_KINDS, ExpertPart
from gramian.grammar.lpcfg import LPCFG
from gramian.parsing.calibration import Calibration
from gramian.text.rule_tokenizer import Style, TextToken, tokenize
from gramian.text.text_processor import TextProcessor
from gramian.trees.labels import treebank_labels
from gramian.trees.scheme import SCHEMES

if TYPE_CHECKING:
    from gramian.experts import CellModel, RerankModel

METADATA = ("options", "data", "metrics", "report")
"""The fields of a model that steer nothing."""


@dataclass(frozen=True, repr=False)
class Model:
    """A grammar, or several that parse together, what helps them, and metadata.

    Examples
    --------
    >>> import gramian
    >>> model = gramian.load().model
    >>> len(model.grammars), [part.kind for part in model.experts], model.language
    (1, ['neural'], 'en')
    """

    #: learnt from the same treebank; their posteriors are combined. One grammar alone need not be in a tuple.
    grammars: tuple[LPCFG, ...]
    #: span scorers of the same treebank, in the order of :data:`gramian.experts.EXPERT_KINDS`, at most one of each kind
    experts: tuple[ExpertPart, ...] = ()
    reranker: RerankModel | None = None  #: chooses among the best trees of all these
    #: how posteriors become confidences, for each way to combine grammars; without it they are the same
    calibration: Mapping[str, Calibration] = field(default_factory=dict)
    #: the treebank's language, and how text in it becomes sentences and words
    text: TextProcessor | None = None
    #: what kind each grammar is of, for ``combination="hierarchical"``; none for its binarisation
    kinds: tuple[str, ...] = ()
    #: how text is cut into words, where `text` does not say so: ``"penn"`` or ``"spaces"``
    tokens: Style = "penn"
    preset: str | None = None  #: the treebank's scheme, if it is known: one of :data:`gramian.trees.SCHEMES`
    #: metadata: the learner's options. Metadata are free-form, as long as JSON can hold them, and steer nothing.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: metadata: what it was learnt from, with names, sizes, licences, whom to credit
    data: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)  #: metadata: scores, with their signatures
    #: metadata: what the learner tells about the training
    report: Mapping[str, Any] = field(default_factory=dict)
    #: closes cells of charts that constituents are unlikely to fill; a neural expert, which knows better, takes its place
    cells: CellModel | None = None

    def __post_init__(self) -> None:
        grammars: Any = self.grammars
        object.__setattr__(self, "grammars", (grammars,) if isinstance(grammars, LPCFG) else tuple(grammars))
        if not self.grammars:
            raise OptionError("a model needs at least one grammar")
        if misplaced := ({"tokens", "preset"} & self.options.keys()) | ({"kinds"} & self.report.keys()):
            raise OptionError(f"{min(misplaced)} is a field of its own, not one of a model's metadata")
        named = isinstance(self.kinds, tuple) and all(isinstance(kind, str) for kind in self.kinds)
        if not named or len(self.kinds) not in (0, len(self.grammars)):
            raise OptionError(f"kinds must name each of {len(self.grammars)} grammars, got {self.kinds!r}")
        if self.tokens not in get_args(Style):
            raise OptionError(f"tokens must be one of {', '.join(get_args(Style))}, got {self.tokens!r}")
        if self.preset not in (None, *SCHEMES):
            raise OptionError(f"preset must be one of {', '.join(SCHEMES)}, got {self.preset!r}")
        ranks = [list(EXPERT_KINDS).index(part.kind) for part in self.experts]
        if ranks != sorted(set(ranks)):
            raise OptionError(f"experts must be of different kinds, in the order {', '.join(EXPERT_KINDS)}")

    def __repr__(self) -> str:
        parts = [repr(self.grammar)]
        if len(self.grammars) > 1:
            parts.append(counted(len(self.grammars) - 1, "more grammar"))
        parts += [f"{part.kind} expert" for part in self.experts]
        parts += [name for name in ("reranker", "calibration") if getattr(self, name)]
        return f"<Model: {', '.join(parts)}>"

    @property
    def grammar(self) -> LPCFG:
        """The first grammar, whose labels are the model's."""
        return self.grammars[0]

    def expert(self, kind: str) -> ExpertPart | None:
        """Return the expert of a kind, if there is one."""
        return next((part for part in self.experts if part.kind == kind), None)

    def with_weights(self, weights: Mapping[str, float | None]) -> Model:
        """Return the model with other weights of experts, by kind."""
        experts = [replace(part, weight=weights.get(part.kind, part.weight)) for part in self.experts]
        return replace(self, experts=tuple(experts))

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
