"""Grids as heatmaps, in the look of the paper: lengths upward, counts rightward, a red box round the training sizes.

>>> from lengthwise.results import Grid
>>> grid = Grid.blank({"length": [1, 2, 5], "count": [2, 3]}, task={"name": "addition"}, seed=0, samples=50)
>>> grid.correct[0][0] = grid.total[0][0] = 50
>>> figure = draw_heatmaps([Panel("NoPE", [grid])])
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from lengthwise.errors import InputError
from lengthwise.figures.canvas import add_axes, blank_figure, write
from lengthwise.figures.measured import Measured, percent
from lengthwise.figures.palette import FAINT, TRAINED_COLOUR

PER_ROW = 3
MAX_NUMBERED = 10
"""A panel of at most so many cells each way has its accuracies written in."""
MAX_PARTED = 40
"""A panel of at most so many has white lines between its cells."""
MAX_TICKS = 14
COLOURS = colormaps["viridis"]
AXIS_NAMES = {"multiplication": ("length of the first operand", "length of the second operand", "first × second")}
OTHER_AXIS_NAMES = ("operand length", "number of operands", "length × count")
"""Upward, rightward, and both in short."""

# inches
BOX, SMALLEST_BOX, LARGEST_CELL = 3.0, 1.4, 0.6
LEFT, RIGHT, TICKS, CAPTION, TITLE_LINE = 0.72, 0.18, 0.52, 0.42, 0.19


@dataclass(frozen=True)
class Panel(Measured):
    """One heatmap; without a grid it is an empty frame in the place of what was not run."""


def draw_heatmaps(panels: Sequence[Panel], *, per_row: int = PER_ROW) -> Figure:
    """The panels side by side, so many in a row, with one scale of colours.

    An empty frame has the axes of the first panel that has any.
    """
    if not panels:
        raise InputError("There is nothing to draw: give one or more grids.")
    if per_row < 1:
        raise InputError(f"Panels cannot stand {per_row} in a row: give 1 or more.")
    measured = next((panel for panel in panels if panel.grids), panels[0])
    drawings = [_Drawing(panel, measured) for panel in panels]
    rows = [drawings[start : start + per_row] for start in range(0, len(drawings), per_row)]
    heads = [max(drawing.head for drawing in row) for row in rows]
    boxes = [max(SMALLEST_BOX, *(drawing.height for drawing in row)) for row in rows]
    slot = LEFT + BOX + RIGHT
    width = len(rows[0]) * slot + 0.75
    figure = blank_figure(width, 0.12 + sum(heads) + sum(boxes) + len(rows) * (TICKS + CAPTION))
    top = 0.12
    for row, head, box in zip(rows, heads, boxes, strict=True):
        for column, drawing in enumerate(row):
            middle = column * slot + LEFT + BOX / 2
            bottom = top + head - 0.08
            write(figure, middle, bottom, drawing.runs, va="bottom", fontsize=8, color=FAINT)
            bottom -= TITLE_LINE * bool(drawing.runs)
            write(figure, middle, bottom, drawing.title, va="bottom", fontsize=10)
            above = top + head + (box - drawing.height) / 2
            drawing.draw(add_axes(figure, middle - drawing.width / 2, above, drawing.width, drawing.height))
            write(figure, middle, top + head + box + TICKS, drawing.caption, fontsize=7.5, color=FAINT)
        top += head + box + TICKS + CAPTION
    scale = add_axes(figure, width - 0.68, 0.12 + heads[0], 0.13, boxes[0])
    figure.colorbar(ScalarMappable(Normalize(0, 1), COLOURS), cax=scale)
    metrics = sorted({grid.metric for panel in panels for grid in panel.grids})
    scale.set_ylabel(f"{' or '.join(metrics)} accuracy", fontsize=9)
    scale.tick_params(labelsize=8)
    return figure


class _Drawing:
    """A panel with its cells in order and its measures in inches."""

    def __init__(self, panel: Panel, measured: Panel) -> None:
        self.run = bool(panel.grids)
        shown = panel if self.run else measured
        spread = shown.spread()
        if "count" not in spread.axes:
            raise InputError(
                f"{shown.title!r} has lengths only, and a heatmap needs counts as well: draw curves of {shown.task}."
            )
        lengths, counts = np.array(spread.axes["length"]), np.array(spread.axes["count"])
        upward, rightward = lengths.argsort(), counts.argsort()
        self.lengths, self.counts = lengths[upward], counts[rightward]
        self.accuracy: NDArray[np.float64] = np.array(spread.median, dtype=np.float64)[np.ix_(upward, rightward)]
        self.trained_on = shown.trained_on
        self.names = AXIS_NAMES.get(shown.task, OTHER_AXIS_NAMES)
        self.title, self.runs = textwrap.fill(panel.title, 44), panel.runs
        self.head = TITLE_LINE * (1 + self.title.count("\n") + bool(self.runs)) + 0.1
        self.caption = f"{panel.how}\n{self._lowest()}" if self.run else ""
        cell = min(BOX / max(self.accuracy.shape), LARGEST_CELL)
        self.height, self.width = (cells * cell for cells in self.accuracy.shape)

    def _lowest(self) -> str:
        if np.isnan(self.accuracy).all():
            return "nothing measured yet"
        lowest = float(np.nanmin(self.accuracy))
        if lowest == 1:
            return "100% in every cell measured" if np.isnan(self.accuracy).any() else "100% in every cell"
        row, column = np.argwhere(self.accuracy == lowest)[0]
        return f"lowest {percent(lowest)}% at {self.lengths[row]}×{self.counts[column]} ({self.names[2]})"

    def draw(self, axes: Axes) -> None:
        rows, columns = self.accuracy.shape
        if self.run:
            self._fill(axes)
        else:
            axes.text(columns / 2, rows / 2, "not run", ha="center", va="center", fontsize=10, color=FAINT)
        axes.set(xlim=(0, columns), ylim=(0, rows))
        axes.set_ylabel(self.names[0], fontsize=9)
        axes.set_xlabel(self.names[1], fontsize=9)
        for axis, values in ((axes.xaxis, self.counts), (axes.yaxis, self.lengths)):
            shown = thinned(values.tolist())
            axis.set_ticks([place + 0.5 for place in shown], [str(values[place]) for place in shown], fontsize=8)
            axis.set_tick_params(length=3.5, width=0.6)
        for spine in axes.spines.values():
            spine.set(linewidth=0.6, color=FAINT)

    def _fill(self, axes: Axes) -> None:
        rows, columns = self.accuracy.shape
        cells = axes.pcolormesh(np.ma.masked_invalid(self.accuracy), cmap=COLOURS, vmin=0, vmax=1)
        if max(rows, columns) <= MAX_PARTED:
            cells.set(edgecolor="white", linewidth=0.25)
        for row, column in np.argwhere(np.isnan(self.accuracy)):
            axes.add_patch(
                Rectangle((column, row), 1, 1, facecolor="#ececec", edgecolor="#b5b5b5", hatch="//////", linewidth=0)
            )
        if max(rows, columns) <= MAX_NUMBERED:
            self._write_numbers(axes)
        self._box_training(axes)

    def _write_numbers(self, axes: Axes) -> None:
        size = min(9.0, 72 * self.width / self.accuracy.shape[1] * 0.3)
        for row, column in np.argwhere(~np.isnan(self.accuracy)):
            rate = float(self.accuracy[row, column])
            red, green, blue, _ = COLOURS(rate)
            ink = "#111111" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
            axes.text(column + 0.5, row + 0.48, percent(rate), ha="center", va="center", fontsize=size, color=ink)

    def _box_training(self, axes: Axes) -> None:
        if not {"length", "count"} <= set(self.trained_on):
            return
        rows = int((self.lengths <= self.trained_on["length"]).sum())
        columns = int((self.counts <= self.trained_on["count"]).sum())
        if rows and columns:
            box = Rectangle((0, 0), columns, rows, fill=False, edgecolor=TRAINED_COLOUR, linewidth=2, zorder=3)
            box.set(clip_on=False, joinstyle="miter", path_effects=[withStroke(linewidth=3.2, foreground="white")])
            axes.add_patch(box)


def thinned(values: Sequence[int]) -> list[int]:
    """Which of these ascending values get a label: all of a few, else round ones, else evenly spread ones.

    >>> thinned([1, 2, 5, 10])
    [0, 1, 2, 3]
    >>> [range(2, 31)[place] for place in thinned(range(2, 31))]
    [5, 10, 15, 20, 25, 30]
    """
    if len(values) <= MAX_TICKS:
        return list(range(len(values)))
    for step in (2, 5, 10, 20, 25, 50, 100):
        shown = [place for place, value in enumerate(values) if value % step == 0]
        if 4 <= len(shown) <= MAX_TICKS:
            return shown
    return list(range(0, len(values), ceil(len(values) / MAX_TICKS)))
