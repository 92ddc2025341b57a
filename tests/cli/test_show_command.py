"""lengthwise show: a problem as the model sees it."""

import json
from pathlib import Path

import pytest
from asking import contents, explanations, full_disk, plain, refused, run

import lengthwise as lw


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
        ([], "The problem is missing: give 57+48+96"),
        (["57", "+", "48"], "must stand in quotes: lengthwise show '57 + 48'"),
        (["57+48", "--no-scratchpd"], "did you mean --no-scratchpad?"),
        (["57+48", "--offsets", "a", "b"], "--offsets cannot be 'a' 'b'"),
        (["57+48", "--task", "multiplication"], "operator of addition"),
        (["57+48", "--save", "."], "save as"),
        ([""], "no problem to write"),
        (["abc"], "not a problem"),
        (["57"], "single number"),
        (["57+"], "operator without a number"),
        (["-5+3"], "'-5' is negative"),
        (["1.5+2"], "'1.5' is a fraction"),
        (["1+2*3"], "mixes operators"),
        (["57+48", "--task", "sum"], "no task 'sum'"),
        (["57+48", "--task"], "--task"),
        (["57+48", "--task", "parity"], "not a bit string"),
        (["57+48", "--scrachpad"], "did you mean --scratchpad?"),
        (["57+48", "--padding-rule", "loose"], "--padding-rule cannot be 'loose': choose one of exact, theory"),
        (["57+48", "--max-ids", "many"], "--max-ids cannot be 'many'"),
        (["57+48", "--max-ids", "3", "3"], "maximum id of 'column'"),
        (["57+48", "--coupling", "colum"], "couple any of column, row, index"),
        (["57+48", "--save", "page.txt"], "save as .png, .svg, .pdf"),
        (["57+48", "--save", "no/such/folder/page.png"], "no folder"),
        (["1+" + "9" * 1_000_000], "1,000,000 digits is too long"),
        (["1+" + "9" * 8_000], "too long to show"),
        (["57 48+96"], "space inside a number"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert words in refused(capsys, "show", *arguments)


def test_help_is_that_of_the_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--reverse-response" in run(capsys, "show", "--help")[0]
    assert "--padding-rule" in run(capsys, "show", "57+48", "--help")[0]
    assert "--padding-rule" not in run(capsys, "show", "0101", "--help")[0]
    out, _ = run(capsys, "show", "--help")
    for text in explanations(type(lw.task("addition"))).values():
        assert plain(text) in plain(out)


def test_a_full_disk_leaves_the_old_picture(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.png"
    file.write_text("old")
    monkeypatch.setattr("lengthwise.figures.saving.write_whole", full_disk)
    assert "No space left on device" in refused(capsys, "show", "57+48", "--save", file)
    assert contents(tmp_path) == {"page.png": b"old"}
