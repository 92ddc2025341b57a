"""Addition of two or more numbers. The scratchpad is the running sums, from zero.

    57 + 48 + 96 → 0, 57, 105, 201              $057+048+096=000>750>501>102$
    operands as usual, sums units first,        column 0432143214321234123412341234 0
    all padded to the length the answer can     row    0111122223331111222233334444 0
    have

>>> import lengthwise as lw
>>> page = lw.task("addition").write([57, 48, 96])
>>> "".join(page.tokens), page.answer
('$057+048+096=000>750>501>102$', '201')
>>> page.position_ids[0]
[0, 4, 3, 2, 1, 4, 3, 2, 1, 4, 3, 2, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 0]
>>> page.position_ids[1]
[0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 0]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Int32
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.tasks import digits as arithmetic
from lengthwise.tasks.base import MAX_DIGITS, Task
from lengthwise.tasks.operands import DIGITS, number_digits, operand_list
from lengthwise.tasks.page import COLUMN, EDGE, ROW, Along, Block, Layout, symbol_block
from lengthwise.tasks.problems import Problems, draw_different, draw_numbers, uniform
from lengthwise.tasks.reading import last_number


@dataclass(frozen=True, kw_only=True)
class Addition(Task):
    """The sum of two or more numbers."""

    name: ClassVar[str] = "addition"
    summary: ClassVar[str] = "the sum of two or more numbers; the scratchpad is the running sums"
    example: ClassVar[tuple[str, ...]] = ("57", "48", "96")
    count_varies: ClassVar[bool] = True

    start_with_zeros: bool = True
    """Begin the scratchpad with the empty sum, 0."""
    padding_rule: Literal["exact", "theory"] = "exact"
    """How long a padded number is, for m numbers of up to n digits: `exact`, the digits of m·(10ⁿ−1);
    `theory`, n + 1 + ⌊log₁₀ m⌋ as in the paper's proof."""

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*DIGITS, "+", "=", ">", EDGE) if self.scratchpad else (*DIGITS, "+", "=", EDGE)

    @property
    def paper_max_ids(self) -> Mapping[str, int]:
        return {"column": 40, "row": 40} if self.scratchpad else {"column": 40}

    def parse(self, operands: Sequence[int | str]) -> Problems:
        given = operand_list(operands, "[57, 48, 96]")
        if len(given) < 2:
            raise InputError(f"addition takes two or more numbers, such as 57 and 48, not {len(given)}.")
        return Problems.of([[number_digits(operand, MAX_DIGITS) for operand in given]])

    def draw(self, samples: int, length: int, count: int | None, fixed: bool, generator: torch.Generator) -> Problems:
        assert count is not None
        if fixed:
            counts = torch.full((samples,), count, dtype=torch.int32, device=generator.device)
            lengths = torch.full((samples, count), length, dtype=torch.int32, device=generator.device)
        else:
            counts = uniform(2, count, (samples,), generator)
            lengths = uniform(1, length, (samples, count), generator)
            # Paper: two equal halves, one with lengths of their own and one with a common length. Ours is the
            # authors' fair coin per sample, which any batch size can have.
            common = uniform(0, 1, (samples, 1), generator, torch.bool)
            lengths = torch.where(common, lengths[:, :1], lengths)
            lengths = lengths * (torch.arange(count, device=generator.device) < counts[:, None])
        return Problems(digits=draw_numbers(lengths, length, generator), lengths=lengths, counts=counts)

    def draw_chains(self, samples: int, length: int, count: int | None, generator: torch.Generator) -> Problems:
        """Pairs of 99…9 and 1, in either order, and one of the two if the count is odd.

        Each pair adds 10ⁿ to what was before it: the second running sum of every pair carries through all n columns,
        and no digit of it is right without the carry.
        """
        assert count is not None
        first_is_nines = draw_different(samples, (count + 1) // 2, 2, generator) == 1
        nines = torch.stack([first_is_nines, ~first_is_nines], 2).flatten(1)[:, :count]
        one = torch.zeros(length, dtype=torch.uint8, device=generator.device)
        one[0] = 1
        lengths = torch.where(nines, length, 1).to(torch.int32)
        return Problems.all_of(torch.where(nines[..., None], torch.full_like(one, 9), one), lengths)

    def page_cells(self, length: int, count: int | None) -> int:
        if count is None or count < 2 or length < 1:
            raise InputError(
                f"addition needs length 1 or more and count 2 or more, not length={length} and count={count}."
            )
        return (2 * count + 1 if self.scratchpad else count + 1) * (length + len(str(count)) + 2)

    def sizes(self, length: int, count: int | None) -> list[int]:
        assert count is not None
        return [length] * count

    def extent(self, problems: Problems) -> tuple[int, int]:
        return problems.digits.shape[2], problems.digits.shape[1]

    def lay_out(self, problems: Problems) -> Layout:
        samples, most, width = problems.digits.shape
        device = problems.digits.device
        longest = problems.lengths.amax(1)
        padded = padded_length(longest, problems.counts, self.padding_rule)
        # The widest page of the batch decides how many columns are worked out: a bound, so that nothing is read back.
        width = width + len(str(most)) + 1
        numbers = arithmetic.widen(problems.digits, width)
        totals = numbers.to(torch.float32).cumsum(1) if self.scratchpad else numbers.sum(1, keepdim=True)
        if self.scratchpad and self.start_with_zeros:
            totals = torch.nn.functional.pad(totals, (0, 0, 1, 0))
        results = arithmetic.carry(totals, largest=10 * most)
        counts = torch.ones_like(problems.counts)
        if self.scratchpad:
            counts = problems.counts + self.start_with_zeros
        if self.zero_padding:
            operand_lengths, result_lengths = (
                padded[:, None].expand(-1, most),
                padded[:, None].expand(-1, results.shape[1]),
            )
            reach = padded
        else:
            operand_lengths, result_lengths = problems.lengths, arithmetic.significant(results)
            reach = torch.maximum(longest, result_lengths[:, -1])

        def step_columns() -> Tensor:
            """What each running sum was added up from: the sum before it and its operand."""
            if not self.scratchpad:
                return totals
            before = torch.nn.functional.pad(results, (0, 0, 1, 0))[:, :-1]
            added = torch.nn.functional.pad(numbers, (0, 0, 1, 0)) if self.start_with_zeros else numbers
            return before.to(torch.int32) + added

        blocks = [
            Block(
                role="operand",
                digits=numbers,
                lengths=operand_lengths,
                counts=problems.counts,
                units_first=self.reverse_query,
                joins="+",
                joined_after=not self.reverse_query,
                target=False,
                coordinates={"column": COLUMN, "row": ROW},
            ),
            symbol_block("=", samples, device=device, target=False, coordinates={"column": Along(), "row": Along()}),
            Block(
                role="partial sum" if self.scratchpad else "answer",
                numbered_from=0 if self.scratchpad and self.start_with_zeros else 1,
                digits=results,
                lengths=result_lengths,
                counts=counts,
                lengths_known=self.zero_padding,
                units_first=self.reverse_response,
                joins=">" if self.scratchpad else "",
                target=True,
                coordinates={"column": COLUMN, "row": ROW},
                columns=step_columns,
            ),
        ]
        return Layout(blocks=blocks, reach={"column": reach, "row": counts - 1})

    def answer(self, response: Sequence[str]) -> str | None:
        return last_number(response, units_first=self.reverse_response)


def padded_length(
    longest: Int32[Tensor, " samples"], counts: Int32[Tensor, " samples"], rule: str
) -> Int32[Tensor, " samples"]:
    """How long every number of a page is written: long enough for any sum of so many numbers of so many digits.

    >>> n, m = torch.tensor([2, 2, 2, 1], dtype=torch.int32), torch.tensor([3, 10, 11, 11], dtype=torch.int32)
    >>> padded_length(n, m, "exact").tolist()         # 297, 990, 1089, 99
    [3, 3, 4, 2]
    >>> padded_length(n, m, "theory").tolist()
    [3, 4, 4, 3]
    """
    powers = torch.tensor([10**k for k in range(1, 10)], dtype=torch.int32, device=counts.device)
    magnitude = (counts[:, None] >= powers).sum(1, dtype=torch.int32)  # ⌊log₁₀ m⌋
    if rule == "theory":
        return longest + 1 + magnitude
    # m·(10ⁿ−1) has n+1+⌊log₁₀ m⌋ digits, or one less if it falls short of that power of ten:
    # with m = 10ᵏ + r that is r·(10ⁿ−1) < 10ᵏ. Nines of nine digits are as good as longer ones.
    tens = torch.cat([powers.new_ones(1), powers]).long()
    rest = counts.long() - tens[magnitude.long()]
    nines = tens[longest.clamp(max=9).long()] - 1
    return longest + magnitude + (rest * nines >= tens[magnitude.long()]).to(torch.int32)
