"""lengthwise evaluate: a grid, its file, its picture and its table."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from asking import check_help, contents, full_disk, refused, run, train_tiny

import lengthwise as lw
from calculator import Slip, at, calculator
from lengthwise import models
from lengthwise.cli.evaluate import _Evaluate
from lengthwise.results import Grid, wilson

SMALL = ["--lengths", "1,2", "--counts", "2", "--samples", "2"]
PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_tiny(tmp_path_factory.mktemp("adder") / "adder")


@pytest.fixture(scope="module")
def trained_parity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_tiny(tmp_path_factory.mktemp("parity") / "parity", "parity-tiny")


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def adder(trained: Path, tmp_path: Path) -> Path:
    """A run of one's own, as trained."""
    return Path(str(_copy(trained, tmp_path / "adder").relative_to(tmp_path)))


def _copy(folder: Path, to: Path) -> Path:
    for name, content in contents(folder).items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_bytes(content)
    return to


@pytest.fixture
def standing_in(adder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Slip], Path]:
    """A calculator in place of the trained model."""

    def stand_in(slip: Slip) -> Path:
        monkeypatch.setattr(lw, "load", lambda name: calculator(slip))
        return adder

    return stand_in


def test_a_grid_lands_in_the_run_folder_with_its_picture(capsys: pytest.CaptureFixture[str], adder: Path) -> None:
    out, err = run(capsys, "evaluate", adder, *SMALL)
    assert err == ""
    file, picture = adder / "grids" / "random-1-2x2-n2.json", adder / "figures" / "random-1-2x2-n2.png"
    assert out.splitlines()[-2:] == [f"grid: {file}", f"picture: {picture}"]
    assert picture.read_bytes()[:4] == PNG
    grid = Grid.load(file)
    assert grid.axes == {"length": [1, 2], "count": [2]}
    assert grid.complete
    assert grid.model["name"] == "adder"
    assert grid.model["trained_on"] == {"length": 10, "count": 10}
    assert "2 cells of 2 problems (random, teacher-forced)" in " ".join(out.split())
    assert grid == lw.evaluate(adder, lengths=[1, 2], counts=[2], samples=2, out=file)


def test_a_model_in_the_box_stays_as_it_is(capsys: pytest.CaptureFixture[str], adder: Path, tmp_path: Path) -> None:
    _copy(adder, tmp_path / "runs" / "adder-tiny")  # where training by the preset of that name goes
    mine, boxed = contents(tmp_path / "runs" / "adder-tiny"), contents(models.FOLDER)
    grids = Path("runs/box/adder-tiny/grids")
    for given in ("adder-tiny", models.FOLDER / "adder-tiny"):
        out, _ = run(capsys, "evaluate", given, *SMALL)
        picture = "runs/box/adder-tiny/figures/random-1-2x2-n2.png"
        assert out.splitlines()[-2:] == [f"grid: {grids / 'random-1-2x2-n2.json'}", f"picture: {picture}"]
        assert Path(picture).read_bytes()[:4] == PNG
    assert Grid.load(grids / "random-1-2x2-n2.json").model["name"] == "adder-tiny"
    out, _ = run(capsys, "evaluate", "adder-tiny", *SMALL, "--stress")
    assert f"grids: {grids}" in out
    assert contents(models.FOLDER) == boxed
    assert contents(tmp_path / "runs" / "adder-tiny") == mine


def test_a_folder_wins_over_a_model_in_the_box(capsys: pytest.CaptureFixture[str], adder: Path, tmp_path: Path) -> None:
    _copy(adder, tmp_path / "adder-tiny")
    out, _ = run(capsys, "evaluate", "adder-tiny", *SMALL)
    assert "grid: adder-tiny/grids/random-1-2x2-n2.json" in out
    assert not Path("runs").exists()


def test_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str], adder: Path) -> None:
    out, err = run(capsys, "evaluate", adder, *SMALL, "--json", "--out", "new/g.json", "--save", "new/p.svg")
    assert (err, out.count("\n")) == ("", 1)
    found = json.loads(out)
    assert (found.pop("file"), found.pop("picture")) == ("new/g.json", "new/p.svg")
    assert found == json.loads(Path("new/g.json").read_text())
    assert found["intervals"] == [[list(wilson(row[0], 2))] for row in found["correct"]]
    assert Path("new/p.svg").read_bytes()[:5] == b"<?xml"
    assert not (adder / "grids").exists()


def test_whole_responses_and_answers_stand_side_by_side_where_they_differ(
    capsys: pytest.CaptureFixture[str], standing_in: Callable[[Slip], Path]
) -> None:
    def table(out: str) -> list[str]:
        return [" ".join(line.split()) for line in out.splitlines() if line.startswith("│ 2")]

    folder = standing_in(at(1, 0))  # a slip in the scratchpad, on every page
    out, _ = run(capsys, "evaluate", folder, "--lengths", 2, "--counts", 3, "--samples", 4)
    assert table(out) == ["│ 2 │ 0 / 100 │"]
    assert "whole responses, % / answers alone" in " ".join(out.split())
    told = " ".join(out.split())
    assert "answers alone, the right scratchpad given" in told
    assert "--decoding greedy measures answers with the scratchpad that the model itself writes" in told
    assert "lowest 0.0% at 2×3 (95%: 0.0%–49.0%)" in " ".join(out.split())
    out, _ = run(capsys, "evaluate", folder, "--lengths", 2, "--counts", 3, "--samples", 4, "--decoding", "greedy")
    assert table(out) == ["│ 2 │ 0 │"]
    assert "answers alone" not in out
    assert {file.name for file in (folder / "grids").glob("*.json")} == {
        *("random-2x3-n4.json", "random-2x3-n4-decoded.json"),
    }


