"""Accuracy versus length: one line for each thing measured, over a grey region of the lengths trained on.

A grid with counts is cut along its diagonal, where length and count are equal, or at one count. One run comes with its
95 % intervals, several with their median and quartiles. Several diagrams stand side by side with one legend.

>>> from lengthwise.results import Grid
>>> grid = Grid.blank({"length": [10, 20]}, task={"name": "parity"}, seed=0, samples=50)
>>> grid.correct, grid.answers, grid.total = [[50], [45]], [[50], [48]], [[50], [50]]
>>> figure = draw_curves([Line("RoPE", [grid])])
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from lengthwise.errors import InputError
from lengthwise.figures.measured import Measured
from lengthwise.figures.palette import FAINT, LINE_COLOURS, LINE_MARKS
from lengthwise.results import Grid, wilson

MAX_MARKED = 40
"""A line of at most so many points has a large mark at each."""
MARKS = 10
"""About so many marks are on a longer one, where several diagrams share a legend."""
DASHES = ("-", "--", ":")
"""Whole responses, answers alone or a variant, and answers of a variant."""
SMALL: dict[str, Any] = {"fontsize": 7.5, "color": FAINT}


@dataclass(frozen=True)
class Line(Measured):
    """One line of the diagram."""

    variant_of: str = ""
    """The title of the line whose colour and mark this one takes, dashed and with hollow marks: the same model with a
    scratchpad, for one. That line need not be drawn itself."""


Name = tuple[str, int]
"""A title, and which of the lines of this title in its panel it is: 0 for the first."""


def draw_curves(
    lines: Sequence[Line], *, count: int | None = None, answers: bool = False, chance: float | None = None
) -> Figure:
    """The lines, along the diagonal or at one `count`, in whole responses (solid) or in `answers` alone (dashed).

    The accuracy that guessing has, `chance`, is a dotted line.
    """
    return draw_curve_panels({"": lines}, count=count, answers=answers, chance=chance)


def draw_curve_panels(
    panels: Mapping[str, Sequence[Line]],
    *,
    count: int | None = None,
    answers: bool = False,
    chance: float | None = None,
) -> Figure:
    """Diagrams side by side, each under its title, with one legend: lines of one title look the same in all of them."""
    if not any(panels.values()):
        raise InputError("There is nothing to draw: give one or more grids.")
    if chance is not None and not 0 <= chance <= 1:
        raise InputError(f"Guessing cannot have an accuracy of {chance}: give a chance from 0 to 1.")
    named = {title: _named(title, lines) for title, lines in panels.items()}
    cuts = {title: [_cut(line, count, answers) for line in lines] for title, lines in panels.items()}
    together: dict[Name, list[Line]] = {}
    for name, line in chain.from_iterable(lines.items() for lines in named.values()):
        together.setdefault(name, []).append(line)
    looks, several = _looks(together), len(panels) > 1
    labels = [_label(lines) for lines in together.values()]
    height = max(3.8, 0.6 + 0.18 * len("\n".join(labels).splitlines()))
    figure = Figure(figsize=(2.9 + 3.9 * len(panels), height), layout="constrained")
    FigureCanvasAgg(figure)
    row: Sequence[Axes] = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    handles: dict[Name, Artist] = {}
    for axes, title in zip(row, panels, strict=True):
        for name, cut in zip(named[title], cuts[title], strict=True):
            number, hollow = looks[name]
            drawn = _draw_line(axes, cut, number, hollow=hollow, answers=answers, sparse=several)
            handles.setdefault(name, drawn)
        _mark_training(axes, [_trained_up_to(line, count) for line in panels[title]])
        _finish(axes, cuts[title], _length_name({line.task for line in panels[title]}, count))
        _write_head(axes, title, _asked(panels[title]) if several else "")
        if chance is not None:
            axes.axhline(chance, color=FAINT, linestyle=":", linewidth=0.9, zorder=1.5)
    if chance is not None:
        _write_chance(row[-1], chance)
    lines = list(chain.from_iterable(panels.values()))
    metrics = sorted({grid.metric for line in lines for grid in line.grids})
    row[0].set_ylabel("answer accuracy" if answers else f"{' or '.join(metrics)} accuracy")
    _write_legend(figure, dict(zip(handles.values(), labels, strict=True)))
    figure.supxlabel(_bands(lines) if several else f"{_asked(lines)} · {_bands(lines)}", **SMALL)
    return figure


def _named(title: str, lines: Sequence[Line]) -> dict[Name, Line]:
    if not lines:
        raise InputError(f"There is nothing to draw in {title!r}: give one or more grids.")
    titles = [line.title for line in lines]
    return {(line.title, titles[:place].count(line.title)): line for place, line in enumerate(lines)}


def _looks(together: Mapping[Name, Sequence[Line]]) -> dict[Name, tuple[int, bool]]:
    """The number of each line's colour and mark, and whether it is hollow."""
    looks: dict[Name, tuple[int, bool]] = {}
    numbers: dict[Name, int] = {}
    for name, lines in together.items():
        origins = {line.variant_of for line in lines}
        if len(origins) > 1:
            raise InputError(f"{name[0]!r} is a variant of different lines: it needs the same in every panel.")
        origin = origins.pop()
        look = numbers.setdefault((origin, 0) if origin else name, len(numbers)), bool(origin)
        if origin and look in looks.values():
            raise InputError(f"Two variants of {origin!r} would look the same: draw one of them as a line of its own.")
        looks[name] = look
    return looks


