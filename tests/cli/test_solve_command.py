"""lengthwise solve: a model writes before one's eyes."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import check_help, contents, refused, run, train_tiny

import lengthwise as lw
from calculator import Slip, at, calculator, no_slip
from lengthwise.cli.solve import SMALL, _Solve


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def calculating(monkeypatch: pytest.MonkeyPatch) -> Callable[[Slip], None]:
    """A calculator in place of every model."""
    return lambda slip: monkeypatch.setattr(lw, "load", lambda name: calculator(slip))


def test_each_number_on_a_row_of_its_own(
    capsys: pytest.CaptureFixture[str], calculating: Callable[[Slip], None]
) -> None:
    calculating(no_slip)
    out, err = run(capsys, "solve", "57+48+96", "--model", "mine")
    assert err == ""
    assert [line.rstrip() for line in out.splitlines()] == [
        *("057+048+096=", "  000", "> 750", "> 501", "> 102", "$", "answer 201 by mine: right, every token"),
    ]
    assert run(capsys, "solve", " 57 + 48 + 96 ", "--model", "mine")[0] == out


def test_wrong_tokens_are_marked_and_the_first_is_explained(
    capsys: pytest.CaptureFixture[str], calculating: Callable[[Slip], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    calculating(at(2, 1))
    monkeypatch.setenv("FORCE_COLOR", "1")
    out, _ = run(capsys, "solve", "57+48+96", "--model", "mine")
    lines = out.splitlines()
    assert [line.count("\x1b[1;37;41m") for line in lines] == [0, 0, 0, 1, 1, 0, 0]  # 115 for 105, then 211 for 201
    assert lines[-1] == (
        "answer 211 by mine: wrong: the response has '1' at the tens digit of partial sum 2 (with a carry into it), "
        "where '0' belongs"
    )


def test_json_is_one_object_and_nothing_else(
    capsys: pytest.CaptureFixture[str], calculating: Callable[[Slip], None]
) -> None:
    calculating(no_slip)
    out, err = run(capsys, "solve", "57+48+96", "--model", "mine", "--json")
    assert (err, out.count("\n")) == ("", 1)
    assert json.loads(out) == {
        "model": "mine",
        "task": "addition",
        "operands": ["57", "48", "96"],
        "response": list("000>750>501>102$"),
        "answer": "201",
        "correct": True,
        "right_answer": "201",
        "mistake": None,
    }
    calculating(at(3, 0))
    found = json.loads(run(capsys, "solve", "57+48+96", "--model", "mine", "--json")[0])
    assert (found["answer"], found["right_answer"], found["correct"]) == ("202", "201", False)
    assert found["mistake"] == "the response has '2' at the ones digit of partial sum 3, where '1' belongs"


def test_a_trained_model_writes_what_it_solves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    train_tiny(tmp_path / "mine")
    found = json.loads(run(capsys, "solve", "7+8", "--model", "mine", "--json")[0])
    assert found["response"] == lw.load("mine").solve("7+8").response
    assert "by mine: " in run(capsys, "solve", "7+8", "--model", "mine")[0]
    train_tiny(tmp_path / "bits", "parity-tiny")
    assert json.loads(run(capsys, "solve", "0101", "--model", "bits", "--json")[0])["right_answer"] == "0"


def test_the_newest_model_that_fits_is_taken(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, preset, time in (("old", "adder-tiny", 1), ("new", "adder-tiny", 2), ("bits", "parity-tiny", 3)):
        train_tiny(tmp_path / "runs" / name, preset)
        os.utime(tmp_path / "runs" / name / "model.safetensors", (time, time))
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "config.json").write_text("{")
    assert json.loads(run(capsys, "solve", "57+48", "--json")[0])["model"] == "runs/new"
    assert json.loads(run(capsys, "solve", "0101", "--json")[0])["model"] == "runs/bits"


@pytest.mark.parametrize("problem", ["57+48", "37*925", "0101"])
def test_without_a_model_it_says_which_to_train(capsys: pytest.CaptureFixture[str], problem: str) -> None:
    task = lw.tasks.text.recognise(problem)[0]
    sentence = refused(capsys, "solve", problem)
    preset = SMALL.get(task, f"{task}-coupling-scratchpad")
    assert lw.presets.get(preset).task.name == task
    assert sentence == (
        f"There is no model for {task} in runs/: train one (lengthwise train {preset}), or give --model FOLDER."
    )


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    check_help(capsys, "solve", ("", _Solve))


def test_standard_input(
    capsys: pytest.CaptureFixture[str], calculating: Callable[[Slip], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    calculating(no_slip)
    monkeypatch.setattr("sys.stdin", io.StringIO("57+48\n"))
    assert json.loads(run(capsys, "solve", "-", "--model", "mine", "--json")[0])["answer"] == "105"
    monkeypatch.setattr("sys.stdin", None)
    assert refused(capsys, "solve", "-") == "There is no standard input to read the problem from."


@pytest.mark.parametrize("how", [[], ["--json"]])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "The problem is missing: give 57+48+96"),
        ([""], "no problem to write"),
        (["abc"], "not a problem"),
        (["57", "+", "48"], "must stand in quotes: lengthwise solve '57 + 48'"),
        (["-5+3"], "negative"),
        (["57+48", "--model", "nothing"], "There is no model folder 'nothing'"),
        (["57+48", "--model", "."], "has no config.json"),
        (["37*925", "--model", "learned"], "'37*925' is written with the operator of multiplication"),
        (["0101", "--model", "learned"], "addition takes two or more numbers"),
        (["9" * 60 + "+1", "--model", "learned"], "column ids from 0 to 62, but the model's are 0 to 14"),
        (["57+48", "--modl", "learned"], "did you mean --model?"),
        (["57+48", "--model", "learned", "--device", "cuda:99"], "the device 'cuda:99' cannot be used here"),
    ],
)
def test_bad_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str, how: list[str]
) -> None:
    model = lw.Solver.new(lw.task("addition"), lw.encoding("learned", sizes=(14, 14)))
    model.save_pretrained(tmp_path / "learned")
    before = contents(tmp_path)
    assert words in refused(capsys, "solve", *arguments, *how)
    assert contents(tmp_path) == before
