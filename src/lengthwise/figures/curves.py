"""Accuracy versus length: one line for each thing measured, over a grey region of the lengths trained on.

A grid with counts is cut along its diagonal, where length and count are equal, or at one count. One run comes with its
95 % intervals, several with their median and quartiles.

>>> from lengthwise.results import Grid
>>> grid = Grid.blank({"length": [10, 20]}, task={"name": "parity"}, seed=0, samples=50)
>>> grid.correct, grid.answers, grid.total = [[50], [45]], [[50], [48]], [[50], [50]]
>>> figure = draw_curves([Line("RoPE", [grid])])
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from lengthwise.errors import InputError
from lengthwise.figures.measured import Measured
from lengthwise.figures.palette import FAINT, LINE_COLOURS, LINE_MARKS
from lengthwise.results import Grid, wilson


@dataclass(frozen=True)
class Line(Measured):
    """One line of the diagram."""


def draw_curves(lines: Sequence[Line], *, count: int | None = None, answers: bool = False) -> Figure:
    """The lines, along the diagonal or at one `count`, in whole responses (solid) or in `answers` alone (dashed)."""
    if not lines:
        raise InputError("There is nothing to draw: give one or more grids.")
    cuts = [_cut(line, count, answers) for line in lines]
    names = [_name(line) for line in lines]
    figure = Figure(figsize=(6.8, max(3.8, 0.6 + 0.18 * len("\n".join(names).splitlines()))), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for number, (name, (length, middle, low, high)) in enumerate(zip(names, cuts, strict=True)):
        colour, mark = LINE_COLOURS[number % len(LINE_COLOURS)], LINE_MARKS[number % len(LINE_MARKS)]
        axes.plot(
            *(length, middle),
            color=colour,
            marker=mark,
            markersize=4 if len(length) <= 40 else 2,
            linestyle="--" if answers else "-",
            linewidth=1.4,
            label=name,
        )
        axes.fill_between(length, low, high, color=colour, alpha=0.15, linewidth=0)
    _mark_training(axes, [_trained_up_to(line, count) for line in lines])
    longest, shortest = max(points[0].max() for points in cuts), min(points[0].min() for points in cuts)
    margin = max(0.02 * (longest - shortest), 0.5)
    axes.set(xlim=(shortest - margin, longest + margin), ylim=(-0.03, 1.03))
    axes.set_xlabel(_length_name({line.task for line in lines}, count))
    metrics = sorted({grid.metric for line in lines for grid in line.grids})
    axes.set_ylabel("answer accuracy" if answers else f"{' or '.join(metrics)} accuracy")
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.grid(linewidth=0.4, color="#dddddd")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    _write_legend(figure, axes)
    figure.supxlabel(_caption(lines), fontsize=7.5, color=FAINT)
    return figure


def _cut(line: Line, count: int | None, answers: bool) -> NDArray[np.float64]:
    """Lengths in order with the accuracies there, and the lower and upper edge of the band."""
    spread, first = line.spread(answers=answers), line.grids[0]
    counts = spread.axes.get("count")
    if counts is None and count is not None:
        raise InputError(f"{line.title!r} has lengths only: leave the count out.")
    if counts is not None and count is not None and count not in counts:
        raise InputError(f"{line.title!r} has no count {count}: choose one of {', '.join(map(str, counts))}.")
    cells = sorted(
        (length, row, column)
        for row, column, length, size in first.cells
        if size is None or size == (length if count is None else count)
    )
    if not cells:
        raise InputError(f"{line.title!r} has no cell where length and count are equal: give a count.")
    if len(line.grids) == 1:
        bands = [_interval(line, first, row, column, answers) for _, row, column in cells]
    else:
        bands = [(spread.lower[row][column], spread.upper[row][column]) for _, row, column in cells]
    points = [
        (length, spread.median[row][column], *band) for (length, row, column), band in zip(cells, bands, strict=True)
    ]
    return np.array(points, dtype=np.float64).T


def _interval(line: Line, grid: Grid, row: int, column: int, answers: bool) -> tuple[float | None, float | None]:
    right, asked = (grid.answers if answers else grid.correct)[row][column], grid.total[row][column]
    if right is None or not asked:
        return None, None
    if not 0 <= right <= asked:
        raise InputError(f"The grid of {line.title!r} is not sound: it says {right} of {asked} in a cell.")
    return wilson(right, asked)


def _trained_up_to(line: Line, count: int | None) -> int | None:
    """The longest length of this cut that lies within the training sizes; None where none does or is known to."""
    sizes = line.trained_on
    if "length" not in sizes or "count" not in line.grids[0].axes:
        return sizes.get("length")
    most = sizes.get("count", sizes["length"])
    if count is None:
        return min(sizes["length"], most)
    return sizes["length"] if count <= most else None


def _mark_training(axes: Axes, limits: Sequence[int | None]) -> None:
    """One grey region where all agree; else dotted lines, in the colour of the one that was trained so far."""
    known = {limit for limit in limits if limit is not None}
    if len(known) == 1:
        axes.axvspan(-1, known.pop() + 0.5, color="#e9e9e9", linewidth=0, zorder=0, label="lengths trained on")
        return
    colours = [line.get_color() for line in axes.lines]
    for limit in sorted(known):
        colour = colours[limits.index(limit)] if limits.count(limit) == 1 else FAINT
        axes.axvline(limit + 0.5, color=colour, linestyle=":", linewidth=1.4)
    if known:
        axes.plot([], [], color=FAINT, linestyle=":", linewidth=1.4, label="end of the lengths trained on")


def _name(line: Line) -> str:
    if not line.runs:
        return textwrap.fill(line.title, 34)
    whole = f"{line.title} ({line.runs})"
    return whole if len(whole) <= 34 else f"{textwrap.fill(line.title, 34)}\n({line.runs})"


def _length_name(tasks: set[str], count: int | None) -> str:
    if tasks == {"multiplication"}:
        both = "length of both operands"
        return both if count is None else f"length of the first operand, the second of length {count}"
    if tasks & {"multiplication", "parity"}:
        return "length"
    return "operand length = number of operands" if count is None else f"operand length, with {count} operands"


def _write_legend(figure: Figure, axes: Axes) -> None:
    legend = figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _caption(lines: Sequence[Line]) -> str:
    bands = {"quartiles of several runs" if line.runs else "95 % Wilson intervals" for line in lines}
    how = list(dict.fromkeys(line.how for line in lines))
    asked = how[0] if len(how) == 1 else "samples and decoding differ between lines"
    return f"{asked} · bands: {', '.join(sorted(bands))}"