def _draw_line(
    axes: Axes, cut: NDArray[np.float64], number: int, *, hollow: bool, answers: bool, sparse: bool
) -> Line2D:
    length, middle, low, high = cut
    colour = LINE_COLOURS[number % len(LINE_COLOURS)]
    few = len(length) <= MAX_MARKED
    step = ceil(len(length) / MARKS)
    (drawn,) = axes.plot(
        *(length, middle),
        color=colour,
        marker=LINE_MARKS[number % len(LINE_MARKS)],
        markerfacecolor="white" if hollow else colour,
        markersize=4 if few or sparse else 2,
        markevery=None if few or not sparse else ((number + hollow * step // 2) % step, step),
        linestyle=DASHES[answers + hollow],
        linewidth=1.4,
    )
    axes.fill_between(length, low, high, color=colour, alpha=0.15, linewidth=0)
    return drawn


def _finish(axes: Axes, cuts: Sequence[NDArray[np.float64]], name: str) -> None:
    longest, shortest = max(points[0].max() for points in cuts), min(points[0].min() for points in cuts)
    margin = max(0.02 * (longest - shortest), 0.5)
    axes.set(xlim=(shortest - margin, longest + margin), ylim=(-0.03, 1.03), xlabel=name)
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.grid(linewidth=0.4, color="#dddddd")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _write_head(axes: Axes, title: str, asked: str) -> None:
    axes.set_title(textwrap.fill(title, 48), fontsize=10, pad=18 if asked else None, parse_math=False)
    axes.annotate(
        asked, (0.5, 1), xycoords="axes fraction", xytext=(0, 5), textcoords="offset points", ha="center", **SMALL
    )


def _write_chance(axes: Axes, chance: float) -> None:
    """A name for the dotted line, right of the diagram: lines often end at this height."""
    beside = axes.get_yaxis_transform()
    axes.annotate(
        "guessing", (1, chance), xycoords=beside, xytext=(3, 0), textcoords="offset points", va="center", **SMALL
    )


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


def _label(lines: Sequence[Line]) -> str:
    """The title with the number of runs; lines of one title in several panels may differ in that."""
    title, runs = lines[0].title, " or ".join(dict.fromkeys(line.runs or "one run" for line in lines))
    if runs == "one run":
        return textwrap.fill(title, 34)
    whole = f"{title} ({runs})"
    return whole if len(whole) <= 34 else "\n".join(textwrap.fill(part, 34) for part in (title, f"({runs})"))


def _length_name(tasks: set[str], count: int | None) -> str:
    if tasks == {"multiplication"}:
        both = "length of both operands"
        return both if count is None else f"length of the first operand, the second of length {count}"
    if tasks & {"multiplication", "parity"}:
        return "length"
    return "operand length = number of operands" if count is None else f"operand length, with {count} operands"


def _write_legend(figure: Figure, lines: Mapping[Artist, str]) -> None:
    others: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            others.setdefault(label, handle)
    handles, labels = [*lines, *others.values()], [*lines.values(), *others]
    legend = figure.legend(handles, labels, loc="outside right upper", fontsize=8, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _asked(lines: Sequence[Line]) -> str:
    how = list(dict.fromkeys(line.how for line in lines))
    return how[0] if len(how) == 1 else "samples and decoding differ between lines"


def _bands(lines: Sequence[Line]) -> str:
    bands = {"quartiles of several runs" if line.runs else "95 % Wilson intervals" for line in lines}
    return f"bands: {', '.join(sorted(bands))}"
