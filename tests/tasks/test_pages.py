"""Pages against Python's own integers, in every format, for numbers far longer than any machine integer."""

import re
from typing import Any

import pytest
from formats import FORMATS, SIZES, describe
from hypothesis import given, settings
from hypothesis import strategies as st

import lengthwise as lw


def a_number(digits: int) -> st.SearchStrategy[int]:
    nines = st.integers(1, digits).map(lambda length: 10**length - 1)
    powers = st.integers(0, digits - 1).map(lambda length: 10**length)
    any_length = st.integers(1, digits).flatmap(lambda length: st.integers(0, 10**length - 1))
    return any_length | nines | powers | st.just(0)


def numbers_of(response: list[str], *, reverse: bool) -> list[str]:
    lines = re.split(r"[>+=]", "".join(response[:-1]))
    return [line[::-1] if reverse else line for line in lines]


SWITCHES = st.fixed_dictionaries(
    {name: st.booleans() for name in ("zero_padding", "reverse_query", "reverse_response")}
)


@settings(deadline=None, max_examples=150)
@given(st.lists(a_number(200), min_size=2, max_size=50), SWITCHES, st.booleans(), st.sampled_from(["exact", "theory"]))
def test_addition_writes_the_running_sums(
    operands: list[int], switches: dict[str, bool], zeros: bool, rule: str
) -> None:
    task = lw.task("addition", start_with_zeros=zeros, padding_rule=rule, **switches)
    page = task.write(operands)
    assert page.answer == str(sum(operands))
    written = numbers_of(page.response, reverse=task.reverse_response)
    sums = [sum(operands[:count]) for count in range(0 if zeros else 1, len(operands) + 1)]
    assert [int(number) for number in written] == sums
    query = "".join(page.prompt[1:-1]).split("+")
    query = [number[::-1] for number in query] if task.reverse_query else query
    assert [int(number) for number in query] == operands
    longest = max(len(str(operand)) for operand in operands)
    if task.zero_padding:
        length = len(str(len(operands) * (10**longest - 1)))
        if rule == "theory":
            length = longest + len(str(len(operands)))
        assert {len(number) for number in query + written} == {length}
    else:
        assert query + written == [str(number) for number in operands + sums]
    alone = lw.task("addition", scratchpad=False, padding_rule=rule, **switches).write(operands)
    assert numbers_of(alone.response, reverse=task.reverse_response) == written[-1:]


@settings(deadline=None, max_examples=100)
@given(a_number(60), a_number(60), SWITCHES)
def test_multiplication_writes_partial_products_and_their_sums(
    first: int, second: int, switches: dict[str, bool]
) -> None:
    task = lw.task("multiplication", **switches)
    page = task.write([first, second])
    assert page.answer == str(first * second)
    written = numbers_of(page.response, reverse=task.reverse_response)
    digits = [int(digit) for digit in reversed(str(second))]
    products = [first * digit for digit in digits]
    sums = [sum(product * 10**k for k, product in enumerate(products[: n + 1])) for n in range(len(products))]
    assert [int(number) for number in written] == products + sums
    least = len(str(first))
    if task.zero_padding:
        lengths = [least + 1] * len(digits) + [least + len(digits)] * len(digits)
    else:
        lengths = [max(least, len(str(number))) for number in products + sums]
    assert [len(number) for number in written] == lengths
    alone = lw.task("multiplication", scratchpad=False, **switches).write([first, second])
    answer = numbers_of(alone.response, reverse=task.reverse_response)
    assert answer == [str(first * second).zfill(least + len(digits)) if task.zero_padding else str(first * second)]


def test_two_hundred_digits_times_two_hundred() -> None:
    first, second = 10**200 - 1, int("1234567890" * 20)
    assert lw.task("multiplication").write([first, second]).answer == str(first * second)


def written_in_python(first: int, second: int, *, staircase: bool) -> str:
    length, digits = len(str(first)), [int(digit) for digit in reversed(str(second))]
    products = [str(first * digit).zfill(length + 1)[::-1] for digit in digits]
    sums, total = [], 0
    for row, digit in enumerate(digits):
        total += first * digit * 10**row
        sums.append(str(total).zfill(length + (row + 1 if staircase else len(digits)))[::-1])
    return f"${first}*{second}={'+'.join(products)}={'>'.join(sums)}$"


LOPSIDED = st.one_of(
    *(st.tuples(a_number(length), a_number(count)) for length, count in ((60, 60), (60, 2), (2, 60), (1, 9), (1, 1)))
)


@settings(deadline=None, max_examples=100)
@given(LOPSIDED)
def test_a_staircase_pads_each_sum_as_far_as_its_partial_product_reaches(operands: tuple[int, int]) -> None:
    page = lw.task("multiplication", staircase=True).write(operands)
    assert "".join(page.tokens) == written_in_python(*operands, staircase=True)
    assert page.answer == str(operands[0] * operands[1])


