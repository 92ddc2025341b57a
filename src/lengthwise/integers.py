"""What Python's own integers say the answer is: a check that shares nothing with the tasks.

>>> right_answer("addition", ["57", "48", "96"]), right_answer("multiplication", ["37", "925"])
('201', '34225')
>>> right_answer("parity", ["0111"])
'1'

Python refuses to turn integers of more than 4,300 digits into text or back, by a setting of the whole process. Here
that setting is left alone: long numbers go piece by piece, each short enough for any setting.
"""

import math
from collections.abc import Callable, Mapping, Sequence

PIECE = 500
"""So many digits are never refused: 640 is the lowest limit there can be."""
DIGITS_PER_BIT = 0.30103


def right_answer(task: str, operands: Sequence[str]) -> str | None:
    """The answer as text; None for a task that is not known here."""
    work_out = OPERATIONS.get(task)
    return None if work_out is None else work_out(operands)


def read_number(text: str) -> int:
    """The integer that a string of digits says, however long.

    >>> read_number("9" * 10_000) == 10**10_000 - 1
    True
    """
    if len(text) <= PIECE:
        return int(text)
    low = len(text) // 2
    ten_to_that: int = 10**low
    return read_number(text[:-low]) * ten_to_that + read_number(text[-low:])


def write_number(number: int) -> str:
    """The digits of an integer from 0 up, however long.

    >>> write_number(10**10_000 + 7) == "1" + "7".zfill(10_000)
    True
    """
    digits = int(number.bit_length() * DIGITS_PER_BIT)
    if digits < PIECE:
        return str(number)
    high, low = divmod(number, 10 ** (digits // 2))
    return write_number(high) + write_number(low).zfill(digits // 2)


def _sum(operands: Sequence[str]) -> str:
    return write_number(sum(map(read_number, operands)))


def _product(operands: Sequence[str]) -> str:
    return write_number(math.prod(map(read_number, operands)))


def _parity(operands: Sequence[str]) -> str:
    return str("".join(operands).count("1") % 2)


OPERATIONS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "addition": _sum,
    "multiplication": _product,
    "parity": _parity,
}
