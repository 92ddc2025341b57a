"""The four attention heads, each a function with its argument above it.

They share one trick. A query and a key are corners of the hypercube, so their score is highest exactly where they agree
in every bit. Besides, every query scores the same with the `$` at the beginning, which thus gets a share of attention
that is known beforehand: with x keys that fit, everything fitting has the weight 1 / (x + 1), `$` included.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.construction.directions import Directions, Name


@dataclass(frozen=True)
class Head:
    """The matrices of a head, in the paper's orientation: they multiply columns of the residual stream."""

    query: Float[Tensor, "dims width"]
    """Q."""
    key: Float[Tensor, "dims width"]
    """K."""
    value: Float[Tensor, "1 width"]
    """V."""
    output: Float[Tensor, "width 1"]
    """U."""


def _matching(
    directions: Directions, alpha: float, asked: tuple[Name, ...], offered: tuple[Name, ...]
) -> tuple[Float[Tensor, "dims width"], Float[Tensor, "dims width"]]:
    """Queries of the names asked for and keys of those offered, plus a last dimension in which only `$` answers."""
    sizes = [directions.sizes[name] for name in asked]
    bits = sum(sizes)
    query, key = torch.zeros(2, bits + 1, directions.width, dtype=torch.float64)
    start = 0
    for wanted, given, size in zip(asked, offered, sizes, strict=True):
        rows = slice(start, start + size)
        query[rows, directions.of(wanted)] = alpha**0.5 * torch.eye(size, dtype=torch.float64)
        key[rows, directions.of(given)] = alpha**0.5 * torch.eye(size, dtype=torch.float64)
        start += size
    # `$` has no position, so all its bits are 0: this one dimension makes up for what a perfect match would score.
    query[bits, directions.at(Name.FULL_ONES)] = (alpha * bits) ** 0.5
    key[bits, directions.at(Name.IS_BOS)] = (alpha * bits) ** 0.5
    return query, key


def _reading(
    directions: Directions, source: Name, target: Name, scale: float
) -> tuple[Float[Tensor, "1 width"], Float[Tensor, "width 1"]]:
    """Values of one dimension, scaled, written into another."""
    value = torch.zeros(1, directions.width, dtype=torch.float64)
    output = torch.zeros(directions.width, 1, dtype=torch.float64)
    value[0, directions.at(source)] = scale
    output[directions.at(target), 0] = 1.0
    return value, output


def add_next_column(directions: Directions, alpha: float) -> Head:
    """Head 1: the digits to be added for the next token, without carry.

    The next digit of partial sum j comes from the next column of operand j and of partial sum j − 1. Both have the row
    before this one: a key offers its column and the row after its own, a query asks for the next column and its own
    row. Two keys fit, so with `$` each has the weight 1/3, and values are three times the digit: their sum is left.
    """
    query, key = _matching(directions, alpha, (Name.POS_1_NEXT, Name.POS_2), (Name.POS_1, Name.POS_2_NEXT))
    value, output = _reading(directions, Name.NUM, Name.PRE_SUM, 3.0)
    return Head(query, key, value, output)


def add_this_column(directions: Directions, alpha: float) -> Head:
    """Head 2: the digits that were added for this token, for the carry.

    The same as head 1 with this column instead of the next. If their sum is s and the token is the digit d, then
    s − d is 0 or −1 without a carry and 10 or 9 with one.
    """
    query, key = _matching(directions, alpha, (Name.POS_1, Name.POS_2), (Name.POS_1, Name.POS_2_NEXT))
    value, output = _reading(directions, Name.NUM, Name.PRE_CARRY, 3.0)
    return Head(query, key, value, output)


def find_next_column(directions: Directions, alpha: float) -> Head:
    """Head 3: is there a column left?

    A query asks for the next column in any row. If there is none, only `$` is left to look at, and its mark IS_BOS
    arrives whole. Otherwise every operand has a digit there, two at least, and no more than 1/3 arrives.
    """
    query, key = _matching(directions, alpha, (Name.POS_1_NEXT,), (Name.POS_1,))
    value, output = _reading(directions, Name.IS_BOS, Name.PRE_ARROW, 1.0)
    return Head(query, key, value, output)


def find_operand(directions: Directions, alpha: float) -> Head:
    """Head 4: is there an operand left?

    Partial sum j stands in the row of operand j + 1. A query asks for its own column and row: it finds `$` and itself,
    and that operand's digit if there is one. So 1/3 of the mark arrives, or 1/2 beside the last partial sum.
    """
    query, key = _matching(directions, alpha, (Name.POS_1, Name.POS_2), (Name.POS_1, Name.POS_2))
    value, output = _reading(directions, Name.IS_BOS, Name.PRE_EOS, 1.0)
    return Head(query, key, value, output)


HEADS = (add_next_column, add_this_column, find_next_column, find_operand)
