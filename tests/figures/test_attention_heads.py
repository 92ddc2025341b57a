"""Pictures of some heads: those that were chosen, and no others."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from made import fits, make_attention, size_in_inches
from matplotlib.axes import Axes

import lengthwise as lw
from lengthwise.figures.attention import draw_attention, draw_heads
from lengthwise.figures.saving import save_figure
from lengthwise.results import AttentionMap

PAPER = ["57", "48", "96"]
LONG = ["9876543210"] * 11


def panels(attention: AttentionMap, chosen: Sequence[tuple[int, int]]) -> list[Axes]:
    *drawn, scale = draw_heads(attention, chosen).axes
    assert scale.get_ylabel() == "attention weight"
    return drawn


def names(axes: Axes, which: str) -> list[str]:
    axis = axes.xaxis if which == "keys" else axes.yaxis
    return [label.get_text() for label in axis.get_ticklabels()]


@pytest.mark.parametrize("chosen", [[(1, 1)], [(3, 4), (1, 2)], [(2, 1), (2, 2), (2, 3), (3, 1), (1, 4)]])
def test_the_chosen_heads_stand_side_by_side_in_their_order(chosen: list[tuple[int, int]]) -> None:
    attention = make_attention(PAPER, layers=3, heads=4)
    drawn = panels(attention, chosen)
    assert [axes.get_title() for axes in drawn] == [f"layer {layer}, head {head}" for layer, head in chosen]
    for (layer, head), axes in zip(chosen, drawn, strict=True):
        (image,) = axes.images
        assert np.array_equal(np.asarray(image.get_array()), attention.weights[layer - 1, head - 1])
        width, height = size_in_inches(axes)
        assert width == pytest.approx(height)
    lefts = [float(axes.get_position().x0) for axes in drawn]
    assert lefts == sorted(lefts)
    assert len({round(float(axes.get_position().y0), 6) for axes in drawn}) == 1


def test_a_head_may_stand_there_twice() -> None:
    assert [axes.get_title() for axes in panels(make_attention(PAPER), [(1, 2), (1, 2)])] == ["layer 1, head 2"] * 2


def test_lines_of_the_page_are_named_at_the_left_and_below_every_head() -> None:
    first, second = panels(make_attention(PAPER, layers=2), [(2, 1), (1, 2)])
    assert "operand 1" in names(first, "queries")
    assert names(second, "queries") == []
    assert names(first, "keys") == names(second, "keys") == names(first, "queries")


def test_all_heads_of_a_layer_are_drawn_as_they_are_with_all_others() -> None:
    attention = make_attention(PAPER, heads=3)
    some, every = draw_heads(attention, [(1, 1), (1, 2), (1, 3)]), draw_attention(attention)
    assert np.array_equal(some.get_size_inches(), every.get_size_inches())
    assert [axes.get_title() for axes in some.axes] == [axes.get_title() for axes in every.axes]


@pytest.mark.parametrize("clip", [0.01, 0.2])
def test_the_clip_is_where_black_ends_and_is_told(clip: float) -> None:
    figure = draw_heads(make_attention(PAPER), [(1, 1)], clip=clip)
    axes, scale = figure.axes
    assert axes.images[0].norm.vmin == clip
    assert f"weights under {clip:g} black" in " ".join(text.get_text() for text in figure.texts)
    assert scale.get_yticklabels()[0].get_text() == f"{clip:g}"


@pytest.mark.parametrize(
    ("problem", "chosen"), [(PAPER, [(1, 1)]), (LONG, [(1, 1), (6, 8), (2, 2), (3, 3)]), (["1", "2"], [(1, 8)] * 8)]
)
def test_no_label_is_cut_off(problem: list[str], chosen: list[tuple[int, int]]) -> None:
    assert fits(draw_heads(make_attention(problem, 6, 8), chosen))


def test_a_picture_can_be_saved(tmp_path: Path) -> None:
    save_figure(draw_heads(make_attention(LONG, 2, 2), [(2, 1)]), tmp_path / "heads.png")
    assert (tmp_path / "heads.png").read_bytes()[:4] == b"\x89PNG"


def changed(change: Callable[[AttentionMap], object]) -> AttentionMap:
    attention = make_attention(PAPER)
    change(attention)
    return attention


@pytest.mark.parametrize(
    ("attention", "chosen", "clip", "sentence"),
    [
        (make_attention(PAPER), [], 0.01, "choose one head or more"),
        (make_attention(PAPER), [(2, 1)], 0.01, "no layer 2: they are counted from 1 to 1"),
        (make_attention(PAPER), [(0, 1)], 0.01, "no layer 0: they are counted from 1 to 1"),
        (make_attention(PAPER), [(1, 1), (1, 3)], 0.01, "no head 3: they are counted from 1 to 2"),
        (make_attention(PAPER), [(1, 0)], 0.01, "no head 0: they are counted from 1 to 2"),
        (make_attention(PAPER), [(1, -1)], 0.01, "no head -1: they are counted from 1 to 2"),
        (make_attention(PAPER), [(1, 1)], 0.0, "between 0 and 1"),
        (make_attention(PAPER), [(1, 1)], 1.0, "between 0 and 1"),
        (changed(lambda attention: attention.tokens.pop()), [(1, 1)], 0.01, "layers × heads × 28 × 28 are meant"),
        (changed(lambda attention: attention.lines.pop()), [(1, 1)], 0.01, "every token needs its line"),
        (changed(lambda attention: attention.weights.fill(np.inf)), [(1, 1)], 0.01, "no finite numbers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    attention: AttentionMap, chosen: list[tuple[int, int]], clip: float, sentence: str
) -> None:
    with pytest.raises(lw.InputError, match=sentence):
        draw_heads(attention, chosen, clip=clip)
