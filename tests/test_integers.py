"""What Python's integers say, at lengths that Python refuses to print."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise import tasks
from lengthwise.integers import OPERATIONS, PIECE, read_number, right_answer, write_number


@given(st.integers(min_value=0, max_value=10 ** (4 * PIECE)))
def test_numbers_and_their_digits(number: int) -> None:
    assert write_number(number) == str(number)
    assert read_number(str(number)) == number


@pytest.mark.parametrize("digits", [1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 1, 50_000])
def test_powers_of_ten_and_the_numbers_below_them(digits: int) -> None:
    limit = sys.get_int_max_str_digits()
    assert write_number(10**digits) == "1" + "0" * digits
    assert write_number(10**digits - 1) == "9" * digits
    assert read_number("0" * digits + "7") == 7
    assert read_number("9" * digits) == 10**digits - 1
    assert sys.get_int_max_str_digits() == limit  # nothing of the process was changed


@pytest.mark.parametrize(
    ("task", "operands", "answer"),
    [
        ("addition", ["57", "48", "96"], "201"),
        ("addition", ["0057", "0"], "57"),
        ("addition", ["9" * 5_000, "1"], "1" + "0" * 5_000),
        ("multiplication", ["37", "925"], "34225"),
        ("multiplication", ["9" * 5_000, "0"], "0"),
        ("parity", ["0101"], "0"),
        ("parity", ["0111"], "1"),
        ("division", ["4", "2"], None),
    ],
)
def test_right_answers(task: str, operands: list[str], answer: str | None) -> None:
    assert right_answer(task, operands) == answer


def test_every_task_is_known() -> None:
    assert set(OPERATIONS) == set(tasks.kinds())
    for name, kind in tasks.kinds().items():
        assert right_answer(name, kind.example) == kind().write(kind.example).answer
