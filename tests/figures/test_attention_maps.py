"""Pictures of attention."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from made import fits, make_attention, size_in_inches
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

import lengthwise as lw
from lengthwise.figures.attention import draw_attention, names_with_room
from lengthwise.figures.saving import save_figure
from lengthwise.results import AttentionMap

PAPER = ["57", "48", "96"]
LONG = ["9876543210"] * 11


def panels(
    attention: AttentionMap, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None
) -> dict[str, Axes]:
    *drawn, _ = draw_attention(attention, layers=layers, heads=heads).axes
    return {axes.get_title(): axes for axes in drawn}


def labels(axes: Axes, which: str, minor: bool = False) -> dict[float, str]:
    axis = axes.xaxis if which == "keys" else axes.yaxis
    places = axis.get_ticklocs(minor=minor)
    texts = [label.get_text() for label in axis.get_ticklabels(minor=minor)]
    return dict(zip(map(float, places), texts, strict=True))


def test_each_head_has_a_square_in_the_row_of_its_layer() -> None:
    attention = make_attention(PAPER, layers=2, heads=3)
    drawn = panels(attention)
    assert list(drawn) == [f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2, 3)]
    for (layer, head), axes in zip(np.ndindex(2, 3), drawn.values(), strict=True):
        assert np.array_equal(np.asarray(axes.images[0].get_array()), attention.weights[layer, head])
    corners = {title: np.round(axes.get_position().min, 6).tolist() for title, axes in drawn.items()}
    assert corners["layer 1, head 2"][1] == corners["layer 1, head 1"][1] > corners["layer 2, head 1"][1]
    assert corners["layer 1, head 1"][0] == corners["layer 2, head 1"][0] < corners["layer 1, head 2"][0]
    width, height = size_in_inches(drawn["layer 1, head 1"])
    assert width == pytest.approx(height)


def test_queries_go_downward_and_keys_rightward() -> None:
    axes = panels(make_attention(PAPER))["layer 1, head 1"]
    assert axes.get_ylim() == (28.5, -0.5)
    assert axes.get_xlim() == (-0.5, 28.5)


def test_layers_and_heads_are_chosen_by_number() -> None:
    attention = make_attention(PAPER, layers=3, heads=4)
    drawn = panels(attention, layers=[3], heads=[4, 2])
    assert list(drawn) == ["layer 3, head 4", "layer 3, head 2"]
    assert np.array_equal(np.asarray(drawn["layer 3, head 4"].images[0].get_array()), attention.weights[2, 3])


@pytest.mark.parametrize("clip", [0.01, 0.2])
def test_weights_under_the_clip_are_black_and_no_others(clip: float) -> None:
    attention = make_attention(PAPER, heads=1)
    attention.weights[0, 0, 0, :5] = [clip * 0.999, clip * 1.001, 0, 0.5, 1]
    image = draw_attention(attention, clip=clip).axes[0].images[0]
    colours = image.to_rgba(attention.weights[0, 0])
    black = (colours == to_rgba("black")).all(-1)
    assert black[0, :5].tolist() == [True, False, True, False, False]
    assert np.array_equal(black, attention.weights[0, 0] < clip)
    brightness = image.to_rgba(np.array([[clip, 0.3, 0.5, 0.8, 1]]))[0, :, :3].sum(-1)
    assert (np.diff(brightness) > 0).all()


def test_short_pages_name_their_tokens_and_lines() -> None:
    attention = make_attention(PAPER)
    left, right = panels(attention).values()
    lines = {2.5: "operand 1", 6.5: "operand 2", 10: "operand 3"}
    lines |= {14: "partial sum 0", 17.5: "partial sum 1", 21.5: "partial sum 2", 25.5: "partial sum 3"}
    for which in ("queries", "keys"):
        assert labels(left, which) == lines
        assert list(labels(left, which, minor=True).values()) == attention.tokens
    assert labels(right, "keys") == lines
    assert labels(right, "queries") == labels(right, "queries", minor=True) == {}


def test_long_pages_name_their_lines_only() -> None:
    attention = make_attention(LONG, layers=2, heads=8)
    drawn = panels(attention)
    assert labels(drawn["layer 1, head 1"], "queries", minor=True) == {}
    names = list(labels(drawn["layer 1, head 1"], "queries").values())
    assert [name for name in names if name not in "$="] == list(
        dict.fromkeys(line for line in attention.lines if line not in "$=")
    )
    assert labels(drawn["layer 1, head 1"], "keys") == {}
    assert labels(drawn["layer 2, head 3"], "keys") == labels(drawn["layer 1, head 1"], "queries")


@pytest.mark.parametrize(
    ("room", "symbols", "names"),
    [
        (0.5, True, ["$", "first", "second", "="]),
        (0.5, False, ["first", "second"]),
        (2.5, True, ["first", "second", "="]),
        (5, True, ["first", "="]),
        (7, True, ["first"]),
    ],
)
def test_names_without_room_are_left_out(room: float, symbols: bool, names: list[str]) -> None:
    stretches = [("$", 0, 1), ("first", 1, 4), ("second", 4, 8), ("=", 8, 9), ("", 9, 12)]
    assert [name for _, name in names_with_room(stretches, room, symbols=symbols)] == names


def test_thin_lines_part_the_lines_of_the_page() -> None:
    attention = make_attention(PAPER)
    axes = panels(attention)["layer 1, head 1"]
    parted: dict[float, float] = {}
    for collection in axes.collections:
        assert isinstance(collection, LineCollection)
        for (left, bottom), (right, top) in collection.get_segments():
            if bottom == top:
                parted[float(bottom)] = float(collection.get_linewidth()[0])  # type: ignore[index]
                assert (left, right) == (-0.5, 28.5)
    changes = [place for place in range(1, 29) if attention.lines[place] != attention.lines[place - 1]]
    assert sorted(parted) == [place - 0.5 for place in changes]
    response = attention.targets.index(True) - 0.5
    assert max(parted, key=lambda place: parted[place]) == response


@pytest.mark.parametrize(
    ("problem", "layers", "heads"), [(PAPER, 1, 1), (PAPER, 6, 8), (LONG, 1, 4), (["1", "2"], 1, 4)]
)
def test_no_label_is_cut_off(problem: list[str], layers: int, heads: int) -> None:
    assert fits(draw_attention(make_attention(problem, layers, heads)))


def test_a_picture_can_be_saved(tmp_path: Path) -> None:
    save_figure(draw_attention(make_attention(LONG)), tmp_path / "attention.svg")


def changed(change: Callable[[AttentionMap], object]) -> AttentionMap:
    attention = make_attention(PAPER)
    change(attention)
    return attention


@pytest.mark.parametrize(
    ("attention", "options", "sentence"),
    [
        (make_attention(PAPER), {"layers": [2]}, "no layer 2: they are counted from 1 to 1"),
        (make_attention(PAPER), {"heads": [0]}, "no head 0: they are counted from 1 to 2"),
        (make_attention(PAPER), {"heads": []}, "choose one head or more"),
        (make_attention(PAPER), {"clip": 0.0}, "between 0 and 1"),
        (make_attention(PAPER), {"clip": 1.0}, "between 0 and 1"),
        (changed(lambda attention: attention.tokens.pop()), {}, "1 × 2 × 29 × 29, layers × heads × 28 × 28"),
        (changed(lambda attention: attention.lines.pop()), {}, "every token needs its line"),
        (changed(lambda attention: attention.weights.fill(np.nan)), {}, "no finite numbers"),
    ],
)
def test_what_is_no_attention_is_refused(attention: AttentionMap, options: dict[str, list[int]], sentence: str) -> None:
    with pytest.raises(lw.InputError, match=sentence):
        draw_attention(attention, **options)  # type: ignore[arg-type]
