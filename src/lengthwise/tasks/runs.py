"""Runs: how lines become sequences. A run is cells written one after the other, up or down a line.

Most lines are one run: symbol, units, tens … or … tens, units, symbol. A symbol before a number that is written from
the top down makes two. Along a run everything is affine in the place within it, so it is worked out per run and
spread over the tokens once (`Spread`): no loop over samples, no padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int32, Int64, Shaped
from torch import Tensor

from lengthwise.tasks.page import EDGE, Block, Cell

PLACES = ("ones", "tens", "hundreds", "thousands")


@dataclass(frozen=True, kw_only=True)
class Runs:
    """The lines of many pages as runs of cells: one row a page, one column a run, in writing order."""

    tokens: Int32[Tensor, "samples runs"]
    """How many tokens each run has; 0 for a line the page does not have."""
    first: Int32[Tensor, "samples runs"]
    """The cell that is written first."""
    line: Int32[Tensor, " runs"]
    """Which line of its block it is."""
    direction: tuple[int, ...]
    """1 from the units up, -1 from the top down."""
    spans: tuple[slice, ...]
    """Which runs belong to each block."""

    @staticmethod
    def of(blocks: Sequence[Block]) -> "Runs":
        tokens, first, line = [], [], []
        direction: list[int] = []
        spans: list[slice] = []
        for block in blocks:
            digits = block.lengths * block.present
            symbol = block.has_symbol.to(torch.int32)
            if block.units_first:
                assert not block.joined_after, "a symbol after the top digit is not a run of cells"
                parts = [(digits + symbol, 1 - symbol, 1)]  # symbol, units, tens …
            elif block.joined_after:
                parts = [(digits + symbol, block.lengths, -1)]  # … tens, units, symbol
            else:
                parts = [(symbol, torch.zeros_like(symbol), 1), (digits, block.lengths, -1)]  # symbol; … tens, units
            tokens.append(torch.stack([part[0] for part in parts], 2).flatten(1))
            first.append(torch.stack([part[1] for part in parts], 2).flatten(1))
            line.append(block.line_numbers.repeat_interleave(len(parts)))
            direction.extend([part[2] for part in parts] * block.lengths.shape[1])
            spans.append(slice(len(direction) - len(parts) * block.lengths.shape[1], len(direction)))
        return Runs(
            tokens=torch.cat(tokens, 1),
            first=torch.cat(first, 1),
            line=torch.cat(line),
            direction=tuple(direction),
            spans=tuple(spans),
        )

    def per_block(self, values: Sequence[int] | Sequence[bool]) -> Shaped[Tensor, "1 runs"]:
        """A value per block, for each of its runs."""
        sizes = torch.tensor([span.stop - span.start for span in self.spans])
        return torch.tensor([values]).repeat_interleave(sizes, dim=1).to(self.tokens.device)

    def coordinate(
        self, blocks: Sequence[Block], name: str, offset: Int32[Tensor, " samples"]
    ) -> tuple[Int32[Tensor, "samples runs"], list[int]]:
        """The id of each run's first cell, and how ids go on along the run."""
        origins: list[Tensor] = []
        steps: list[int] = []
        for block, span in zip(blocks, self.spans, strict=True):
            first = self.first[:, span]
            along = block.coordinates.get(name)
            if along is None:
                origins.append(torch.zeros_like(first))
                steps.extend([0] * first.shape[1])
            else:
                origins.append(offset[:, None] + along.at(self.line[span], first))
                steps.extend(direction * along.per_cell for direction in self.direction[span])
        return torch.cat(origins, 1), steps

    def addresses(self, blocks: Sequence[Block]) -> Int32[Tensor, "samples runs"]:
        """Where each run's first cell lies when the cells of all blocks are stored one block after the other."""
        origins, base = [], 0
        samples = self.tokens.shape[0]
        row = torch.arange(samples, dtype=torch.int32, device=self.tokens.device)[:, None]
        for block, span in zip(blocks, self.spans, strict=True):
            lines, cells = block.lengths.shape[1], block.digits.shape[2] + 1
            origins.append(base + (row * lines + self.line[span]) * cells + self.first[:, span])
            base += samples * lines * cells
        assert base < 2**31, "addresses are 32-bit: pack fewer pages at a time"
        return torch.cat(origins, 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread:
    """Runs written out: what is known of every run, spread over its tokens, pages packed one after the other."""

    run: Int32[Tensor, " tokens"]
    """Which run each token belongs to, counted through all pages."""
    place: Int32[Tensor, " tokens"]
    """Where each token stands, counted from the beginning of the first page."""
    starts: Int32[Tensor, "samples runs"]
    """Where each run begins, counted in the same way."""
    boundaries: Int64[Tensor, " samples_and_one"]
    """Where each page begins, and where the last one ends."""

    @staticmethod
    def of(runs: Runs) -> "Spread":
        samples, count = runs.tokens.shape
        ends = runs.tokens.flatten().cumsum(0).view(samples, count)
        run = torch.repeat_interleave(runs.tokens.flatten())
        return Spread(
            run=run,
            place=torch.arange(run.shape[0], dtype=torch.int32, device=run.device),
            starts=(ends - runs.tokens).to(torch.int32),
            boundaries=torch.cat([ends.new_zeros(1), ends[:, -1]]),
        )

    @property
    def page(self) -> Int32[Tensor, " tokens"]:
        """Which page each token belongs to."""
        return self.run // self.starts.shape[1]

    def alike(self, values: Shaped[Tensor, "#samples runs"]) -> Shaped[Tensor, " tokens"]:
        """A value per run, the same for all its tokens; one row stands for all pages."""
        return values.expand(self.starts.shape).flatten().index_select(0, self.run)

    def along(self, origin: Int32[Tensor, "samples runs"], steps: Sequence[int]) -> Int32[Tensor, " tokens"]:
        """`origin + step · (place within the run)` for every token, from an origin and a step per run."""
        if not any(steps):
            return self.alike(origin)
        step = torch.tensor([steps], dtype=torch.int32, device=origin.device)
        shifted = origin - step * self.starts  # `place` counts from the beginning of the batch
        return self.alike(step).mul_(self.place).add_(self.alike(shifted))


def cells(blocks: Sequence[Block]) -> list[Cell]:
    """Where each token of the first of these pages stands."""
    runs = Runs.of(blocks)
    lines, tokens, first = runs.line.tolist(), runs.tokens[0].tolist(), runs.first[0].tolist()
    found: list[Cell] = []
    for block, span in zip(blocks, runs.spans, strict=True):
        several = int(block.counts[0]) > 1
        for run in range(span.start, span.stop):
            for step in range(tokens[run]):
                digit = first[run] + runs.direction[run] * step - 1
                found.append(_cell(block, lines[run], digit if digit >= 0 else None, several))
    return found


def _cell(block: Block, line: int, digit: int | None, several: bool) -> Cell:
    number = line + block.numbered_from
    subject = f"{block.role} {number}" if several else block.role
    if block.role == EDGE:
        name = "end" if block.target else "start"
    elif block.digits.shape[2] == 0:
        name = block.role
    elif digit is None:
        symbol = block.opens if line == 0 and block.opens else block.joins
        name = f"{symbol} {'after' if block.joined_after else 'before'} {subject}"
    elif block.bits:
        name = f"bit {digit + 1} of {subject}"
    else:
        name = f"{PLACES[digit] if digit < len(PLACES) else f'10^{digit}'} digit of {subject}"
    place = None if digit is None else _place(block, line, digit)
    return Cell(role=block.role, line=number, digit=digit, place=place, name=name)


def _place(block: Block, line: int, digit: int) -> int:
    column = block.coordinates.get("column")
    if not block.bits:
        return digit + (column.per_line * line if column is not None else 0)
    from_right = column is not None and column.per_cell < 0
    return digit if from_right else int(block.lengths[0, line]) - 1 - digit
