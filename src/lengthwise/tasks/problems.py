"""Problems: the operands of many questions as one array of digits, before anything is written down."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int32, Int64, Shaped, UInt8
from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Problems:
    """Operands of many problems. Digits stand units first (bits of a parity string: leftmost first).

    >>> problems = Problems.of([[[7, 5], [8, 4], [6, 9]]])
    >>> problems.digits.shape, problems.lengths.tolist(), problems.counts.tolist()
    (torch.Size([1, 3, 2]), [[2, 2, 2]], [3])
    """

    digits: UInt8[Tensor, "samples operands width"]
    lengths: Int32[Tensor, "samples operands"]
    """Digits of each operand, 0 where a problem has fewer operands."""
    counts: Int32[Tensor, " samples"]
    """Operands of each problem."""

    def __len__(self) -> int:
        return self.digits.shape[0]

    def __getitem__(self, rows: slice | Shaped[Tensor, " chosen"]) -> "Problems":
        return Problems(digits=self.digits[rows], lengths=self.lengths[rows], counts=self.counts[rows])

    def to(self, device: str | torch.device) -> "Problems":
        return Problems(digits=self.digits.to(device), lengths=self.lengths.to(device), counts=self.counts.to(device))

    def operands(self, sample: int) -> list[list[int]]:
        """The operands of one problem, each a list of digits in stored order."""
        lengths = self.lengths[sample].tolist()
        rows = self.digits[sample].tolist()
        return [row[:length] for row, length in zip(rows, lengths, strict=True) if length > 0]

    def blank(self) -> "Problems":
        """The same shapes with every digit 0: what can be known of a page without reading its numbers."""
        return Problems(digits=torch.zeros_like(self.digits), lengths=self.lengths, counts=self.counts)

    @staticmethod
    def all_of(
        digits: UInt8[Tensor, "samples operands width"], lengths: Int32[Tensor, "samples operands"]
    ) -> "Problems":
        """Problems that all have the same number of operands."""
        return Problems(digits=digits, lengths=lengths, counts=torch.full_like(lengths[:, 0], lengths.shape[1]))

    @staticmethod
    def of(problems: Sequence[Sequence[Sequence[int]]]) -> "Problems":
        """Problems from lists of digits in stored order."""
        width = max(len(operand) for operands in problems for operand in operands)
        most = max(len(operands) for operands in problems)
        digits = torch.zeros(len(problems), most, width, dtype=torch.uint8)
        lengths = torch.zeros(len(problems), most, dtype=torch.int32)
        for row, operands in enumerate(problems):
            for column, operand in enumerate(operands):
                digits[row, column, : len(operand)] = torch.tensor(operand, dtype=torch.uint8)
                lengths[row, column] = len(operand)
        counts = torch.tensor([len(operands) for operands in problems], dtype=torch.int32)
        return Problems(digits=digits, lengths=lengths, counts=counts)


def uniform(
    low: int, high: int, shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype = torch.int32
) -> Shaped[Tensor, "..."]:
    """Integers drawn uniformly from low … high, both included, on the generator's device."""
    return torch.randint(low, high + 1, shape, generator=generator, device=generator.device, dtype=dtype)


def draw_different(samples: int, places: int, choices: int, generator: torch.Generator) -> Int64[Tensor, "rows places"]:
    """Different rows of numbers 0 … choices − 1, each row drawn uniformly: as many as asked for, or all there are.

    >>> rows = draw_different(100, 3, 2, torch.Generator().manual_seed(0))
    >>> sorted(rows.tolist())
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]
    """
    # The first few places tell all rows apart; there may be far too many rows in all to choose among them.
    apart = 0
    while apart < places and choices**apart < samples:
        apart += 1
    numbers = torch.randperm(choices**apart, generator=generator, device=generator.device)[:samples, None]
    powers = torch.tensor([choices**place for place in range(apart)], dtype=torch.int64, device=generator.device)
    rest = uniform(0, choices - 1, (len(numbers), places - apart), generator, torch.int64)
    return torch.cat([numbers // powers % choices, rest], 1)


def draw_numbers(
    lengths: Int32[Tensor, "samples operands"], width: int, generator: torch.Generator
) -> UInt8[Tensor, "samples operands width"]:
    """Numbers drawn uniformly among those of the given lengths: no leading zero, but a one-digit number may be 0."""
    samples, operands = lengths.shape
    digits = uniform(0, 9, (samples, operands, width), generator, torch.uint8)
    leading = uniform(1, 9, (samples, operands, 1), generator, torch.uint8)
    digits *= within(torch.arange(width, dtype=torch.int32, device=lengths.device), lengths)
    top = (lengths[..., None] - 1).clamp(min=0).long()
    return digits.scatter_(2, top, torch.where(lengths[..., None] > 1, leading, digits.gather(2, top)))


def within(places: Int32[Tensor, " width"], lengths: Int32[Tensor, "*shape"]) -> Bool[Tensor, "*shape width"]:
    """Which places lie inside numbers of the given lengths."""
    return places < lengths[..., None]
