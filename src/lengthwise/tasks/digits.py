"""Arithmetic on arrays of digits, any length, many numbers at once.

A number is an array of decimal digits, units first, zeros above. Results come from *columns*: what falls into each
place before carrying. Adding numbers adds their columns, and one pass of carrying makes digits of any columns.

>>> columns = torch.tensor([7 + 8 + 6, 5 + 4 + 9, 0])       # 57 + 48 + 96
>>> carry(columns).tolist()
[1, 0, 2]
>>> incoming_carries(columns).tolist()
[0, 2, 2]
"""

import torch
from jaxtyping import Int32, Num, Shaped, UInt8
from torch import Tensor

EXACT_IN_FLOAT32 = 10**6


def _carry_through(columns: Num[Tensor, "*shape width"], largest: int) -> tuple[Tensor, list[Tensor]]:
    """Digits, with the places as first dimension, and what each place carries on, from the units up."""
    # Floating-point multiplication is the fast exact way to divide small integers by ten: torch's integer division
    # is not vectorised. Half a unit is added so that rounding can never reach the neighbouring quotient.
    exact = torch.float32 if largest < EXACT_IN_FLOAT32 else torch.float64
    places = columns.movedim(-1, 0).to(exact, memory_format=torch.contiguous_format, copy=True)
    outgoing: list[Tensor] = []
    for total in places.unbind(0):
        if outgoing:
            total += outgoing[-1]
        outgoing.append(total.add(0.5).mul_(0.1).floor_())
        total.sub_(outgoing[-1], alpha=10)
    return places, outgoing


def carry(columns: Num[Tensor, "*shape width"], largest: int = 0) -> UInt8[Tensor, "*shape width"]:
    """Digits of the numbers with these columns. `largest` bounds a column's value; the result must fit the width."""
    digits, _ = _carry_through(columns, largest)
    return digits.to(torch.uint8).movedim(0, -1)


def incoming_carries(columns: Num[Tensor, "*shape width"], largest: int = 0) -> Int32[Tensor, "*shape width"]:
    """What is carried into each place while the columns are made into digits."""
    digits, outgoing = _carry_through(columns, largest)
    return torch.stack([torch.zeros_like(digits[0]), *outgoing[:-1]], dim=-1).to(torch.int32)


def widen(digits: Shaped[Tensor, "*shape width"], width: int) -> Shaped[Tensor, "*shape wide"]:
    """The same numbers with zeros above, `width` digits in all."""
    return torch.nn.functional.pad(digits, (0, width - digits.shape[-1]))


def significant(digits: UInt8[Tensor, "*shape width"]) -> Int32[Tensor, "*shape"]:
    """How many digits each number has without leading zeros; zero itself has one."""
    places = torch.arange(1, digits.shape[-1] + 1, dtype=torch.int32, device=digits.device)
    return ((digits != 0) * places).amax(-1).clamp_(min=1)


def skew(rows: Shaped[Tensor, "samples rows width"]) -> Shaped[Tensor, "samples rows wide"]:
    """Row k moved up by k places, as partial products are written under each other.

    >>> skew(torch.tensor([[[5, 8, 1], [4, 7, 0]]])).tolist()
    [[[5, 8, 1, 0], [0, 4, 7, 0]]]
    """
    samples, count, width = rows.shape
    padded = torch.nn.functional.pad(rows, (0, count)).flatten(1)
    wide = width + count - 1
    return padded[:, : count * wide].reshape(samples, count, wide)
