"""Pictures of Hankel matrices: a row for each prefix u, a column for each suffix v, the darker the larger f(uv); and singular values."""

import numpy as np

from gramian.automata.automaton_picture import svg, svg_text
from gramian.automata.basis import Basis
from gramian.automata.hankel import HankelBlocks, hankel_blocks, hankel_blocks_of
from gramian.automata.sequence_model import SequenceModel
from gramian.automata.sequences import Sequences

_CELL, _TOP, _BARS = 34.0, 40.0, 60.0
_LETTER = 6.6


def picture_blocks(model: SequenceModel, sample: Sequences, size: int, *, counted: bool) -> HankelBlocks:
    """Return the blocks of the most frequent substrings of a sample: as counted in it, or as the model expects them."""
    basis = Basis.frequent(sample.recode(model.alphabet), size)
    if counted:
        return hankel_blocks(sample.recode(model.alphabet), basis)
    return hankel_blocks_of(model.to_wfa().convert("string", "substring").score, basis, "substring")


def hankel_to_svg(blocks: HankelBlocks) -> str:
    """Return a picture of the block f(uv): shades by the square root, numbers in the cells, and its singular values as bars.

    Examples
    --------
    >>> blocks = hankel_blocks(Sequences.from_strings(["ab", "abab"]), Basis.symbols("ab"))
    >>> hankel_to_svg(blocks).count("<rect")  # nine cells, three singular values
    12
    """
    matrix = blocks.matrix.toarray()
    rows, columns = (
        [" ".join(map(str, string)) or "λ" for string in side]
        for side in (blocks.basis.prefixes, blocks.basis.suffixes)
    )
    left = _LETTER * max(len("singular values"), *map(len, rows)) + 20.0
    width = max(_CELL, _LETTER * max(map(len, columns)) + 8.0)
    largest = float(np.abs(matrix).max(initial=0.0)) or 1.0
    elements = [
        svg_text("label", complex(left + width * (j + 0.5), _TOP - 8.0), name)
        for j, name in enumerate(columns)
    ]
    for i, row in enumerate(matrix.tolist()):
        y = _TOP + _CELL * i
        elements.append(svg_text("label", complex(left / 2, y + 0.6 * _CELL), rows[i]))
        for j, value in enumerate(row):
            shade, colour = float(np.sqrt(abs(value) / largest)), "#a33" if value < 0 else "#345"
            corner = complex(left + width * j, y)
            elements.append(_box(corner, width - 1, _CELL - 1, f'fill="{colour}" fill-opacity="{shade:.3f}"'))
            ink = "fill:#fff;stroke:none" if shade > 0.6 else "fill:#234;stroke:none"
            elements.append(svg_text("tag", corner + complex(width / 2, 0.6 * _CELL), f"{value:.2g}", ink))
    bottom = _TOP + _CELL * len(rows) + 24.0 + _BARS
    elements.append(svg_text("label", complex(left / 2, bottom - _BARS / 2), "singular values"))
    values = np.linalg.svd(matrix, compute_uv=False)
    for j, value in enumerate(values.tolist()):
        height = _BARS * value / max(values[0], 1e-300)
        corner = complex(left + width * j + 4, bottom - height)
        elements.append(_box(corner, width - 9, height, 'fill="#678"'))
        elements.append(svg_text("tag", complex(corner.real + width / 2 - 4, bottom + 14.0), f"{value:.2g}"))
    return svg(left + width * max(len(columns), len(values)) + 8.0, bottom + 24.0, elements)


def _box(corner: complex, width: float, height: float, look: str) -> str:
    return f'<rect x="{corner.real:.1f}" y="{corner.imag:.1f}" width="{width:.1f}" height="{height:.1f}" {look}/>'
