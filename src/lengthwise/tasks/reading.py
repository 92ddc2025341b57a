"""Reading back: what did a model write, and where did it first go wrong?"""

from collections.abc import Sequence
from dataclasses import dataclass

from lengthwise.tasks.digits import incoming_carries
from lengthwise.tasks.operands import DIGITS
from lengthwise.tasks.page import EDGE, Block, Cell, Page


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """The first token that differs from the right page."""

    index: int
    """Which token of the response, counted from 0."""
    cell: Cell
    """Which line and digit should have been written there."""
    expected: str
    written: str | None
    """None where the model stopped writing without an end."""
    carry: bool | None
    """Whether a carry came into the digit that belongs there; None for a symbol, and for a task without carries."""

    def __str__(self) -> str:
        wrote = "stops" if self.written is None else f"has {self.written!r}"
        carried = " (with a carry into it)" if self.carry else ""
        return f"the response {wrote} at the {self.cell.name}{carried}, where {self.expected!r} belongs"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a model wrote, understood as far as possible."""

    answer: str | None
    """The answer it gives; None where it gives none that can be read."""
    mistake: Mistake | None
    """Where it first differs from the right page; None where it does not."""

    @property
    def correct(self) -> bool:
        """Whether every token is right, scratchpad and end included."""
        return self.mistake is None


def first_mistake(page: Page, blocks: Sequence[Block], written: Sequence[str]) -> Mistake | None:
    """Compare a response, up to its first `$`, with the page it should have been. `blocks` are the page's own."""
    right = page.response
    for index, expected in enumerate(right):
        token = written[index] if index < len(written) else None
        if token != expected:
            cell = page.cells[len(page.tokens) - len(right) + index]
            carry = _carried_into(blocks, cell)
            return Mistake(index=index, cell=cell, expected=expected, written=token, carry=carry)
    return None


def _carried_into(blocks: Sequence[Block], cell: Cell) -> bool | None:
    if cell.digit is None:
        return None
    block = next(block for block in blocks if block.target and block.role == cell.role)
    if block.columns is None:
        return None
    carries = incoming_carries(block.columns()[0, cell.line - block.numbered_from])
    return bool(carries[cell.digit] > 0)


def last_number(response: Sequence[str], *, units_first: bool) -> str | None:
    """The number on the last line of a response that ends properly, without leading zeros.

    >>> last_number(list("000>750>501>102$"), units_first=True)
    '201'
    """
    if not response or response[-1] != EDGE:
        return None
    digits: list[str] = []
    for token in reversed(response[:-1]):
        if token not in DIGITS:
            break
        digits.append(token)
    if not digits:
        return None
    number = "".join(digits if units_first else digits[::-1])
    return number.lstrip("0") or "0"
