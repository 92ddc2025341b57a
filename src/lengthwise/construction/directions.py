"""The residual stream of the construction: every dimension has a name, and weights speak of names only.

The paper's symbols, explained once; they are used in this package and nowhere else:

    n, m      the most digits and the most operands the model is built for
    ℓ         how many digits every number is padded to: n + 1 + ⌊log₁₀ m⌋
    P₁, P₂    bits of an id of level 1 (columns) and of level 2 (rows); P = P₁ + P₂
    s₁, s₂    the offsets from which ids of the levels count
    v_k       the id k as a corner of the hypercube: +1 or −1 for every bit of k − 1
    α         how sharp attention is: a key that fits scores 2α above any that does not
    N         the number of tokens
"""

from dataclasses import dataclass
from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor


class Name(StrEnum):
    """What the dimensions hold. The four PRE_ ones are written by the heads, SUM, ARROW and EOS by the feed-forward."""

    NUM = "num"
    """The digit of a token, 0 for a symbol."""
    IS_BOS = "is_bos"
    """1 for `$`."""
    FULL_ONES = "full_ones"
    """1 for every token: where a layer without biases gets its constants from."""
    PRE_SUM = "pre_sum"
    """The two digits above each other in the next column, added."""
    PRE_CARRY = "pre_carry"
    """The two digits above each other in this column, added: with NUM it says whether there was a carry."""
    PRE_ARROW = "pre_arrow"
    """1 where no column is left, else at most 1/3."""
    PRE_EOS = "pre_eos"
    """1/2 where no operand stands in this column and row, else 1/3."""
    SUM = "sum"
    """Ten dimensions: which digit comes next."""
    ARROW = "arrow"
    """Whether an arrow comes next."""
    EOS = "eos"
    """Whether the end comes next, if an arrow would."""
    POS_1 = "pos_1"
    """v of the column's id."""
    POS_1_NEXT = "pos_1_next"
    """v of the next column's id."""
    POS_2 = "pos_2"
    """v of the row's id."""
    POS_2_NEXT = "pos_2_next"
    """v of the next row's id."""


@dataclass(frozen=True)
class Directions:
    """Which dimensions of the residual stream each name has, for ids of so many bits."""

    column_bits: int
    """P₁."""
    row_bits: int
    """P₂."""

    @property
    def sizes(self) -> dict[Name, int]:
        """How many dimensions each name has, in the order of the paper."""
        sizes = dict.fromkeys(Name, 1) | {Name.SUM: 10}
        sizes |= {Name.POS_1: self.column_bits, Name.POS_1_NEXT: self.column_bits}
        return sizes | {Name.POS_2: self.row_bits, Name.POS_2_NEXT: self.row_bits}

    @property
    def width(self) -> int:
        """d = 2 P + 19."""
        return sum(self.sizes.values())

    @property
    def bits(self) -> int:
        """P."""
        return self.column_bits + self.row_bits

    def of(self, name: Name) -> slice:
        """The dimensions of a name."""
        start = 0
        for other, size in self.sizes.items():
            if other is name:
                return slice(start, start + size)
            start += size
        raise KeyError(name)

    def at(self, name: Name) -> int:
        """The dimension of a name that has one."""
        where = self.of(name)
        start: int = where.start
        assert where.stop == start + 1, f"{name} has several dimensions"
        return start


def corner(number: int, bits: int) -> Float[Tensor, " bits"]:
    """The id `number`, from 1 to 2^bits, as a corner of the hypercube: two different ones agree on at most bits − 1.

    >>> corner(1, 3).tolist(), corner(2, 3).tolist()
    ([1.0, 1.0, 1.0], [1.0, 1.0, -1.0])
    """
    assert 1 <= number <= 2**bits
    places = torch.arange(bits - 1, -1, -1)
    return 1.0 - 2.0 * ((torch.tensor(number - 1) >> places) & 1).to(torch.float64)
