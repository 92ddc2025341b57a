"""Multiplication of two numbers. The scratchpad has two stages: partial products, then their running sums.

    37 × 925:  185, 074·, 333··  then  185, 925, 34225

    $37*925=581+470+333=58100>52900>52243$      all results units first
    multiplicand 0320000123412341234000000000000000000 0     which digit of 37
    row          0000321111122223333111111222222333333 0     which digit of 925, which partial product, which sum
    column       0000000123423453456123456123456123456 0     which place of the product

>>> import lengthwise as lw
>>> page = lw.task("multiplication").write([37, 925])
>>> "".join(page.tokens), page.answer
('$37*925=581+470+333=58100>52900>52243$', '34225')
>>> page.levels
('multiplicand', 'row', 'column')

As a staircase, each running sum is written only as far as its partial product reaches; ids are the same.

    $37*925=581+470+333=581>5290>52243$
    row          0000321111122223333111122222333333 0
    column       0000000123423453456123412345123456 0

>>> "".join(lw.task("multiplication", staircase=True).write([37, 925]).tokens)
'$37*925=581+470+333=581>5290>52243$'
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.tasks import digits as arithmetic
from lengthwise.tasks.base import MAX_DIGITS, Task
from lengthwise.tasks.operands import DIGITS, number_digits, operand_list
from lengthwise.tasks.page import COLUMN, EDGE, ROW, Along, Block, Layout, symbol_block
from lengthwise.tasks.problems import Problems, draw_different, draw_numbers, uniform
from lengthwise.tasks.reading import last_number


@dataclass(frozen=True, kw_only=True)
class Multiplication(Task):
    """The product of two numbers."""

    name: ClassVar[str] = "multiplication"
    summary: ClassVar[str] = "the product of two numbers; the scratchpad is partial products, then running sums"
    example: ClassVar[tuple[str, ...]] = ("37", "925")

    zero_padding: bool = True
    """Pad partial products to one digit more than the first operand, sums to the digits of both; else neither is
    written shorter than the first operand. The operands themselves are never padded."""
    staircase: bool = False
    """Pad each running sum only as far as its partial product reaches: the k-th to the digits of the first operand and
    k more. Needs the scratchpad and zero_padding."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.staircase and not (self.scratchpad and self.zero_padding):
            missing = "scratchpad" if not self.scratchpad else "zero_padding"
            raise InputError(f"staircase pads the running sums of the scratchpad: it needs {missing}=True.")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*DIGITS, "*", "+", "=", ">", EDGE) if self.scratchpad else (*DIGITS, "*", "=", EDGE)

    @property
    def paper_max_ids(self) -> Mapping[str, int]:
        return {"multiplicand": 64, "row": 32, "column": 64} if self.scratchpad else {"column": 64}

    def parse(self, operands: Sequence[int | str]) -> Problems:
        given = operand_list(operands, "[37, 925]")
        if len(given) != 2:
            raise InputError(f"multiplication takes two numbers, such as 37 and 925, not {len(given)}.")
        return Problems.of([[number_digits(operand, MAX_DIGITS) for operand in given]])

    def draw(self, samples: int, length: int, count: int | None, fixed: bool, generator: torch.Generator) -> Problems:
        assert count is not None
        lengths = torch.cat(
            [uniform(size if fixed else 1, size, (samples, 1), generator) for size in (length, count)], dim=1
        )
        return Problems(
            digits=draw_numbers(lengths, max(length, count), generator),
            lengths=lengths,
            counts=torch.full_like(lengths[:, 0], 2),
        )

    def draw_chains(self, samples: int, length: int, count: int | None, generator: torch.Generator) -> Problems:
        """33…34 times a number of digits 3, 6 and 9.

        Each partial product is 10…02, 20…04 or 30…06: the units carry 1, 2 or 3 through all columns, and no digit above
        them is right without it. Their running sums carry nothing.
        """
        assert count is not None
        multipliers = 3 * (1 + draw_different(samples, count, 3, generator))
        digits = torch.zeros(len(multipliers), 2, max(length, count), dtype=torch.uint8, device=generator.device)
        digits[:, 0, :length] = 3
        digits[:, 0, 0] = 4
        digits[:, 1, :count] = multipliers.to(torch.uint8)
        sizes = torch.tensor([length, count], dtype=torch.int32, device=generator.device)
        return Problems.all_of(digits, sizes.repeat(len(multipliers), 1))

    def page_cells(self, length: int, count: int | None) -> int:
        if count is None or count < 1 or length < 1:
            raise InputError(
                "multiplication needs the lengths of both operands, length and count, 1 or more each, "
                f"not length={length} and count={count}."
            )
        return count * (2 * length + count + 3)  # the partial products and sums, which the answer alone takes as well

    def sizes(self, length: int, count: int | None) -> list[int]:
        assert count is not None
        return [length, count]

    def extent(self, problems: Problems) -> tuple[int, int]:
        first, second = problems.lengths.amax(0).tolist()
        return first, second

    def lay_out(self, problems: Problems) -> Layout:
        samples, device = len(problems), problems.digits.device
        lengths = problems.lengths
        first_width, second_width = (int(longest) for longest in lengths.amax(0))
        first, second = problems.digits[:, :1, :first_width], problems.digits[:, 1:, :second_width]
        columns = arithmetic.widen(first.to(torch.float32), first_width + 1) * second.to(torch.float32).mT
        products = arithmetic.carry(columns, largest=90)
        shifted = arithmetic.skew(products)
        sums = arithmetic.carry(shifted.to(torch.float32).cumsum(1), largest=10 * second_width)
        one, rows = torch.ones_like(problems.counts), lengths[:, 1]
        if self.zero_padding:
            product_lengths = (lengths[:, :1] + 1).expand(-1, second_width)
            sum_lengths = lengths.sum(1, keepdim=True, dtype=torch.int32).expand(-1, second_width)
            if self.staircase:
                steps = torch.arange(1, second_width + 1, dtype=torch.int32, device=device)
                sum_lengths = lengths[:, :1] + torch.minimum(steps, rows[:, None])
        else:
            product_lengths = torch.maximum(arithmetic.significant(products), lengths[:, :1])
            sum_lengths = torch.maximum(arithmetic.significant(sums), lengths[:, :1])

        def sum_columns() -> Tensor:
            """What each running sum was added up from: the sum before it and its shifted partial product."""
            return torch.nn.functional.pad(sums, (0, 0, 1, 0))[:, :-1].to(torch.int32) + shifted

        def operand(role: str, number: int, coordinates: Mapping[str, Along]) -> Block:
            return Block(
                role=role,
                digits=(first, second)[number],
                lengths=lengths[:, number : number + 1],
                counts=one,
                units_first=self.reverse_query,
                target=False,
                coordinates=coordinates,
            )

        def symbol(token: str, coordinates: Mapping[str, Along]) -> Block:
            return symbol_block(token, samples, device=device, target=False, coordinates=coordinates)

        longest_operand = lengths.amax(1)
        if not self.scratchpad:
            answer_lengths = sum_lengths[:, -1:] if self.zero_padding else arithmetic.significant(sums[:, -1:])
            answer = Block(
                role="answer",
                digits=sums[:, -1:],
                lengths=answer_lengths,
                counts=one,
                lengths_known=self.zero_padding,
                units_first=self.reverse_response,
                target=True,
                coordinates={"column": COLUMN},
                columns=lambda: arithmetic.skew(columns).sum(1, keepdim=True),
            )
            blocks = [
                operand("first operand", 0, {"column": COLUMN}),
                symbol("*", {"column": Along()}),
                operand("second operand", 1, {"column": COLUMN}),
                symbol("=", {"column": Along()}),
                answer,
            ]
            return Layout(blocks=blocks, reach={"column": torch.maximum(answer_lengths[:, 0], longest_operand)})

        partial_products = Block(
            role="partial product",
            digits=products,
            lengths=product_lengths,
            counts=rows,
            lengths_known=self.zero_padding,
            units_first=self.reverse_response,
            joins="+",
            target=True,
            coordinates={"multiplicand": COLUMN, "row": ROW, "column": Along(per_line=1, per_cell=1)},
            columns=lambda: columns,
        )
        partial_sums = Block(
            role="partial sum",
            digits=sums,
            lengths=sum_lengths,
            counts=rows,
            lengths_known=self.zero_padding,
            units_first=self.reverse_response,
            opens="=",
            joins=">",
            target=True,
            coordinates={"row": ROW, "column": COLUMN},
            columns=sum_columns,
        )
        blocks = [
            operand("first operand", 0, {"multiplicand": COLUMN}),
            symbol("*", {}),
            operand("second operand", 1, {"row": Along(-1, per_cell=1)}),
            symbol("=", {"multiplicand": Along(), "row": Along(), "column": Along()}),
            partial_products,
            partial_sums,
        ]
        present = partial_products.present
        reach = {
            "multiplicand": torch.maximum(longest_operand, (product_lengths * present).amax(1)),
            "row": rows - 1,
            "column": torch.maximum(longest_operand, (sum_lengths * present).amax(1)),
        }
        return Layout(blocks=blocks, reach=reach)

    def answer(self, response: Sequence[str]) -> str | None:
        return last_number(response, units_first=self.reverse_response)
