"""Packing: the blocks of many pages become one flat run of tokens with ids, targets and sequence boundaries.

Tokens and ids are affine in the token's place within its run of cells. So everything is worked out per run and spread
over the tokens once: no loop over samples, no padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int32, Int64, UInt8
from torch import Tensor

from lengthwise.tasks.page import Block
from lengthwise.tasks.problems import Problems
from lengthwise.tasks.runs import Runs

INDEX = "index"
"""The coordinate every task has: the token's place in the sequence."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Many pages, packed one after the other.

    >>> import lengthwise as lw
    >>> batch = lw.task("addition").sample(2, length=2, count=3, seed=0)
    >>> len(batch), batch.tokens.shape == batch.targets.shape == batch.position_ids.shape[1:]
    (2, True)
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
    offsets: Int32[Tensor, "levels samples"]
    """Where each page's ids start counting."""

    def __len__(self) -> int:
        return self.boundaries.shape[0] - 1

    def span(self, sample: int) -> slice:
        """Where one page lies among the tokens."""
        start, stop = self.boundaries[sample : sample + 2].tolist()
        return slice(start, stop)

    def text(self, sample: int) -> list[str]:
        """The tokens of one page, written out."""
        return [self.vocabulary[token] for token in self.tokens[self.span(sample)].tolist()]

    @staticmethod
    def join(batches: Sequence["Batch"]) -> "Batch":
        """One batch of several that were made by the same task."""
        first = batches[0]
        if len(batches) == 1:
            return first
        sizes = torch.cat([batch.boundaries.diff() for batch in batches])
        ends = sizes.cumsum(0)
        return Batch(
            tokens=torch.cat([batch.tokens for batch in batches]),
            position_ids=torch.cat([batch.position_ids for batch in batches], dim=1),
            targets=torch.cat([batch.targets for batch in batches]),
            boundaries=torch.cat([ends.new_zeros(1), ends]),
            vocabulary=first.vocabulary,
            levels=first.levels,
            problems=Problems.join([batch.problems for batch in batches]),
            offsets=torch.cat([batch.offsets for batch in batches], dim=1),
        )


def pack(
    blocks: Sequence[Block],
    *,
    vocabulary: tuple[str, ...],
    levels: tuple[str, ...],
    offsets: Int32[Tensor, "levels samples"],
    problems: Problems,
) -> Batch:
    """Write the pages made of these blocks, one after the other."""
    runs = Runs.of(blocks)
    samples, count = runs.tokens.shape
    device = runs.tokens.device
    ends = runs.tokens.flatten().cumsum(0).view(samples, count)
    starts = (ends - runs.tokens).to(torch.int32)
    run = torch.repeat_interleave(runs.tokens.flatten())
    place = torch.arange(run.shape[0], dtype=torch.int32, device=device)

    def spread(origin: Int32[Tensor, "samples runs"], steps: Sequence[int]) -> Int32[Tensor, " tokens"]:
        """`origin + step · (place within the run)` for every token, from an origin and a step per run."""
        if not any(steps):
            return origin.flatten().index_select(0, run)
        step = torch.tensor(steps, dtype=torch.int32, device=device)
        shifted = (origin - step * starts).flatten()  # `place` counts from the beginning of the batch
        along = step.expand(samples, count).flatten().index_select(0, run)
        return along.mul_(place).add_(shifted.index_select(0, run))

    cells = [
        torch.cat([block.symbols(vocabulary).expand(samples, -1)[..., None], block.digits], dim=2).flatten()
        for block in blocks
    ]
    tokens = torch.cat(cells).index_select(0, spread(runs.addresses(blocks), runs.direction))

    ids = []
    for level, offset in zip(levels, offsets, strict=True):
        if level == INDEX:  # the token after `$` is the first to be counted
            ids.append(spread(starts - starts[:, :1] + offset[:, None] - 1, [1] * count))
        else:
            ids.append(spread(*runs.coordinate(blocks, level, offset)))
    target = [block.target for block, span in zip(blocks, runs.spans, strict=True) for _ in range(span.stop - span.start)]
    targets = torch.tensor(target, device=device).expand(samples, count).flatten().index_select(0, run)
    return Batch(
        tokens=tokens,
        position_ids=torch.stack(ids),
        targets=targets,
        boundaries=torch.cat([ends.new_zeros(1), ends[:, -1]]),
        vocabulary=vocabulary,
        levels=levels,
        problems=problems,
        offsets=offsets,
    )
