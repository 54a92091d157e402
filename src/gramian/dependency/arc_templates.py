"""Templates of the features of arcs and their relations, after McDonald, Crammer and Pereira (2005).

A value is a view followed by a word. Views: tag t, form f, suffix e, coarse tag c, short suffix s, long suffix l, prefix p, lemma r, all
morphological features b. Words: head h, modifier m, and, for relations, the first and last modifiers x and y of the modifier, its
previous and next sisters b and a, and the grandparent u. "dir" is the direction of an arc, "dist" its direction and distance class,
"left" whether x precedes m.
"""

from functools import partial
from typing import NamedTuple

from gramian.loglinear.hashing import PACKED, templates

_read = partial(templates, views="tfecslprb", scheme=PACKED)
_STRETCHES = range(18)

ARCS = _read(
    """
    dir th tm | dist th tm | dist th | dist tm
    | dir th th+1 tm-1 tm | dir th-1 th tm-1 tm | dir th th+1 tm tm+1 | dir th-1 th tm tm+1
    | dir th-1 th tm | dir th th+1 tm | dir th tm-1 tm | dir th tm tm+1 | dir th tm-1 tm tm+1 | dir th-1 th th+1 tm
    | dir th tm tm-2 tm-1 | dir th tm tm+1 tm+2 | dir th tm th-2 th-1 | dir th tm th+1 th+2
    | dir ch cm | dist ch cm | dir ch-1 ch ch+1 cm | dir ch cm-1 cm cm+1
    | dir fh tm | dir th fm | dir fh fm | dist fh | dist fm | dist fh tm | dist th fm
    | dir th fm tm+1 | dir th fm tm-1 | dir fh tm tm-1 | dir fh tm tm+1
    | dir th tm fm-1 | dir th tm fm+1 | dir th tm fh-1 | dir th tm fh+1
    | dir th fh+1 fm | dir fh fm-1 tm | dir fh fm+1 tm
    | dir eh tm | dir th em | dir eh em | dist eh | dist em
    | dir sh tm | dir th sm | dir sh sm | dir eh sm | dist th tm sm | dist th tm sh
    | dir bh bm | dist bh bm | dist bh | dist bm | dir bh tm | dir th bm | dist th bm | dir bh bm bm+1 | dir bh bm bm-1 | dir bh bm bh+1
    | dir rh rm | dir rh tm | dir th rm | dir rh bm | dir bh rm | dist rh tm | dist th rm
    """,
    first=1,
    places={"h": (0, 0), "m": (1, 0)},
    small={"dir": [stretch & 1 for stretch in _STRETCHES], "dist": _STRETCHES},
)

RELATIONS = _read(
    """
    dir th tm | dist th tm | dir ch cm | dir fm | . fh tm | dir th fm | dir fh fm | dir th em | dir tm sm | dir th tm sm
    | dir tm-1 tm tm+1 | . th-1 th th+1 tm | dir th tm fm-1 | dir th tm fm+1
    | dir ch cm fx | dir th tm tx left | dir fh tm fx | dir th tm ty fy | dir th tm em tx ty
    | dir th tm tb ta | dir th tm tb | dir th tm ta | dir th tm sm tb | dir th tm sm ta | dir th tm tu
    | dir eh em | dir th tm lm | dir th tm pm | dir ph tm sm | dir ph em | dir sh th tm sm | dist tm sm
    | dir bh bm | dir th bm | dir bh tm | dir bm | dir rh rm | dir rh tm | dir th rm | dir rh bm | dir bh rm | dir rh em | dir rh th tm rx
    | dir th bm tx fx left | dir rh bm cx left | dir th bm tb ta | dir rh tm fx left | dir bm tu | dir th bm by | dir bm bx left
    """,
    first=1,
    places={word: (number, 0) for number, word in enumerate("hmxybau")},
    small={
        "dir": [stretch & 1 for stretch in _STRETCHES for _ in range(2)],
        "dist": [stretch for stretch in _STRETCHES for _ in range(2)],
        "left": [left for _ in _STRETCHES for left in range(2)],
    },
)


class TemplateChoice(NamedTuple):
    """Positions of the templates that a model reads."""

    arcs: tuple[int, ...] = tuple(range(len(ARCS.number)))
    relations: tuple[int, ...] = tuple(range(len(RELATIONS.number)))


ALL_TEMPLATES = TemplateChoice()
