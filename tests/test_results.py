"""Results as files: counts, intervals, medians over seeds, and what is refused when a file is damaged."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lengthwise as lw
from lengthwise.results import AttentionMap, Grid, over_seeds, wilson

Change = Callable[[dict[str, Any]], Any]


def make(correct: list[list[int | None]], lengths: list[int], counts: list[int] | None = None, **about: Any) -> Grid:
    """A grid of 50 problems a cell, answers right in one problem more than whole responses."""
    axes = {"length": lengths} | ({} if counts is None else {"count": counts})
    grid = Grid.blank(axes, **{"task": {"name": "addition"}, "seed": 7, "samples": 50, **about})
    grid.correct = correct
    grid.answers = [[None if right is None else min(50, right + 1) for right in row] for row in correct]
    grid.total = [[None if right is None else 50 for right in row] for row in correct]
    return grid


# Intervals.


@pytest.mark.parametrize(
    ("correct", "total", "low", "high"),
    [
        (5, 10, 0.2366, 0.7634),
        (0, 10, 0.0, 0.2775),  # z²/(n+z²)
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I: both by Wilson's method without correction
        (15, 148, 0.0624, 0.1605),
        (1, 29, 0.0061, 0.1718),
        (1000, 1000, 0.9962, 1.0),
    ],
)
def test_wilson_intervals_have_their_published_values(correct: int, total: int, low: float, high: float) -> None:
    assert wilson(correct, total) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 5000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_bounds_are_the_rates_that_the_counts_just_do_not_contradict(counts: tuple[int, int]) -> None:
    """At both ends the observed rate lies 1.96 standard deviations, as of that end, away."""
    correct, total = counts
    low, high = wilson(correct, total)
    rate = correct / total
    assert 0 <= low <= rate <= high <= 1
    assert (low == 0, high == 1) == (correct == 0, correct == total)
    for bound in {low, high} - {0.0, 1.0}:
        assert abs(rate - bound) == pytest.approx(1.959964 * math.sqrt(bound * (1 - bound) / total), abs=1e-9)


def test_nothing_is_known_of_no_problems() -> None:
    assert wilson(0, 0) == (0, 1)


# Grids.


def test_a_grid_says_rates_intervals_and_its_worst_cell() -> None:
    grid = make([[50, 49], [None, 25]], [10, 20], [2, 3])
    assert grid.accuracy == [[1.0, 0.98], [None, 0.5]]
    assert grid.answer_accuracy == [[1.0, 1.0], [None, 0.52]]
    assert grid.intervals == [[wilson(50, 50), wilson(49, 50)], [None, wilson(25, 50)]]
    assert grid.lowest == 0.5
    assert not grid.complete
    assert list(grid.cells) == [(0, 0, 10, 2), (0, 1, 10, 3), (1, 0, 20, 2), (1, 1, 20, 3)]
    grid.total[1][0] = 50
    assert grid.complete
    assert Grid.blank({"length": [1]}, task={"name": "parity"}, seed=0, samples=1).lowest is None


def test_a_grid_without_counts_has_one_column() -> None:
    grid = make([[50], [20]], [10, 20], task={"name": "parity"})
    assert list(grid.cells) == [(0, 0, 10, None), (1, 0, 20, None)]
    assert grid.accuracy == [[1.0], [0.4]]


@pytest.mark.parametrize("counts", [[2, 3], None])
def test_a_saved_grid_comes_back_the_same(counts: list[int] | None, tmp_path: Path) -> None:
    row: list[int | None] = [3, None] if counts else [None]
    about = {"model": {"name": "a", "trained_on": {"length": 10}}, "made": {"device": "cpu"}, "seconds": 1.5}
    how: dict[str, Any] = {"problems": "chains", "offsets": "training", "decoding": "greedy", "dtype": "bfloat16"}
    grid = make([row], [4], counts, **about, **how)
    file = tmp_path / "new" / "folder" / "grid.json"
    grid.save(file)
    assert Grid.load(file) == Grid.load(str(file)) == grid


def test_a_file_holds_what_the_design_lists(tmp_path: Path) -> None:
    make([[3, None]], [4], [2, 3]).save(tmp_path / "grid.json")
    held = json.loads((tmp_path / "grid.json").read_text())
    assert {"task", "format", "axes", "correct", "total", "metric", "decoding", "dtype", "seed", "model"} < set(held)
    assert {"seconds", "made", "answers", "samples", "problems", "offsets"} < set(held)
    assert (held["axes"], held["correct"], held["total"]) == (
        {"length": [4], "count": [2, 3]},
        [[3, None]],
        [[50, None]],
    )
    assert held["accuracy"] == [[0.06, None]]
    assert held["intervals"] == [[list(wilson(3, 50)), None]]


def put(name: str, value: Any) -> Change:
    return lambda data: data.update({name: value})


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (put("kind", "attention"), "is not a grid"),
        (lambda data: data.pop("kind"), "is not a grid"),
        (lambda data: data.pop("format"), "does not say its format"),
        (put("format", "1"), "does not say its format"),
        (put("format", True), "does not say its format"),
        (put("format", 0), "does not say its format"),
        (put("format", 2), "install a newer lengthwise"),
        (lambda data: data.pop("total"), "'total' is missing"),
        (lambda data: data.pop("dtype"), "'dtype' is missing"),
        (put("extra", 1), "'extra' is unknown"),
        (put("axes", []), "its axes"),
        (put("axes", {"length": [4, 5]}), "rows of 1"),
        (put("axes", {"count": [2, 3]}), "its axes"),
        (put("axes", {"length": [4, 5], "count": [2, 3], "depth": [1]}), "its axes"),
        (put("axes", {"length": [], "count": [2, 3]}), "its axes"),
        (put("axes", {"length": [4, 4], "count": [2, 3]}), "its axes"),
        (put("axes", {"length": [4, 0], "count": [2, 3]}), "its axes"),
        (put("axes", {"length": [4, 5.0], "count": [2, 3]}), "its axes"),
        (put("axes", {"length": [4, True], "count": [2, 3]}), "its axes"),
        (put("axes", {"length": "45", "count": [2, 3]}), "its axes"),
        (put("correct", [[1, 2]]), "2 rows of 2"),
        (put("correct", [[1, 2], [3]]), "2 rows of 2"),
        (put("answers", [[1, 2], 3]), "2 rows of 2"),
        (put("total", None), "2 rows of 2"),
        (put("correct", [[51, None], [0, 7]]), "51 of 50"),
        (put("correct", [[-1, None], [0, 7]]), "-1 of 50"),
        (put("correct", [[1.5, None], [0, 7]]), "1.5 of 50"),
        (put("correct", [[True, None], [0, 7]]), "True of 50"),
        (put("correct", [[None, None], [0, 7]]), "None of 50"),
        (put("correct", [[5, 5], [0, 7]]), "5 of None"),
        (put("answers", [[60, None], [0, 7]]), "60 of 50"),
        (put("answers", [[None, None], [0, 7]]), "None of 50"),
        (put("total", [[0, None], [50, 50]]), "of 0"),
        (put("total", [["50", None], [50, 50]]), "of 50"),
        (put("total", [[51, None], [50, 50]]), "of 51"),
        (put("samples", 0), "must be numbers"),
        (put("samples", "50"), "must be numbers"),
        (put("seed", None), "must be numbers"),
        (put("seconds", "1 s"), "must be numbers"),
        (put("seconds", float("nan")), "must be numbers"),
        (put("task", "addition"), "its task must be an object"),
        (put("task", {}), "must be named"),
        (put("model", None), "its model must be an object"),
        (put("made", []), "its made must be an object"),
        (put("problems", 3), "must be named"),
        (put("decoding", "sampled"), "not known here"),
        (put("offsets", "two"), "not known here"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_a_damaged_grid_is_refused_in_a_sentence(damage: Change, words: str, tmp_path: Path) -> None:
    file = tmp_path / "grid.json"
    make([[5, None], [0, 7]], [4, 5], [2, 3]).save(file)
    data = json.loads(file.read_text())
    damage(data)
    file.write_text(json.dumps(data))
    with pytest.raises(lw.InputError, match=words) as error:
        Grid.load(file)
    assert "grid.json" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON"),
        (b'{"kind": "grid", "format"', "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b"[1, 2]", "not a grid"),
        (b'"grid"', "not a grid"),
        (b"null", "not a grid"),
    ],
)
def test_what_is_no_grid_is_refused_in_a_sentence(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "grid.json").write_bytes(content)
    with pytest.raises(lw.InputError, match=words) as error:
        Grid.load(tmp_path / "grid.json")
    assert "\n" not in str(error.value)
    for missing in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(lw.InputError, match="There is no file"):
            Grid.load(missing)


def full_disk(file: Path, content: bytes) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, file = make([[5]], [4], [2]), tmp_path / "grid.json"
    old.save(file)
    monkeypatch.setattr("lengthwise.results.write_whole", full_disk)
    with pytest.raises(lw.InputError, match="cannot be written: No space left on device"):
        make([[6]], [4], [2]).save(file)
    assert Grid.load(file) == old
    monkeypatch.undo()
    with pytest.raises(lw.InputError, match="cannot be written"):
        old.save(file / "under" / "a-file.json")


# Several seeds.


@given(st.lists(st.lists(st.integers(0, 50), min_size=4, max_size=4), min_size=1, max_size=9))
def test_medians_and_quartiles_are_numpys(runs: list[list[int]]) -> None:
    grids = [make([[a, b], [c, d]], [4, 5], [2, 3]) for a, b, c, d in runs]
    spread = over_seeds(grids)
    assert spread.runs == len(runs)
    assert spread.axes == {"length": [4, 5], "count": [2, 3]}
    rates = np.array(runs).reshape(-1, 2, 2) / 50
    for found, percent in ((spread.lower, 25), (spread.median, 50), (spread.upper, 75)):
        np.testing.assert_allclose(np.array(found, dtype=float), np.percentile(rates, percent, axis=0), atol=1e-12)


def test_seeds_are_summarised_as_far_as_they_are_measured() -> None:
    spread = over_seeds([make([[10, None, None]], [4], [2, 3, 4]), make([[20, 30, None]], [4], [2, 3, 4])])
    assert spread.median == [[pytest.approx(0.3), 0.6, None]]
    assert spread.lower == [[pytest.approx(0.25), 0.6, None]]
    assert spread.upper == [[pytest.approx(0.35), 0.6, None]]
    answers = over_seeds([make([[10]], [4]), make([[20]], [4])], answers=True)
    assert answers.median == [[pytest.approx(0.32)]]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (make([[1]], [5], [2]), "axes differ"),
        (make([[1]], [4]), "axes differ"),
        (make([[1]], [4], [2], problems="zeros"), "problems differ"),
        (make([[1]], [4], [2], offsets="training"), "offsets differ"),
        (make([[1]], [4], [2], decoding="greedy"), "decoding differ"),
        (make([[1]], [4], [2], task={"name": "multiplication"}), "tasks differ"),
    ],
)
def test_grids_of_different_questions_are_not_summarised(other: Grid, words: str) -> None:
    with pytest.raises(lw.InputError, match=words):
        over_seeds([make([[1]], [4], [2]), other])


def test_no_grids_have_no_median() -> None:
    with pytest.raises(lw.InputError, match="no grid"):
        over_seeds([])


# Attention maps.


def make_map() -> AttentionMap:
    weights = np.arange(1 * 2 * 3 * 3, dtype=np.float32).reshape(1, 2, 3, 3)
    return AttentionMap(
        weights=weights,
        tokens=["$", "1", "$"],
        labels=["start", "bit 1", "end"],
        lines=["$", "query", "$"],
        targets=[False, False, True],
        about={"samples": 3, "task": {"name": "parity"}},
    )


def test_a_saved_map_comes_back_the_same(tmp_path: Path) -> None:
    made = make_map()
    made.save(tmp_path / "new" / "map.safetensors")
    again = AttentionMap.load(tmp_path / "new" / "map.safetensors")
    assert again.weights.dtype == np.float32
    assert np.array_equal(again.weights, made.weights)
    for name in ("tokens", "labels", "lines", "targets", "about"):
        assert getattr(again, name) == getattr(made, name)


def test_what_is_no_map_is_refused_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "map.safetensors"
    make_map().save(file)
    whole = file.read_bytes()
    lw.Solver.new(lw.task("parity"), lw.encoding("none")).save_pretrained(tmp_path / "model")
    model = (tmp_path / "model" / "model.safetensors").read_bytes()
    for content in (whole[:100], whole[:-1], b"", b"{}", model, whole.replace(b"labels", b"lables")):
        file.write_bytes(content)
        with pytest.raises(lw.InputError, match="is not an attention map: they are made by lengthwise attention"):
            AttentionMap.load(file)
    with pytest.raises(lw.InputError, match="There is no file"):
        AttentionMap.load(tmp_path)


def test_a_full_disk_leaves_the_old_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "map.safetensors"
    make_map().save(file)
    before = file.read_bytes()
    monkeypatch.setattr("lengthwise.results.write_whole", full_disk)
    with pytest.raises(lw.InputError, match="No space left on device"):
        make_map().save(file)
    assert file.read_bytes() == before
