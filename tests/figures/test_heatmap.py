"""Heatmaps of grids."""

from collections.abc import Callable

import numpy as np
import pytest
from made import fits, make_grid, size_in_inches
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

import lengthwise as lw
from lengthwise.figures.heatmap import COLOURS, Panel, draw_heatmaps, thinned
from lengthwise.figures.measured import percent
from lengthwise.figures.palette import TRAINED_COLOUR
from lengthwise.results import Grid

PAPER_BOX = {"length": 10, "count": 10}


def draw_one(*grids: Grid) -> Axes:
    return draw_heatmaps([Panel("a model", grids)]).axes[0]


def mesh(axes: Axes) -> QuadMesh:
    (cells,) = [artist for artist in axes.collections if isinstance(artist, QuadMesh)]
    return cells


def boxes(axes: Axes) -> list[Rectangle]:
    return [
        patch
        for patch in axes.patches
        if isinstance(patch, Rectangle) and patch.get_edgecolor()[:3] == to_rgb(TRAINED_COLOUR)
    ]


def inside(axes: Axes, lengths: list[int], counts: list[int]) -> set[tuple[int, int]]:
    """The cells whose middle lies within the red box."""
    (box,) = boxes(axes)
    (left, bottom), width, height = box.get_xy(), box.get_width(), box.get_height()
    return {
        (length, count)
        for row, length in enumerate(lengths)
        for column, count in enumerate(counts)
        if left < column + 0.5 < left + width and bottom < row + 0.5 < bottom + height
    }


@pytest.mark.parametrize(
    ("lengths", "counts"),
    [
        (list(range(1, 31)), list(range(2, 31))),
        (list(range(5, 31, 5)), list(range(5, 31, 5))),
        ([1, 2, 5, 10, 15, 20, 30], [2, 3, 5, 8, 12, 15, 20, 30]),
        ([4, 8, 9], [2, 3]),
        ([20, 10, 1], [11, 2]),
    ],
)
def test_the_red_box_covers_the_sizes_trained_on(lengths: list[int], counts: list[int]) -> None:
    axes = draw_one(make_grid(lengths, counts, trained_on=PAPER_BOX))
    trained = {(length, count) for length in lengths for count in counts if length <= 10 and count <= 10}
    assert inside(axes, sorted(lengths), sorted(counts)) == trained


@pytest.mark.parametrize("trained_on", [None, {"length": 10}, {"length": 3, "count": 10}])
def test_there_is_no_red_box_where_no_cell_was_trained_on(trained_on: dict[str, int] | None) -> None:
    assert boxes(draw_one(make_grid([4, 8], [2, 3], trained_on=trained_on))) == []


def test_colours_follow_accuracy_and_small_problems_stand_at_the_bottom_left() -> None:
    axes = draw_one(make_grid([30, 1], [2, 9], lambda length, count: {30: 0.25, 1: 1.0}[length] - count / 100))
    cells = mesh(axes)
    cells.update_scalarmappable()
    expected = [[0.98, 0.91], [0.23, 0.16]]
    assert np.allclose(np.asarray(cells.get_array()), expected)
    assert np.allclose(np.asarray(cells.get_facecolor()), COLOURS(np.ravel(expected)))
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert (left, right, bottom, top) == (0, 2, 0, 2)
    width, height = size_in_inches(axes)
    assert width == pytest.approx(height)


def test_several_grids_are_drawn_as_their_median() -> None:
    def rate(accuracy: float) -> Callable[[int, int], float]:
        return lambda length, count: accuracy if length == 1 else accuracy / 2

    figure = draw_heatmaps([Panel("three runs", [make_grid([1, 2], [2], rate(each)) for each in (0.1, 0.8, 0.6)])])
    assert np.allclose(np.asarray(mesh(figure.axes[0]).get_array()), [[0.6], [0.3]])
    assert "median of 3 runs" in [text.get_text() for text in figure.texts]
    single = draw_heatmaps([Panel("one run", [make_grid([1, 2], [2])])])
    assert not any("median" in text.get_text() for text in single.texts)


def test_cells_not_measured_are_hatched() -> None:
    axes = draw_one(make_grid([1, 2, 3], [2, 3], lambda length, count: None if length + count == 5 else 0.5))
    hatched = {patch.get_xy() for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_hatch()}
    assert hatched == {(0, 2), (1, 1)}
    assert np.ma.getmaskarray(np.ma.asarray(mesh(axes).get_array())).tolist() == [
        [False, False],
        [False, True],
        [True, False],
    ]
    assert len(axes.texts) == 4


