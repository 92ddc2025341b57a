"""How a run went, from its metrics: losses on a logarithmic scale, and accuracies, versus steps.

>>> figure = draw_training([{"step": 100, "loss": 1.2}, {"step": 200, "loss": 0.3, "cells": {"20x20": 0.5}}])
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import inf, isfinite
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lengthwise.errors import InputError
from lengthwise.figures.palette import FAINT

LOSSES = {"loss": "training", "validation_loss": "validation"}
ACCURACIES = {
    "token_accuracy": "tokens",
    "exact_match": "whole responses",
    "validation_exact_match": "whole responses, validation",
}
LOSS_COLOURS, ACCURACY_COLOURS = ("#0072b2", "#d55e00"), ("#000000", "#d55e00", "#cc79a7")
"""Cells have shades from violet to yellow, which none of these is."""

Series = dict[int, float]
"""Values by step; where a resumed run wrote a step again, the later value."""


def draw_training(metrics: Sequence[Mapping[str, Any]]) -> Figure:
    """Loss on the left; on the right the accuracy of tokens, of whole responses, and of every cell looked at."""
    if not metrics:
        raise InputError("There is nothing to draw: the metrics are empty.")
    losses = {name: _series(metrics, key) for key, name in LOSSES.items()}
    accuracies = {name: _series(metrics, key) for key, name in ACCURACIES.items()}
    cells = _cells(metrics)
    if not any(chain(losses.values(), accuracies.values(), cells.values())):
        raise InputError("There is nothing to draw: these metrics hold neither a loss nor an accuracy.")
    figure = Figure(figsize=(10.5, max(3.8, 1.2 + 0.17 * len(cells))), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for colour, (name, series) in zip(LOSS_COLOURS, losses.items(), strict=True):
        _plot(left, name, {step: loss for step, loss in series.items() if loss > 0}, colour)
    if left.lines:
        left.set_yscale("log")
    for colour, (name, series) in zip(ACCURACY_COLOURS, accuracies.items(), strict=True):
        _plot(right, name, series, colour)
    shades = colormaps["viridis"]
    for number, (name, series) in enumerate(cells.items()):
        _plot(right, name.replace("x", "×"), series, shades(0.9 * number / max(1, len(cells) - 1)), linestyle="--")
    right.set_ylim(-0.03, 1.03)
    steps = [record["step"] for record in metrics]
    margin = max(0.03 * (max(steps) - min(steps)), 0.5)
    for axes in (left, right):
        axes.set_xlim(min(steps) - margin, max(steps) + margin)
    _finish(left, "loss", loc="upper right")
    _finish(right, "accuracy", loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    return figure


def _series(records: Iterable[Mapping[str, Any]], key: str) -> Series:
    series = {}
    for number, record in enumerate(records, start=1):
        step = record.get("step")
        if type(step) is not int:
            raise InputError(f"Record {number} of the metrics has no step: every record needs one.")
        value = record.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"Record {number} of the metrics says {value!r} for {key}: a number is meant.")
        if isfinite(value):  # a diverged loss leaves a gap in the picture, not an error
            series[step] = float(value)
    return dict(sorted(series.items()))


def _cells(metrics: Sequence[Mapping[str, Any]]) -> dict[str, Series]:
    """The accuracies of each cell, small cells first."""
    records = []
    for number, record in enumerate(metrics, start=1):
        cells = record.get("cells") or {}
        if not isinstance(cells, Mapping):
            raise InputError(f"Record {number} of the metrics says {cells!r} for cells: accuracies by size are meant.")
        records.append({**cells, "step": record.get("step")})
    names = {name for record in records for name in record if name != "step"}
    return {name: _series(records, name) for name in sorted(names, key=_size)}


def _size(cell: str) -> tuple[float, str]:
    """Cells by their numbers, so that 5x5 comes before 20x20."""
    sizes = cell.split("x")
    return (sum(map(int, sizes)) if all(size.isdecimal() for size in sizes) else inf), cell


def _plot(axes: Axes, name: str, series: Series, colour: Any, **style: Any) -> None:
    if series:
        mark = "o" if len(series) <= 30 else ""
        axes.plot(
            list(series), list(series.values()), label=name, color=colour, marker=mark, ms=3, linewidth=1.2, **style
        )


def _finish(axes: Axes, name: str, **legend: Any) -> None:
    axes.set_xlabel("step")
    axes.set_ylabel(name)
    axes.grid(linewidth=0.4, color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.tick_params(which="both", labelsize=9)
    if axes.lines:
        axes.legend(fontsize=8, frameon=False, **legend)
    else:
        axes.set(xticks=[], yticks=[])
        axes.text(
            0.5, 0.5, f"no {name} recorded", ha="center", va="center", color=FAINT, fontsize=9, transform=axes.transAxes
        )
