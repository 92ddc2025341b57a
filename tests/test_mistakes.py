"""Where first mistakes are found: planted at known places, counted exactly, and extrapolated."""

import json
from pathlib import Path

import pytest

import lengthwise as lw
from calculator import SMALL, Slip, at, calculator
from lengthwise import marking
from lengthwise.evaluate import measure_cell
from lengthwise.mistakes import find_mistakes
from lengthwise.positions.learned import Learned
from lengthwise.positions.none import NoPositions
from lengthwise.randomness import derive

SAMPLES = 30
"""Pages of three numbers of two digits are laid out like $057+048+096=000>750>501>102$: 16 tokens are to be written."""


def operands_of(length: int = 2, count: int = 3, samples: int = SAMPLES, seed: int = 0) -> list[list[int]]:
    """The problems of a test cell, as Python's integers."""
    task = lw.task("addition")
    own = derive(seed, "cell", length, count)
    problems = task.sample_problems(samples, length=length, count=count, seed=own, fixed=True)
    return [[int(task.operand_text(digits)) for digits in problems.operands(sample)] for sample in range(samples)]


def carry_into_tens(operands: list[int], line: int) -> bool:
    """Whether one is carried into the tens of a running sum, by the school method."""
    before = sum(operands[: line - 1]) if line else 0
    return line > 0 and before % 10 + operands[line - 1] % 10 >= 10


def test_a_model_without_mistakes() -> None:
    report = find_mistakes(calculator(), length=2, count=3, samples=SAMPLES)
    assert (report.wrong, report.wrong_tokens, report.error_rate, report.accuracy) == (0, 0, 0, 1)
    assert report.written == report.tokens == 16 * SAMPLES
    assert report.by_line == {
        "partial sum 0": (0, 3 * SAMPLES),
        "partial sum 1": (0, 4 * SAMPLES),
        "partial sum 2": (0, 4 * SAMPLES),
        "partial sum 3": (0, 4 * SAMPLES),
        "end": (0, SAMPLES),
    }
    assert report.by_digit == {
        "symbol": (0, 4 * SAMPLES),
        **dict.fromkeys(("0", "1", "2"), (0, 4 * SAMPLES)),
    }
    assert report.predict(calculator().task, 30, 30) == 1


@pytest.mark.parametrize(
    ("line", "place", "written", "name", "digit"),
    [
        (0, 0, 1, "partial sum 0", "0"),
        (1, 2, 7, "partial sum 1", "2"),
        (1, 3, 8, "partial sum 2", "symbol"),  # the > belongs to the line after it
        (3, 1, 14, "partial sum 3", "1"),
        (3, 3, 16, "end", "symbol"),
    ],
)
def test_a_mistake_is_found_where_it_was_planted(line: int, place: int, written: int, name: str, digit: str) -> None:
    report = find_mistakes(calculator(at(line, place)), length=2, count=3, samples=SAMPLES)
    assert report.wrong == SAMPLES
    assert report.accuracy == 0
    assert report.written == written * SAMPLES
    assert report.error_rate == 1 / written
    assert report.wrong_tokens == SAMPLES
    assert report.tokens == 16 * SAMPLES
    assert {line: failed for line, (failed, _) in report.by_line.items() if failed} == {name: SAMPLES}
    assert {place: failed for place, (failed, _) in report.by_digit.items() if failed} == {digit: SAMPLES}
    assert name == list(report.by_line)[-1]  # what stands after the first mistake was not written
    for tally in (report.by_line, report.by_digit, report.by_carry):
        assert sum(failed for failed, _ in tally.values()) == SAMPLES
        assert sum(made for _, made in tally.values()) == written * SAMPLES


def both(first: Slip, second: Slip) -> Slip:
    return lambda operands, line, place, token: second(operands, line, place, first(operands, line, place, token))


def test_only_the_first_mistake_on_a_page_counts() -> None:
    report = find_mistakes(calculator(both(at(1, 1), at(2, 0))), length=2, count=3, samples=SAMPLES)
    assert report.wrong_tokens == 2 * SAMPLES
    assert report.by_line["partial sum 1"] == (SAMPLES, 3 * SAMPLES)
    assert "partial sum 2" not in report.by_line
    assert report.written == 6 * SAMPLES


def test_mistakes_are_told_apart_by_carry() -> None:
    """A model that forgets carries into the tens of the second sum, on pages where there is one."""

    def forgetful(operands: list[int], line: int, place: int, token: str) -> str:
        forgets = (line, place) == (2, 1) and carry_into_tens(operands, line)
        return str((int(token) - 1) % 10) if forgets else token

    pages = operands_of()
    forgotten = sum(carry_into_tens(page, 2) for page in pages)
    assert 0 < forgotten < SAMPLES
    report = find_mistakes(calculator(forgetful), length=2, count=3, samples=SAMPLES)
    assert report.wrong == forgotten
    assert report.by_carry["carry"][0] == forgotten
    assert report.by_carry["no carry"][0] == report.by_carry["symbol"][0] == 0
    assert report.by_digit["1"][0] == report.by_line["partial sum 2"][0] == forgotten
    # Wrong pages are written up to token 10, the tens of the second sum, the others to the end.
    assert report.written == 10 * forgotten + 16 * (SAMPLES - forgotten)
    # Carries among the tokens written: into tens and hundreds, counted by hand.
    carries = 0
    for page in pages:
        for line in (1, 2) if carry_into_tens(page, 2) else (1, 2, 3):
            before, number = sum(page[: line - 1]), page[line - 1]
            carries += carry_into_tens(page, line)
            if not (line == 2 and carry_into_tens(page, 2)):
                carries += before % 100 + number % 100 >= 100
    assert report.by_carry["carry"][1] == carries


