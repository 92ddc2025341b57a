"""The command, as its users meet it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lengthwise import cli


def run(capsys: pytest.CaptureFixture[str], *arguments: str, expect: int = 0) -> tuple[str, str]:
    try:
        cli.main(arguments)
        code: int | str | None = 0
    except SystemExit as stop:
        code = stop.code or 0
    captured = capsys.readouterr()
    assert code == expect, captured
    return captured.out, captured.err


def test_show_prints_tokens_ids_and_parts(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "show", "57+48+96")
    assert err == ""
    assert out.splitlines() == [
        "tokens   $ 0 5 7 + 0 4 8 + 0 9 6 = 0 0 0 > 7 5 0 > 5 0 1 > 1 0 2 $",
        "column   0 4 3 2 1 4 3 2 1 4 3 2 1 2 3 4 1 2 3 4 1 2 3 4 1 2 3 4 0",
        "row      0 1 1 1 1 2 2 2 2 3 3 3 1 1 1 1 2 2 2 2 3 3 3 3 4 4 4 4 0",
        "           └────── query ──────┘   └──────── response ─────────┘",
        "addition: the answer is 201; the model writes 16 of 29 tokens",
    ]


def test_show_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "show", "37×925", "--json")
    page = json.loads(out)
    assert err == ""
    assert list(page) == ["task", "operands", "tokens", "levels", "position_ids", "targets", "answer"]
    assert page["task"] == "multiplication"
    assert page["levels"] == ["multiplicand", "row", "column"]
    assert page["answer"] == "34225"
    assert len(page["position_ids"]) == 3
    assert len(page["tokens"]) == len(page["targets"]) == 38


def test_every_format_option_is_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    def text(*arguments: str) -> str:
        return "".join(json.loads(run(capsys, "show", *arguments, "--json")[0])["tokens"])

    assert text("57+48", "--no-scratchpad") == "$057+048=501$"
    assert text("57+48", "--no-zero-padding") == "$57+48=0>75>501$"
    assert text("57+48", "--reverse-query") == "$750+840=000>750>501$"
    assert text("57+48", "--no-reverse-response") == "$057+048=000>057>105$"
    assert text("57+48", "--no-start-with-zeros") == "$057+048=750>501$"
    assert text("+".join(["9"] * 10), "--padding-rule", "theory").startswith("$009+")
    assert text("0101", "--reverse-response") == "$0101=1100$"
    assert text("--task", "parity", "11") == "$11=10$"
    page = json.loads(run(capsys, "show", "57+48", "--coupling", "row", "index", "--offsets", "3", "2", "--json")[0])
    assert page["levels"] == ["row", "index"]
    assert page["position_ids"][0][:3] == [0, 3, 3]
    assert page["position_ids"][1][:3] == [1, 2, 3]


def test_options_before_the_problem_do_not_decide_its_task(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def answer(*arguments: str) -> tuple[str, str]:
        page = json.loads(run(capsys, "show", *arguments, "--json")[0])
        return page["task"], page["answer"]

    assert answer("--save", str(tmp_path / "a+b.png"), "37*925") == ("multiplication", "34225")
    assert answer("--offsets", "1", "1", "--reverse-query", "57+48") == ("addition", "105")
    assert answer("--max-ids", "10", "10", "--padding-rule", "theory", "57+48") == ("addition", "105")
    assert answer(f"--save={tmp_path / 'a+b.png'}", "0101") == ("parity", "0")
    run(capsys, "show", "101", "--task", "parity", "--task", "addition", expect=2)


def test_a_terminal_that_knows_few_characters_or_has_no_width() -> None:
    def shown(**environment: str) -> str:
        command = [sys.executable, "-m", "lengthwise", "show", "57+48"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
        return done.stdout

    assert "query" in shown(PYTHONIOENCODING="ascii")
    assert "query" in shown(COLUMNS="0")


def test_show_wraps_between_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out, _ = run(capsys, "show", "57+48+96")
    rows = [line for line in out.splitlines() if line.startswith("tokens")]
    assert rows == ["tokens   $ 0 5 7 + 0 4 8 + 0 9 6 = 0 0 0", "tokens   > 7 5 0 > 5 0 1 > 1 0 2 $"]
    assert all(len(line) <= 41 for line in out.splitlines())


def test_colour_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in run(capsys, "show", "57+48")[0]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" in run(capsys, "show", "57+48")[0]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_show_saves_a_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"page.{ending}"
    run(capsys, "show", "57+48+96", "--save", str(file))
    assert file.read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shw"], "did you mean 'show'"),
        (["show"], "The problem is missing"),
        (["show", "57", "+", "48"], "must stand in quotes"),
        (["show", "57+48", "--no-scratchpd"], "did you mean --no-scratchpad?"),
        (["show", "57+48", "--offsets", "a", "b"], "--offsets cannot be 'a' 'b'"),
        (["show", "57+48", "--task", "multiplication"], "operator of addition"),
        (["show", "57+48", "--save", "."], "save as"),
        (["demo", "--samples", "abc"], "--samples cannot be 'abc'"),
        (["show", ""], "no problem to write"),
        (["show", "abc"], "not a problem"),
        (["show", "57"], "single number"),
        (["show", "57+"], "operator without a number"),
        (["show", "-5+3"], "'-5' is negative"),
        (["show", "1.5+2"], "'1.5' is a fraction"),
        (["show", "1+2*3"], "mixes operators"),
        (["show", "57+48", "--task", "sum"], "no task 'sum'"),
        (["show", "57+48", "--task"], "--task"),
        (["show", "57+48", "--task", "parity"], "not a bit string"),
        (["show", "57+48", "--scrachpad"], "did you mean --scratchpad?"),
        (["show", "57+48", "--padding-rule", "loose"], "Expected one of ('exact', 'theory')"),
        (["show", "57+48", "--max-ids", "many"], "--max-ids cannot be 'many'"),
        (["show", "57+48", "--max-ids", "3", "3"], "maximum id of 'column'"),
        (["show", "57+48", "--coupling", "colum"], "couple any of column, row, index"),
        (["show", "57+48", "--save", "page.txt"], "save as .png, .svg, .pdf"),
        (["show", "57+48", "--save", "no/such/folder/page.png"], "no folder"),
        (["show", "1+" + "9" * 1_000_000], "1,000,000 digits is too long"),
        (["show", "1+" + "9" * 50_000], "too long to show"),
        (["list", "--everything"], "--everything"),
        (["demo", "--samples", "0"], "samples must be 1 or more"),
        (["show", "57 48+96"], "space inside a number"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    out, err = run(capsys, *arguments, expect=2)
    assert words in err
    assert err.startswith("lengthwise: ")
    assert len(err.splitlines()) == 1
    assert out == ""


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "list")
    for word in ("addition", "multiplication", "parity", "57+48+96"):
        assert word in out
    tasks = json.loads(run(capsys, "list", "--json")[0])["tasks"]
    assert tasks["addition"]["coordinates"] == ["column", "row", "index"]


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert "show" in run(capsys)[0]
    assert "--reverse-response" in run(capsys, "show", "--help")[0]
    assert "--padding-rule" not in run(capsys, "show", "0101", "--help")[0]
    assert run(capsys, "--version")[0].startswith("lengthwise ")


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "demo", "--samples", "100")
    assert "57+48+96 → 201" in out
    assert "ones digit of partial sum 2" in out


def test_as_a_process_with_a_closed_pipe_and_standard_input() -> None:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "lengthwise", "show", "-", "--json"]
    asked = subprocess.run(command, input="0101", capture_output=True, text=True, check=True, env=environment)
    assert json.loads(asked.stdout)["answer"] == "0"
    refused = subprocess.run(command, input="9" * 10**6 + "+1", capture_output=True, text=True, env=environment)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert "Traceback" not in refused.stderr
    reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert reader.stdout is not None
    reader.stdout.close()
    _, complaint = reader.communicate(("+".join(["9" * 50] * 50)).encode())
    assert b"Traceback" not in complaint
