"""Operands as people give them: integers or decimal strings, checked and turned into digits."""

import re
from collections.abc import Sequence
from numbers import Integral

from lengthwise.errors import InputError

DIGITS = tuple("0123456789")
LONGEST_SHOWN = 20
BITS_PER_DIGIT = 3.3219281


def shown(value: object) -> str:
    """A value as it may stand in a message: cut if it is long."""
    if isinstance(value, int) and value.bit_length() > 64:
        return f"An integer of {value.bit_length():,} bits"  # Python refuses to print the largest ones
    text = repr(value)
    if len(text) <= LONGEST_SHOWN + 2:
        return text
    return f"{text[:LONGEST_SHOWN]}…{text[-1] if text[0] == text[-1] else ''}"


def number_digits(operand: int | str, max_digits: int) -> list[int]:
    """The digits of a non-negative integer, units first, without leading zeros.

    >>> number_digits("0057", 10), number_digits(0, 10)
    ([7, 5], [0])
    """
    if isinstance(operand, Integral) and not isinstance(operand, bool):
        value, groups = int(operand), []
        if value < 0:
            raise InputError(f"{shown(value)} is negative: operands are whole numbers from 0 up.")
        if value.bit_length() > max_digits * BITS_PER_DIGIT:
            raise InputError(f"{shown(value)} is too long: give at most {max_digits:,} digits.")
        while value >= 10**18:  # in groups, because Python refuses to turn long integers into text
            value, low = divmod(value, 10**18)
            groups.append(f"{low:018d}"[::-1])
        text = "".join(groups) + str(value)[::-1]
    elif isinstance(operand, str):
        stripped = operand.strip()
        if not stripped:
            raise InputError("An operand is empty: write a whole number, such as 57.")
        if re.fullmatch(r"-\d+", stripped, re.ASCII):
            raise InputError(f"{shown(stripped)} is negative: operands are whole numbers from 0 up.")
        if re.fullmatch(r"\d{1,3}([,_' ]\d{3})+", stripped, re.ASCII):
            raise InputError(f"{shown(stripped)} has separators between its digits: write the digits alone.")
        if re.fullmatch(r"\d*[.,]\d+", stripped, re.ASCII):
            raise InputError(f"{shown(stripped)} is a fraction: operands are whole numbers, such as 57.")
        if not (stripped.isascii() and stripped.isdigit()):
            raise InputError(f"{shown(stripped)} is not a whole number: operands are digits 0–9 only, such as 57.")
        if len(stripped) > max_digits:
            raise InputError(f"A number of {len(stripped):,} digits is too long: give at most {max_digits:,} digits.")
        text = (stripped.lstrip("0") or "0")[::-1]
    else:
        raise InputError(f"{shown(operand)} is not a whole number: give integers or strings of digits.")
    return [int(digit) for digit in text]


def bits(operand: int | str, max_digits: int) -> list[int]:
    """The bits of a parity problem, leftmost first; leading zeros count."""
    if not isinstance(operand, str):
        raise InputError(f"{shown(operand)} is not a bit string: give the bits as a string, such as '0101'.")
    stripped = operand.strip()
    if not stripped or set(stripped) - {"0", "1"}:
        raise InputError(f"{shown(stripped)} is not a bit string: write 0s and 1s only, such as '0101'.")
    if len(stripped) > max_digits:
        raise InputError(f"A string of {len(stripped):,} bits is too long: give at most {max_digits:,} bits.")
    return [int(bit) for bit in stripped]


def is_whole(value: object) -> bool:
    """Whether a value is an integer, of Python's or numpy's, and not a truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole(**settings: object) -> None:
    """Refuse settings that are not integers."""
    for name, value in settings.items():
        if not is_whole(value):
            raise InputError(f"{name} must be a whole number, not {shown(value)}.")


def operand_list(operands: Sequence[int | str], example: str) -> list[int | str]:
    """The operands as a list, where a lone string or number was surely meant otherwise."""
    if isinstance(operands, (str, bytes)) or not isinstance(operands, Sequence):
        raise InputError(f"{shown(operands)} is not a list of operands: write({example}).")
    return list(operands)
