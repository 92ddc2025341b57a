"""lengthwise solve: a model writes before one's eyes, or solves many problems at once."""

import io
import json
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from asking import check_help, contents, refused, run, train_tiny

import lengthwise as lw
from calculator import Slip, at, calculator, no_slip
from lengthwise import models
from lengthwise.cli import many
from lengthwise.cli.solve import _Solve
from lengthwise.marking import TOKENS_AT_ONCE
from lengthwise.verdict import Verdict


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def calculating(monkeypatch: pytest.MonkeyPatch) -> Callable[[Slip], None]:
    """A calculator in place of every model, in the folder `mine` or in the box."""
    Path("mine").mkdir()
    return lambda slip: monkeypatch.setattr(lw, "load", lambda name: calculator(slip))


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What comes in on standard input."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_each_number_on_a_row_of_its_own(
    capsys: pytest.CaptureFixture[str], calculating: Callable[[Slip], None]
) -> None:
    calculating(no_slip)
    out, err = run(capsys, "solve", "57+48+96", "--model", "mine")
    assert err == ""
    assert [line.rstrip() for line in out.splitlines()] == [
        *("057+048+096=", "  000", "> 750", "> 501", "> 102", "$"),
        "answer 201, written by mine: right (57+48+96 = 201 by Python's integers), every token as it should be",
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
        "answer 211, written by mine: wrong (57+48+96 = 201 by Python's integers): the response has '1' at the tens "
        "digit of partial sum 2 (with a carry into it), where '0' belongs"
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
        "answer_correct": True,
        "right_answer": "201",
        "mistake": None,
    }
    calculating(at(3, 0))
    found = json.loads(run(capsys, "solve", "57+48+96", "--model", "mine", "--json")[0])
    assert (found["answer"], found["right_answer"]) == ("202", "201")
    assert (found["correct"], found["answer_correct"]) == (False, False)
    assert found["mistake"] == "the response has '2' at the ones digit of partial sum 3, where '1' belongs"


def test_a_trained_model_writes_what_it_solves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    train_tiny(tmp_path / "mine")
    found = json.loads(run(capsys, "solve", "7+8", "--model", "mine", "--json")[0])
    assert found["response"] == lw.load("mine").solve("7+8").response
    assert "written by mine: " in run(capsys, "solve", "7+8", "--model", "mine")[0]
    train_tiny(tmp_path / "bits", "parity-tiny")
    assert json.loads(run(capsys, "solve", "0101", "--model", "bits", "--json")[0])["right_answer"] == "0"


def test_the_box_has_a_model_for_the_problem(capsys: pytest.CaptureFixture[str]) -> None:
    for problem, name, answer in (("57+48+96", "adder-tiny", "201"), ("0111", "parity-tiny", "1")):
        for how in ([], ["--model", name]):
            found = json.loads(run(capsys, "solve", problem, "--json", *how)[0])
            assert (found["model"], found["answer"], found["correct"]) == (name, answer, True)
    assert "parity of 0111 = 1 by Python's integers" in run(capsys, "solve", "0111")[0]


def test_what_lies_around_is_not_taken_unless_it_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A folder that is called like a model in the box is only meant where one says so, and told apart."""
    train_tiny(tmp_path / "runs" / "newer")
    train_tiny(tmp_path / "adder-tiny")
    assert json.loads(run(capsys, "solve", "57+48", "--json")[0])["model"] == "adder-tiny"
    for name in ("adder-tiny", "./adder-tiny"):
        found = json.loads(run(capsys, "solve", "57+48", "--model", name, "--json")[0])
        assert found["model"] == "./adder-tiny"
        assert found["response"] == lw.load(tmp_path / "adder-tiny").solve("57+48").response
    assert json.loads(run(capsys, "solve", "57+48", "--model", "runs/newer", "--json")[0])["model"] == "runs/newer"


@pytest.mark.parametrize("arguments", [["57+48"], ["--file", "problems.txt"]])
def test_a_task_without_a_model_in_the_box(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    Path("problems.txt").write_text("57+48\n")
    monkeypatch.setattr(models, "FIRST_CHOICE", {})
    sentence = refused(capsys, "solve", *arguments)
    assert "There is no model for addition in the box: train one, and give its folder as --model FOLDER." in sentence


def test_a_right_answer_with_a_slip_on_the_way() -> None:
    task = lw.task("addition")
    page = task.write([57, 48, 96])
    verdict = Verdict.on(page, task.read([57, 48, 96], "000>760>501>102$"))
    assert (verdict.right, verdict.to_json()["correct"]) == (True, False)
    assert "right (57+48+96 = 201 by Python's integers), but the response has '6' at" in verdict.sentence("mine")
    assert verdict.line().startswith("57+48+96 = 201  right, but the response has '6' at")
    assert "answer none, written by mine: wrong" in Verdict.on(page, task.read([57, 48, 96], "0")).sentence("mine")


def test_the_check_does_not_ask_the_task() -> None:
    """A task that adds wrongly would find a model that learnt from it right: Python's integers do not."""
    task = lw.task("addition")
    page, reading = task.write([57, 48, 96]), task.read([57, 48, 96], "000>750>501>102$")
    verdict = Verdict.on(replace(page, answer="202"), replace(reading, answer="202"))
    assert (verdict.right_answer, verdict.right, verdict.mistake) == ("201", False, None)
    unheard_of = Verdict.on(replace(page, task="division", answer="202"), replace(reading, answer="202"))
    assert (unheard_of.right, unheard_of.checked_by) == (True, "the right page")


