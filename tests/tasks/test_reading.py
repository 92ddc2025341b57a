"""Reading back what a model wrote."""

import pytest
from formats import FORMATS, describe
from hypothesis import given, settings
from hypothesis import strategies as st

import lengthwise as lw

ADDITION = lw.task("addition")


def test_a_right_response_has_no_mistake() -> None:
    for task in FORMATS:
        page = task.write(task.example)
        reading = task.read(task.example, page.response)
        assert reading.correct
        assert reading.answer == page.answer


def test_the_first_mistake_has_a_line_a_digit_and_a_carry() -> None:
    #                                  right: 000>750>501>102$
    mistake = ADDITION.read([57, 48, 96], "000>750>591>002$").mistake
    assert mistake is not None
    assert mistake.index == 9
    assert (mistake.cell.role, mistake.cell.line, mistake.cell.digit) == ("partial sum", 2, 1)
    assert (mistake.expected, mistake.written) == ("0", "9")
    assert mistake.carry is True  # 57 + 48: 7 + 8 carries into the tens
    assert str(mistake) == (
        "the response has '9' at the tens digit of partial sum 2 (with a carry into it), where '0' belongs"
    )


def test_a_digit_without_a_carry_into_it() -> None:
    mistake = ADDITION.read([57, 48, 96], "000>750>401>102$").mistake
    assert mistake is not None
    assert mistake.cell.name == "ones digit of partial sum 2"
    assert mistake.carry is False


@pytest.mark.parametrize(
    ("written", "expected", "got", "name", "answer"),
    [
        ("", "0", None, "ones digit of partial sum 0", None),
        ("000>750", ">", None, "> before partial sum 2", None),
        ("000>750>501>102", "$", None, "end", None),
        ("000>750>501>1020$", "$", "0", "end", "201"),  # still reads as 0201
        ("000>750>501$", ">", "$", "> before partial sum 3", "105"),
        ("000$", ">", "$", "> before partial sum 1", "0"),
        ("$", "0", "$", "ones digit of partial sum 0", None),
        ("000>750>501>102$999", None, None, "", "201"),  # after the end nothing counts
        (">>>>$", "0", ">", "ones digit of partial sum 0", None),
        ("000=750>501>102$", ">", "=", "> before partial sum 1", "201"),
    ],
)
def test_odd_responses(written: str, expected: str | None, got: str | None, name: str, answer: str | None) -> None:
    reading = ADDITION.read([57, 48, 96], written)
    assert reading.answer == answer
    assert reading.correct == (expected is None)
    if reading.mistake is not None:
        assert (reading.mistake.expected, reading.mistake.written) == (expected, got)
        assert reading.mistake.cell.name == name


def carries_while_adding(first: int, second: int) -> list[bool]:
    return [(first % 10**k) + (second % 10**k) >= 10**k for k in range(60)]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 10**20), min_size=2, max_size=6), st.booleans(), st.data())
def test_carries_in_sums_as_python_carries(operands: list[int], zeros: bool, data: st.DataObject) -> None:
    task = lw.task("addition", start_with_zeros=zeros)
    page = task.write(operands)
    places = [index for index, token in enumerate(page.response) if token.isdigit()]
    index = data.draw(st.sampled_from(places))
    wrong = list(page.response)
    wrong[index] = str((int(wrong[index]) + 1) % 10)
    mistake = task.read(operands, wrong).mistake
    assert mistake is not None
    assert mistake.index == index
    assert mistake.cell.digit is not None
    line = mistake.cell.line
    before, added = (sum(operands[: line - 1]), operands[line - 1]) if line else (0, 0)
    assert mistake.carry == carries_while_adding(before, added)[mistake.cell.digit]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**12), st.integers(0, 10**12), st.booleans(), st.data())
def test_carries_in_products_as_python_carries(first: int, second: int, scratchpad: bool, data: st.DataObject) -> None:
    task = lw.task("multiplication", scratchpad=scratchpad)
    page = task.write([first, second])
    places = [index for index, token in enumerate(page.response) if token.isdigit()]
    index = data.draw(st.sampled_from(places))
    wrong = list(page.response)
    wrong[index] = str((int(wrong[index]) + 3) % 10)
    mistake = task.read([first, second], wrong).mistake
    assert mistake is not None
    assert mistake.cell.digit is not None
    digit, line = mistake.cell.digit, mistake.cell.line - 1
    multipliers = [int(digit) for digit in reversed(str(second))]
    products = [first * multiplier for multiplier in multipliers]
    if mistake.cell.role == "partial product":
        expected = (first % 10**digit) * multipliers[line] >= 10**digit
    elif mistake.cell.role == "partial sum":
        before = sum(product * 10**k for k, product in enumerate(products[:line]))
        expected = carries_while_adding(before, products[line] * 10**line)[digit]
    else:  # all columns at once: what the lower columns add up to beyond their own places
        columns = [0] * 40
        for i, a in enumerate(reversed(str(first))):
            for j, b in enumerate(multipliers):
                columns[i + j] += int(a) * b
        expected = sum(column * 10**k for k, column in enumerate(columns[:digit])) >= 10**digit
    assert mistake.carry == expected


def test_a_carry_in_a_product_with_one_digit() -> None:
    mistake = lw.task("multiplication").read([55, 4], "000$").mistake
    assert mistake is not None
    assert mistake.cell.name == "tens digit of partial product"
    assert mistake.carry is True


def test_a_staircase_is_not_read_as_the_papers_page() -> None:
    paper, staircase = (lw.task("multiplication", staircase=stairs) for stairs in (False, True))
    for task, other in ((paper, staircase), (staircase, paper)):
        reading = task.read([37, 925], other.write([37, 925]).response)
        assert reading.answer == "34225"
        assert reading.mistake is not None
        assert reading.mistake.cell.name == (
            "thousands digit of partial sum 1" if task is paper else "> before partial sum 2"
        )


def test_parity_has_no_carries() -> None:
    mistake = lw.task("parity").read(["0101"], "0010$").mistake
    assert mistake is not None
    assert mistake.cell.name == "bit 2 of running parity"
    assert mistake.carry is None


@pytest.mark.parametrize("task", FORMATS, ids=describe)
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_nonsense_is_read_without_complaint(task: lw.Task, data: st.DataObject) -> None:
    token = st.sampled_from([*task.vocabulary, "?", "", "[PAD]", "12", "é"])
    written = data.draw(st.lists(token, max_size=50))
    reading = task.read(task.example, written)
    assert reading.answer is None or reading.answer.isdigit()
    assert reading.correct == (reading.mistake is None)
