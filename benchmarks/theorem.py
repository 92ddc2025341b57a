"""The theorem's model, tried out: python benchmarks/theorem.py exhaustive | grid | sharpness | huge

exhaustive   every sum of 2 numbers of up to 3 digits and of 3 numbers of up to 2 digits, at every legal offset
grid         random, all nines, carry chains and zeros up to 100 numbers of 100 digits; decoded up to 30 × 30
sharpness    the smallest α for float32, float64 and bfloat16, and the margins of decisions at the default
huge         1,000 numbers, and numbers of 1,000 digits
"""

import itertools
import time
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
import tyro
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

from lengthwise.construction.build import Plan, Precision, construct
from lengthwise.construction.limits import (
    every_problem,
    hard_cases,
    margins,
    smallest_sharpness,
    with_offsets,
    worst_margin,
)
from lengthwise.evaluate import measure_cell

AT_ONCE = 20_000
console = Console(width=120)


@dataclass(frozen=True)
class Options:
    what: Annotated[Positional[Literal["exhaustive", "grid", "sharpness", "huge"]], arg(help="what to try")]


def exhaustive() -> None:
    for digits, operands in ((3, 2), (2, 3)):
        plan, model = Plan(digits=digits, operands=operands), construct(digits=digits, operands=operands)
        problems = every_problem(digits, operands)
        columns, rows = 2**plan.column_bits, 2**plan.row_bits
        asked = wrong = 0
        begun, lowest = time.perf_counter(), float("inf")
        for start in range(0, len(problems), AT_ONCE):
            part = problems[start : start + AT_ONCE]
            longest = part.lengths.amax(1)
            for length in torch.unique(longest).tolist():
                batch = model.task.write_all(part[longest == length])
                legal = itertools.product(
                    range(1, columns - length - len(str(operands)) + 1), range(1, rows - operands + 1)
                )
                for offsets in legal:
                    found = margins(model, with_offsets(batch, offsets))
                    wrong += int((found <= 0).sum())
                    asked += len(batch)
                    lowest = min(lowest, float(found.min()))
        console.print(
            f"{operands} numbers of up to {digits} digits: {len(problems):,} problems, {asked:,} with all offsets, "
            f"{wrong} wrong tokens, smallest margin {lowest:.4f}, width {plan.directions.width}, "
            f"{time.perf_counter() - begun:.0f} s"
        )


def grid() -> None:
    table = Table("digits", "numbers", "width", "parameters", "pages", "wrong", "smallest margin", "decoded")
    for digits, operands in itertools.product((1, 2, 10, 30, 100), (2, 3, 10, 30, 100)):
        model = construct(digits=digits, operands=operands)
        pages = wrong = 0
        lowest = float("inf")
        for batch in hard_cases(model, digits, operands, samples=2 if digits * operands >= 3000 else 10):
            found = margins(model, batch)
            row = torch.repeat_interleave(torch.arange(len(batch)), batch.boundaries.diff())[batch.targets]
            wrong += int((torch.bincount(row[found <= 0], minlength=len(batch)) > 0).sum())
            pages, lowest = pages + len(batch), min(lowest, float(found.min()))
        decoded = "–"
        if max(digits, operands) <= 30:
            right, _, total = measure_cell(model, digits, operands, samples=5, seed=0, decoding="greedy")
            decoded = f"{right} of {total}"
        size = model.transformer.shape.width, sum(weight.numel() for weight in model.parameters())
        table.add_row(
            str(digits), str(operands), str(size[0]), f"{size[1]:,}", str(pages), str(wrong), f"{lowest:.4f}", decoded
        )
    console.print(table)


def sharpness() -> None:
    precisions: tuple[Precision, ...] = ("float64", "float32", "bfloat16")
    table = Table("digits × numbers", "tokens", *(f"smallest α, {name}" for name in precisions), "default α", "margin")
    for digits, operands in ((1, 2), (2, 3), (5, 5), (10, 10), (20, 20), (30, 30)):
        plan = Plan(digits=digits, operands=operands)
        least = [smallest_sharpness(digits, operands, name) for name in precisions]
        default = construct(digits=digits, operands=operands)
        table.add_row(
            f"{digits} × {operands}",
            f"{plan.tokens:,}",
            *("none up to 16" if alpha is None else f"{alpha}" for alpha in least),
            f"{plan.sharpness:.0f}",
            f"{worst_margin(default, digits, operands):.4f}",
        )
    console.print(table)
    table = Table("α", *(f"margin at 5 × 5, {name}" for name in precisions))
    for alpha in (4.0, 9.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0):
        built = [construct(digits=5, operands=5, alpha=alpha, precision=name) for name in precisions]
        table.add_row(f"{alpha:.0f}", *(f"{worst_margin(model, 5, 5):.4f}" for model in built))
    console.print(table)


def huge() -> None:
    for digits, operands in ((10, 1000), (1000, 10)):
        begun = time.perf_counter()
        model = construct(digits=digits, operands=operands)
        found = margins(model, model.task.sample(1, length=digits, count=operands, seed=0, fixed=True))
        console.print(
            f"{operands:,} numbers of {digits:,} digits: width {model.transformer.shape.width}, "
            f"{sum(weight.numel() for weight in model.parameters()):,} parameters, {len(found):,} tokens to write, "
            f"{int((found <= 0).sum())} wrong, smallest margin {float(found.min()):.4f}, "
            f"{time.perf_counter() - begun:.0f} s"
        )


if __name__ == "__main__":
    {"exhaustive": exhaustive, "grid": grid, "sharpness": sharpness, "huge": huge}[tyro.cli(Options).what]()