def test_thousands_of_digits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond what Python turns into text, and with a model that writes at once: nothing else may take long."""
    digits = 2 * sys.get_int_max_str_digits()
    monkeypatch.setattr(lw.Solver, "stream", lambda self, problem: iter(self.task.write(problem).response))
    monkeypatch.setattr(
        lw.Solver, "responses", lambda self, batch: [self.task.write(["9" * digits, "1"]).response] * len(batch)
    )
    problem, answer = f"{'9' * digits}+1", "1" + "0" * digits
    out = run(capsys, "solve", problem)[0]
    assert f"answer {answer}, written by adder-tiny: right (by Python's integers), every token" in out
    assert json.loads(run(capsys, "solve", problem, "--json")[0])["right_answer"] == answer
    Path("problems.txt").write_text(problem)
    assert run(capsys, "solve", "--file", "problems.txt")[0].startswith(f"{problem} = {answer}  right\n")


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    check_help(capsys, "solve", ("", _Solve))


def test_one_problem_from_standard_input(
    capsys: pytest.CaptureFixture[str],
    calculating: Callable[[Slip], None],
    typing: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calculating(no_slip)
    typing("57+48\n")
    assert json.loads(run(capsys, "solve", "-", "--model", "mine", "--json")[0])["answer"] == "105"
    typing("# one\n\n57+48")
    assert "answer 105, written by mine" in run(capsys, "solve", "-", "--model", "mine")[0]
    monkeypatch.setattr("sys.stdin", None)
    assert refused(capsys, "solve", "-") == "There is no standard input to read the problem from."


LINES = """# sums and bits
57+48+96
0101  # even

 1 + 2
 99999999999999999999999999999999+1\r
