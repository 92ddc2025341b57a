"""Anatomy: where every token of many pages stands, and whether a carry comes into it, all at once.

`Page.cells` says this of one page in words; here it is tensors in the order of a packed batch, for counting where
models go wrong: by line, by digit, with and without a carry.

>>> import lengthwise as lw
>>> task = lw.task("addition")
>>> found = anatomy(task, task.parse([57, 48, 96]))
>>> found.roles
('$', 'operand', '=', 'partial sum', '$')
>>> second = (found.block == 3) & (found.line == 2)         # 57 + 48, written >501
>>> found.digit[second].tolist(), found.carry[second].tolist()
([-1, 0, 1, 2], [-1, 0, 1, 1])
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int8, Int32, UInt8
from torch import Tensor

from lengthwise.tasks.base import Task
from lengthwise.tasks.digits import incoming_carries
from lengthwise.tasks.page import Block
from lengthwise.tasks.problems import Problems
from lengthwise.tasks.runs import Runs, Spread

NOT_A_DIGIT = -1
"""The digit and the carry of a symbol, and the carry wherever there is none to speak of."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Anatomy:
    """Where the tokens of many pages stand, in the order of `task.write_all(problems).tokens`."""

    roles: tuple[str, ...]
    """What each block is: `operand`, `partial sum`, or the symbol itself for `$` and the `=` after the query."""
    block: UInt8[Tensor, " tokens"]
    """Which block, as a number of `roles`."""
    line: Int32[Tensor, " tokens"]
    """Which line of the block, by its number: operand 1, partial sum 0."""
    digit: Int32[Tensor, " tokens"]
    """Which digit, units 0; −1 for a symbol."""
    carry: Int8[Tensor, " tokens"]
    """1 where a carry comes into the digit, 0 where none does; −1 for symbols, for tokens that are given, and for
    blocks without carries."""


def anatomy(task: Task, problems: Problems) -> Anatomy:
    """Where every token stands on the pages of these problems, worked out chunk by chunk as they are written."""
    parts = [_of_pages(task.lay_out_pages(problems[pages]).blocks) for pages in task.chunks(problems)]
    return Anatomy(
        roles=parts[0].roles,
        block=torch.cat([part.block for part in parts]),
        line=torch.cat([part.line for part in parts]),
        digit=torch.cat([part.digit for part in parts]),
        carry=torch.cat([part.carry for part in parts]),
    )


def _of_pages(blocks: Sequence[Block]) -> Anatomy:
    runs = Runs.of(blocks)
    spread = Spread.of(runs)
    carries = torch.cat([_carries(block).flatten() for block in blocks])
    return Anatomy(
        roles=tuple(block.role for block in blocks),
        block=spread.alike(runs.per_block(range(len(blocks))).to(torch.uint8)),
        line=spread.alike((runs.line + runs.per_block([block.numbered_from for block in blocks])).to(torch.int32)),
        digit=spread.along(runs.first - 1, runs.direction),
        carry=carries.index_select(0, spread.along(runs.addresses(blocks), runs.direction)),
    )


def _carries(block: Block) -> Int8[Tensor, "samples lines width_and_one"]:
    """Whether a carry comes into each cell, laid out like `Block.cells`."""
    samples, lines, width = block.digits.shape
    carries = torch.full((samples, lines, width + 1), NOT_A_DIGIT, dtype=torch.int8, device=block.digits.device)
    if block.target and block.columns is not None:
        carries[..., 1:] = incoming_carries(block.columns()) > 0
    return carries
