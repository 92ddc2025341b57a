"""Where every token stands: the same in bulk as of single pages, and carries as Python's integers have them."""

import pytest
import torch
from formats import FORMATS, SIZES, describe

import lengthwise as lw
from lengthwise.tasks import Problems, base, stress
from lengthwise.tasks.anatomy import Anatomy, anatomy
from lengthwise.tasks.reading import first_mistake


def texts(task: lw.Task, problems: Problems, sample: int) -> list[str]:
    return [task.operand_text(digits) for digits in problems.operands(sample)]


def numbers(task: lw.Task, problems: Problems, sample: int) -> list[int]:
    return [int(text) for text in texts(task, problems, sample)]


@pytest.mark.parametrize("task", FORMATS, ids=describe)
def test_in_bulk_as_one_by_one(task: lw.Task) -> None:
    problems = task.sample_problems(12, seed=3, **SIZES[task.name])  # of all sizes up to this one
    batch, found = task.write_all(problems), anatomy(task, problems)
    answers = task.answers(batch)
    for tensor in (found.block, found.line, found.digit, found.carry, answers):
        assert tensor.shape == batch.tokens.shape
    for sample in range(len(problems)):
        given, span = texts(task, problems, sample), batch.span(sample)
        page = task.write(given)
        assert [found.roles[block] for block in found.block[span].tolist()] == [cell.role for cell in page.cells]
        assert found.line[span].tolist() == [cell.line for cell in page.cells]
        assert found.digit[span].tolist() == [-1 if cell.digit is None else cell.digit for cell in page.cells]
        assert found.carry[span].tolist() == carries_read(task, page)
        answer = "".join(token for token, its in zip(page.tokens, answers[span].tolist(), strict=True) if its)
        assert (answer[::-1] if task.reverse_response else answer).lstrip("0") == page.answer.lstrip("0")


def carries_read(task: lw.Task, page: lw.Page) -> list[int]:
    """The carry of every token as reading tells it when that token is where a response stops."""
    blocks = task.lay_out(task.parse(page.operands)).blocks
    found = [-1] * len(page.prompt)
    for stop in range(len(page.response)):
        mistake = first_mistake(page, blocks, page.response[:stop])
        assert mistake is not None
        assert mistake.index == stop
        found.append(-1 if mistake.carry is None else int(mistake.carry))
    return found


def of_role(found: Anatomy, batch: lw.Batch, sample: int, role: str) -> list[tuple[int, int, int]]:
    """(line, digit, carry) of all tokens of the digits of a block."""
    span = batch.span(sample)
    rows = zip(*(x[span].tolist() for x in (found.block, found.line, found.digit, found.carry)), strict=True)
    return [(line, digit, carry) for block, line, digit, carry in rows if found.roles[block] == role and digit >= 0]


@pytest.mark.parametrize("zeros", [True, False])
@pytest.mark.parametrize("suite", stress.suites(lw.task("addition")))
def test_carries_of_running_sums_are_those_of_python(suite: str, zeros: bool) -> None:
    task = lw.task("addition", start_with_zeros=zeros)
    problems = stress.draw(task, suite, 20, length=12, count=7, seed=2)
    batch, found = task.write_all(problems), anatomy(task, problems)
    for sample in range(len(problems)):
        operands = numbers(task, problems, sample)
        rows = of_role(found, batch, sample, "partial sum")
        assert {line for line, _, _ in rows} == set(range(0 if zeros else 1, 8))
        for line, digit, carry in rows:
            before, added = (sum(operands[: line - 1]), operands[line - 1]) if line else (0, 0)
            assert carry == (before % 10**digit + added % 10**digit >= 10**digit)


def test_carries_of_a_sum_at_once_are_those_of_python() -> None:
    task = lw.task("addition", scratchpad=False)
    problems = task.sample_problems(50, length=8, count=30, seed=2)
    batch, found = task.write_all(problems), anatomy(task, problems)
    for sample in range(len(problems)):
        operands = numbers(task, problems, sample)
        for _, digit, carry in of_role(found, batch, sample, "answer"):
            assert carry == (sum(operand % 10**digit for operand in operands) >= 10**digit)


@pytest.mark.parametrize("suite", stress.suites(lw.task("multiplication")))
def test_carries_of_both_stages_of_a_product_are_those_of_python(suite: str) -> None:
    task = lw.task("multiplication")
    problems = stress.draw(task, suite, 20, length=7, count=9, seed=2)
    batch, found = task.write_all(problems), anatomy(task, problems)
    seen = set()
    for sample in range(len(problems)):
        first, second = numbers(task, problems, sample)
        multipliers = [int(digit) for digit in reversed(str(second))]
        for line, digit, carry in of_role(found, batch, sample, "partial product"):
            assert carry == (first % 10**digit * multipliers[line - 1] >= 10**digit)
            seen.add(("partial product", carry))
        for line, digit, carry in of_role(found, batch, sample, "partial sum"):
            before = first * (second % 10 ** (line - 1))
            added = first * multipliers[line - 1] * 10 ** (line - 1)
            assert carry == (before % 10**digit + added % 10**digit >= 10**digit)
            seen.add(("partial sum", carry))
    assert suite != "random" or len(seen) == 4


def test_the_answer_of_parity_is_the_last_bit_alone() -> None:
    for reverse in (False, True):
        task = lw.task("parity", reverse_response=reverse)
        problems = task.sample_problems(30, length=9, seed=0)
        batch, found = task.write_all(problems), anatomy(task, problems)
        assert task.answers(batch).nonzero()[:, 0].equal(batch.boundaries[1:] - 2)
        assert (found.carry == -1).all()


def test_what_is_given_has_no_carry_and_no_answer() -> None:
    for task in FORMATS:
        problems = task.sample_problems(20, seed=1, **SIZES[task.name])
        batch, found = task.write_all(problems), anatomy(task, problems)
        assert (found.carry[~batch.targets] == -1).all()
        assert not task.answers(batch)[~batch.targets].any()
        assert not task.answers(batch)[found.digit < 0].any()
        symbols = batch.tokens >= sum(token.isdigit() for token in task.vocabulary)
        assert (found.digit < 0).equal(symbols)


@pytest.mark.parametrize("task", FORMATS[::5], ids=describe)
def test_chunks_do_not_show(task: lw.Task, monkeypatch: pytest.MonkeyPatch) -> None:
    problems = task.sample_problems(200, seed=5, **SIZES[task.name])
    whole = anatomy(task, problems)
    monkeypatch.setitem(base.CHUNK_CELLS, "cpu", 2000)
    pieces = anatomy(task, problems)
    assert len(list(task.chunks(problems))) > 1
    assert pieces.roles == whole.roles
    for name in ("block", "line", "digit", "carry"):
        one, other = getattr(pieces, name), getattr(whole, name)
        assert one.dtype == other.dtype
        assert torch.equal(one, other)
