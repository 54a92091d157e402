"""Figures by matplotlib: one way to draw them all, as SVG for the report and PNG for slides."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from gramian.experiments.results import Figure, Line
from gramian.io.files import write_bytes

# Colours that people with colour blindness can tell apart (Okabe and Ito), and marks for those who print in grey.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f")
_MARKS = "osD^vPX*"
_STYLE: Any = {
    "figure.figsize": (5.1, 3.5),
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "font.family": "sans-serif",
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "gramian",
}


def draw(figure: Figure, folder: Path) -> str:
    """Draw a figure, write it as SVG and PNG into a folder, and return the SVG."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_STYLE):
        canvas = Canvas()
        FigureCanvasAgg(canvas)
        axes = canvas.add_subplot()
        (_draw_categories if figure.categories else _draw_lines)(axes, figure)
        axes.set_xlabel(figure.x)
        axes.set_ylabel(figure.y)
        shown = sum(len(line.points) > 0 for line in figure.lines)
        if shown > 2:  # it would cover the lines
            canvas.set_figheight(canvas.get_figheight() + 0.12 * shown)
            canvas.legend(loc="outside lower center", ncols=2, fontsize=9.5)
        elif shown > 1:
            axes.legend(fontsize=9.5)
        svg, png = io.BytesIO(), io.BytesIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None})
        canvas.savefig(png, format="png", dpi=160)
    write_bytes(folder / f"{figure.name}.svg", svg.getvalue())
    write_bytes(folder / f"{figure.name}.png", png.getvalue())
    return _inline(svg.getvalue().decode(), figure.name)


def _draw_lines(axes: Any, figure: Figure) -> None:
    shown = [line for line in figure.lines if line.points]
    for number, line in enumerate(shown):
        xs, ys, bars = _places(line)
        axes.errorbar(xs, ys, yerr=bars, capsize=3, **_looks(number, line))
    if figure.log_x:
        axes.set_xscale("log", base=10)
        places: list[float] = []
        found = sorted({x for line in shown for x, _ in line.points})
        apart = max(1.6, (found[-1] / found[0]) ** (1 / 7.5)) if found else 1.6
        for place in found:
            if not places or place > apart * places[-1]:  # nearer ones would be written over each other
                places.append(place)
        axes.set_xticks(places, [f"{float(f'{place:.3g}'):,g}" for place in places])
        axes.minorticks_off()
    if figure.log_y:
        axes.set_yscale("log")


def _draw_categories(axes: Any, figure: Figure) -> None:
    height = len(figure.categories)
    axes.figure.set_size_inches(7.2, 1.2 + 0.26 * height)
    for number, line in enumerate(figure.lines):
        shift = 0.18 * (number - (len(figure.lines) - 1) / 2)
        xs, ys, bars = _places(line)
        looks = _looks(number, line) | {"linestyle": "none"}
        axes.errorbar(ys, [x + shift for x in xs], xerr=bars, capsize=2, **looks)
    if figure.reference is not None:
        axes.axvline(figure.reference, color="#7f7f7f", linewidth=1, linestyle="--", zorder=0)
    axes.set_yticks(range(height), list(figure.categories))
    axes.invert_yaxis()


def _places(line: Line) -> tuple[list[float], list[float], list[float] | None]:
    """Return where points stand, and how long their bars are, if any has one."""
    bars = [spread.deviation for _, spread in line.points]
    return (
        [x for x, _ in line.points],
        [spread.mean for _, spread in line.points],
        bars if any(bars) else None,
    )


def _looks(number: int, line: Line) -> dict[str, Any]:
    looks: dict[str, Any] = {"linestyle": "-", "label": line.label, "markersize": 5}
    looks |= {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKS[number % len(_MARKS)]}
    if line.is_level:
        return looks | {"linestyle": ":", "marker": "", "linewidth": 1.6}
    return looks | {"linestyle": "--", "alpha": 0.55, "markerfacecolor": "none"} if line.published else looks


def _inline(svg: str, name: str) -> str:
    """Return an SVG that fits any width, whose ids do not clash with those of other figures on the page."""
    svg = svg[svg.index("<svg") :]
    for size in ("width", "height"):
        svg = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", svg)
    return svg.replace("<svg", '<svg role="img"', 1)
