"""Many pieces of work: what each comes to, and that none stops the others."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest

import lengthwise as lw
from lengthwise.processes import one_by_one, polite, side_by_side

Outcomes = Iterator[tuple[int, str, bool]]


def halve(number: int) -> str:
    """Work that refuses odd numbers, breaks down at 0, and is interrupted at negative ones."""
    if number < 0:
        raise KeyboardInterrupt
    if number % 2:
        raise lw.InputError(f"{number} is odd.")
    return str(100 // number)


def two_at_a_time(pieces: Sequence[int], work: Callable[[int], str]) -> Outcomes:
    return side_by_side(pieces, work, 2)


@pytest.mark.parametrize("way", [one_by_one, two_at_a_time])
def test_a_failure_is_told_and_stops_nobody(way: Callable[[Sequence[int], Callable[[int], str]], Outcomes]) -> None:
    outcomes = {piece: (words, well) for piece, words, well in way([4, 3, 0, 5, 10], halve)}
    assert outcomes == {
        4: ("25", True),
        3: ("3 is odd.", False),
        0: ("ZeroDivisionError: integer division or modulo by zero", False),
        5: ("5 is odd.", False),
        10: ("10", True),
    }


def test_nothing_to_do_is_done_at_once() -> None:
    assert list(one_by_one([], halve)) == list(side_by_side([], halve, 3)) == []


def test_one_by_one_ctrl_c_stops_all() -> None:
    outcomes = one_by_one([4, -1, 10], halve)
    assert next(outcomes) == (4, "25", True)
    with pytest.raises(KeyboardInterrupt):
        next(outcomes)


def test_a_process_that_is_interrupted_says_so() -> None:
    assert list(side_by_side([-1], halve, 1)) == [(-1, "stopped", False)]


def wait_for(seconds: float, piece: int) -> str:
    time.sleep(seconds if piece else 0)
    return "waited"


def test_whoever_loses_interest_stops_what_is_running() -> None:
    outcomes = side_by_side([0, 1], partial(wait_for, 600), 2)
    assert next(outcomes) == (0, "waited", True)
    outcomes.close()  # type: ignore[attr-defined]  # comes back at once, not after ten minutes


def test_a_polite_kill_is_taken_as_ctrl_c_for_a_while() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), polite():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before
