"""Accuracy at one size versus learning rate: one line for each width of the model, medians over seeds.

A thin bar goes from the lowest seed to the highest. Bars of different widths at one rate stand side by side.

>>> sweep = {"width 64": {1e-4: [0.1, 0.2], 3e-4: [0.5]}, "width 128": {1e-4: [0.4, 0.7]}}
>>> figure = draw_rates(sweep, where="20 × 20")
"""

import textwrap
from collections.abc import Mapping, Sequence
from math import inf, log10
from statistics import median

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from lengthwise.errors import InputError
from lengthwise.figures.palette import FAINT, LINE_COLOURS, LINE_MARKS

APART = 3.5
"""How far, in points, lines are moved apart so that their bars can be told from each other."""
MARGIN = 0.05
"""The room left and right of the rates, as a part of their stretch."""
SMALLEST_GAP = 0.085
"""Labels of rates keep this distance, as a part of the stretch: they need about as much."""


def draw_rates(points: Mapping[str, Mapping[float, Sequence[float]]], *, where: str) -> Figure:
    """Accuracies by title, learning rate and seed, measured at one size: `where`, such as `20 × 20`."""
    if not points:
        raise InputError("There is nothing to draw: give the accuracies of one or more models.")
    for title, sweep in points.items():
        _require_sound(title, sweep)
    titles = [textwrap.fill(title, 34) for title in points]
    lines = "\n".join(titles).splitlines()
    size = 5.4 + 0.07 * max(map(len, lines), default=0), max(3.8, 0.6 + 0.18 * len(lines))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    for number, (title, sweep) in enumerate(zip(titles, points.values(), strict=True)):
        colour, mark = LINE_COLOURS[number % len(LINE_COLOURS)], LINE_MARKS[number % len(LINE_MARKS)]
        aside = ScaledTranslation(APART * (number - (len(points) - 1) / 2) / 72, 0, figure.dpi_scale_trans)
        place = axes.transData + aside
        rates = sorted(sweep)
        axes.vlines(
            rates,
            [min(sweep[rate]) for rate in rates],
            [max(sweep[rate]) for rate in rates],
            color=colour,
            linewidth=0.9,
            transform=place,
        )
        middle = [median(sweep[rate]) for rate in rates]
        axes.plot(rates, middle, color=colour, marker=mark, ms=5, linewidth=1.4, label=title, transform=place)
    every = sorted({rate for sweep in points.values() for rate in sweep})
    stretch = every[-1] / every[0] if len(every) > 1 else 10
    axes.set(xlim=(every[0] / stretch**MARGIN, every[-1] * stretch**MARGIN), ylim=(-0.03, 1.03))
    labelled = _labelled(every)
    axes.set_xticks(labelled, [_short(rate) for rate in labelled], fontsize=9)
    axes.set_xticks([rate for rate in every if rate not in labelled], [], minor=True)
    axes.set_xlabel("learning rate")
    axes.set_ylabel(textwrap.fill(f"exact-match accuracy at {where}", 36))
    axes.grid(linewidth=0.4, color="#dddddd")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    legend = figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    figure.supxlabel(_caption(points), fontsize=7.5, color=FAINT)
    return figure


def _require_sound(title: str, sweep: Mapping[float, Sequence[float]]) -> None:
    if not sweep:
        raise InputError(f"There is no learning rate to draw for {title!r}: give one or more.")
    for rate, accuracies in sweep.items():
        if not 0 < rate < inf:
            raise InputError(f"{title!r} has a learning rate of {rate}: only rates above 0 can be drawn.")
        if not accuracies:
            raise InputError(f"{title!r} has no accuracy at {_short(rate)}: give one for each seed.")
        for accuracy in accuracies:
            if not 0 <= accuracy <= 1:
                raise InputError(f"{title!r} has an accuracy of {accuracy} at {_short(rate)}: they lie from 0 to 1.")


def _labelled(rates: Sequence[float]) -> list[float]:
    """These ascending rates without those whose label would run into the one before."""
    shown = [rates[0]]
    for rate in rates[1:]:
        if log10(rate / shown[-1]) >= SMALLEST_GAP * log10(rates[-1] / rates[0]):
            shown.append(rate)
    return shown


def _short(rate: float) -> str:
    """A learning rate as it is typed: `3e-4`."""
    digits, exponent = f"{rate:e}".split("e")
    return f"{float(digits):g}e{int(exponent)}"


def _caption(points: Mapping[str, Mapping[float, Sequence[float]]]) -> str:
    seeds = {len(accuracies) for sweep in points.values() for accuracies in sweep.values()}
    if seeds == {1}:
        return "one seed"
    many = f"{min(seeds)} to {max(seeds)}" if len(seeds) > 1 else f"{max(seeds)}"
    return f"median of {many} seeds · bars: lowest to highest seed"
