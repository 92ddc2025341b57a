"""Whether heads look at what matters: a row for each model, a mark for each head.

On the left how much weight a head puts on the tokens that matter, on the right over how many tokens it spreads nearly
all of it. A row has a lane for each layer of its model, the first on top.

>>> from lengthwise.focus import Focus
>>> sharp = Focus(weight=[[0.9, 0.1]], with_carry=[[1.0, 0.8]], keys=[[2.0, 3.5]], uniform=0.05, matter=2.0)
>>> figure = draw_focus({"with a scratchpad": sharp})
"""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedLocator, FuncFormatter

from lengthwise.errors import InputError
from lengthwise.figures.canvas import add_axes, blank_figure, write
from lengthwise.figures.palette import FAINT, LINE_COLOURS, LINE_MARKS
from lengthwise.focus import MOST, Focus

NAME_SIZE, SMALL_SIZE = 9, 7.5
MARK_SIZE = 5.0
"""The side of a mark, in points."""
LONGEST_NAME = 30
"""Names of more characters are broken."""
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

# inches
LEFT_WIDTH, RIGHT_WIDTH, BETWEEN, BESIDE, MARGIN = 3.3, 2.5, 0.3, 0.1, 0.12
LANE, ROW, ROW_EDGE, LEGEND_LINE, AXIS = 0.15, 0.4, 0.07, 0.2, 0.52
NAME_LINE, SMALL_LINE = 0.15, 0.13


def draw_focus(focuses: Mapping[str, Focus]) -> Figure:
    """The models by name, from the top down."""
    if not focuses:
        raise InputError("There is nothing to draw: give the focus of one model or more.")
    names = [textwrap.fill(name, LONGEST_NAME) for name in focuses]
    heights = [_height(name, focus) for name, focus in zip(names, focuses.values(), strict=True)]
    bottoms = np.cumsum(heights).tolist()
    layers = max(focus.layers for focus in focuses.values())
    legend = _legend(layers)
    above = 0.14 + LEGEND_LINE * len(legend)
    left = MARGIN + BESIDE + max(_width(name) for name in [*names, *map(_size, focuses.values())])
    figure = blank_figure(left + LEFT_WIDTH + BETWEEN + RIGHT_WIDTH + MARGIN, above + bottoms[-1] + AXIS)
    weights = add_axes(figure, left, above, LEFT_WIDTH, bottoms[-1])
    keys = add_axes(figure, left + LEFT_WIDTH + BETWEEN, above, RIGHT_WIDTH, bottoms[-1])
    _prepare(weights, keys, focuses, bottoms)
    for name, focus, bottom, height in zip(names, focuses.values(), bottoms, heights, strict=True):
        _write_name(figure, left - BESIDE, above + bottom - height / 2, name, _size(focus))
        _draw_row(weights, focus.weight, focus.uniform, bottom - height, height)
        _draw_row(keys, focus.keys, focus.matter, bottom - height, height)
    for number, handles in enumerate(legend):
        figure.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(left / figure.get_figwidth(), 1 - (0.07 + number * LEGEND_LINE) / figure.get_figheight()),
            ncols=len(handles),
            fontsize=8,
            frameon=False,
            borderaxespad=0,
            borderpad=0,
            handletextpad=0.3,
            columnspacing=1.4,
            handlelength=1.2,
        )
    return figure


def _width(name: str) -> float:
    """How wide a name is, in inches, with its `$` no formula, and some more for letters that are set on whole dots."""
    lines = [TextPath((0, 0), line.replace("$", "0"), size=NAME_SIZE) for line in name.splitlines()]
    return 1.06 * max((line.get_extents().width for line in lines), default=0) / 72


def _size(focus: Focus) -> str:
    layers = f"{focus.layers} layers × " if focus.layers > 1 else ""
    return f"{layers}{focus.heads} head{'s' if focus.heads > 1 else ''}"


def _height(name: str, focus: Focus) -> float:
    """Room for a lane for each layer, and for the words beside them."""
    words = NAME_LINE * len(name.splitlines()) + SMALL_LINE
    return max(ROW, focus.layers * LANE, words) + 2 * ROW_EDGE


