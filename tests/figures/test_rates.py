"""Accuracy versus learning rate."""

from itertools import pairwise
from pathlib import Path

import pytest
from made import fits, points
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

import lengthwise as lw
from lengthwise.figures.palette import LINE_COLOURS, LINE_MARKS
from lengthwise.figures.rates import draw_rates
from lengthwise.figures.saving import save_figure

SWEEP = {"width 64": {1e-3: [0.5, 0.25, 1.0], 1e-4: [0.25, 0.0]}, "width 128": {1e-3: [0.75], 3e-4: [1.0]}}


def bars(axes: Axes, number: int) -> dict[float, tuple[float, float]]:
    collection = [lines for lines in axes.collections if isinstance(lines, LineCollection)][number]
    return {float(rate): (float(low), float(high)) for (rate, low), (_, high) in collection.get_segments()}


def tick_labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_xticklabels()]


def test_medians_are_connected_by_rising_rate_with_bars_over_the_seeds() -> None:
    axes = draw_rates(SWEEP, where="20 × 20").axes[0]
    assert [points(line) for line in axes.lines] == [[(1e-4, 0.125), (1e-3, 0.5)], [(3e-4, 1.0), (1e-3, 0.75)]]
    assert bars(axes, 0) == {1e-4: (0.0, 0.25), 1e-3: (0.25, 1.0)}
    assert bars(axes, 1) == {3e-4: (1.0, 1.0), 1e-3: (0.75, 0.75)}
    assert axes.get_xscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("learning rate", "exact-match accuracy at 20 × 20")


def test_every_line_looks_different_and_has_its_title() -> None:
    titles = [f"width {number}" for number in range(9)]
    figure = draw_rates({title: {1e-4: [0.5], 1e-3: [0.5]} for title in titles}, where="5 × 5")
    drawn = figure.axes[0].lines
    assert len({(line.get_color(), line.get_marker()) for line in drawn}) == len(titles)
    assert {line.get_color() for line in drawn} <= set(LINE_COLOURS)
    assert {line.get_marker() for line in drawn} <= set(LINE_MARKS)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == titles


def test_lines_of_the_same_accuracy_do_not_hide_each_other() -> None:
    figure = draw_rates({"a": {1e-4: [0.5]}, "b": {1e-4: [0.5]}, "c": {1e-4: [0.5]}}, where="5 × 5")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    across = [float(line.get_transform().transform((1e-4, 0.5))[0]) for line in axes.lines]
    right = float(axes.transData.transform((1e-4, 0.5))[0])
    assert across[0] < across[1] < across[2]
    assert across[1] == pytest.approx(right)
    bar_places = [float(bar.get_transform().transform((1e-4, 0.5))[0]) for bar in axes.collections]
    assert bar_places == pytest.approx(across)


@pytest.mark.parametrize(
    ("rates", "labels"),
    [
        ([1e-3], ["1e-3"]),
        ([3e-5, 1e-4, 1.5e-4, 1e-3], ["3e-5", "1e-4", "1.5e-4", "1e-3"]),
        ([1e-5, 1e-4, 1.2e-4, 1.4e-4, 3e-4, 1e-1], ["1e-5", "1e-4", "3e-4", "1e-1"]),
    ],
)
def test_the_rates_are_labelled_where_there_is_room(rates: list[float], labels: list[str]) -> None:
    figure = draw_rates({"a": {rate: [0.5] for rate in rates}}, where="5 × 5")
    axes = figure.axes[0]
    assert tick_labels(axes) == labels
    assert sorted([*axes.get_xticks(), *axes.get_xticks(minor=True)]) == rates
    assert axes.get_xlim()[0] < min(rates) <= max(rates) < axes.get_xlim()[1]
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


@pytest.mark.parametrize(
    ("seeds", "caption"),
    [
        ([1, 1], "one seed"),
        ([3, 3], "median of 3 seeds · bars: lowest to highest seed"),
        ([1, 4], "median of 1 to 4 seeds · bars: lowest to highest seed"),
    ],
)
def test_the_caption_says_how_many_seeds_there_are(seeds: list[int], caption: str) -> None:
    sweep = {10.0**-place: [0.5] * count for place, count in enumerate(seeds, start=3)}
    assert draw_rates({"a": sweep}, where="5 × 5").get_supxlabel() == caption


def test_titles_are_no_formulas_and_nothing_is_cut_off(tmp_path: Path) -> None:
    figure = draw_rates({"costs $5 or $_6": {1e-4: [0.0, 1.0]}, "x y " * 30: {1e-3: [1.0]}}, where="20 × 20")
    assert fits(figure)
    first, second = figure.legends[0].get_texts()
    assert (first.get_text(), first.get_parse_math()) == ("costs $5 or $_6", False)
    assert max(len(line) for line in second.get_text().splitlines()) <= 34
    save_figure(figure, tmp_path / "rates.png")


@pytest.mark.parametrize(
    ("sweeps", "sentence"),
    [
        ({}, "nothing to draw"),
        ({"a": {}}, "no learning rate to draw for 'a'"),
        ({"a": {0.0: [0.5]}}, "learning rate of 0.0"),
        ({"a": {float("nan"): [0.5]}}, "learning rate of nan"),
        ({"a": {float("inf"): [0.5]}}, "learning rate of inf"),
        ({"a": {3e-4: []}}, "'a' has no accuracy at 3e-4"),
        ({"a": {3e-4: [0.5, 50.0]}}, "accuracy of 50.0 at 3e-4"),
        ({"a": {3e-4: [float("nan")]}}, "accuracy of nan"),
    ],
)
def test_what_are_no_rates_is_refused(sweeps: dict[str, dict[float, list[float]]], sentence: str) -> None:
    with pytest.raises(lw.InputError, match=sentence):
        draw_rates(sweeps, where="20 × 20")
