"""lengthwise reproduce: figures of the paper listed, made, reported on and compared."""

import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from asking import contents, explanations, plain, refused, run

import lengthwise as lw
from lengthwise import experiments
from lengthwise.cli.reproduce import _Reproduce
from lengthwise.experiments import kinds
from lengthwise.experiments.plans import SCALES
from lengthwise.progress import TrainingProgress
from lengthwise.reproduce import claims_table, reproduce
from lengthwise.runs import Run

FIGURE = "addition-zero-padding"
QUICK = ["--scale", "smoke", "--device", "cpu", "--only", "windowed-*"]
"""Two runs of that figure, which take no time."""
READY = {"windowed-addition", "windowed-addition-unpadded"}


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two runs, made without the command."""
    folder = tmp_path_factory.mktemp("whole")
    reproduce([FIGURE], scale="smoke", out=folder, only=["windowed-*"])
    return folder


@pytest.fixture
def done(whole: Path, tmp_path: Path) -> Path:
    """A copy of them where the command looks unless told otherwise."""
    shutil.copytree(whole, tmp_path / "runs" / "reproduce")
    return Path("runs/reproduce")


# The list.


def test_without_a_name_all_figures_are_listed_with_how_far_they_are(
    capsys: pytest.CaptureFixture[str], done: Path
) -> None:
    before = contents(done)
    out, err = run(capsys, "reproduce")
    assert err == ""
    assert out.startswith("Runs done of runs wanted, in runs/reproduce")
    rows = {row.split()[1]: row for row in out.splitlines() if row.startswith("│")}
    assert list(rows) == list(kinds())
    for name, kind in kinds().items():
        shown = name != "attention-patterns"  # which measures something else of them
        ready = sum(case.key in READY for case in kind().plan("smoke")) if shown else 0
        wanted = [kind.scales[scale].seeds * len(kind().plan(scale)) for scale in SCALES]
        cells = [tuple(map(int, re.findall(r"\d+", cell))) for cell in rows[name].split("│")[-4:-1]]
        assert cells == [(ready, wanted[0]), (0, wanted[1]), (0, wanted[2])]
        assert kind.figure in rows[name]
        assert kind.summary in rows[name]
    assert contents(done) == before


def test_the_list_as_json_is_one_object(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, err = run(capsys, "reproduce", "--json")
    assert (err, out.count("\n")) == ("", 1)
    found = json.loads(out)
    assert list(found) == list(kinds())
    for name, kind in kinds().items():
        assert found[name]["figure"] == kind.figure
        assert found[name]["summary"] == kind.summary
        for scale in SCALES:
            wanted = kind.scales[scale].seeds * len(kind().plan(scale))
            assert found[name][scale] == {"runs": 0, "wanted": wanted}
    assert list(tmp_path.iterdir()) == [], "to look is not to begin"


def test_the_list_looks_where_it_is_told_to(capsys: pytest.CaptureFixture[str], whole: Path) -> None:
    out, _ = run(capsys, "reproduce", "--json", "--out", whole)
    assert json.loads(out)[FIGURE]["smoke"] == {"runs": 2, "wanted": 4}
    assert json.loads(out)["addition-methods"]["smoke"] == {"runs": 1, "wanted": 9}
    assert json.loads(out)["parity"]["smoke"]["runs"] == 0


# One figure, several, all.


def test_a_figure_is_made_and_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, err = run(capsys, "reproduce", FIGURE, *QUICK)
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "2 runs, 0 of them done already"
    assert "training adder-tiny: " in out, "one worker shows how it trains"
    assert sum(": 2 steps in " in line and line.startswith(("1/2 ", "2/2 ")) for line in lines) == 2
    assert f"{FIGURE}, smoke: 2 of 4 runs" in out
    for claim in experiments.experiment(FIGURE).claims(experiments.experiment(FIGURE).found("smoke", tmp_path)):
        assert claim.says in plain(out)
    assert plain(out).count(" – not judged ") == 2
    picture = Path(f"runs/reproduce/smoke/figures/{FIGURE}.png")
    assert lines[-1] == f"picture: {picture}"
    assert picture.read_bytes()[:4] == b"\x89PNG"

    again, _ = run(capsys, "reproduce", FIGURE, *QUICK)
    assert again.splitlines()[0] == "2 runs, 2 of them done already"
    assert "training" not in again


def test_where_runs_go_and_which_seeds_they_have_can_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "reproduce", FIGURE, *QUICK[:-1], "windowed-addition", "--seeds", "1,3", "--out", "here")
    runs = sorted(folder.name for folder in Path("here/smoke").glob("*-seed*"))
    assert runs == ["windowed-addition-seed1", "windowed-addition-seed3"]
    assert [Run(Path("here/smoke") / name).recipe.seed for name in runs] == [1, 3]
    assert not Path("runs").exists()


def test_json_is_one_document_and_all_else_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "reproduce", FIGURE, *QUICK, "--json")
    assert out.count("\n") == 1
    (report,) = json.loads(out)
    assert list(report) == ["name", "scale", "runs", "wanted", "pictures", "claims"]
    assert (report["name"], report["scale"], report["runs"], report["wanted"]) == (FIGURE, "smoke", 2, 4)
    assert report["pictures"] == {FIGURE: f"runs/reproduce/smoke/figures/{FIGURE}.png"}
    assert len(report["claims"]) == 2
    assert {claim["verdict"] for claim in report["claims"]} == {"not run"}
    assert json.loads(Path(f"runs/reproduce/smoke/figures/{FIGURE}.json").read_text())["claims"] == report["claims"]
    assert err.splitlines()[0] == "2 runs, 0 of them done already"
    assert len(err.splitlines()) == 3


def test_several_figures_share_their_runs(capsys: pytest.CaptureFixture[str], done: Path) -> None:
    out, err = run(capsys, "reproduce", "windowed", FIGURE, *QUICK[:-1], "windowed-addition", "--json")
    assert [report["name"] for report in json.loads(out)] == ["windowed", FIGURE]
    assert err == "1 run, 1 of them done already\n"


def test_all_are_all(capsys: pytest.CaptureFixture[str], done: Path) -> None:
    (done / "smoke" / "windowed-addition-seed0").rename(done / "away")  # most of them would draw it, which takes long
    out, _ = run(capsys, "reproduce", "all", "--scale", "smoke", "--report", "--json")
    reports = json.loads(out)
    assert [report["name"] for report in reports] == list(kinds())
    assert {report["name"]: report["runs"] for report in reports if report["runs"]} == {
        FIGURE: 1,
        "addition-input-formats": 1,
        "windowed": 1,
    }


# What is there.


def test_a_report_runs_nothing(capsys: pytest.CaptureFixture[str], done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lengthwise.engines.work", lambda *job, **options: pytest.fail("nothing is to be run"))
    shutil.rmtree(done / "smoke" / "windowed-addition-unpadded-seed0")
    shutil.rmtree(done / "smoke" / "figures")
    before = contents(done)
    out, err = run(capsys, "reproduce", FIGURE, "--scale", "smoke", "--report")
    assert err == ""
    assert out.startswith(f"{FIGURE}, smoke: 1 of 4 runs")
    added = set(contents(done)) - set(before)
    assert added == {f"smoke/figures/{FIGURE}.png", f"smoke/figures/{FIGURE}.json"}
    assert {name: content for name, content in contents(done).items() if name in before} == before


def test_a_report_on_nothing_says_so_and_leaves_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, err = run(capsys, "reproduce", "parity", "--report")
    assert err == ""
    assert out.startswith("parity, small: 0 of 10 runs")
    assert "picture" not in out.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_the_table_of_claims_is_markdown_and_nothing_else(capsys: pytest.CaptureFixture[str], done: Path) -> None:
    before = contents(done)
    out, err = run(capsys, "reproduce", "--table")
    assert err == ""
    assert out == claims_table(done)
    assert out.splitlines()[1] == "|---|---|---|---|---|---|---|"
    assert all(line.startswith("| ") and line.endswith(" |") for line in out.splitlines()[2:])
    assert contents(done) == before


# Stopping and refusing.


def test_ctrl_c_leaves_what_the_same_command_goes_on_with(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, whole: Path
) -> None:
    advance = TrainingProgress.advance

    def press(self: TrainingProgress, step: int, tokens_per_second: float) -> None:
        advance(self, step, tokens_per_second)
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingProgress, "advance", press)
        _, err = run(capsys, "reproduce", FIGURE, *QUICK, expect=130)
    assert err.splitlines()[-1] == (
        "lengthwise: stopped; what is done is kept in runs/reproduce, and the same command goes on."
    )
    (begun,) = Path("runs/reproduce/smoke").iterdir()
    assert Run(begun).step == 1
    out, _ = run(capsys, "reproduce", FIGURE, *QUICK)
    assert "going on after step 1" in " ".join(out.split())
    file = f"smoke/{begun.name}/model.safetensors"
    assert Path("runs/reproduce", file).read_bytes() == (whole / file).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["addition-method"], "There is no figure 'addition-method': did you mean 'addition-methods'?"),
        (["parity", "figure-1"], "There is no figure 'figure-1': choose one of parity, addition-methods"),
        (["parity", "--seeds", "x"], "--seeds cannot be 'x': write 0:3 or 0,2,5"),
        (["parity", "--seeds", "0:x"], "--seeds cannot be '0:x'"),
        (["parity", "--seeds", ""], "--seeds cannot be ''"),
        (["parity", "--seeds", "3:1"], "--seeds cannot be '3:1'"),
        (["parity", "--workers", "0"], "workers must be 1 or more, not 0"),
        (["parity", "--workers", "many"], "--workers cannot be 'many'"),
        (["parity", "--scale", "tiny"], "--scale cannot be 'tiny': choose one of smoke, small, paper"),
        (["parity", "--sacle", "smoke"], "did you mean --scale?"),
    ],
)
def test_bad_input_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str
) -> None:
    assert words in refused(capsys, "reproduce", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_runs_that_fail_are_told_in_one_sentence_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **options: object) -> str:
        raise lw.InputError("the disk is full.")

    monkeypatch.setattr("lengthwise.engines.work", fail)
    out, err = run(capsys, "reproduce", FIGURE, *QUICK, expect=2)
    assert err.startswith("lengthwise: 2 of 2 runs failed; windowed-addition")
    assert err.endswith("the disk is full.\n")
    assert len(err.splitlines()) == 1
    assert len(out.splitlines()) == 3


def test_a_device_that_is_not_there_is_refused_before_any_run(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "reproduce", FIGURE, *QUICK, "--device", "toaster", expect=2)
    assert (out, err) == ("", "lengthwise: the device 'toaster' cannot be used here: try cpu.\n")


def test_another_recipes_run_is_not_taken_for_ones_own(capsys: pytest.CaptureFixture[str], done: Path) -> None:
    file = done / "smoke" / "windowed-addition-seed0" / "config.json"
    file.write_text(file.read_text().replace('"batch_size": 4', '"batch_size": 5'))
    before = contents(done)
    sentence = refused(capsys, "reproduce", FIGURE, *QUICK)
    assert "holds a run by another recipe: its training.batch_size is 5, not 4." in sentence
    assert sentence.endswith("Move it away, or give another folder with --out.")
    assert contents(done) == before


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0", [0]),
        ("3", [3]),
        ("0:3", [0, 1, 2, 3]),
        ("0,2,5", [0, 2, 5]),
        ("1:3", [1, 2, 3]),
        ("0:2,7", [0, 1, 2, 7]),
        ("0:8:2", [0, 2, 4, 6, 8]),
        ("2,0", [0, 2]),
        ("0:0", [0]),
    ],
)
def test_seeds_are_written_as_sizes_are_but_begin_at_0(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str, seeds: list[int]
) -> None:
    asked: list[list[int]] = []

    def note(names: list[str], **how: Any) -> list[Any]:
        asked.append(how["seeds"])
        return []

    monkeypatch.setattr("lengthwise.reproduce.reproduce", note)
    run(capsys, "reproduce", FIGURE, "--seeds", text)
    assert asked == [seeds]


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "reproduce", "--help")
    assert err == ""
    told: dict[str, Any] = explanations(_Reproduce)
    assert "NAME …" in plain(out)
    for name, text in told.items():
        assert name == "names" or f"--{name.replace('_', '-')}" in out
        assert plain(text) in plain(out), f"--{name} is not explained"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--table", FIGURE], "--table compares all figures"),
        (["--table", "--json"], "--table compares all figures"),
        (["--report"], "--report draws what is there of the figures it names"),
        (["--report", FIGURE, "--seeds", "0"], "leave --seeds and --only out"),
        (["--report", FIGURE, "--only", "parity-*"], "leave --seeds and --only out"),
    ],
)
def test_options_that_would_change_nothing_are_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(capsys, "reproduce", *arguments)


def test_a_run_by_another_recipe_is_not_reported_either(capsys: pytest.CaptureFixture[str], done: Path) -> None:
    file = done / "smoke" / "windowed-addition-seed0" / "config.json"
    file.write_text(file.read_text().replace('"batch_size": 4', '"batch_size": 5'))
    assert "holds a run by another recipe" in refused(capsys, "reproduce", FIGURE, "--scale", "smoke", "--report")


def test_nor_is_it_in_the_table(capsys: pytest.CaptureFixture[str], done: Path) -> None:
    (done / "smoke").rename(done / "small")
    (grid,) = (done / "small" / "windowed-addition-seed0").glob("grids/grid-*.json")
    grid.rename(grid.with_name(experiments.experiment(FIGURE).plan("small")[0].measurements[0].file))
    assert "holds a run by another recipe" in refused(capsys, "reproduce", "--table")


def test_a_file_where_the_folder_should_be_is_refused_before_any_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("taken").write_text("mine")
    out, err = run(capsys, "reproduce", FIGURE, *QUICK, "--out", "taken", expect=2)
    assert (out, err) == ("", "lengthwise: 'taken/smoke' cannot be written to: Not a directory.\n")
    assert Path("taken").read_text() == "mine"
