"""Templates of the span CRF and its tagger.

A value is a view (:data:`gramian.loglinear.word_views.VIEWS`: w word, f form, x spelling, s shape, e and l ends, p beginning, t tag) of a
word: those before b and after a a span, its first f and its last e, those before m and after n a split point, or a word w itself.
"""

from __future__ import annotations

from typing import NamedTuple

from gramian.loglinear.hashing import Templates, templates
from gramian.loglinear.word_views import VIEWS

__all__ = ["SPANS", "TAGGER", "SpanTemplates"]

# Places are the start, the split point and the end of a span; word i is in column i + 2.
_START, _SPLIT, _END = {"b": 1, "f": 2}, {"m": 1, "n": 2}, {"e": 1, "a": 2}
_AROUND = {name: (0, offset) for name, offset in _START.items()} | {
    name: (1, offset) for name, offset in _END.items()
}
_WORD = {"w": (0, 2)}
_LENGTHS = range(11)


class SpanTemplates(NamedTuple):
    """Templates by what has their features.

    Attributes
    ----------
    span, tag : Templates
        Phrases and tags, to be joined with their symbol.
    unary, binary : Templates
        Edges; the last of them, with the number of the rule as `pair` has it, to be joined with the context of the edge's parent.
    state : Templates
        Items, to be joined with their context.
    """

    span: Templates
    tag: Templates
    unary: Templates
    binary: Templates
    state: Templates


SPANS = SpanTemplates(
    span=templates(
        """
        . | length | wf | we | wb | wa | tf length | te length | tb length | ta length | ff | fe | fb | fa
        | tf te | tb ta | tb tf | te ta | tf ta | tb te | wf we | wb wa | wb wf | we wa
        | wf te | tf we | wb ta | tb wa | wb tf | tb wf | we ta | te wa
        | tb tf te | tf te ta | tb tf ta | tb te ta | tb tf te ta
        | tb-1 tb | ta ta+1 | tf tf+1 | te-1 te | tb tf tf+1 | te-1 te ta | te ta ta+1 | tb-1 tb tf | wb tf te wa
        """,
        first=1,
        views=VIEWS,
        places=_AROUND,
        small={"length": _LENGTHS},
    ),
    tag=templates(
        """
        xw | fw | lw | pw | tw | tw tw-1 | tw tw+1 | tw-1 tw tw+1 | xw tw-1 | xw tw+1 | ww-1 tw | ww+1 tw | fw tw-1 | fw tw+1
        | tw-2 tw-1 tw | tw tw+1 tw+2 | ew | sw | xw ww+1 | xw ww-1
        """,
        first=70,
        views=VIEWS,
        places=_WORD,
    ),
    unary=templates(
        """
        rule | rule ww | rule fw | rule tw-1 | rule tw+1 | rule ww-1 | rule ww+1 | rule tw-1 tw+1 | rule tw+1 tw+2 | rule tw-2 tw-1
        | 180: pair
        """,
        first=100,
        views=VIEWS,
        places=_WORD,
        given=("rule", "pair"),
    ),
    binary=templates(
        """
        rule | rule left | rule right | parent left right
        | rule tm | rule tn | rule tf | rule te | rule tb | rule ta | rule wm | rule wn | rule wf | rule we
        | rule tm tn | rule tf tn | rule tn te | rule tf tm | parent wm wn | parent wf wn | parent wn we
        | rule wm tn | rule tm wn | rule wf tn | rule tf wn | rule tm-1 tm tn | rule tm tn tn+1 | parent tf tm tn te
        | rule tn ta | rule wn wa
        | 180: pair | pair tm | pair tn | pair wn
        """,
        first=120,
        views=VIEWS,
        places=_AROUND | {name: (2, offset) for name, offset in _SPLIT.items()},
        small={
            "left": [left for left in _LENGTHS for _ in _LENGTHS],
            "right": [right for _ in _LENGTHS for right in _LENGTHS],
        },
        given=("rule", "pair", "parent"),
    ),
    state=templates(
        """
        symbol | symbol length | symbol tf | symbol te | symbol tb | symbol ta | symbol wf | symbol we | symbol tb ta | symbol wb
        """,
        first=160,
        views=VIEWS,
        places=_AROUND,
        small={"length": _LENGTHS},
        given=("symbol",),
    ),
)

TAGGER = templates(
    """
    . | xw | fw | sw start | ew | lw | pw | before | before second | before xw | before fw
    | xw-1 | xw+1 | ww+2 | ww-2 | fw+1 | before fw+1 | xw ww+1 | fw fw+1 | xw ww-1 | sw sw+1 | before ew
    """,
    first=1,
    views=VIEWS,
    places={"w": (0, 0)},
    small={"start": (0, 1)},
    given=("before", "second"),
)
"""To be joined with a tag; `before` and `second` are the tags of the last two words, `start` whether there are none."""
