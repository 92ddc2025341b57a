"""lengthwise list: what there is."""

import json

import pytest
from asking import check_help, refused, run

import lengthwise as lw
from lengthwise.cli.list import _List
from lengthwise.tasks.stress import SUITES


def test_everything_is_listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out, err = run(capsys, "list")
    assert err == ""
    for word in (*lw.tasks.kinds(), *lw.positions.encodings(), *lw.presets.names(), *SUITES, "57+48+96"):
        assert f" {word} " in out
    for summary in lw.presets.names().values():
        assert summary in out
    for about in map(lw.models.describe, lw.models.names()):
        row = next(line for line in out.splitlines() if f" {about.parameters:,} " in line and f" {about.name} " in line)
        assert f" {about.task} " in row
        assert f"up to {' × '.join(map(str, about.trained_on.values()))} " in row


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "list", "--json")
    assert (err, out.count("\n")) == ("", 1)
    found = json.loads(out)
    assert found["tasks"]["addition"]["coordinates"] == ["column", "row", "index"]
    assert "huge" in found["tasks"]["addition"]["suites"]
    assert "huge" not in found["tasks"]["multiplication"]["suites"]
    assert set(found["encodings"]) == set(lw.positions.encodings())
    assert found["presets"] == lw.presets.names()
    assert found["suites"] == dict(SUITES)
    assert set(found["models"]) == set(lw.models.names())
    assert found["models"]["adder-tiny"]["trained_on"] == {"length": 10, "count": 10}


def test_help_and_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    check_help(capsys, "list", ("", _List))
    assert "--everything" in refused(capsys, "list", "--everything")
    assert "did you mean --json?" in refused(capsys, "list", "--jsn")
