"""Result files made up for the tests of pictures."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

import lengthwise as lw
from lengthwise.results import AttentionMap, Grid

SAMPLES = 200


def make_grid(
    lengths: Sequence[int],
    counts: Sequence[int] | None,
    rate: Callable[[int, int], float | None] = lambda length, count: 1.0,
    *,
    task: str = "addition",
    trained_on: dict[str, int] | None = None,
    **about: Any,
) -> Grid:
    """A grid with these rates of whole responses, answers right half as often; None is a cell not measured."""
    axes = {"length": list(lengths)} | ({"count": list(counts)} if counts else {})
    model = {"trained_on": trained_on} if trained_on else {}
    grid = Grid.blank(axes, task={"name": task}, seed=0, samples=SAMPLES, model=model, **about)
    for row, column, length, count in grid.cells:
        right = rate(length, count or 0)
        if right is not None:
            grid.correct[row][column] = round(right * SAMPLES)
            grid.answers[row][column] = round(right * SAMPLES / 2)
            grid.total[row][column] = SAMPLES
    return grid


def size_in_inches(axes: Axes) -> tuple[float, float]:
    """Width and height of a panel."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    extent = axes.get_window_extent()
    return extent.width / figure.dpi, extent.height / figure.dpi


def fits(figure: Figure | SubFigure) -> bool:
    """Whether all that is drawn, labels too, lies on the picture."""
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    right, top = figure.get_size_inches()
    return bool(drawn.x0 >= 0 and drawn.y0 >= 0 and drawn.x1 <= right and drawn.y1 <= top)


def points(line: Line2D) -> list[tuple[float, float]]:
    """What a line of a diagram connects."""
    return [(across, up) for across, up in np.asarray(line.get_xydata()).tolist()]


def make_attention(problem: Sequence[int | str], layers: int = 1, heads: int = 2) -> AttentionMap:
    """Attention over an addition: every token looks at all that stand before it, each head at its own pace."""
    page = lw.task("addition").write(problem)
    tokens = len(page.tokens)
    pace = np.arange(1, layers * heads + 1).reshape(layers, heads, 1, 1)
    weights = np.tril(np.exp(-np.abs(np.subtract.outer(np.arange(tokens), np.arange(tokens))) / pace))
    return AttentionMap(
        weights=(weights / weights.sum(-1, keepdims=True)).astype(np.float32),
        tokens=page.tokens,
        labels=[cell.name for cell in page.cells],
        lines=[
            cell.role if cell.digit is None and cell.role in "$=" else f"{cell.role} {cell.line}" for cell in page.cells
        ],
        targets=page.targets,
        about={"samples": 1000},
    )
