"""What the construction can and cannot do: how sure its decisions are, and which sharpness they need.

A decision is sure by its margin: the right token's logit less the highest of the others. In exact arithmetic it is 1
for a digit, 9 for an arrow and 90 for the end. What leaks to keys that do not fit, and rounding, take from it.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.construction.build import Plan, Precision, construct
from lengthwise.solver import Solver
from lengthwise.tasks import Batch, Problems
from lengthwise.tasks.stress import draw

SUITES = ("random", "nines", "chains", "zeros")


@torch.no_grad()
def margins(model: Solver, batch: Batch) -> Float[Tensor, " targets"]:
    """By how much each right token wins, or loses where it is negative."""
    targets = batch.targets.nonzero()[:, 0]
    logits = model(batch, wanted=targets - 1).double()
    expected = model.numbers(batch.tokens)[targets]
    right = logits.gather(1, expected[:, None])[:, 0]
    margin: Tensor = right - logits.scatter(1, expected[:, None], -torch.inf).amax(1)
    return margin


def with_offsets(batch: Batch, offsets: Sequence[int]) -> Batch:
    """The same pages with ids that count from other offsets, one a level, instead of 1."""
    shift = torch.tensor(offsets, dtype=torch.int32)[:, None] - 1
    ids = batch.position_ids
    return dataclasses.replace(batch, position_ids=torch.where(ids > 0, ids + shift, ids))


def every_problem(digits: int, operands: int) -> Problems:
    """All problems of so many numbers below 10^digits."""
    values = torch.cartesian_prod(*[torch.arange(10**digits)] * operands)
    written = torch.stack([(values // 10**place) % 10 for place in range(digits)], dim=2)
    lengths = torch.stack([values >= 10**place for place in range(digits)], dim=2).sum(2).clamp(min=1)
    return Problems.all_of(written.to(torch.uint8), lengths.to(torch.int32))


def hard_cases(model: Solver, digits: int, operands: int, samples: int, seed: int = 0) -> Iterator[Batch]:
    """Random problems of one size, and those that carry far or hardly at all."""
    for suite in SUITES:
        problems = draw(model.task, suite, samples, length=digits, count=operands, seed=seed)
        yield model.task.write_all(problems)


def worst_margin(model: Solver, digits: int, operands: int, samples: int = 4) -> float:
    """The smallest margin of any decision on hard cases of one size."""
    return min(float(margins(model, batch).min()) for batch in hard_cases(model, digits, operands, samples))


def smallest_sharpness(
    digits: int, operands: int, precision: Precision, *, highest: float = 16.0, resolution: float = 1 / 16
) -> float | None:
    """The smallest α with which every decision on hard cases is right, by bisection; None if the highest fails."""

    def right(alpha: float) -> bool:
        model = construct(digits=digits, operands=operands, alpha=alpha, precision=precision)
        return worst_margin(model, digits, operands, samples=2) > 0

    if not right(highest):
        return None
    low, high = 0.0, highest
    while high - low > resolution:
        middle = (low + high) / 2
        low, high = (low, middle) if right(middle) else (middle, high)
    return high


def describe(plan: Plan) -> dict[str, int | float]:
    """The sizes of a construction, as numbers with names."""
    return {
        "digits": plan.digits,
        "operands": plan.operands,
        "padded_digits": plan.padded,
        "column_bits": plan.column_bits,
        "row_bits": plan.row_bits,
        "width": plan.directions.width,
        "printed_width": plan.printed_width,
        "largest_page": plan.tokens,
        "alpha": plan.sharpness,
    }
