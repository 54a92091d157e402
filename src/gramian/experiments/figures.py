"""Figures by matplotlib: one way to draw them all, as SVG for the report and PNG for slides."""

import io
import re
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from gramian.experiments.results import Figure, Line
from gramian.io.output import write_bytes

# Colours that people with colour blindness can tell apart (Okabe and Ito), and marks for those who print in grey.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f")
_MARKS = "osD^vPX*"
_LEVELS: tuple[Any, ...] = (":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 5)))


def draw(figure: Figure, folder: Path) -> str:
    """Draw a figure, write it as SVG and PNG into a folder, and return the SVG."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    folder.mkdir(parents=True, exist_ok=True)
    with (
        as_file(files("gramian.experiments") / "report.mplstyle") as style,
        matplotlib.rc_context(fname=style),
    ):
        canvas = Canvas()
        FigureCanvasAgg(canvas)
        axes = canvas.add_subplot()
        (_draw_categories if figure.categories else _draw_lines)(axes, figure)
        axes.set_xlabel(figure.x)
        axes.set_ylabel(figure.y)
        shown = sum(len(line.points) > 0 for line in figure.lines)
        if shown > 1:  # below the axes, where it covers no line
            canvas.set_figheight(canvas.get_figheight() + 0.12 * shown + 0.15)
            canvas.legend(loc="outside lower center", ncols=2, fontsize=9.5)
        svg, png = io.BytesIO(), io.BytesIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None})
        canvas.savefig(png, format="png", dpi=160)
    write_bytes(folder / f"{figure.name}.svg", svg.getvalue())
    write_bytes(folder / f"{figure.name}.png", png.getvalue())
    return _inline(svg.getvalue().decode(), figure.name)


def _draw_lines(axes: Any, figure: Figure) -> None:
    shown = [line for line in figure.lines if line.points]
    for kind in ([line for line in shown if not line.is_level], [line for line in shown if line.is_level]):
        for number, line in enumerate(kind):  # so that a baseline looks the same in all figures
            xs, ys, bars = _places(line)
            axes.errorbar(xs, ys, yerr=bars, capsize=3, **_looks(number, line))
    _mark_places(axes, figure)
    if figure.log_y:
        axes.set_yscale("log")


def _mark_places(axes: Any, figure: Figure) -> None:
    """Put the marks of the x axis where points stand; those too near to be written beside each other are left out, not the ends."""
    values = sorted({x for line in figure.lines for x, _ in line.points if not line.is_level})
    if not values:
        return
    if figure.log_x:
        axes.set_xscale("log", base=10)

    def far(one: float, other: float) -> bool:
        if figure.log_x:
            return other / one > max(1.6, (values[-1] / values[0]) ** (1 / 7.5))
        return other - one > (values[-1] - values[0]) / 14

    places = [values[0]]
    for value in values[1:-1]:
        if far(places[-1], value) and far(value, values[-1]):
            places.append(value)
    places += values[-1:] if values[-1] != values[0] else []
    axes.set_xticks(places, [f"{float(f'{value:.3g}'):,g}" for value in places])
    axes.minorticks_off()


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
    """Return how a line is drawn: measured ones whole with marks, published ones dashed and pale, levels grey without marks."""
    looks: dict[str, Any] = {"linestyle": "-", "label": line.label, "markersize": 5}
    if line.is_level:
        return looks | {"linestyle": _LEVELS[number % len(_LEVELS)], "color": "#555555", "linewidth": 1.4}
    looks |= {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKS[number % len(_MARKS)]}
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
