"""The feed-forward layer: three small ReLU networks side by side, each a function with its argument above it.

A unit is a ramp: it is 0 up to a point and rises from there. Constants come from FULL_ONES, as no layer has biases.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.construction.directions import Directions, Name

CARRY_MARGIN = 0.21
"""Puts the number that decides the next digit 0.11 or 0.21 above a whole one, well inside a plateau of half a unit."""


@dataclass(frozen=True)
class Units:
    """Hidden units: what each looks at, and what it adds to the residual stream."""

    into: Float[Tensor, "units width"]
    out: Float[Tensor, "width units"]


def _ramp(directions: Directions, mixture: dict[Name, float], begins: float) -> Float[Tensor, " width"]:
    """The input of a unit that rises once a mixture of dimensions passes a point."""
    weights = torch.zeros(directions.width, dtype=torch.float64)
    for name, factor in mixture.items():
        weights[directions.at(name)] += factor
    weights[directions.at(Name.FULL_ONES)] -= begins
    return weights


def _collect(directions: Directions, units: list[tuple[Tensor, int, float]]) -> Units:
    """Units from (input, dimension it writes to, factor)."""
    out = torch.zeros(directions.width, len(units), dtype=torch.float64)
    for place, (_, dimension, factor) in enumerate(units):
        out[dimension, place] = factor
    return Units(torch.stack([into for into, _, _ in units]), out)


def next_digit(directions: Directions) -> Units:
    """Subnetwork 1: SUM, the digit that comes next, as one of ten.

    PRE_SUM is what the next column adds up to. (PRE_CARRY − NUM) / 10 is 1 or 0.9 if the column before carried, and
    0 or −0.1 if not. Their sum plus the margin lies between a whole number t and t + 0.3, where t is the digit to
    write or ten more. For every digit k, a trapezoid that is 1 from k to k + 1/2 and another one ten further right.
    """
    mixture = {Name.PRE_SUM: 1.0, Name.PRE_CARRY: 0.1, Name.NUM: -0.1, Name.FULL_ONES: CARRY_MARGIN}
    first = directions.of(Name.SUM).start
    corners = ((-0.5, 2.0), (0.0, -2.0), (0.5, -2.0), (1.0, 2.0))
    return _collect(
        directions,
        [
            (_ramp(directions, mixture, digit + ten + place), first + digit, factor)
            for digit in range(10)
            for ten in (0, 10)
            for place, factor in corners
        ],
    )


def next_arrow(directions: Directions) -> Units:
    """Subnetwork 2: ARROW is 1 where PRE_ARROW is, and 0 where that is at most 1/2."""
    ramp = _ramp(directions, {Name.PRE_ARROW: 1.0}, 1 / 2)
    return _collect(directions, [(ramp, directions.at(Name.ARROW), 2.0)])


def next_end(directions: Directions) -> Units:
    """Subnetwork 3: EOS is 1 where PRE_ARROW is 1 and PRE_EOS is 1/2: no column is left, and no operand.

    Each of the two adds 1, and 1 is taken away: 0 if only one holds, −1 if neither does.
    """
    end = directions.at(Name.EOS)
    return _collect(
        directions,
        [
            (_ramp(directions, {Name.PRE_ARROW: 1.0}, 1 / 2), end, 2.0),
            (_ramp(directions, {Name.PRE_EOS: 1.0}, 1 / 3), end, 6.0),
            (_ramp(directions, {Name.FULL_ONES: 1.0}, 0.0), end, -1.0),
        ],
    )


SUBNETWORKS = (next_digit, next_arrow, next_end)
