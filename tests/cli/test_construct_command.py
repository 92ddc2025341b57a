"""lengthwise construct: the theorem's model from the command line."""

import json
from pathlib import Path

import pytest
from asking import check_help, refused, run

import lengthwise as lw
from lengthwise.cli.construct import _Construct


def test_it_builds_says_how_large_it_is_and_solves(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "construct", "--digits", 3, "--operands", 3, "57+48+96")
    assert err == ""
    assert "dimension 29" in out
    assert "the theorem's formula gives the dimension 27: 2·⌈log₂ 4⌉ + 2·⌈log₂ 4⌉ + 19" in out
    assert "> 102" in out
    assert "answer 201, written by the construction: right (57+48+96 = 201 by Python's integers), every token" in out


def test_without_a_problem_it_says_how_sure_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "construct", "--digits", 4, "--operands", 5)
    assert "margin of 0.99" in out or "margin of 1.00" in out
    out, _ = run(capsys, "construct", "--digits", 1000, "--operands", 1000)
    assert "dimension 59" in out
    assert "too long to try here" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "construct", "57+48", "--digits", 2, "--operands", 3, "--json")[0])
    assert (found["width"], found["printed_width"], found["parameters"]) == (27, 27, 7722)
    assert (found["problem"], found["answer"], found["correct"]) == (["57", "48"], "105", True)
    found = json.loads(run(capsys, "construct", "--digits", 2, "--operands", 3, "--json", "--alpha", 4)[0])
    assert found["alpha"] == 4
    assert found["margin"] > 0.9


def test_a_saved_one_is_a_model_like_any_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(capsys, "construct", "--digits", 3, "--operands", 3, "--out", "theorem")
    assert lw.load("theorem").solve("999+1+0").answer == "1000"
    out, _ = run(capsys, "evaluate", "theorem", "--lengths", "1:3", "--counts", "2,3", "--samples", 5)
    assert "mean 100.00%" in out
    run(capsys, "attention", "theorem", "--size", "3x3", "--samples", 2)
    file = "theorem/grids/attention-3x3-n2.safetensors"
    run(capsys, "figure", file, file, "--titles", "one", "the other", "--save", "both.png")
    assert Path("both.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["12345+1", "--digits", "2", "--operands", "3"], "--digits 5 --operands 3 would do"),
        (["1+1+1+1", "--digits", "2", "--operands", "3"], "--digits 2 --operands 4 would do"),
        (["3*4"], "the construction adds"),
        (["57"], "single number"),
        (["--digits", "0"], "1 to 100,000 digits"),
        (["--operands", "1"], "2 to 100,000 operands"),
        (["--digits", "many"], "--digits cannot be 'many'"),
        (["--alpha", "-1"], "alpha must be a number above 0"),
        (["--precision", "int8"], "--precision"),
        (["123+456+789", "--digits", "3", "--operands", "3", "--as-printed"], "needs column ids up to 5"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert words in refused(capsys, "construct", *arguments)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    check_help(capsys, "construct", ("", _Construct))
