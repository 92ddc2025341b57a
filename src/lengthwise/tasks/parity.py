"""Parity: is the number of ones odd? The scratchpad is the running parity.

    0101 → one, two ones → even                 $ 0 1 0 1 = 0 1 1 0 $
    bit k of the scratchpad is the parity of    column 0 2 3 4 5 1 2 3 4 5 0
    the first k bits of the query

>>> import lengthwise as lw
>>> page = lw.task("parity").write(["0101"])
>>> "".join(page.tokens), page.answer
('$0101=0110$', '0')
>>> page.position_ids
[[0, 2, 3, 4, 5, 1, 2, 3, 4, 5, 0]]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, UInt8
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.tasks.base import MAX_DIGITS, Task
from lengthwise.tasks.batch import Batch
from lengthwise.tasks.operands import bits, operand_list
from lengthwise.tasks.page import EDGE, Along, Block, Layout, symbol_block
from lengthwise.tasks.problems import Problems, uniform, within


@dataclass(frozen=True, kw_only=True)
class Parity(Task):
    """Whether a bit string has an odd number of ones."""

    name: ClassVar[str] = "parity"
    summary: ClassVar[str] = "whether a bit string has an odd number of ones; the scratchpad is the running parity"
    example: ClassVar[tuple[str, ...]] = ("0101",)
    leading_zeros: ClassVar[bool] = True

    zero_padding: bool = True
    """Without effect here: all lines are as long as the query, or one bit."""
    reverse_query: bool = False
    """Write the bits of the query from right to left."""
    reverse_response: bool = False
    """Run through the query from right to left: bit k of the scratchpad is the parity of the last k bits."""

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return ("0", "1", "=", EDGE)

    @property
    def paper_max_ids(self) -> Mapping[str, int]:
        return {"column": 101}

    def parse(self, operands: Sequence[int | str]) -> Problems:
        given = operand_list(operands, '["0101"]')
        if len(given) != 1:
            raise InputError(f"parity takes one bit string, such as '0101', not {len(given)} operands.")
        return Problems.of([[bits(given[0], MAX_DIGITS)]])

    def draw(self, samples: int, length: int, count: int | None, fixed: bool, generator: torch.Generator) -> Problems:
        shortest = length if fixed else 1
        lengths = uniform(shortest, length, (samples, 1), generator)
        digits = uniform(0, 1, (samples, 1, length), generator, torch.uint8)
        places = torch.arange(length, dtype=torch.int32, device=generator.device)
        return Problems(digits=digits * within(places, lengths), lengths=lengths, counts=torch.ones_like(lengths[:, 0]))

    def draw_chains(self, samples: int, length: int, count: int | None, generator: torch.Generator) -> Problems:
        """10…01, the only one: the first one read is carried through all the zeros to the last, from either end."""
        digits = torch.zeros(1, 1, length, dtype=torch.uint8, device=generator.device)
        digits[..., [0, -1]] = 1
        return Problems.all_of(digits, torch.full((1, 1), length, dtype=torch.int32, device=generator.device))

    def page_cells(self, length: int, count: int | None) -> int:
        if count is not None:
            raise InputError("parity has a length only: leave count out.")
        if length < 1:
            raise InputError(f"length must be 1 or more, not {length}.")
        return 2 * length + 3

    def sizes(self, length: int, count: int | None) -> list[int]:
        return [length]

    def extent(self, problems: Problems) -> tuple[int, None]:
        return problems.digits.shape[2], None

    def operand_text(self, digits: Sequence[int]) -> str:
        return "".join(map(str, digits))

    def lay_out(self, problems: Problems) -> Layout:
        query, lengths = problems.digits[:, 0], problems.lengths
        samples, device = len(problems), query.device
        one = torch.ones_like(problems.counts)
        # Bits count from the left, so "units first" is from left to right. The equals sign stands where the
        # scratchpad starts: before the first bit it reads, at the left end or at the right.
        if not self.scratchpad:
            answer = (query.sum(1, keepdim=True) & 1).to(torch.uint8)
            written, along_query, equals, along_response = one[:, None], Along(), Along(1), Along()
            reach = one
        elif self.reverse_response:
            answer, written = _parities_from_right(query, problems), lengths
            along_query, equals, along_response = Along(-1, per_cell=1), Along(lengths), Along(lengths, per_cell=-1)
            reach = problems.lengths[:, 0]
        else:
            answer, written = (query.cumsum(1) & 1).to(torch.uint8), lengths
            along_query, equals, along_response = Along(per_cell=1), Along(), Along(per_cell=1)
            reach = problems.lengths[:, 0]
        blocks = [
            Block(
                role="query",
                digits=problems.digits,
                lengths=lengths,
                counts=one,
                bits=True,
                units_first=not self.reverse_query,
                target=False,
                coordinates={"column": along_query},
            ),
            symbol_block("=", samples, device=device, target=False, coordinates={"column": equals}),
            Block(
                role="running parity" if self.scratchpad else "answer",
                digits=answer[:, None],
                lengths=written,
                counts=one,
                bits=True,
                units_first=True,
                target=True,
                coordinates={"column": along_response},
            ),
        ]
        return Layout(blocks=blocks, reach={"column": reach})

    def answers(self, batch: Batch) -> Bool[Tensor, " tokens"]:
        """Each bit is a result of its own: the last of them, which stands before the `$`, is that of all."""
        return torch.zeros_like(batch.targets).index_fill_(0, batch.boundaries[1:] - 2, True)

    def answer(self, response: Sequence[str]) -> str | None:
        return response[-2] if len(response) > 1 and response[-1] == EDGE and response[-2] in ("0", "1") else None


def _parities_from_right(query: UInt8[Tensor, "samples width"], problems: Problems) -> UInt8[Tensor, "samples width"]:
    """The parity of the last k bits, for every k: what is left of the whole after the first n − k."""
    before = torch.nn.functional.pad(query.cumsum(1), (1, 0))
    places = torch.arange(1, query.shape[1] + 1, device=query.device)
    first = (problems.lengths - places).clamp(min=0)
    return ((before[:, -1:] - before.gather(1, first)) & 1).to(torch.uint8)
