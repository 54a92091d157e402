"""Views of models over sequences: an automaton, step by step, and dependency trees with the automata of their heads."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gramian.automata import WFA, load_sequence_model
from gramian.automata.automaton_picture import to_svg
from gramian.automata.exchange import edges
from gramian.automata.mixture import Mixture
from gramian.automata.pdfa import PDFA
from gramian.automata.sequence_model import SequenceModel
from gramian.automata.tagset import universal_tag
from gramian.dependency.dependency_parser import DependencyParser
from gramian.dependency.dependency_picture import draw_parse
from gramian.dependency.split_head_automata import LEFT, RIGHT
from gramian.errors import MissingExtraError, OptionError
from gramian.trees import Sentence, Token
from gramian.web.tree_json import finite

_THRESHOLD = 0.05  # transitions of a smaller probability are not drawn
_NEXT = 5
_MOST_STATES = 40
_UPOS = {"CONJ": "CCONJ", "PRT": "PART", ".": "PUNCT"}


class AutomatonView:
    """One automaton: its picture, and its states along a sequence; options are of :func:`gramian.automata.dfa.dfa_approximation`."""

    def __init__(self, model: SequenceModel, name: str, **options: Any) -> None:
        self.model, self.name = model, name
        self._options = options
        if not isinstance(model, WFA | PDFA | Mixture):
            raise OptionError(f"{name}: not an automaton")
        self._n_states = model.n_states
        self._wfa: WFA | None = None  # of a model that has too many weights to be one
        with suppress(OptionError):
            self._wfa = model.to_wfa()
        self._symbols = {str(symbol): symbol for symbol in model.alphabet}
        self._machine = lru_cache(maxsize=8)(self._new_machine)

    @classmethod
    def load(cls, path: str) -> AutomatonView:
        """Read a model file."""
        return cls(load_sequence_model(path), Path(path).name)

    @property
    def is_distribution(self) -> bool:
        """Whether weights are probabilities, so that states have a distribution."""
        return self._wfa is None or self._wfa.is_probabilistic(1e-6)

    def about(self) -> dict[str, Any]:
        """Return what the page tells about the automaton."""
        return {
            "name": self.name,
            "states": self._n_states,
            "alphabet": list(self._symbols),
            "distribution": self.is_distribution,
        }

    def _new_machine(self, clusters: int) -> PDFA | None:
        """Return the deterministic approximation, or None where the model cannot draw strings to make it from."""
        if not self.is_distribution:
            return None
        try:
            from gramian.automata.dfa import dfa_approximation, typical_strings
        except ModuleNotFoundError as error:  # clustering needs scikit-learn
            raise MissingExtraError.of_import(error) from None
        return dfa_approximation(self.model, typical_strings(self.model), clusters, **self._options).machine

    def picture(self, clusters: int) -> dict[str, Any]:
        """Return a picture of at most `clusters` states, and its arrows as a list."""
        machine: PDFA | WFA | None = self._machine(clusters)
        if machine is None:
            if self._wfa is None or self._n_states > _MOST_STATES:
                problem = f"{self._n_states} states with negative weights cannot be drawn"
                raise OptionError(f"{problem}; try: training with repair")
            machine = self._wfa
        drawn = machine.to_wfa() if isinstance(machine, PDFA) else machine
        return {
            "svg": to_svg(machine, _THRESHOLD),
            "deterministic": isinstance(machine, PDFA),
            "stops": [float(value) for value in drawn.final],
            "arrows": [
                {
                    "source": edge.source,
                    "target": edge.target,
                    "symbols": [list(label) for label in edge.labels],
                }
                for edge in edges(machine, _THRESHOLD)
            ],
        }

    def steps(self, symbols: Sequence[str], clusters: int) -> dict[str, Any]:
        """Return the states after each symbol, the state of the picture, and what is likely to follow."""
        string = [self._symbols.get(symbol, symbol) for symbol in symbols]
        vectors = np.zeros((len(string) + 1, 0)) if self._wfa is None else self._wfa.state_vectors([string])
        following = self.model.next_scores([string])
        machine = self._machine(clusters)
        places = machine.states([string]) if machine is not None else np.full(len(string) + 1, -1)
        names = [*self._symbols, "STOP"]
        rows = [
            {
                "symbol": symbol,
                "known": symbol is None or symbol in self._symbols,
                "states": [float(value) for value in vectors[step]],
                "place": int(places[step]) if places[step] >= 0 else None,
                "next": [
                    [names[number], float(following[step, number])]
                    for number in np.argsort(-following[step], kind="stable")[:_NEXT].tolist()
                ],
            }
            for step, symbol in enumerate([None, *symbols])
        ]
        return {
            "steps": rows,
            "log_prob": finite(float(self.model.log_score([string])[0])),
            "distribution": self.is_distribution,
        }


class DependencyView:
    """A dependency parser of a model file, and the automata of its heads."""

    def __init__(self, path: str) -> None:
        self.name = Path(path).name
        self.parser = DependencyParser.load(path)
        self._view = lru_cache(maxsize=256)(self._new_view)

    def about(self) -> dict[str, Any]:
        """Return what the page tells about the parser."""
        return {"name": self.name, "tags": self.parser.symbols.column}

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> dict[str, Any]:
        """Parse words with their tags, of the Penn Treebank or the parser's own."""
        tokens = tuple(
            Token(number, word, upos=self._upos(tag), xpos=tag)
            for number, (word, tag) in enumerate(zip(words, tags, strict=True), 1)
        )
        result = self.parser.parse(Sentence(tokens))
        return {
            "words": list(words),
            "tags": [token.upos if self.parser.symbols.column == "upos" else token.xpos for token in tokens],
            "symbols": list(self.parser.symbols(tokens)),
            "heads": list(result.heads),
            "relations": list(result.relations),
            "confidences": list(result.confidences),
            "status": result.status,
            "conllu": str(result.sentence(confidence=True)),
            "svg": draw_parse(result),
        }

    def _upos(self, tag: str) -> str:
        if tag in self.parser.symbols.names:
            return tag
        universal = universal_tag(tag)
        return _UPOS.get(universal, universal)

    def automaton(self, head: str | None, direction: str) -> AutomatonView:
        """Return the automaton of a head symbol, None for the root, and direction."""
        if direction not in ("left", "right"):
            raise OptionError(f"direction is 'left' or 'right', not {direction!r}")
        return self._view(head, LEFT if direction == "left" else RIGHT)

    def _new_view(self, head: str | None, direction: int) -> AutomatonView:
        # Modifier sequences are short: few prefixes are frequent, and rare ones would merge all states into one.
        automaton = self.parser.grammar.automaton(head, direction)
        return AutomatonView(automaton, head or "ROOT", n_prefixes=50, minimum_share=0.4)