def test_a_model_that_is_right(capsys: pytest.CaptureFixture[str], standing_in: Callable[[Slip], Path]) -> None:
    right: Slip = lambda operands, line, place, token: token  # noqa: E731
    out, _ = run(capsys, "evaluate", standing_in(right), "--lengths", "1:2", "--counts", "2:3", "--samples", 4)
    assert "mean 100.00%, lowest 100.0% at 1×2 (95%: 51.0%–100.0%), 4 at 99% or more" in " ".join(out.split())


def test_other_questions_have_other_files(capsys: pytest.CaptureFixture[str], adder: Path) -> None:
    for extra in (
        *([], ["--seed", "1"], ["--problems", "zeros"], ["--offsets", "training"]),
        *(["--decoding", "greedy"], ["--precision", "bfloat16"], ["--lengths", "1:2"]),
    ):
        run(capsys, "evaluate", adder, *SMALL, *extra)
    assert {file.stem for file in (adder / "grids").glob("*.json")} == {
        "random-1-2x2-n2",
        "random-1-2x2-n2-seed1",
        "zeros-1-2x2-n2",
        "random-1-2x2-n2-offsets",
        "random-1-2x2-n2-decoded",
        "random-1-2x2-n2-bfloat16",
    }


def test_parity_has_lengths_only(capsys: pytest.CaptureFixture[str], trained_parity: Path, tmp_path: Path) -> None:
    folder = _copy(trained_parity, tmp_path / "parity")
    out, _ = run(capsys, "evaluate", folder, "--lengths", "2,4", "--samples", 3)
    assert "2 cells of 3 problems" in " ".join(out.split())
    assert Grid.load(folder / "grids" / "random-2-4-n3.json").axes == {"length": [2, 4]}
    assert (folder / "figures" / "random-2-4-n3.png").read_bytes()[:4] == PNG
    out, _ = run(capsys, "evaluate", folder, "--lengths", "2,4", "--samples", 3, "--stress")
    assert "parity, 2,4" in out
    assert "huge" not in out
    assert "None" not in out
    assert refused(capsys, "evaluate", folder, "--counts", 3) == "parity has lengths only: leave --counts out."


