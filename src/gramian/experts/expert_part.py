"""The experts that a model may hold, a row for each kind: how it is stored, its weight, and how it is set beside a grammar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gramian.errors import OptionError

if TYPE_CHECKING:
    from gramian.chart.combine import Expert
    from gramian.experts.span_model import SpanModel
    from gramian.grammar import LPCFG
    from gramian.neural import NeuralModel

    ExpertModel: TypeAlias = SpanModel | NeuralModel


class ExpertKind(NamedTuple):
    """What holds for all experts of a kind."""

    stored_as: str  # in model files
    version: int  # the first one of the format that has it
    weight: float  # unless it was tuned; chosen on held-out trees
    tried_weights: tuple[float, ...]  # when it is tuned


EXPERT_KINDS = {
    "crf": ExpertKind("expert", 2, 0.45, (0.25, 0.35, 0.45, 0.55, 0.65)),
    "neural": ExpertKind("neural", 4, 0.5, (0.3, 0.4, 0.5, 0.6, 0.7)),
}
"""The kinds of experts, in the order in which they are combined with the grammars."""


@dataclass(frozen=True)
class ExpertPart:
    """An expert as a part of a model."""

    kind: str  #: a span CRF, or a neural span scorer
    model: ExpertModel
    weight: float | None = None  #: its weight beside the grammars, if that was tuned; else that of its kind

    def __post_init__(self) -> None:
        if self.kind not in EXPERT_KINDS:
            raise OptionError(f"an expert is one of {', '.join(EXPERT_KINDS)}, got {self.kind!r}")
        weight = self.weight
        if weight is not None and not (type(weight) in (int, float) and 0 <= weight <= 1):
            raise OptionError(f"the weight of an expert must be between 0 and 1, got {weight!r}")

    def beside(self, grammar: LPCFG) -> Expert:
        """Return the expert as it reads the sentences and forests of a grammar."""
        weight = EXPERT_KINDS[self.kind].weight if self.weight is None else self.weight
        if self.kind == "crf":
            from gramian.experts.crf_expert import CRFExpert

            return CRFExpert(self.model, grammar, weight)  # type: ignore[arg-type]
        from gramian.experts.label_expert import LabelExpert

        return LabelExpert(self.model, grammar, weight)  # type: ignore[arg-type]
