"""Accuracy versus length."""

import numpy as np
import pytest
from made import fits, make_grid, points
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle

import lengthwise as lw
from lengthwise.figures.curves import Line, draw_curves
from lengthwise.figures.palette import LINE_COLOURS, LINE_MARKS
from lengthwise.results import Grid, wilson


def band(axes: Axes, length: float, number: int = 0) -> tuple[float, float]:
    (polygon,) = [bands for bands in axes.collections if isinstance(bands, PolyCollection)][number].get_paths()
    heights = [float(high) for across, high in np.asarray(polygon.vertices) if across == length]
    return min(heights), max(heights)


def parity(rate: dict[int, float | None], **about: object) -> Grid:
    return make_grid(list(rate), None, lambda length, count: rate[length], task="parity", **about)  # type: ignore[arg-type]


def legend(axes: Axes) -> list[str]:
    (box,) = axes.figure.legends
    return [text.get_text() for text in box.get_texts()]


def test_parity_is_drawn_by_length_in_order_with_gaps_where_nothing_was_measured() -> None:
    axes = draw_curves([Line("RoPE", [parity({20: 0.5, 5: 1.0, 10: None})])]).axes[0]
    drawn = points(axes.lines[0])
    assert (drawn[0], drawn[2]) == ((5.0, 1.0), (20.0, 0.5))
    assert drawn[1][0] == 10
    assert np.isnan(drawn[1][1])
    assert axes.get_xlabel() == "length"
    assert axes.get_ylabel() == "exact-match accuracy"


@pytest.mark.parametrize(
    ("task", "count", "lengths", "name"),
    [
        ("addition", None, [3, 5], "operand length = number of operands"),
        ("addition", 7, [1, 3, 5], "operand length, with 7 operands"),
        ("multiplication", None, [3, 5], "length of both operands"),
        ("multiplication", 3, [1, 3, 5], "length of the first operand, the second of length 3"),
    ],
)
def test_a_grid_is_cut_along_its_diagonal_or_at_a_count(
    task: str, count: int | None, lengths: list[int], name: str
) -> None:
    grid = make_grid([1, 3, 5], [3, 5, 7], lambda length, count: length / 10 + count / 100, task=task)
    axes = draw_curves([Line("a model", [grid])], count=count).axes[0]
    drawn = points(axes.lines[0])
    assert [length for length, _ in drawn] == lengths
    rates = [length / 10 + (length if count is None else count) / 100 for length in lengths]
    assert [rate for _, rate in drawn] == pytest.approx(rates)
    assert axes.get_xlabel() == name


@pytest.mark.parametrize("answers", [False, True])
def test_one_run_has_its_wilson_intervals(answers: bool) -> None:
    axes = draw_curves([Line("RoPE", [parity({5: 1.0, 10: 0.8})])], answers=answers).axes[0]
    right = 80 if answers else 160
    assert points(axes.lines[0])[1] == (10, right / 200)
    assert band(axes, 10) == pytest.approx(wilson(right, 200))
    assert axes.lines[0].get_linestyle() == ("--" if answers else "-")
    assert axes.get_ylabel() == ("answer accuracy" if answers else "exact-match accuracy")


@pytest.mark.parametrize("answers", [False, True])
def test_several_runs_have_their_median_and_quartiles(answers: bool) -> None:
    runs = [parity({5: rate}) for rate in (0.1, 0.2, 0.4, 0.8, 1.0)]
    axes = draw_curves([Line("RoPE", runs)], answers=answers).axes[0]
    half = 0.5 if answers else 1
    assert points(axes.lines[0]) == [(5, 0.4 * half)]
    assert band(axes, 5) == pytest.approx((0.2 * half, 0.8 * half))
    assert legend(axes) == ["RoPE (median of 5 runs)"]


@pytest.mark.parametrize(
    ("trained_on", "count", "end"),
    [
        ({"length": 10, "count": 8}, None, 8),
        ({"length": 10, "count": 8}, 5, 10),
        ({"length": 10, "count": 8}, 9, None),
        (None, None, None),
    ],
)
def test_the_grey_region_ends_with_the_lengths_trained_on(
    trained_on: dict[str, int] | None, count: int | None, end: int | None
) -> None:
    grid = make_grid(range(1, 21), range(1, 21), trained_on=trained_on)
    axes = draw_curves([Line("a model", [grid])], count=count).axes[0]
    regions = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [region.get_x() + region.get_width() for region in regions] == ([] if end is None else [end + 0.5])
    assert ("lengths trained on" in legend(axes)) == (end is not None)


def test_different_training_lengths_are_dotted_lines() -> None:
    ends = (10, 10, 20)
    lines = [Line(f"{end}", [parity({5: 1.0, 30: 0.5}, trained_on={"length": end})]) for end in ends]
    axes = draw_curves(lines).axes[0]
    assert not axes.patches
    dotted = {points(line)[0][0]: line for line in axes.lines[3:5]}
    assert sorted(dotted) == [10.5, 20.5]
    assert dotted[20.5].get_color() == axes.lines[2].get_color()
    assert dotted[10.5].get_color() not in LINE_COLOURS
    assert legend(axes)[-1] == "end of the lengths trained on"


def test_every_line_looks_different() -> None:
    lines = [Line(f"method {number}", [parity({5: 1.0})]) for number in range(len(LINE_COLOURS) * len(LINE_MARKS))]
    axes = draw_curves(lines).axes[0]
    assert len({(line.get_color(), line.get_marker()) for line in axes.lines}) == len(lines)
    assert fits(axes.figure)


def test_titles_are_no_formulas_and_long_ones_are_broken() -> None:
    figure = draw_curves([Line("costs $5 or $_6", [parity({5: 1.0})]), Line("x y " * 30, [parity({5: 1.0})] * 2)])
    assert fits(figure)
    names = legend(figure.axes[0])
    assert names[0] == "costs $5 or $_6"
    assert not any(text.get_parse_math() for text in figure.legends[0].get_texts())
    assert max(len(line) for line in names[1].splitlines()) <= 34
    assert names[1].endswith("\n(median of 2 runs)")


def unsound() -> Grid:
    grid = parity({5: 1.0})
    grid.answers[0][0] = 201
    return grid


@pytest.mark.parametrize(
    ("lines", "count", "sentence"),
    [
        ([], None, "nothing to draw"),
        ([Line("empty", [])], None, "no grid to draw for 'empty'"),
        ([Line("bits", [parity({5: 1.0})])], 3, "has lengths only"),
        ([Line("sums", [make_grid([1, 2], [5, 6])])], None, "no cell where length and count are equal"),
        ([Line("sums", [make_grid([1, 2], [5, 6])])], 7, "no count 7: choose one of 5, 6"),
        ([Line("bits", [parity({5: 1.0}), parity({6: 1.0})])], None, "their axes differ"),
        ([Line("bits", [unsound()])], None, "201 of 200"),
    ],
)
def test_what_is_no_curve_is_refused(lines: list[Line], count: int | None, sentence: str) -> None:
    with pytest.raises(lw.InputError, match=sentence):
        draw_curves(lines, count=count, answers=True)