def test_counts_agree_with_a_cell_of_the_same_size_and_seed() -> None:
    def noisy(operands: list[int], line: int, place: int, token: str) -> str:
        return at(2, 0)(operands, line, place, token) if sum(operands) % 3 == 0 else token

    model = calculator(noisy)
    report = find_mistakes(model, length=2, count=3, samples=SAMPLES, seed=4)
    right, _, total = measure_cell(model, 2, 3, samples=SAMPLES, seed=4)
    assert (report.samples - report.wrong, report.samples) == (right, total)
    assert report.accuracy == pytest.approx(right / total)
    assert report.wrong == sum(sum(page) % 3 == 0 for page in operands_of(seed=4))


def test_however_many_tokens_go_through_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = calculator(lambda operands, line, place, token: "0" if (line, place) == (3, 1) else token)
    whole = find_mistakes(model, length=2, count=3, samples=SAMPLES)
    assert 0 < whole.wrong < SAMPLES
    monkeypatch.setitem(marking.TOKENS_AT_ONCE, "cpu", 29 * 4)
    assert find_mistakes(model, length=2, count=3, samples=SAMPLES) == whole


def test_the_error_rate_foretells_longer_problems() -> None:
    """A response of n tokens would be whole with the probability (1 − rate)ⁿ."""
    model = calculator(lambda operands, line, place, token: "0" if (line, place) == (3, 1) else token)
    report = find_mistakes(model, length=2, count=3, samples=SAMPLES)
    for length, count in ((2, 3), (5, 4), (30, 30)):
        tokens = len(model.task.write(["9" * length] * count).response)
        assert report.predict(model.task, length, count) == pytest.approx((1 - report.wrong / report.written) ** tokens)
    assert 0 < report.predict(model.task, 30, 30) < report.predict(model.task, 5, 4) < 1
    for size in ((30, None), (30, 1), (0, 2)):
        with pytest.raises(lw.InputError, match="count 2 or more"):
            report.predict(model.task, *size)
    with pytest.raises(lw.InputError, match="fewer or shorter"):
        report.predict(model.task, 10_000, 10_000)


def test_stress_suites_and_other_tasks_have_reports_too() -> None:
    nines = find_mistakes(calculator(at(1, 0)), length=2, count=3, samples=SAMPLES, problems="nines")
    assert (nines.problems, nines.samples, nines.wrong) == ("nines", 1, 1)
    parity = lw.Solver.new(lw.task("parity"), NoPositions(), SMALL).eval()
    report = find_mistakes(parity, length=5, samples=20)
    assert report.count is None
    assert set(report.by_line) <= {"running parity 1", "end"}
    assert set(report.by_carry) <= {"digit", "symbol"}  # nothing is carried
    assert 0 < report.wrong <= 20
    alone = lw.Solver.new(lw.task("multiplication", scratchpad=False), NoPositions(), SMALL).eval()
    assert set(find_mistakes(alone, length=2, count=2, samples=5).by_line) <= {"answer 1", "end"}


def test_a_report_is_a_file_that_says_everything(tmp_path: Path) -> None:
    report = find_mistakes(calculator(at(1, 2)), length=2, count=3, samples=SAMPLES, seed=1, name="calculator")
    report.save(tmp_path / "new" / "report.json")
    held = json.loads((tmp_path / "new" / "report.json").read_text())
    assert (held["kind"], held["format"], held["length"], held["count"], held["samples"]) == (
        "mistakes",
        1,
        2,
        3,
        SAMPLES,
    )
    assert (held["wrong"], held["error_rate"], held["accuracy"], held["seed"]) == (SAMPLES, 1 / 7, 0, 1)
    assert held["by_line"]["partial sum 1"] == [SAMPLES, 4 * SAMPLES]
    assert held["model"]["name"] == "calculator"
    assert held["task"]["name"] == "addition"
    assert "device" in held["made"]


def test_what_cannot_be_looked_into_is_refused() -> None:
    narrow = lw.Solver.new(lw.task("addition"), Learned(sizes=(10, 10)), SMALL)
    for asked, words in (
        ({"length": 30, "count": 2}, "column ids up to 32, but the model's go up to 10"),
        ({"length": 2}, "count 2 or more"),
        ({"length": 2, "count": 2, "samples": 0}, "samples must be 1 or more"),
        ({"length": 2, "count": 2, "problems": "chainz"}, "addition has no problems 'chainz'"),
    ):
        with pytest.raises(lw.InputError, match=words):
            find_mistakes(narrow, **asked)
