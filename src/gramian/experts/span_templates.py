"""Templates of the span CRF and its tagger.

A value is a view (:data:`gramian.loglinear.word_views.VIEWS`: w word, f form, x spelling, s shape, e and l ends, p beginning, t tag) of a
word: those before b and after a a span, its first f and its last e, those before m and after n a split point, or a word w itself.
"""

from functools import partial
from typing import NamedTuple

from gramian.loglinear.hashing import Templates, templates
from gramian.loglinear.word_views import VIEWS

_read = partial(templates, views=VIEWS)

# Places are the start, the end and the split point of a span; word i is in column i + 2.
_SPAN = {"b": (0, 1), "f": (0, 2), "e": (1, 1), "a": (1, 2)}
_WORD = {"w": (0, 2)}
_LENGTHS = range(11)


class SpanTemplates(NamedTuple):
    """Templates by what has their features."""

    span: Templates  # phrases, to be joined with their symbol
    tag: Templates  # tags, likewise
    unary: Templates  # edges; the last, with `pair` for the rule, to be joined with the context of the edge's parent
    binary: Templates
    state: Templates  # items, to be joined with their context


SPANS = SpanTemplates(
    span=_read(
        """
        . | length | wf | we | wb | wa | tf length | te length | tb length | ta length | ff | fe | fb | fa
        | tf te | tb ta | tb tf | te ta | tf ta | tb te | wf we | wb wa | wb wf | we wa
        | wf te | tf we | wb ta | tb wa | wb tf | tb wf | we ta | te wa
        | tb tf te | tf te ta | tb tf ta | tb te ta | tb tf te ta
        | tb-1 tb | ta ta+1 | tf tf+1 | te-1 te | tb tf tf+1 | te-1 te ta | te ta ta+1 | tb-1 tb tf | wb tf te wa
        """,
        first=1,
        places=_SPAN,
        small={"length": _LENGTHS},
    ),
    tag=_read(
        """
        xw | fw | lw | pw | tw | tw tw-1 | tw tw+1 | tw-1 tw tw+1 | xw tw-1 | xw tw+1 | ww-1 tw | ww+1 tw | fw tw-1 | fw tw+1
        | tw-2 tw-1 tw | tw tw+1 tw+2 | ew | sw | xw ww+1 | xw ww-1
        """,
        first=70,
        places=_WORD,
    ),
    unary=_read(
        """
        rule | rule ww | rule fw | rule tw-1 | rule tw+1 | rule ww-1 | rule ww+1 | rule tw-1 tw+1 | rule tw+1 tw+2 | rule tw-2 tw-1
        | 180: pair
        """,
        first=100,
        places=_WORD,
        given=("rule", "pair"),
    ),
    binary=_read(
        """
        rule | rule left | rule right | parent left right
        | rule tm | rule tn | rule tf | rule te | rule tb | rule ta | rule wm | rule wn | rule wf | rule we
        | rule tm tn | rule tf tn | rule tn te | rule tf tm | parent wm wn | parent wf wn | parent wn we
        | rule wm tn | rule tm wn | rule wf tn | rule tf wn | rule tm-1 tm tn | rule tm tn tn+1 | parent tf tm tn te
        | rule tn ta | rule wn wa
        | 180: pair | pair tm | pair tn | pair wn
        """,
        first=120,
        places=_SPAN | {"m": (2, 1), "n": (2, 2)},
        small={
            "left": [left for left in _LENGTHS for _ in _LENGTHS],
            "right": [right for _ in _LENGTHS for right in _LENGTHS],
        },
        given=("rule", "pair", "parent"),
    ),
    state=_read(
        """
        symbol | symbol length | symbol tf | symbol te | symbol tb | symbol ta | symbol wf | symbol we | symbol tb ta | symbol wb
        """,
        first=160,
        places=_SPAN,
        small={"length": _LENGTHS},
        given=("symbol",),
    ),
)

TAGGER = _read(
    """
    . | xw | fw | sw start | ew | lw | pw | before | before second | before xw | before fw
    | xw-1 | xw+1 | ww+2 | ww-2 | fw+1 | before fw+1 | xw ww+1 | fw fw+1 | xw ww-1 | sw sw+1 | before ew
    """,
    first=1,
    places={"w": (0, 0)},
    small={"start": (0, 1)},
    given=("before", "second"),
)
"""To be joined with a tag; `before` and `second` are the tags of the last two words, `start` whether there are none."""
