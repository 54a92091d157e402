"""Random walks through an automaton, all strings at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.automata.strings import Sequences, Symbol

__all__ = ["random_walks"]


def random_walks(
    start: npt.NDArray[np.float64],
    leaving: npt.NDArray[np.float64],
    symbol: npt.NDArray[np.int32],
    target: npt.NDArray[np.int32],
    alphabet: tuple[Symbol, ...],
    n_strings: int,
    rng: np.random.Generator,
    max_length: int,
) -> Sequences:
    """Draw strings; one that reaches `max_length` symbols is cut there.

    Parameters
    ----------
    start : array of shape (n_states,)
        Probability of beginning in each state.
    leaving : array of shape (n_states, n_moves + 1)
        Probability of each move out of each state; the last column is STOP.
    symbol : array of shape (n_moves,)
        What a move says.
    target : array of shape (n_states, n_moves)
        Where it leads.
    """
    bounds = np.cumsum(leaving, axis=1)
    bounds /= bounds[:, -1:]
    state = rng.choice(len(start), n_strings, p=start / start.sum())
    string = np.arange(n_strings)
    owners, said = [], []
    for _ in range(max_length):
        move = (bounds[state] <= rng.random(len(state))[:, None]).sum(axis=1)
        going = move < len(symbol)
        state, string, move = state[going], string[going], move[going]
        if len(string) == 0:
            break
        owners.append(string)
        said.append(symbol[move])
        state = target[state, move]
    owner = np.concatenate([np.empty(0, np.int64), *owners])
    order = np.argsort(owner, kind="stable")
    symbols = np.concatenate([np.empty(0, np.int32), *said])[order].astype(np.int32)
    lengths = np.bincount(owner, minlength=n_strings)
    return Sequences(symbols, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), alphabet)