@pytest.mark.parametrize(
    ("rate", "written"),
    [(1, "100"), (0.995, "99.5"), (0.98, "98"), (0.99999, "99.9"), (0.0001, "0.1"), (0, "0"), (1 / 3, "33.3")],
)
def test_percentages_say_100_and_0_of_nothing_less(rate: float, written: str) -> None:
    assert percent(rate) == written


def test_numbers_stand_in_small_panels_only() -> None:
    axes = draw_one(make_grid([1, 2], [2, 3], lambda length, count: [0.995, 0.0][length - 1]))
    assert [text.get_text() for text in axes.texts] == ["99.5", "99.5", "0", "0"]
    bright, dark = axes.texts[0].get_color(), axes.texts[2].get_color()
    assert (sum(to_rgb(bright)) < 1, sum(to_rgb(dark)) > 2) == (True, True)
    assert len(draw_one(make_grid(range(1, 11), range(2, 12))).texts) == 100
    assert not draw_one(make_grid(range(1, 11), range(2, 13))).texts


@pytest.mark.parametrize(
    ("values", "labelled"),
    [
        ([1, 2, 5, 10, 15, 20, 30], [1, 2, 5, 10, 15, 20, 30]),
        (list(range(1, 31)), [5, 10, 15, 20, 25, 30]),
        (list(range(2, 31)), [5, 10, 15, 20, 25, 30]),
        (list(range(5, 101, 5)), [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]),
        ([1, 3, 7, 9, 11, 13, 17, 19, 21, 23, 27, 29, 31, 33, 37], [1, 7, 11, 17, 21, 27, 31, 37]),
    ],
)
def test_tick_labels_are_the_values_thinned_where_they_are_many(values: list[int], labelled: list[int]) -> None:
    assert [values[place] for place in thinned(values)] == labelled
    axes = draw_one(make_grid(values, [2]))
    assert [label.get_text() for label in axes.get_yticklabels()] == [str(value) for value in labelled]
    assert axes.get_yticks().tolist() == [values.index(value) + 0.5 for value in labelled]


@pytest.mark.parametrize(
    ("task", "upward", "rightward"),
    [
        ("addition", "operand length", "number of operands"),
        ("multiplication", "length of the first operand", "length of the second operand"),
    ],
)
def test_axes_are_named_for_the_task(task: str, upward: str, rightward: str) -> None:
    axes = draw_one(make_grid([1, 2], [1, 2, 3], task=task))
    assert (axes.get_ylabel(), axes.get_xlabel()) == (upward, rightward)


@pytest.mark.parametrize(
    ("grid", "caption"),
    [
        (
            make_grid([10, 30], [2, 29], lambda length, count: 0.675 if length == 30 and count == 29 else 1),
            "200 samples per cell · teacher-forced\nlowest 67.5% at 30×29 (length × count)",
        ),
        (make_grid([1], [2], decoding="greedy"), "200 samples per cell · greedy\n100% in every cell"),
        (
            make_grid([1], [2], problems="carries"),
            "200 samples per cell · teacher-forced · carries problems\n100% in every cell",
        ),
        (
            make_grid([1, 2], [2], lambda length, count: 1 if length == 1 else None),
            "200 samples per cell · teacher-forced\n100% in every cell measured",
        ),
        (make_grid([1], [2], lambda length, count: None), "0 samples per cell · teacher-forced\nnothing measured yet"),
    ],
)
def test_the_caption_says_how_it_was_measured_and_what_is_worst(grid: Grid, caption: str) -> None:
    assert caption in [text.get_text() for text in draw_heatmaps([Panel("a model", [grid])]).texts]


@pytest.mark.parametrize(("panels", "columns", "rows"), [(1, 1, 1), (3, 3, 1), (4, 3, 2), (7, 3, 3)])
def test_panels_wrap_at_three_in_a_row_and_share_one_scale(panels: int, columns: int, rows: int) -> None:
    grid = make_grid(range(1, 12), range(1, 12))
    *drawn, scale = draw_heatmaps([Panel(f"panel {number}", [grid]) for number in range(panels)]).axes
    corners = [axes.get_position().min for axes in drawn]
    assert len(drawn) == panels
    assert len({round(float(left), 6) for left, _ in corners}) == columns
    assert len({round(float(bottom), 6) for _, bottom in corners}) == rows
    assert scale.get_ylabel() == "exact-match accuracy"
    assert scale.get_ylim() == (0, 1)


