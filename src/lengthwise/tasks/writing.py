"""Ids while writing: which ids a token gets the moment a model writes it.

A model that decodes must not be told ids that give away the answer. The rule here sees the shape of the query and the
tokens written so far, nothing else: a digit moves one cell along its line, a symbol opens the next line, and the symbol
that opens the next block moves on to it. Along a right page this yields exactly the page's ids; along a wrong one it
goes on by the same rule, whatever is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int32, Integer
from torch import Tensor

from lengthwise.positions.coupling import Numbering
from lengthwise.tasks.batch import INDEX
from lengthwise.tasks.page import EDGE, Along, Block
from lengthwise.tasks.runs import Runs


@dataclass(frozen=True, kw_only=True)
class Pen:
    """Where the pen stands on each page."""

    block: Int32[Tensor, " samples"]
    line: Int32[Tensor, " samples"]
    cell: Int32[Tensor, " samples"]
    """The cell just written; 0 at the beginning of a line."""
    index: Int32[Tensor, " samples"]
    """How many tokens the page has so far."""
    begun: Bool[Tensor, " samples"]
    """Whether the line has a digit yet."""


class IdWriter:
    """The rule for pages of given shapes: `begin`, then `step` with every token that is written."""

    def __init__(
        self,
        blocks: Sequence[Block],
        vocabulary: tuple[str, ...],
        levels: tuple[str, ...],
        numbering: Numbering,
        max_ids: tuple[int | None, ...] | None,
    ) -> None:
        query = [block for block in blocks if not block.target]
        self._response = [block for block in blocks if block.target and block.role != EDGE]
        self._vocabulary, self._levels, self._numbering, self._max_ids = vocabulary, levels, numbering, max_ids
        self._digits = sum(token.isdigit() for token in vocabulary)
        self._prompt = Runs.of(query).tokens.sum(1, dtype=torch.int32)

    def begin(self) -> Pen:
        """The state after the query: at the beginning of the first line of the response."""
        zero = torch.zeros_like(self._prompt)
        return Pen(block=zero, line=zero, cell=zero, index=self._prompt, begun=torch.zeros_like(zero, dtype=torch.bool))

    def step(self, pen: Pen, tokens: Integer[Tensor, " samples"]) -> tuple[Pen, Int32[Tensor, "levels samples"]]:
        """The state after each page was continued by one token, and that token's ids."""
        digit = tokens < self._digits
        moves_on = self._per_block([self._opener_after(number) for number in range(len(self._response))], pen.block)
        next_block = ~digit & (tokens == moves_on)
        next_line = ~digit & ~next_block
        block = pen.block + next_block.to(torch.int32)
        line = torch.where(next_block, 0, pen.line + next_line.to(torch.int32))
        up = self._per_block([block.units_first for block in self._response], block)
        # From the top down, a line begins at its highest cell; digits too many stay at the bottom.
        down = torch.where(pen.begun, (pen.cell - 1).clamp(min=0), self._line_lengths(block, line))
        cell = torch.where(digit, torch.where(up, pen.cell + 1, down), 0)
        ended = tokens == self._vocabulary.index(EDGE)
        now = Pen(block=block, line=line, cell=cell.to(torch.int32), index=pen.index + 1, begun=digit)
        return now, torch.stack([self._ids(number, now, pen.index, ended) for number in range(len(self._levels))])

    def _ids(
        self, level: int, pen: Pen, index: Int32[Tensor, " samples"], ended: Bool[Tensor, " samples"]
    ) -> Int32[Tensor, " samples"]:
        name, offset = self._levels[level], self._numbering.offsets[level]
        if name == INDEX:
            ids = index + offset - 1
        else:
            ids = torch.zeros_like(index)
            for number, block in enumerate(self._response):
                along = block.coordinates.get(name)
                if along is not None:
                    here = offset + self._at(along, pen)
                    ids = torch.where((pen.block == number) & ~ended, here, ids)
        ids = self._numbering.look_up(level, torch.arange(len(ids), device=ids.device), ids.to(torch.int32))
        # A page that never ends runs out of ids, not out of bounds.
        return ids.clamp(min=0, max=None if self._max_ids is None else self._max_ids[level]).to(torch.int32)

    @staticmethod
    def _at(along: Along, pen: Pen) -> Tensor:
        return along.at(pen.line[:, None], pen.cell[:, None])[:, 0]

    def _opener_after(self, number: int) -> int:
        """The symbol that leads from this block to the next, or a number that is no token's."""
        if number + 1 < len(self._response):
            return self._vocabulary.index(self._response[number + 1].opens)
        return -1

    def _line_lengths(
        self, block: Int32[Tensor, " samples"], line: Int32[Tensor, " samples"]
    ) -> Int32[Tensor, " samples"]:
        lengths = torch.zeros_like(line)
        for number, candidate in enumerate(self._response):
            last = candidate.lengths.shape[1] - 1
            here = candidate.lengths.gather(1, line.clamp(max=last)[:, None].long())[:, 0]
            lengths = torch.where(block == number, here, lengths)
        return lengths

    def _per_block(self, values: list[bool] | list[int], block: Int32[Tensor, " samples"]) -> Tensor:
        return torch.tensor(values, device=block.device).index_select(0, block)
