"""Packing: the blocks of many pages become one flat run of tokens with ids, targets and sequence boundaries."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int32, Int64, UInt8
from torch import Tensor

from lengthwise.positions.coupling import Numbering
from lengthwise.tasks.page import Block
from lengthwise.tasks.problems import Problems
from lengthwise.tasks.runs import Runs, Spread

INDEX = "index"
"""The coordinate every task has: the token's place in the sequence."""
SPARE_ROOM = 1.02


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Many pages, packed one after the other.

    >>> import lengthwise as lw
    >>> batch = lw.task("addition").sample(2, length=2, count=3, seed=0)
    >>> len(batch), batch.tokens.shape == batch.targets.shape == batch.position_ids.shape[1:]
    (2, True)
    >>> batch[1:].text(0) == batch.text(1)
    True
    """

    tokens: UInt8[Tensor, " tokens"]
    """Numbers of tokens in `vocabulary`; a digit is its own number."""
    position_ids: Int32[Tensor, "levels tokens"]
    """Ids per level; 0 is an uncoupled token."""
    targets: Bool[Tensor, " tokens"]
    """Which tokens the model must write."""
    boundaries: Int64[Tensor, " samples_and_one"]
    """Page i is tokens[boundaries[i] : boundaries[i + 1]]."""
    vocabulary: tuple[str, ...]
    levels: tuple[str, ...]
    problems: Problems
    """The operands these pages were written from."""
    numbering: Numbering
    """Where each page's ids start counting."""

    def __len__(self) -> int:
        return self.boundaries.shape[0] - 1

    def __getitem__(self, pages: slice) -> "Batch":
        """Some pages on end, as a batch of their own that shares this one's memory."""
        start, stop, step = pages.indices(len(self))
        if step != 1:
            raise IndexError(
                f"a batch is sliced without a step, not by {step}: its tokens lie one page after the other"
            )
        pages = slice(start, max(start, stop))
        boundaries = self.boundaries[start : pages.stop + 1]
        tokens = slice(*boundaries[[0, -1]].tolist())
        return Batch(
            tokens=self.tokens[tokens],
            position_ids=self.position_ids[:, tokens],
            targets=self.targets[tokens],
            boundaries=boundaries - tokens.start,
            vocabulary=self.vocabulary,
            levels=self.levels,
            problems=self.problems[pages],
            numbering=self.numbering[pages],
        )

    def chosen(self, pages: Int64[Tensor, " chosen"]) -> "Batch":
        """Some pages, in any order, copied."""
        sizes = self.boundaries.diff()[pages]
        boundaries = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        shift = (self.boundaries[pages] - boundaries[:-1]).repeat_interleave(sizes)
        tokens = torch.arange(shift.shape[0], device=shift.device) + shift
        return Batch(
            tokens=self.tokens[tokens],
            position_ids=self.position_ids[:, tokens],
            targets=self.targets[tokens],
            boundaries=boundaries,
            vocabulary=self.vocabulary,
            levels=self.levels,
            problems=self.problems[pages],
            numbering=self.numbering[pages],
        )

    @property
    def offsets(self) -> Int32[Tensor, "levels samples"]:
        """Where the ids of each level and page start counting."""
        return self.numbering.offsets

    def span(self, sample: int) -> slice:
        """Where one page lies among the tokens."""
        if not -len(self) <= sample < len(self):
            raise IndexError(f"a batch of {len(self)} pages has no page {sample}")
        return slice(*self.boundaries[sample % len(self) :][:2].tolist())

    def text(self, sample: int) -> list[str]:
        """The tokens of one page, written out."""
        return [self.vocabulary[token] for token in self.tokens[self.span(sample)].tolist()]


def join(parts: Iterator[Batch], problems: Problems) -> Batch:
    """One batch of all problems from the batches of their parts, in order."""
    first = next(parts)
    if len(first) == len(problems):
        return first
    # Room for all is taken at once, as much as the first part foretells, and filled as parts come: keeping the parts
    # to join them in the end would touch twice the memory, and touching memory is what takes time here.
    expected = int(len(first.tokens) / len(first) * len(problems) * SPARE_ROOM)
    tokens, targets = _Growing(first.tokens, expected), _Growing(first.targets, expected)
    position_ids = _Growing(first.position_ids, expected)
    sizes, numberings = [], []
    for part in itertools.chain([first], parts):
        tokens.append(part.tokens)
        targets.append(part.targets)
        position_ids.append(part.position_ids)
        sizes.append(part.boundaries.diff())
        numberings.append(part.numbering)
    ends = torch.cat(sizes).cumsum(0)
    return Batch(
        tokens=tokens.filled,
        position_ids=position_ids.filled,
        targets=targets.filled,
        boundaries=torch.cat([ends.new_zeros(1), ends]),
        vocabulary=first.vocabulary,
        levels=first.levels,
        problems=problems,
        numbering=Numbering.join(numberings),
    )


class _Growing:
    """A tensor that grows along its last dimension."""

    def __init__(self, like: Tensor, room: int) -> None:
        self._size = 0
        self._held = self._room_for(like, room)

    @staticmethod
    def _room_for(like: Tensor, room: int) -> Tensor:
        shape = (*like.shape[:-1], room)
        if like.device.type != "cpu":
            return like.new_empty(shape)
        # numpy asks for huge pages, torch does not: that is far fewer page faults.
        return torch.from_numpy(np.empty(shape, dtype=like.new_empty(0).numpy().dtype))

    def append(self, part: Tensor) -> None:
        end = self._size + part.shape[-1]
        if end > self._held.shape[-1]:
            grown = self._room_for(self._held, int(end * SPARE_ROOM))
            grown[..., : self._size] = self.filled
            self._held = grown
        self._held[..., self._size : end] = part
        self._size = end

    @property
    def filled(self) -> Tensor:
        return self._held[..., : self._size]


def pack(
    blocks: Sequence[Block],
    *,
    vocabulary: tuple[str, ...],
    levels: tuple[str, ...],
    numbering: Numbering,
    problems: Problems,
) -> Batch:
    """Write the pages made of these blocks, one after the other."""
    runs = Runs.of(blocks)
    spread = Spread.of(runs)
    cells = torch.cat([block.cells(vocabulary).flatten() for block in blocks])
    ids = []
    for number, (level, offset) in enumerate(zip(levels, numbering.offsets, strict=True)):
        if level == INDEX:  # the token after `$` is the first to be counted
            starts = spread.starts
            counted = spread.along(starts - starts[:, :1] + offset[:, None] - 1, [1] * starts.shape[1])
        else:
            counted = spread.along(*runs.coordinate(blocks, level, offset))
        # Which page a token belongs to takes a division per token: only where there is a table for each page.
        ids.append(counted if numbering.tables is None else numbering.look_up(number, spread.page, counted))
    return Batch(
        tokens=cells.index_select(0, spread.along(runs.addresses(blocks), runs.direction)),
        position_ids=torch.stack(ids),
        targets=spread.alike(runs.per_block([block.target for block in blocks])),
        boundaries=spread.boundaries,
        vocabulary=vocabulary,
        levels=levels,
        problems=problems,
        numbering=numbering,
    )
