"""lengthwise figure: pictures of saved results."""

from pathlib import Path

import numpy as np
import pytest
from asking import check_help, contents, full_disk, refused, run
from matplotlib.figure import Figure

from lengthwise.cli import figure
from lengthwise.cli.figure import _Figure
from lengthwise.figures.heatmap import Panel, draw_heatmaps
from lengthwise.results import AttentionMap, Grid

PNG = b"\x89PNG"


def save_grid(file: str, counts: list[int] | None = None, name: str | None = None, right: int = 40) -> None:
    axes = {"length": [2, 3]} | ({"count": counts} if counts else {})
    model = {"name": name} if name else {}
    task = {"name": "addition" if counts else "parity"}
    grid = Grid.blank(axes, task=task, seed=0, samples=50, model=model)
    for row, column, *_ in grid.cells:
        grid.correct[row][column], grid.answers[row][column], grid.total[row][column] = right, right, 50
    grid.save(file)


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of each kind of result."""
    monkeypatch.chdir(tmp_path)
    save_grid("grid.json", [2, 3], "adder")
    save_grid("parity.json")
    AttentionMap(
        weights=np.eye(3, dtype=np.float32)[None, None].repeat(2, 1),
        tokens=["$", "1", "$"],
        labels=["start", "bit 1", "end"],
        lines=["$", "query", "$"],
        targets=[False, False, True],
        about={"samples": 1},
    ).save("map.safetensors")
    Path("run").mkdir()
    Path("run/metrics.jsonl").write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.0, "cells": {"2x2": 0.5}}\n')


@pytest.mark.parametrize(
    ("arguments", "drawn"),
    [
        (["grid.json"], "draw_heatmaps"),
        (["grid.json", "--kind", "heatmap", "--titles", "mine"], "draw_heatmaps"),
        (["grid.json", "--kind", "curves"], "draw_curves"),
        (["grid.json", "--kind", "curves", "--count", "3", "--answers"], "draw_curves"),
        (["parity.json"], "draw_curves"),
        (["map.safetensors"], "draw_attention"),
        (["map.safetensors", "--layers", "1", "--heads", "2"], "draw_attention"),
        (["run"], "draw_training"),
        (["run/metrics.jsonl"], "draw_training"),
    ],
)
def test_what_files_hold_decides_what_is_drawn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], drawn: str
) -> None:
    called = []
    for name in ("draw_heatmaps", "draw_curves", "draw_attention", "draw_training"):
        draw = getattr(figure, name)

        def note(*given: object, name: str = name, draw: object = draw, **options: object) -> object:
            called.append(name)
            return draw(*given, **options)  # type: ignore[operator]

        monkeypatch.setattr(figure, name, note)
    assert run(capsys, "figure", *arguments, "--save", "new.png") == ("picture: new.png\n", "")
    assert Path("new.png").read_bytes()[:4] == PNG
    assert called == [drawn]


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", PNG)])
def test_the_ending_decides_the_kind_of_file(capsys: pytest.CaptureFixture[str], ending: str, start: bytes) -> None:
    run(capsys, "figure", "grid.json", "--save", f"new.{ending}")
    assert Path(f"new.{ending}").read_bytes().startswith(start)
    run(capsys, "figure", "grid.json")
    assert Path("figure.png").read_bytes()[:4] == PNG


def test_grids_of_one_title_are_seeds_of_one_thing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in (1, 2):
        save_grid(f"seed{seed}.json", [2, 3], "adder", right=40 + seed)
    panels: list[Panel] = []

    def draw(given: list[Panel]) -> Figure:
        panels.extend(given)
        return draw_heatmaps(given)

    monkeypatch.setattr(figure, "draw_heatmaps", draw)
    files = ["grid.json", "seed1.json", "seed2.json"]
    run(capsys, "figure", *files, "--titles", "ours", "ours", "theirs")
    assert [(panel.title, [grid.correct[0][0] for grid in panel.grids]) for panel in panels] == [
        ("ours", [40, 41]),
        ("theirs", [42]),
    ]
    panels.clear()
    run(capsys, "figure", *files)
    assert [panel.title for panel in panels] == [f"adder, {Path(file).stem}" for file in files]


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    check_help(capsys, "figure", ("", _Figure))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "The results are missing: lengthwise figure runs/adder-tiny/grids/random*.json, for one."),
        (["nothing.json"], "There is no file 'nothing.json'."),
        (["nothing.jsonl"], "There is no file 'nothing.jsonl': lengthwise train makes one"),
        (["nothing.safetensors"], "There is no file 'nothing.safetensors'."),
        (["."], "There is no file 'metrics.jsonl': lengthwise train makes one in every run folder."),
        (["numbers.jsonl"], "it must hold one JSON object a line"),
        (["words.jsonl"], "is damaged"),
        (["empty.jsonl"], "the metrics are empty"),
        (["words.json"], "is not JSON"),
        (["numbers.json"], "is not a grid: grids are made by lengthwise evaluate"),
        (["words.safetensors"], "is not an attention map: they are made by lengthwise attention"),
        (["map.safetensors", "map.safetensors"], "need titles that differ"),
        (["metrics.jsonl", "metrics.jsonl"], "drawn one at a time"),
        (["map.safetensors", "--layers", "2"], "There is no layer 2: they are counted from 1 to 1."),
        (["map.safetensors", "--heads", "0"], "There is no head 0"),
        (["map.safetensors", "--answers"], "--answers has no use in a picture of attention: leave it out."),
        (["run", "--layers", "1"], "--layers has no use in a picture of training"),
        (["grid.json", "--count", "2"], "--count has no use in a picture of a heatmap"),
        (["grid.json", "--titles", "a", "b"], "--titles must give one title for each of the 1 files"),
        (["grid.json", "--kind", "pie"], "--kind cannot be 'pie': choose one of auto, heatmap, curves"),
        (["grid.json", "--kind", "curves", "--count", "7"], "'adder' has no count 7: choose one of 2, 3"),
        (["parity.json", "--kind", "heatmap"], "a heatmap needs counts as well"),
        (["grid.json", "parity.json", "--titles", "a", "a"], "cannot be summarised together"),
        (["grid.json", "--save", "new.doc"], "save as .png, .svg, .pdf"),
        (["grid.json", "--save", "no/where.png"], "There is no folder 'no'"),
        (["grid.json", "--svae", "new.png"], "did you mean --save?"),
    ],
)
def test_bad_input_leaves_everything_as_it_was(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str
) -> None:
    for ending in ("json", "jsonl", "safetensors"):
        Path(f"words.{ending}").write_text("words")
        Path(f"numbers.{ending}").write_text("[1]\n")
    Path("empty.jsonl").write_text("")
    before = contents(tmp_path)
    assert words in refused(capsys, "figure", *arguments)
    assert contents(tmp_path) == before


def test_a_full_disk_leaves_the_old_picture(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("old.png").write_text("old")
    before = contents(tmp_path)
    monkeypatch.setattr("lengthwise.figures.saving.write_whole", full_disk)
    for picture in ("old.png", "new.png"):
        words = f"'{picture}' cannot be written: No space left on device."
        assert refused(capsys, "figure", "grid.json", "--save", picture) == words
    assert contents(tmp_path) == before
