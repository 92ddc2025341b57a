"""Accuracy versus length."""

import numpy as np
import pytest
from made import fits, make_grid, points
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import lengthwise as lw
from lengthwise.figures.curves import Line, draw_curve_panels, draw_curves
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


def curve(title: str, runs: int = 1, variant_of: str = "", **about: object) -> Line:
    return Line(title, [parity({5: 1.0, 30: 0.5}, **about) for _ in range(runs)], variant_of)


def look(line: Line2D) -> tuple[object, object, object]:
    return line.get_color(), line.get_marker(), line.get_linestyle()


def written(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts if text.get_text()]


def test_panels_stand_side_by_side_with_one_legend_and_one_upward_axis() -> None:
    nope, rope = (curve(title, trained_on={"length": 10}) for title in ("NoPE", "RoPE"))
    figure = draw_curve_panels({"given": [nope, rope], "decoded": [rope]})
    left, right = figure.axes
    assert (left.get_title(), right.get_title()) == ("given", "decoded")
    assert left.get_position().x1 < right.get_position().x0
    assert left.get_position().y0 == pytest.approx(right.get_position().y0)
    assert left.get_shared_y_axes().joined(left, right)
    assert (left.get_ylabel(), right.get_ylabel()) == ("exact-match accuracy", "")
    assert [len(axes.patches) for axes in (left, right)] == [1, 1]
    assert legend(left) == ["NoPE", "RoPE", "lengths trained on"]
    assert band(right, 30) == pytest.approx(wilson(100, 200))
    assert fits(figure)


def test_a_line_keeps_its_look_in_a_panel_where_others_are_missing() -> None:
    figure = draw_curve_panels({"all": [curve("a"), curve("b"), curve("c")], "some": [curve("c"), curve("d")]})
    first, second = ([look(line) for line in axes.lines] for axes in figure.axes)
    assert second[0] == first[2]
    assert len({*first, *second}) == 4
    handles = {text.get_text(): handle for text, handle in legend_handles(figure)}
    assert list(handles) == ["a", "b", "c", "d"]
    assert look(handles["d"]) == second[1]


def legend_handles(figure: Figure) -> list[tuple[Text, Line2D]]:
    (box,) = figure.legends
    handles = [handle for handle in box.legend_handles if isinstance(handle, Line2D)]
    return list(zip(box.get_texts(), handles, strict=True))


@pytest.mark.parametrize("answers", [False, True])
def test_a_variant_has_the_colour_and_mark_of_its_line_but_is_dashed_and_hollow(answers: bool) -> None:
    lines = [curve("plain", variant_of="whole"), curve("other"), curve("whole"), curve("alone", variant_of="nowhere")]
    plain, other, whole, alone = draw_curves(lines, answers=answers).axes[0].lines
    assert look(plain)[:2] == look(whole)[:2]
    assert len({look(line)[:2] for line in (whole, other, alone)}) == 3
    assert plain.get_linestyle() == alone.get_linestyle() != whole.get_linestyle() == other.get_linestyle()
    assert plain.get_markerfacecolor() == "white" != whole.get_markerfacecolor()


def test_long_lines_in_panels_have_few_marks_and_not_at_the_same_lengths() -> None:
    grid = parity(dict.fromkeys(range(1, 101), 0.5))
    lines = [Line("a", [grid]), Line("b", [grid]), Line("no a", [grid], "a")]
    for panels, marks in (({"one": lines}, [100] * 3), ({"one": lines, "two": lines}, [10] * 3)):
        drawn = draw_curve_panels(panels).axes[0].lines
        every = [range(100)[slice(*marked(line))] for line in drawn]
        assert [len(places) for places in every] == marks
    assert len({places[0] for places in every}) == 3


def marked(line: Line2D) -> tuple[int, None, int]:
    every = line.get_markevery()
    assert every is None or isinstance(every, tuple)
    start, step = every or (0, 1)
    return int(start), None, int(step)


def test_panels_say_how_each_was_asked_and_one_alone_says_so_below() -> None:
    given, decoded = curve("RoPE"), curve("RoPE", decoding="greedy")
    figure = draw_curve_panels({"given": [given], "decoded": [decoded]})
    assert written(figure) == ["200 samples per length · teacher-forced", "200 samples per length · greedy"]
    assert figure.get_supxlabel() == "bands: 95 % Wilson intervals"
    figure = draw_curve_panels({"costs $5 or $6": [given, decoded]})
    assert written(figure) == []
    assert figure.get_supxlabel() == "samples and decoding differ between lines · bands: 95 % Wilson intervals"
    assert figure.axes[0].get_title() == "costs $5 or $6"
    assert not figure.axes[0].title.get_parse_math()
    assert fits(figure)


@pytest.mark.parametrize(
    ("runs", "label"),
    [
        ((1, 1), "RoPE"),
        ((3, 3), "RoPE (median of 3 runs)"),
        ((1, 3), "RoPE (one run or median of 3 runs)"),
        ((2, 3), "RoPE\n(median of 2 runs or median of 3\nruns)"),
    ],
)
def test_the_legend_says_how_many_runs_a_line_has(runs: tuple[int, int], label: str) -> None:
    figure = draw_curve_panels({f"panel {place}": [curve("RoPE", count)] for place, count in enumerate(runs)})
    assert legend(figure.axes[0]) == [label]


def test_guessing_is_a_dotted_line_in_every_panel_with_its_name_at_the_right() -> None:
    panels = {"one": [curve("RoPE")], "two": [curve("RoPE")]}
    figure = draw_curve_panels(panels, chance=0.25)
    for axes in figure.axes:
        guessing = axes.lines[-1]
        assert {up for _, up in points(guessing)} == {0.25}
        assert guessing.get_linestyle() == ":"
    assert fits(figure)
    (name,) = [text for text in figure.axes[-1].texts if text.get_text() == "guessing"]
    box, axes_box, legend_box = (artist.get_window_extent() for artist in (name, figure.axes[-1], figure.legends[0]))
    assert axes_box.x1 <= box.x0 < box.x1 <= legend_box.x0
    assert written(draw_curves([curve("RoPE")], chance=0.25)) == ["guessing"]
    assert written(draw_curves([curve("RoPE")])) == []


@pytest.mark.parametrize(
    ("panels", "chance", "sentence"),
    [
        ({}, None, "nothing to draw"),
        ({"one": [curve("a")], "two": []}, None, "nothing to draw in 'two'"),
        ({"one": [curve("a")]}, 1.5, "accuracy of 1.5"),
        ({"one": [curve("a")]}, float("nan"), "accuracy of nan"),
        ({"one": [curve("a", variant_of="c"), curve("b", variant_of="c")]}, None, "Two variants of 'c'"),
        ({"one": [curve("a", variant_of="c")], "two": [curve("a")]}, None, "'a' is a variant of different lines"),
    ],
)
def test_what_are_no_panels_is_refused(panels: dict[str, list[Line]], chance: float | None, sentence: str) -> None:
    with pytest.raises(lw.InputError, match=sentence):
        draw_curve_panels(panels, chance=chance)
