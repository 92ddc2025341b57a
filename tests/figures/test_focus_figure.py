"""Pictures of whether heads look at what matters."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from made import fits, points
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import lengthwise as lw
from lengthwise.figures.focus import LONGEST_NAME, apart, draw_focus
from lengthwise.figures.palette import LINE_COLOURS, LINE_MARKS
from lengthwise.figures.saving import save_figure
from lengthwise.focus import Focus


def make_focus(layers: int = 1, heads: int = 4, most_keys: float = 300, matter: float = 2.0) -> Focus:
    """Heads all over the place."""
    places = np.linspace(0, 1, layers * heads).reshape(layers, heads)
    return Focus(
        weight=places.tolist(),
        with_carry=np.sqrt(places).tolist(),
        keys=(most_keys**places).tolist(),
        uniform=0.03,
        matter=matter,
    )


SEVEN = {
    "the theorem": make_focus(1, 4),
    "adder-tiny": make_focus(1, 4),
    "1 layer, 4 heads, scratchpad, bi-level position coupling (seed 2)": make_focus(1, 4),
    "6 layers, NoPE": make_focus(6, 8),
    "6 layers, RoPE, scratchpad": make_focus(6, 8),
    "6 layers, ALiBi": make_focus(6, 8),
    "no scratchpad": make_focus(6, 8, matter=11.0),
}


def heads(axes: Axes) -> list[list[tuple[float, float]]]:
    """The marks of each lane, from the top down."""
    return [points(line) for line in axes.lines if line.get_linestyle() == "None"]


def ticks(axes: Axes) -> list[tuple[float, float, float]]:
    """Where each row has its tick, and from where to where it goes."""
    strokes = [
        stroke
        for lines in axes.collections
        if isinstance(lines, LineCollection) and lines.get_transform() == axes.transData
        for stroke in lines.get_segments()
    ]
    return [(float(stroke[0, 0]), float(stroke[0, 1]), float(stroke[1, 1])) for stroke in strokes]


def words(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


def legend(figure: Figure) -> list[list[str]]:
    return [[text.get_text() for text in box.get_texts()] for box in figure.legends]


def test_each_head_has_a_mark_in_the_lane_of_its_layer() -> None:
    focuses = {"small": make_focus(1, 4), "large": make_focus(3, 2)}
    weights, keys = draw_focus(focuses).axes
    for axes, name in ((weights, "weight"), (keys, "keys")):
        expected = [of_layer for focus in focuses.values() for of_layer in getattr(focus, name)]
        assert [[value for value, _ in lane] for lane in heads(axes)] == expected
        lowest, highest = axes.get_ylim()
        assert lowest > highest == 0
        downward = [np.mean([down for _, down in lane]) for lane in heads(axes)]
        assert downward == sorted(downward)
    assert keys.get_xscale() == "log"
    assert weights.get_xscale() == "linear"
    assert weights.get_xlabel() == "weight on the tokens that matter"
    assert keys.get_xlabel() == "tokens that hold 90 % of the weight"


def test_a_tick_says_what_looking_everywhere_would_give_and_how_many_matter() -> None:
    focuses = {"with": make_focus(1, 4), "without": make_focus(2, 4, matter=11.0)}
    weights, keys = draw_focus(focuses).axes
    assert [place for place, _, _ in ticks(weights)] == [0.03, 0.03]
    assert [place for place, _, _ in ticks(keys)] == [2, 11]
    (_, top, bottom), (_, next_top, next_bottom) = ticks(weights)
    first, *others = heads(weights)
    assert all(top < down < bottom for _, down in first)
    assert all(next_top < down < next_bottom for lane in others for _, down in lane)


def test_layers_have_colours_and_marks_of_their_own() -> None:
    figure = draw_focus({"one": make_focus(1, 2), "many": make_focus(9, 2)})
    lanes = figure.axes[0].lines
    looks = [(line.get_color(), line.get_marker()) for line in lanes]
    assert looks[0] == looks[1] == (LINE_COLOURS[0], LINE_MARKS[0])
    assert len(set(looks[1:])) == 9
    assert legend(figure)[0][:2] == ["a head of layer 1", "layer 2"]
    assert legend(figure)[1] == ["layer 8", "layer 9"]
    assert fits(figure)


def test_one_layer_needs_no_number() -> None:
    figure = draw_focus({"one": make_focus(1, 1)})
    marks, tick = legend(figure)
    assert marks == ["a head"]
    assert "looked at evenly" in tick[0]
    assert words(figure) == ["one", "1 head"]


def test_marks_that_would_hide_each_other_are_moved_apart() -> None:
    same = Focus(
        weight=[[0.5, 0.5, 0.9, 0.502]],
        with_carry=[[0.5, 0.5, 0.9, 0.502]],
        keys=[[2.0] * 4],
        uniform=0.1,
        matter=2.0,
    )
    figure = draw_focus({"the same": same})
    for axes in figure.axes:
        places = axes.transData.transform(heads(axes)[0]) * 72 / figure.dpi
        for one, other in combinations(places, 2):
            assert np.abs(one - other).max() > 4.9
    assert heads(figure.axes[0])[0][2][1] == pytest.approx(figure.axes[0].get_ylim()[0] / 2)


@pytest.mark.parametrize("room", [3, 10, 1000])
def test_marks_stay_in_their_lane(room: float) -> None:
    moved = apart([1.0] * 8, 5, room)
    assert len(set(moved)) == 8
    assert max(moved) - min(moved) <= min(room, 8 * 5)


def test_no_label_is_cut_off_or_lies_over_another() -> None:
    figure = draw_focus(SEVEN)
    assert fits(figure)
    boxes = [text.get_window_extent() for text in figure.texts]
    boxes += [box.get_window_extent() for box in figure.legends]
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    for axes in figure.axes:
        assert not any(box.overlaps(axes.get_window_extent()) for box in boxes)
        labels = [label.get_window_extent() for label in axes.get_xticklabels()]
        assert not any(one.overlaps(other) for one, other in combinations(labels, 2))


@pytest.mark.parametrize("name", ["W" * LONGEST_NAME, "costs $5 or $_6", "x", "", "a name of many words " * 8])
@pytest.mark.parametrize("most_keys", [1, 3000])
def test_any_name_and_any_number_of_keys_fit(name: str, most_keys: float) -> None:
    figure = draw_focus({name: make_focus(1, 4, most_keys)})
    assert fits(figure)
    assert max(len(line) for line in words(figure)[0].split("\n")) <= LONGEST_NAME
    assert " ".join(words(figure)[0].split()) == name.strip()


def test_a_picture_can_be_saved(tmp_path: Path) -> None:
    save_figure(draw_focus(SEVEN), tmp_path / "focus.png")


def test_nothing_is_refused() -> None:
    with pytest.raises(lw.InputError, match="nothing to draw"):
        draw_focus({})