0111
"""
SOLVED = ["57+48+96 = 201", "0101 = 0", "1+2 = 3", f"{'9' * 32}+1 = {10**32}", "0111 = 1"]


@pytest.mark.parametrize("at_once", [256, 2, 1])
@pytest.mark.parametrize("source", [["--file", "problems.txt"], ["--file", "-"], ["-"]])
def test_many_problems_in_their_order(
    capsys: pytest.CaptureFixture[str],
    typing: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    source: list[str],
    at_once: int,
) -> None:
    monkeypatch.setattr(many, "AT_ONCE", at_once)
    Path("problems.txt").write_text("\ufeff" + LINES, encoding="utf-8")
    typing(LINES)
    out, err = run(capsys, "solve", *source)
    assert err == ""
    *lines, summary = out.splitlines()
    assert lines == [f"{line}  right" for line in SOLVED]
    assert summary.startswith("5 of 5 right in ")
    assert summary.endswith(" s (adder-tiny 3 of 3, parity-tiny 2 of 2)")


def test_many_as_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    Path("problems.txt").write_text(LINES)
    out, err = run(capsys, "solve", "--file", "problems.txt", "--json")
    assert (err, out.count("\n")) == ("", 1)
    found = json.loads(out)
    assert [(problem.pop("line"), problem["answer"]) for problem in found["problems"]] == [
        *((2, "201"), (3, "0"), (5, "3"), (6, str(10**32)), (7, "1")),
    ]
    assert found["problems"][0] == json.loads(run(capsys, "solve", "57+48+96", "--json")[0])
    assert (found["right"], found["total"]) == (5, 5)
    assert found["models"] == {"adder-tiny": {"right": 3, "total": 3}, "parity-tiny": {"right": 2, "total": 2}}
    assert found["seconds"] >= 0
    Path("problems.txt").write_text("1+2")
    assert len(json.loads(run(capsys, "solve", "--file", "problems.txt", "--json")[0])["problems"]) == 1


def test_wrong_ones_among_many(capsys: pytest.CaptureFixture[str], calculating: Callable[[Slip], None]) -> None:
    calculating(at(3, 0))  # problems of two numbers have no third sum to slip in
    Path("problems.txt").write_text(f"57+48+96\n57+48\n{'9' * 70}+0+0\n")
    lines = run(capsys, "solve", "--file", "problems.txt", "--model", "mine")[0].splitlines()
    assert lines[0] == "57+48+96 = 202  wrong: 201 by Python's integers"
    assert lines[1] == "57+48 = 105  right"
    assert lines[2].endswith(f"  wrong: {'9' * 20}…{'9' * 20} (70 digits) by Python's integers")
    assert lines[3].startswith("1 of 3 right in ")
    assert lines[3].endswith(" s (mine 1 of 3)")


def test_batches_are_of_one_model_and_of_similar_size(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(0)
    solvers = {name: lw.load(name) for name in ("adder-tiny", "parity-tiny")}
    problems = [
        many.Problem(line=line, model=chosen.choice(list(solvers)), operands=[], cells=chosen.randint(10, 3000))
        for line in range(500)
    ]
    batches = many._batches(problems, solvers)
    assert sorted(place for batch in batches for place in batch) == list(range(500))
    assert 0 in batches[0]
    for batch in batches:
        cells = [problems[place].cells for place in batch]
        assert len({problems[place].model for place in batch}) == 1
        assert max(cells) <= many.UNEVEN * min(cells)
        assert len(batch) == 1 or len(batch) * max(cells) <= TOKENS_AT_ONCE["cpu"]
    assert len(batches) < 100


def test_many_at_once_are_solved_as_one_by_one() -> None:
    torch.manual_seed(0)
    model = lw.Solver.new(lw.task("addition"), lw.encoding("rotary"), lw.ModelConfig(layers=1, heads=2, width=16))
    asked: list[str | Sequence[int | str]] = ["57+48+96", [1, 2], "999999+1", ["12", "34", "56", "78"]]
    together = model.solve_all(asked)
    assert [solution.response for solution in together] == [model.solve(problem).response for problem in asked]
    assert model.solve_all([]) == []


@pytest.mark.parametrize("how", [[], ["--json"]])
@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("1+2\nabc\n", [], "Line 2: 'abc' is not a problem"),
        ("1+2\n# no\n\n5+\n", [], "Line 4: '5+' has an operator without a number"),
        ("1+2\n3+-4\n", [], "Line 2: '-4' is negative"),
        ("1+2\n57\n", [], "Line 2: '57' is a single number"),
        ("1+2 3+4\n", [], "Line 1: '1+2 3+4' has a space inside a number"),
        (f"1+2\n{'9' * 100_001}+1\n", [], "Line 2: A number of 100,001 digits is too long"),
        ("1+2\n3+4\n0101\n", ["--model", "learned"], "Line 3: addition takes two or more numbers"),
        ("1+2\n3*4\n", ["--model", "learned"], "Line 2: '3*4' is written with the operator of multiplication"),
        (f"1+2\n{'9' * 60}+1\n", ["--model", "learned"], "Line 2: This needs column ids from 0 to 62"),
        ("# nothing\n\n", [], "There is no problem in 'problems.txt': write one a line"),
        ("1+2", ["3+4"], "There is a problem and a --file of problems: give one of them."),
        ("\0\xff", [], "Line 1: "),
    ],
)
def test_bad_lines_are_refused_before_any_is_solved(
    capsys: pytest.CaptureFixture[str], text: str, arguments: list[str], words: str, how: list[str]
) -> None:
    lw.Solver.new(lw.task("addition"), lw.encoding("learned", sizes=(14, 14))).save_pretrained("learned")
    Path("problems.txt").write_bytes(text.encode("latin-1"))
    assert words in refused(capsys, "solve", "--file", "problems.txt", *arguments, *how)


@pytest.mark.parametrize("file", ["nothing.txt", ".", "a\0b"])
def test_files_that_cannot_be_read(capsys: pytest.CaptureFixture[str], file: str) -> None:
    assert "cannot be read: " in refused(capsys, "solve", "--file", file)


def test_ctrl_c_says_how_far_it_came(
    capsys: pytest.CaptureFixture[str], calculating: Callable[[Slip], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    calculating(no_slip)
    monkeypatch.setattr(many, "AT_ONCE", 2)
    solve_all = lw.Solver.solve_all

    def tired(model: lw.Solver, problems: list[list[str]]) -> list[lw.solver.Solution]:
        if ["5", "6"] in problems:
            raise KeyboardInterrupt
        return solve_all(model, problems)

    monkeypatch.setattr(lw.Solver, "solve_all", tired)
    Path("problems.txt").write_text("1+2\n3+4\n5+6\n")
    out, err = run(capsys, "solve", "--file", "problems.txt", "--model", "mine", expect=130)
    assert (out, err) == ("1+2 = 3  right\n3+4 = 7  right\n", "\nlengthwise: stopped after 2 of 3 problems.\n")


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