def test_every_stress_suite_in_one_table(capsys: pytest.CaptureFixture[str], adder: Path) -> None:
    out, err = run(capsys, "evaluate", adder, *SMALL, "--stress")
    assert err == ""
    rows = [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")]
    assert rows == ["random", "nines", "chains", "zeros", "huge", "ragged", "random, training offsets"]
    out, err = run(capsys, "evaluate", adder, *SMALL, "--stress", "--json")
    assert (err, out.count("\n")) == ("", 1)
    found = json.loads(out)
    assert list(found) == rows
    assert found["nines"]["total"] == [[1], [1]]
    assert found["random, training offsets"]["offsets"] == "training"
    assert len(list((adder / "grids").glob("*.json"))) == 7


def test_stress_goes_without_training_offsets_where_there_are_none(
    capsys: pytest.CaptureFixture[str], adder: Path
) -> None:
    out, _ = run(capsys, "evaluate", adder, "--lengths", 60, "--counts", 2, "--samples", 1, "--stress")
    assert "random, training offsets" not in out
    assert "without random training offsets: addition of this size needs column ids up to 62" in out


class Stopping:
    """Progress during which Ctrl-C is pressed after some cells, counting them all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        self.cells = 0

        @contextmanager
        def progress(console: Any, cells: int, description: str) -> Iterator[Any]:
            def done(grid: Grid, row: int, column: int) -> None:
                self.cells += 1
                if self.cells == after:
                    raise KeyboardInterrupt

            yield done

        monkeypatch.setattr("lengthwise.cli.evaluate.grid_progress", progress)


def test_ctrl_c_keeps_the_cells_done(
    capsys: pytest.CaptureFixture[str], adder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        Stopping(patch, after=1)
        out, err = run(capsys, "evaluate", adder, *SMALL, expect=130)
    file = adder / "grids" / "random-1-2x2-n2.json"
    assert out == ""
    assert err == f"\nlengthwise: stopped; done cells are kept in {file}, and the same command goes on.\n"
    assert Grid.load(file).total == [[2], [None]]
    run(capsys, "evaluate", adder, *SMALL)
    assert Grid.load(file).complete


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    check_help(capsys, "evaluate", ("", _Evaluate))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lengths", "nonsense"], "--lengths cannot be 'nonsense': write 1:30, 5:30:5 or 2,3,10."),
        (["--counts", "2;3"], "--counts cannot be '2;3'"),
        (["--lengths", "0:3"], "--lengths cannot be '0:3'"),
        (["--counts", "1"], "count 2 or more"),
        (["--lengths", "200000"], "too long"),
        (["--samples", "0"], "samples must be 1 or more"),
        (["--samples", "1e3"], "--samples cannot be '1e3'"),
        (["--problems", "chainz"], "addition has no problems 'chainz': choose one of random, nines, chains"),
        (["--decoding", "beam"], "--decoding cannot be 'beam': choose one of teacher-forced, greedy"),
        (["--offsets", "training", "--lengths", "60"], "column ids up to 63, but the maximum id of 'column' is 40"),
        (["--stress", "--out", "x.json"], "--stress measures every suite into files of its own"),
        (["--stress", "--lengths", "x"], "--lengths cannot be 'x'"),
        (["--save", "picture.doc"], "'picture.doc' has no ending of a picture"),
        (["--out", "."], "'.' is a folder: give a file for the grid"),
        (["--out", "adder/README.md/grid.json"], "cannot be written"),
        (["--device", "cuda:99"], "the device 'cuda:99' cannot be used here: try cpu."),
        (["--lenghts", "1:3", "--smaples", "3"], "did you mean --lengths and --samples?"),
        (["--samples"], "--samples needs a value"),
    ],
)
def test_bad_input_leaves_everything_as_it_was(
    capsys: pytest.CaptureFixture[str], adder: Path, tmp_path: Path, arguments: list[str], words: str
) -> None:
    before = contents(tmp_path)
    assert words in refused(capsys, "evaluate", adder, "--samples", 2, "--json", *arguments)
    assert contents(tmp_path) == before


def test_folders_that_are_no_models(capsys: pytest.CaptureFixture[str], adder: Path, tmp_path: Path) -> None:
    assert "The model is missing: give a run folder or model folder" in refused(capsys, "evaluate")
    assert "There is no model folder 'nothing'" in refused(capsys, "evaluate", "nothing")
    assert "has no config.json: it is not a model folder" in refused(capsys, "evaluate", tmp_path)
    (adder / "model.safetensors").write_bytes(b"cut")
    assert "cut short" in refused(capsys, "evaluate", adder, *SMALL)


def test_a_grid_beyond_the_models_ids(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    train_tiny(tmp_path / "learned", encoding=lw.encoding("learned", sizes=(14, 14)))
    before = contents(tmp_path)
    words = (
        "addition of length 30 and count 2 needs column ids up to 32, but the model's go up to 14: "
        "take smaller sizes, or train with larger ids."
    )
    assert refused(capsys, "evaluate", "learned", "--lengths", "1:30", "--counts", 2) == words
    assert refused(capsys, "evaluate", "learned", "--lengths", "1:30", "--counts", 2, "--stress") == words
    assert contents(tmp_path) == before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"kind": "grid"}', '{"kind": "grid", "format": 1, "axes": 3}'])
def test_a_corrupt_grid_file_is_left_alone(
    capsys: pytest.CaptureFixture[str], adder: Path, tmp_path: Path, content: str
) -> None:
    Path("grid.json").write_text(content)
    before = contents(tmp_path)
    assert "'grid.json' is not" in refused(capsys, "evaluate", adder, *SMALL, "--out", "grid.json")
    assert "'grid.json' is not" in refused(capsys, "figure", "grid.json")
    assert contents(tmp_path) == before


def test_the_grid_of_another_question_is_left_alone(
    capsys: pytest.CaptureFixture[str], adder: Path, tmp_path: Path
) -> None:
    run(capsys, "evaluate", adder, *SMALL, "--out", "grid.json", "--save", "grid.png")
    train_tiny(tmp_path / "other", seed=1)
    before = contents(tmp_path)
    asked = [*SMALL, "--out", "grid.json", "--save", "grid.png"]
    assert "holds a grid of another model" in refused(capsys, "evaluate", "other", *asked)
    assert "holds a grid with other samples" in refused(capsys, "evaluate", adder, *asked, "--samples", 3)
    assert contents(tmp_path) == before


def test_a_full_disk_leaves_what_was_there(
    capsys: pytest.CaptureFixture[str], adder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "evaluate", adder, *SMALL, "--out", "old.json", "--save", "old.png")
    before = contents(tmp_path)
    monkeypatch.setattr("lengthwise.results.write_whole", full_disk)
    words = "'new.json' cannot be written: No space left on device."
    assert refused(capsys, "evaluate", adder, *SMALL, "--out", "new.json", "--save", "new.png") == words
    monkeypatch.setattr("lengthwise.figures.saving.write_whole", full_disk)
    words = "'old.png' cannot be written: No space left on device."
    assert refused(capsys, "evaluate", adder, *SMALL, "--out", "old.json", "--save", "old.png") == words
    assert "cannot be written" in refused(capsys, "evaluate", adder, *SMALL, "--save", "old.json/under.png")
    assert contents(tmp_path) == before