def _prepare(weights: Axes, keys: Axes, focuses: Mapping[str, Focus], bottoms: Sequence[float]) -> None:
    """Axes downward in inches, so that marks can be kept apart by their size."""
    weights.set_xlim(-0.03, 1.03)
    weights.set_xlabel("weight on the tokens that matter", fontsize=NAME_SIZE)
    most = max(max(focus.matter, *(count for row in focus.keys for count in row)) for focus in focuses.values())
    keys.set_xscale("log")
    keys.set_xlim(0.85, 1.25 * max(most, 8.0))
    keys.xaxis.set_major_locator(FixedLocator([tick for tick in TICKS if tick <= 1.25 * max(most, 8.0)]))
    keys.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
    keys.xaxis.set_minor_locator(FixedLocator([]))
    keys.set_xlabel(f"tokens that hold {100 * MOST:.0f} % of the weight", fontsize=NAME_SIZE)
    for axes in (weights, keys):
        axes.set_ylim(bottoms[-1], 0)
        axes.set_yticks([])
        axes.tick_params(labelsize=8)
        axes.grid(axis="x", linewidth=0.4, color="#dddddd")
        axes.set_axisbelow(True)
        axes.hlines(bottoms[:-1], 0, 1, transform=axes.get_yaxis_transform(), colors="#bbbbbb", linewidth=0.6)
        axes.spines[["top", "right", "left"]].set_visible(False)


def _write_name(figure: Figure, right: float, middle: float, name: str, size: str) -> None:
    """The name in black and its size below it, both to the left of the row's middle."""
    top = middle - (NAME_LINE * len(name.splitlines()) + SMALL_LINE) / 2
    write(figure, right, top, name, ha="right", fontsize=NAME_SIZE, linespacing=1.1)
    below = top + NAME_LINE * len(name.splitlines())
    write(figure, right, below + 0.01, size, ha="right", fontsize=SMALL_SIZE, color=FAINT)


def _draw_row(axes: Axes, values: Sequence[Sequence[float]], expected: float, top: float, height: float) -> None:
    """The heads of a model, each layer in its lane, over a tick for what would be expected."""
    axes.vlines(expected, top + 0.3 * ROW_EDGE, top + height - 0.3 * ROW_EDGE, colors=FAINT, linewidth=1.6, zorder=2)
    lane = (height - 2 * ROW_EDGE) / len(values)
    for layer, of_heads in enumerate(values):
        middle = top + ROW_EDGE + (layer + 0.5) * lane
        across = axes.transData.transform([(value, middle) for value in of_heads])[:, 0] * 72 / axes.figure.dpi
        down = apart(across.tolist(), MARK_SIZE + 0.8, lane * 72 - MARK_SIZE)
        axes.plot(
            of_heads,
            [middle + points / 72 for points in down],
            linestyle="",
            marker=_mark(layer),
            color=_colour(layer),
            markersize=MARK_SIZE,
            markeredgecolor="white",
            markeredgewidth=0.4,
            alpha=0.85,
            zorder=3,
            clip_on=False,
        )


def apart(places: Sequence[float], side: float, room: float) -> list[float]:
    """How far to move marks of this side up or down so that none hides another, or as far as the room allows.

    >>> apart([0, 50, 52, 51], 5, 100)
    [0, 0, -5, 5]
    >>> apart([0, 50, 52, 51], 5, 4)
    [0.0, 0.0, -2.0, 2.0]
    """
    levels: dict[int, int] = {}
    for mark in sorted(range(len(places)), key=lambda mark: places[mark]):
        near = {level for other, level in levels.items() if abs(places[other] - places[mark]) < side}
        levels[mark] = next(level for level in _outward(len(places)) if level not in near)
    furthest = max(map(abs, levels.values()))
    step = min(side, room / 2 / furthest) if furthest else side
    return [levels[mark] * step for mark in range(len(places))]


def _outward(marks: int) -> list[int]:
    """0, 1, −1, 2, −2 …, more of them than marks."""
    return sorted(range(-marks, marks + 1), key=lambda level: (abs(level), -level))


def _colour(layer: int) -> str:
    return LINE_COLOURS[layer % len(LINE_COLOURS)]


def _mark(layer: int) -> str:
    return LINE_MARKS[layer % len(LINE_MARKS)]


def _legend(layers: int) -> list[list[Line2D]]:
    """Lines of the legend: what the marks are, and what the ticks."""
    tick = Line2D([], [], linestyle="", marker="|", color=FAINT, markersize=9, markeredgewidth=1.6)
    tick.set_label("left: if all tokens were looked at evenly · right: how many tokens matter")
    marks = [
        Line2D([], [], linestyle="", marker=_mark(layer), color=_colour(layer), markersize=MARK_SIZE)
        for layer in range(layers)
    ]
    for number, mark in enumerate(marks, start=1):
        mark.set_label("a head" if layers == 1 else f"layer {number}" if number > 1 else "a head of layer 1")
    return [marks[start : start + 7] for start in range(0, layers, 7)] + [[tick]]
