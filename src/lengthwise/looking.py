"""Where the heads of a model look, averaged over many pages of one shape: what the paper's attention maps show."""

import torch

from lengthwise.device import circumstances
from lengthwise.errors import InputError
from lengthwise.evaluate import about, check_request
from lengthwise.randomness import derive
from lengthwise.results import AttentionMap, as_read
from lengthwise.solver import Solver

PAIRS_AT_ONCE = 2**26
"""How many attention weights are held at a time."""


@torch.no_grad()
def average_attention(
    model: Solver,
    *,
    length: int,
    count: int | None = None,
    samples: int = 1000,
    seed: int = 0,
    name: str | None = None,
) -> AttentionMap:
    """The mean attention of every head on random problems of one exact size."""
    axes = {"length": [length]} | ({} if count is None else {"count": [count]})
    check_request(model, axes, samples, seed, "random", "one", "teacher-forced")
    own = derive(seed, "cell", length, -1 if count is None else count)
    problems = model.task.sample_problems(
        samples, length=length, count=count, seed=own, fixed=True, device=model.device
    )
    first = model.task.write([model.task.operand_text(digits) for digits in problems.operands(0)])
    tokens, config = len(first.tokens), model.transformer.config
    at_once = max(1, PAIRS_AT_ONCE // (tokens**2 * config.layers * config.heads))
    total = torch.zeros(config.layers, config.heads, tokens, tokens, dtype=torch.float64, device=model.device)
    model.eval()
    for start in range(0, samples, at_once):
        batch = model.task.write_all(problems[start : start + at_once])
        if not bool((batch.boundaries.diff() == tokens).all()):
            raise InputError(
                "pages of this format differ in length, so their attention cannot be averaged: "
                "use a format with zero-padding, or a single sample."
            )
        captured: list[torch.Tensor] = []
        model(batch, captured=captured)
        total += torch.stack([layer.sum(0, dtype=torch.float64) for layer in captured])
    several = {
        cell.role: len({other.line for other in first.cells if other.role == cell.role}) > 1 for cell in first.cells
    }
    return AttentionMap(
        weights=(total / samples).float().cpu().numpy(),
        tokens=first.tokens,
        labels=[cell.name for cell in first.cells],
        lines=[f"{cell.role} {cell.line}" if several[cell.role] else cell.role for cell in first.cells],
        targets=first.targets,
        about={
            "task": as_read(model.task),
            "length": length,
            "count": count,
            "samples": samples,
            "seed": seed,
            "model": about(model, name),
            "made": circumstances(model.device),
        },
    )