@settings(deadline=None, max_examples=60)
@given(LOPSIDED, st.booleans(), st.booleans())
def test_a_staircase_is_the_papers_page_without_the_zeros_above_it(
    operands: tuple[int, int], reverse_query: bool, reverse_response: bool
) -> None:
    switches = {"reverse_query": reverse_query, "reverse_response": reverse_response}
    paper = lw.task("multiplication", **switches).write(operands)
    staircase = lw.task("multiplication", staircase=True, **switches).write(operands)
    length, rows = (len(str(operand)) for operand in operands)
    above = [
        cell.role == "partial sum" and cell.digit is not None and cell.digit >= length + cell.line
        for cell in paper.cells
    ]
    assert above.count(True) == rows * (rows - 1) // 2

    def kept(of_tokens: list[Any]) -> list[Any]:
        return [item for item, zero in zip(of_tokens, above, strict=True) if not zero]

    assert {token for token, zero in zip(paper.tokens, above, strict=True) if zero} <= {"0"}
    assert staircase.tokens == kept(paper.tokens)
    assert staircase.position_ids == [kept(ids) for ids in paper.position_ids]
    assert staircase.targets == kept(paper.targets)
    assert staircase.cells == kept(paper.cells)


@pytest.mark.parametrize("staircase", [False, True])
@pytest.mark.parametrize(
    ("length", "count"), [(1, 1), (60, 2), (2, 60), (1000, 2), (2, 1000), (300, 300), (1000, 1000)]
)
def test_large_products_are_exact(length: int, count: int, staircase: bool) -> None:
    task = lw.task("multiplication", staircase=staircase)
    random = task.sample_problems(1, length=length, count=count, seed=0, fixed=True)
    for problems in (random, task.largest(length, count)):
        first, second = (int(task.operand_text(digits)) for digits in problems.operands(0))
        assert "".join(task.write_all(problems).text(0)) == written_in_python(first, second, staircase=staircase)


@settings(deadline=None, max_examples=100)
@given(st.text("01", min_size=1, max_size=300), st.booleans(), st.booleans())
def test_parity_writes_the_running_parity(bits: str, reverse_query: bool, reverse_response: bool) -> None:
    task = lw.task("parity", reverse_query=reverse_query, reverse_response=reverse_response)
    page = task.write([bits])
    assert page.answer == str(bits.count("1") % 2)
    assert "".join(page.prompt) == f"${bits[::-1] if reverse_query else bits}="
    read = bits[::-1] if reverse_response else bits
    assert "".join(page.response) == "".join(str(read[: k + 1].count("1") % 2) for k in range(len(bits))) + "$"
    assert "".join(lw.task("parity", scratchpad=False).write([bits]).response) == page.answer + "$"


@pytest.mark.parametrize("task", FORMATS, ids=describe)
def test_a_page_is_whole(task: lw.Task) -> None:
    page = task.write(task.example)
    count = len(page.tokens)
    assert len(page.targets) == len(page.cells) == len(page.parts) == count
    assert [len(ids) for ids in page.position_ids] == [count] * len(page.levels)
    assert set(page.tokens) <= set(task.vocabulary)
    assert page.prompt + page.response == page.tokens
    assert page.prompt[0] == page.response[-1] == "$"
    assert page.prompt[-1] == "="
    assert page.targets == sorted(page.targets)


def test_coordinates_are_chosen_by_name() -> None:
    both = lw.task("addition").write([57, 48, 96])
    assert lw.task("addition", coupling=("row",)).write([57, 48, 96]).position_ids == both.position_ids[1:]
    swapped = lw.task("addition", coupling=["row", "column"]).write([57, 48, 96])
    assert swapped.position_ids == both.position_ids[::-1]
    plain = lw.task("addition", coupling=("index",)).write([57, 48, 96])
    assert plain.position_ids == [list(range(29))]
    assert lw.task("parity", coupling=("index",)).write(["01"], offsets=[5]).position_ids == [[4, 5, 6, 7, 8, 9, 10]]


def test_leading_zeros_of_an_operand_do_not_count() -> None:
    task = lw.task("addition", zero_padding=False)
    assert task.write(["007", "0"]).tokens == task.write([7, 0]).tokens


@pytest.mark.parametrize("task", FORMATS, ids=describe)
def test_equal_tasks_write_equal_pages_and_can_be_kept_in_sets(task: lw.Task) -> None:
    import dataclasses

    again = dataclasses.replace(task)
    assert again == task
    assert len({again, task}) == 1
    assert again.sample(3, seed=1, **SIZES[task.name]).tokens.equal(task.sample(3, seed=1, **SIZES[task.name]).tokens)


@pytest.mark.parametrize("task", [task for task in FORMATS if task.name != "parity"], ids=describe)
def test_digits_stand_where_they_count(task: lw.Task) -> None:
    """A digit counts ten to the power of its place, whatever line it is on: shifted products come out shifted."""
    problems = task.sample_problems(6, seed=8, **SIZES[task.name])
    for sample in range(len(problems)):
        operands = [int(task.operand_text(digits)) for digits in problems.operands(sample)]
        page = task.write(operands)
        lines: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for token, cell in zip(page.tokens, page.cells, strict=True):
            assert (cell.place is None) == (cell.digit is None)
            if cell.place is not None:
                lines.setdefault((cell.role, cell.line), []).append((int(token), cell.place))
        for (role, line), digits in lines.items():
            value = sum(digit * int(10**place) for digit, place in digits)
            assert value == line_value(task, role, line, operands), (role, line)


def line_value(task: lw.Task, role: str, line: int, operands: list[int]) -> int:
    """What a line of the page is by Python's integers."""
    if task.name == "addition":
        return operands[line - 1] if role == "operand" else sum(operands if role == "answer" else operands[:line])
    first, second = operands
    shift = int(10 ** (line - 1))
    values = {
        "first operand": first,
        "second operand": second,
        "partial product": first * (second // shift % 10) * shift,
        "partial sum": first * (second % (10 * shift)),
        "answer": first * second,
    }
    return values[role]
