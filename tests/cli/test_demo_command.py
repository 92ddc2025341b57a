"""lengthwise demo: the main job in small."""

from pathlib import Path

import pytest
from asking import check_help, contents, refused, run

import lengthwise as lw
from lengthwise.cli.demo import _Demo
from lengthwise.results import Grid

QUICK = ["--steps", "2", "--lengths", "1,2", "--counts", "2", "--samples", "2"]


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_page_a_training_a_solution_a_heatmap_and_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "demo", *QUICK)
    assert err == ""
    told = " ".join(out.split())
    order = [
        "tokens $ 0 5 7 + 0 4 8",
        "A model in the box, multiplier, multiplies",
        "answer 853973413326683962570578112, written by multiplier: right",
        "training adder-tiny",
        "step 2 · loss",
        "Solving 8 numbers of 30 digits",
        "by runs/demo: ",
        "Measuring up to 2 numbers of 2 digits",
        "2 cells of 2 problems",
        "heatmap: runs/demo/figures/demo.png",
        "lowest cell here: ",
        "the paper's lowest cell (median over seeds): 67.8%",
    ]
    places = [told.find(words) for words in order]
    assert -1 not in places
    assert places == sorted(places)
    trained = lw.Run.at("runs/demo")
    assert trained.finished
    grid = Grid.load("runs/demo/grids/demo.json")
    assert grid.axes == {"length": [1, 2], "count": [2]}
    assert grid.model["trained_on"] == {"length": 10, "count": 10}
    assert Path("runs/demo/figures/demo.png").read_bytes()[:4] == b"\x89PNG"
    run(capsys, "demo", *QUICK)  # again: into the next free folder
    assert lw.Run.at("runs/demo-2").finished


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    check_help(capsys, "demo", ("", _Demo))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--samples", "abc"], "--samples cannot be 'abc'"),
        (["--samples", "0"], "samples must be 1 or more"),
        (["--steps", "0"], "steps must be 1 or more"),
        (["--lengths", "long"], "--lengths cannot be 'long'"),
        (["--counts", "1"], "count 2 or more"),
        (["--lengths", "200000"], "too long"),
        (["--device", "cuda:99"], "the device 'cuda:99' cannot be used here"),
        (["--out", "file"], "'file' exists already: give a new folder"),
        (["--out", "thesis"], "'thesis' exists already: give a new folder"),
        (["--step", "2", "--sample", "2"], "did you mean --steps and --samples?"),
    ],
)
def test_bad_input_is_refused_before_anything_begins(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str
) -> None:
    Path("file").write_text("mine")
    Path("thesis").mkdir()
    Path("thesis/chapter.txt").write_text("mine")
    before = contents(tmp_path)
    assert words in refused(capsys, "demo", *arguments)
    assert contents(tmp_path) == before
    assert not Path("runs").exists()
