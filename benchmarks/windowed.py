"""How soon the small windowed adder gets long sums right: python benchmarks/windowed.py [--seed 0] [--steps 200]

1 layer, 4 heads, width 64, hard window of 1, trained on fresh batches of 64 from S_A(10,10) and nothing longer; then
exact match of whole responses, by one teacher-forced pass, far beyond that. A stand-in for a training command.
"""

import math
import time
from dataclasses import dataclass

import torch
import tyro
from rich.console import Console
from rich.table import Table

import lengthwise as lw

CELLS = ((10, 10, 200), (20, 20, 100), (30, 30, 100), (60, 60, 10))
RATE, WARM_UP, FLOOR = 1e-2, 0.02, 0.1


@dataclass(frozen=True)
class Options:
    seed: int = 0
    """Of the weights and the data."""
    steps: int = 200
    """How many batches to train on."""


def learning_rate(step: int, steps: int) -> float:
    """A linear warm-up, then a cosine down to a tenth."""
    cosine = FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * step / steps))
    return RATE * min(1.0, (step + 1) / (WARM_UP * steps)) * cosine


def main(options: Options) -> None:
    console = Console(width=100)
    task = lw.task("addition")
    config = lw.ModelConfig(
        layers=1, heads=4, width=64, head_dim=16, feedforward=128, tied_head=False, scale_scores=True
    )
    model = lw.Solver.new(task, lw.encoding("windowed"), config, seed=options.seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.95))
    console.print(f"{sum(weight.numel() for weight in model.parameters()):,} parameters, seed {options.seed}")
    begun = time.perf_counter()
    for step in range(options.steps):
        optimizer.param_groups[0]["lr"] = learning_rate(step, options.steps)
        seed = options.seed * 1_000_000 + step
        batch = task.sample(
            64, length=10, count=10, seed=seed, random_offsets=False
        )  # relative: offsets change nothing
        targets = batch.targets.nonzero()[:, 0]
        logits = model(batch, wanted=targets - 1)
        loss = torch.nn.functional.cross_entropy(logits, model.numbers(batch.tokens)[targets])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % 50 == 0:
            seconds = time.perf_counter() - begun
            console.print(f"step {step + 1}: loss {float(loss.detach()):.4f} after {seconds:.0f} s")
    table = Table("digits × numbers", "right", "of")
    for length, count, samples in CELLS:
        batch = task.sample(samples, length=length, count=count, seed=options.seed + 1, fixed=True)
        table.add_row(f"{length} × {count}", str(int(model.exact_matches(batch).sum())), str(samples))
    console.print(table)


if __name__ == "__main__":
    main(tyro.cli(Options))
