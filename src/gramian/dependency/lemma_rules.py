"""Edit rules that turn a form into its lemma: which characters to cut and to add at either end, and whether to lower the case."""

import re
from functools import lru_cache

_SEPARATOR = "\x1f"
_RULE = re.compile(
    r"whole\x1f[^\x1f\t\n\r]+|(?:lower|keep)\x1f\d{1,6}\x1f[^\x1f\t\n\r]*\x1f\d{1,6}\x1f[^\x1f\t\n\r]*"
)


@lru_cache(maxsize=1 << 16)
def lemma_rule(form: str, lemma: str) -> str:
    """Return the rule for a form and its lemma, around their longest common substring; a whole lemma if they share nothing.

    Examples
    --------
    >>> apply_rule(lemma_rule("walked", "walk"), "Talked")
    'talk'
    >>> apply_rule(lemma_rule("Paris", "Paris"), "London")
    'London'
    >>> apply_rule(lemma_rule("gegangen", "gehen"), "x")  # too short for the rule
    'x'
    """
    lower = form.lower()
    if lemma == form:
        # lower-case words show nothing about case; they keep theirs, which is the same
        return _SEPARATOR.join(("lower" if form == lower else "keep", "0", "", "0", ""))
    start, other, size = _common(lower, lemma.lower())
    base = lower if lemma[other : other + size] == lower[start : start + size] else form
    # A letter may be two in lower case (İ); then positions differ and the rule would cut elsewhere.
    if (
        not size
        or lemma[other : other + size] != base[start : start + size]
        or len(lemma.lower()) != len(lemma)
    ):
        return _SEPARATOR.join(("whole", lemma))
    case = "lower" if base is lower else "keep"
    cut = len(base) - start - size
    return _SEPARATOR.join((case, str(start), lemma[:other], str(cut), lemma[other + size :]))


def is_rule(text: str) -> bool:
    """Tell whether a text is a rule."""
    return _RULE.fullmatch(text) is not None


def apply_rule(rule: str, form: str) -> str:
    """Return the lemma of a form; the form in lower case if it is too short for the rule."""
    case, *edits = rule.split(_SEPARATOR)
    if case == "whole":
        return edits[0]
    text = form.lower() if case == "lower" else form
    start, end = int(edits[0]), len(text) - int(edits[2])
    return f"{edits[1]}{text[start:end]}{edits[3]}" if start < end else form.lower()


def _common(first: str, second: str) -> tuple[int, int, int]:
    """Return where the longest common substring starts in both texts, and its length."""
    best = (0, 0, 0)
    lengths = [0] * (len(second) + 1)  # of the common substrings that end before each position
    for i, character in enumerate(first, 1):
        diagonal = 0
        for j, other in enumerate(second, 1):
            above = lengths[j]
            lengths[j] = diagonal + 1 if character == other else 0
            diagonal = above
            if lengths[j] > best[2]:
                best = i - lengths[j], j - lengths[j], lengths[j]
    return best
