"""lengthwise attention: a map as a file and as a picture."""

from pathlib import Path

import numpy as np
import pytest
from asking import check_help, contents, full_disk, refused, run, train_tiny

import lengthwise as lw
from lengthwise import models
from lengthwise.cli.attention import _Attention
from lengthwise.looking import average_attention
from lengthwise.results import AttentionMap


@pytest.fixture(autouse=True)
def adder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lw.Solver.new(lw.task("addition"), lw.encoding("learned", sizes=(30, 30))).save_pretrained(tmp_path / "adder")


def test_a_map_lands_in_the_model_folder_with_its_picture(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "attention", "adder", "--size", "2x3", "--samples", 4)
    file, picture = Path("adder/grids/attention-2x3-n4.safetensors"), Path("adder/figures/attention-2x3-n4.png")
    assert (out, err) == (f"map: {file}\npicture: {picture}\n", "")
    found = AttentionMap.load(file)
    assert np.array_equal(found.weights, average_attention(lw.load("adder"), length=2, count=3, samples=4).weights)
    assert found.about["model"]["name"] == "adder"
    assert picture.read_bytes()[:4] == b"\x89PNG"
    run(capsys, "figure", file, "--heads", 2)
    assert Path("figure.png").read_bytes()[:4] == b"\x89PNG"


def test_where_files_go_can_be_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["--size", "2x3", "--samples", 4, "--seed", 5]
    run(capsys, "attention", "adder", *asked, "--out", "new/map.safetensors", "--save", "new/map.svg")
    assert Path("new/map.svg").read_bytes()[:5] == b"<?xml"
    assert AttentionMap.load("new/map.safetensors").about["seed"] == 5
    assert not Path("adder/grids").exists()
    run(capsys, "attention", "adder", *asked)
    assert Path("adder/grids/attention-2x3-n4-seed5.safetensors").is_file()
    train_tiny(tmp_path / "bits", "parity-tiny")
    run(capsys, "attention", "bits", "--samples", 2)
    assert AttentionMap.load("bits/grids/attention-11-n2.safetensors").about["length"] == 11


def test_a_model_in_the_box_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(models.FOLDER)
    out, err = run(capsys, "attention", "adder-tiny", "--size", "2x2", "--samples", 2)
    file = Path("runs/box/adder-tiny/grids/attention-2x2-n2.safetensors")
    picture = Path("runs/box/adder-tiny/figures/attention-2x2-n2.png")
    assert (out, err) == (f"map: {file}\npicture: {picture}\n", "")
    assert AttentionMap.load(file).about["model"]["name"] == "adder-tiny"
    assert picture.is_file()
    assert contents(models.FOLDER) == before


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    check_help(capsys, "attention", ("", _Attention))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "The model is missing: give a run folder or model folder"),
        (["nothing"], "There is no model folder 'nothing'"),
        (["."], "has no config.json"),
        (["adder", "--size", "2"], "count 2 or more"),
        (["adder", "--size", "large"], "'large' is not a size"),
        (["adder", "--size", "60x2"], "needs column ids up to 62, but the model's go up to 30"),
        (["adder", "--samples", "0"], "samples must be 1 or more"),
        (["adder", "--save", "map.doc"], "save as .png, .svg, .pdf"),
        (["adder", "--size", "2x2", "--samples", "1", "--out", "adder/README.md/map"], "cannot be written"),
        (["adder", "--device", "cuda:99"], "the device 'cuda:99' cannot be used here"),
        (["unpadded", "--size", "2x2"], "use a format with zero-padding"),
        (["adder", "--smaples", "3"], "did you mean --samples?"),
    ],
)
def test_bad_input_leaves_everything_as_it_was(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str
) -> None:
    lw.Solver.new(lw.task("addition", zero_padding=False), lw.encoding("none")).save_pretrained(tmp_path / "unpadded")
    before = contents(tmp_path)
    assert words in refused(capsys, "attention", *arguments)
    assert contents(tmp_path) == before


def test_a_full_disk_leaves_what_was_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("map.safetensors").write_text("old")
    before = contents(tmp_path)
    monkeypatch.setattr("lengthwise.results.write_whole", full_disk)
    asked = ["--size", "2x2", "--samples", 1, "--out", "map.safetensors"]
    words = "'map.safetensors' cannot be written: No space left on device."
    assert refused(capsys, "attention", "adder", *asked) == words
    assert contents(tmp_path) == before
