"""Extract automata from neural networks: from an LSTM trained here, and from the neural expert of the English parser.

python examples/extract_automata.py [lstm] [expert]

The LSTM (which requires PyTorch) learns strings of a small automaton; spectral learning from queries finds an automaton again. The neural
expert says how likely a string of words is to be one noun phrase; L* learns the acceptor of the strings that it takes for one.
"""

import sys
from collections.abc import Sequence

import numpy as np

import gramian
from gramian.automata import WFA, RecurrentLearner, extract, extract_acceptor

WORDS = ("in", "the", "park")


def turnstile() -> WFA:
    """Return a distribution of three states: a and b alternate, and after b a string may end or start again with c."""
    transitions = np.zeros((3, 3, 3))
    transitions[0, 0, 1] = 1.0
    transitions[1, 1, 2] = 1.0
    transitions[2, 2, 0] = 0.6
    return WFA([1.0, 0.0, 0.0], [0.0, 0.0, 0.4], transitions, ("a", "b", "c"))


def from_lstm() -> None:
    """Train an LSTM on strings of the automaton, and extract automata of two to six states."""
    strings = turnstile().sample(2000, random_state=1)
    net = RecurrentLearner(32, max_iter=20, random_state=1).fit(strings).model_
    for n_states in (2, 3, 6):
        found = extract(net.score, net.alphabet, n_states=n_states, strings=strings, max_queries=5000)
        print(f"LSTM of 32 units: {found}")


def from_expert() -> None:
    """Extract an acceptor of noun phrases from the neural expert of the English model."""
    net = gramian.load().model.expert("neural").model
    label = net.label_names.index("NP")

    def is_noun_phrase(strings: Sequence[tuple[str, ...]]) -> list[float]:
        # The last of the spans is the whole string.
        return [float(net.labels(string)[-1, label]) if string else 0.0 for string in strings]

    found = extract_acceptor(is_noun_phrase, WORDS, max_states=10, n_probes=240, max_length=5)
    print(f"neural expert: {found}; {100 * found.disagreements:.1f} % of other strings judged differently")
    for string in ("the park", "in the park", "the park in the park", "park the"):
        print(f"  {string:20} {'NP' if found.model.score([string.split()])[0] > 0.5 else '-'}")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["lstm", "expert"]
    if "lstm" in chosen:
        from_lstm()
    if "expert" in chosen:
        from_expert()
