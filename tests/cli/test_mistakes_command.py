"""lengthwise mistakes: the report as a file, as tables and as JSON."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import check_help, contents, full_disk, refused, run, train_tiny

import lengthwise as lw
from calculator import Slip, at, calculator, no_slip
from lengthwise import models
from lengthwise.cli.mistakes import _Mistakes
from lengthwise.results import wilson


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def adder(tmp_path: Path) -> Path:
    lw.Solver.new(lw.task("addition"), lw.encoding("learned", sizes=(30, 30))).save_pretrained(tmp_path / "adder")
    return Path("adder")


@pytest.fixture
def calculating(monkeypatch: pytest.MonkeyPatch) -> Callable[[Slip], Path]:
    """A calculator in place of every model."""

    def stand_in(slip: Slip) -> Path:
        monkeypatch.setattr(lw, "load", lambda name: calculator(slip))
        Path("calculator").mkdir()
        return Path("calculator")

    return stand_in


def test_tables_of_where_mistakes_happen(
    capsys: pytest.CaptureFixture[str], calculating: Callable[[Slip], Path]
) -> None:
    folder = calculating(at(1, 2))
    out, err = run(capsys, "mistakes", folder, "--size", "2x3", "--samples", 10, "--predict", "5x4", "30x30")
    assert err == ""
    told = [" ".join(line.replace("│", " ").split()) for line in out.splitlines()]
    assert told[0] == (
        "10 of 10 problems of 2×3 have a mistake: accuracy 0.00%, 1.43e-01 a step (70 tokens up to the first mistake)"
    )
    assert "partial sum 1 10 40 2.50e-01" in told
    assert "2 10 20 5.00e-01" in told
    assert "no carry 10 60 1.67e-01" in told
    tokens = len(lw.task("addition").write(["99999"] * 4).response)
    assert any(line.startswith(f"at that rate 5×4 would be {(1 - 1 / 7) ** tokens:.2%} right (95%: ") for line in told)
    assert told[-1] == "report: calculator/grids/mistakes-random-2x3-n10.json"
    held = json.loads(Path("calculator/grids/mistakes-random-2x3-n10.json").read_text())
    assert held["by_line"]["partial sum 1"] == [10, 40]


def test_a_model_without_mistakes_needs_no_tables(
    capsys: pytest.CaptureFixture[str], calculating: Callable[[Slip], Path]
) -> None:
    out, _ = run(capsys, "mistakes", calculating(no_slip), "--size", "2x3", "--samples", 3, "--predict", "30x30")
    assert out.splitlines()[0].startswith("0 of 3 problems of 2×3 have a mistake: accuracy 100.00%, 0.00e+00 a step")
    assert "at that rate 30×30 would be 100.00% right" in out
    assert "by line" not in out


def test_json_is_one_object_and_nothing_else(
    capsys: pytest.CaptureFixture[str], calculating: Callable[[Slip], Path]
) -> None:
    folder = calculating(at(1, 2))
    asked = ["--size", "2x3", "--samples", 10, "--predict", "2x3", "--out", "new/report.json", "--seed", 3]
    out, err = run(capsys, "mistakes", folder, *asked, "--json")
    assert (err, out.count("\n")) == ("", 1)
    found = json.loads(out)
    assert found.pop("file") == "new/report.json"
    assert found.pop("predicted") == {"2x3": pytest.approx((6 / 7) ** 16)}
    low, high = wilson(10, 70)
    assert found.pop("predicted_intervals") == {"2x3": pytest.approx([(1 - high) ** 16, (1 - low) ** 16])}
    assert found == json.loads(Path("new/report.json").read_text())
    assert (found["wrong"], found["error_rate"], found["seed"]) == (10, 1 / 7, 3)


def test_a_trained_model_and_another_task(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    train_tiny(tmp_path / "adder")
    run(capsys, "mistakes", "adder", "--size", "2x2", "--samples", 3, "--problems", "chains", "--seed", 5)
    assert Path("adder/grids/mistakes-chains-2x2-n3-seed5.json").is_file()
    train_tiny(tmp_path / "bits", "parity-tiny")
    out, _ = run(capsys, "mistakes", "bits", "--samples", 3)
    assert "of 3 problems of 40 have a mistake" in out


def test_a_model_in_the_box_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(models.FOLDER)
    out, _ = run(capsys, "mistakes", "parity-tiny", "--size", "5", "--samples", 3)
    file = Path("runs/box/parity-tiny/grids/mistakes-random-5-n3.json")
    assert out.splitlines()[-1] == f"report: {file}"
    assert json.loads(file.read_text())["model"]["name"] == "parity-tiny"
    assert contents(models.FOLDER) == before
    assert "no model of that name in the box: did you mean 'parity-tiny'?" in refused(capsys, "mistakes", "parity-tny")


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    check_help(capsys, "mistakes", ("", _Mistakes))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--size", "2"], "count 2 or more"),
        (["--size", "2xx"], "'2xx' is not a size: write length x count, such as 20x15"),
        (["--size", "0x2"], "length 1 or more"),
        (["--size", "60x2"], "needs column ids up to 62, but the model's go up to 30"),
        (["--size", "2x2", "--predict", "30"], "count 2 or more"),
        (["--size", "2x2", "--predict", "10000x10000"], "fewer or shorter numbers"),
        (["--size", "2x2", "--predict", "far"], "'far' is not a size"),
        (["--size", "2x2", "--samples", "0"], "samples must be 1 or more"),
        (["--size", "2x2", "--problems", "chainz"], "addition has no problems 'chainz'"),
        (["--size", "2x2", "--samples", "2", "--out", "adder/README.md/x.json"], "cannot be written"),
        (["--device", "cuda:99"], "the device 'cuda:99' cannot be used here"),
        (["--sise", "2x2"], "did you mean --size?"),
    ],
)
def test_bad_input_leaves_everything_as_it_was(
    capsys: pytest.CaptureFixture[str], adder: Path, tmp_path: Path, arguments: list[str], words: str
) -> None:
    before = contents(tmp_path)
    assert words in refused(capsys, "mistakes", adder, *arguments)
    assert contents(tmp_path) == before


def test_no_model_and_no_room(
    capsys: pytest.CaptureFixture[str], adder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "The model is missing" in refused(capsys, "mistakes")
    assert "There is no model folder 'nothing'" in refused(capsys, "mistakes", "nothing")
    Path("report.json").write_text("old")
    before = contents(tmp_path)
    monkeypatch.setattr("lengthwise.results.write_whole", full_disk)
    asked = ["--size", "2x2", "--samples", 2, "--out", "report.json"]
    words = "'report.json' cannot be written: No space left on device."
    assert refused(capsys, "mistakes", adder, *asked) == words
    assert contents(tmp_path) == before