@pytest.mark.parametrize(
    ("panels", "per_row", "columns", "rows"), [(8, 4, 4, 2), (3, 1, 1, 3), (2, 4, 2, 1), (5, 2, 2, 3)]
)
def test_the_number_of_panels_in_a_row_can_be_chosen(panels: int, per_row: int, columns: int, rows: int) -> None:
    grid = make_grid(range(1, 12), range(1, 12))
    figure = draw_heatmaps([Panel(f"panel {number}", [grid]) for number in range(panels)], per_row=per_row)
    corners = [axes.get_position().min for axes in figure.axes[:-1]]
    assert len(corners) == panels
    assert len({round(float(left), 6) for left, _ in corners}) == columns
    assert len({round(float(bottom), 6) for _, bottom in corners}) == rows
    assert fits(figure)


@pytest.mark.parametrize("place", [0, 1])
def test_what_was_not_run_is_an_empty_frame_with_the_axes_of_another_panel(place: int) -> None:
    grid = make_grid([5, 10], [2, 3, 7], task="multiplication", trained_on=PAPER_BOX)
    panels = [Panel("measured", [grid])]
    panels.insert(place, Panel("to come", []))
    figure = draw_heatmaps(panels)
    empty, measured = figure.axes[place], figure.axes[1 - place]
    assert [text.get_text() for text in empty.texts] == ["not run"]
    assert not empty.collections
    assert not empty.patches
    assert mesh(measured) in measured.collections
    for axes in (empty, measured):
        assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "3", "7"]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["5", "10"]
        assert axes.get_ylabel() == "length of the first operand"
    assert size_in_inches(empty) == pytest.approx(size_in_inches(measured))
    texts = [text.get_text() for text in figure.texts]
    assert {"to come", "measured"} <= set(texts)
    assert sum("samples per cell" in text for text in texts) == 1
    assert fits(figure)


def test_a_row_needs_a_panel() -> None:
    with pytest.raises(lw.InputError, match="cannot stand 0 in a row"):
        draw_heatmaps([Panel("a model", [make_grid([1], [2])])], per_row=0)


def test_panels_of_different_tasks_and_shapes_stand_side_by_side() -> None:
    figure = draw_heatmaps(
        [
            Panel("costs $5 or $6", [make_grid([1, 2], [2], lambda length, count: None)]),
            Panel("a product", [make_grid(range(1, 60), [1], task="multiplication")]),
            Panel("x" * 100, [make_grid([20], range(2, 31), trained_on={"length": 20, "count": 20})]),
        ]
    )
    assert fits(figure)
    (priced,) = [text for text in figure.texts if "$" in text.get_text()]
    assert (priced.get_text(), priced.get_parse_math()) == ("costs $5 or $6", False)


@pytest.mark.parametrize(
    ("panels", "sentence"),
    [
        ([], "nothing to draw"),
        ([Panel("empty", [])], "no grid to draw for 'empty'"),
        ([Panel("empty", []), Panel("as well", [])], "no grid to draw for 'empty'"),
        ([Panel("empty", []), Panel("bits", [make_grid([1, 2], None, task="parity")])], "'bits' has lengths only"),
        ([Panel("bits", [make_grid([1, 2], None, task="parity")])], "draw curves of parity"),
        ([Panel("both", [make_grid([1], [2]), make_grid([2], [2])])], "their axes differ"),
        ([Panel("both", [make_grid([1], [2]), make_grid([1], [2], task="multiplication")])], "their tasks differ"),
        ([Panel("both", [make_grid([1], [2]), make_grid([1], [2], trained_on=PAPER_BOX)])], "different sizes"),
    ],
)
def test_what_is_no_heatmap_is_refused(panels: list[Panel], sentence: str) -> None:
    with pytest.raises(lw.InputError, match=sentence):
        draw_heatmaps(panels)


def test_odd_training_sizes_are_refused() -> None:
    grid = make_grid([1], [2])
    grid.model["trained_on"] = {"length": "ten", "count": 10}
    with pytest.raises(lw.InputError, match="sizes by axis are meant"):
        draw_one(grid)
