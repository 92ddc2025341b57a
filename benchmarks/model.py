"""How fast the model trains and evaluates, on the work that the authors' code was timed on: python benchmarks/model.py

A training step: 1 layer, 4 heads, width 256, feed-forward 512, head 64, learned bi-level coupling, batch 64 of
S_A(10,10), float32. A cell: 1,000 problems of 20 numbers of 20 digits, one teacher-forced pass with the same model. And
the small windowed adder on the same batches. On a GPU: the paper's 6-layer model in bfloat16. Nothing is asserted.
"""

import platform
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table

import lengthwise as lw

AUTHORS = lw.ModelConfig(layers=1, heads=4, width=256, head_dim=64, feedforward=512)
TINY = lw.ModelConfig(layers=1, heads=4, width=64, head_dim=16, feedforward=128, tied_head=False, scale_scores=True)
BASELINE = lw.ModelConfig(layers=6, heads=8, width=1024, head_dim=128, feedforward=2048, reserved_tokens=2)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def training_step(model: lw.Solver, batch_size: int) -> tuple[Callable[[int], None], Callable[[], None]]:
    """A step that makes its own batch, forward, backward and Adam; and what to wait for before reading the clock."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=DEVICE == "cuda")

    def step(seed: int) -> None:
        batch = model.task.sample(batch_size, length=10, count=10, seed=seed, device=DEVICE)
        targets = batch.targets.nonzero()[:, 0]
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=DEVICE == "cuda"):
            logits = model(batch, wanted=targets - 1)
        loss = torch.nn.functional.cross_entropy(logits.float(), model.numbers(batch.tokens)[targets])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step, torch.cuda.synchronize if DEVICE == "cuda" else lambda: None


def steps_per_second(model: lw.Solver, batch_size: int, steps: int) -> float:
    step, wait = training_step(model, batch_size)
    for seed in range(3):
        step(seed)
    wait()
    begun = time.perf_counter()
    for seed in range(3, 3 + steps):
        step(seed)
    wait()
    return steps / (time.perf_counter() - begun)


def cell_seconds(model: lw.Solver, samples: int, at_once: int) -> float:
    begun = time.perf_counter()
    for seed in range(samples // at_once):
        batch = model.task.sample(at_once, length=20, count=20, seed=seed, fixed=True, device=DEVICE)
        int(model.exact_matches(batch).sum())
    return time.perf_counter() - begun


def main() -> None:
    addition = lw.task("addition")
    authors = lw.Solver.new(addition, lw.encoding("learned"), AUTHORS).to(DEVICE)
    tiny = lw.Solver.new(addition, lw.encoding("windowed"), TINY).to(DEVICE)
    table = Table("work", "measured")
    table.add_row("train, 1L4H width 256, learned, batch 64", f"{steps_per_second(authors, 64, 10):.2f} steps/s")
    table.add_row("train, 1L4H width 64, windowed, batch 64", f"{steps_per_second(tiny, 64, 20):.2f} steps/s")
    table.add_row("20 × 20 cell, 1,000 samples, 1L4H width 256, learned", f"{cell_seconds(authors, 1000, 20):.1f} s")
    table.add_row("20 × 20 cell, 1,000 samples, 1L4H width 64, windowed", f"{cell_seconds(tiny, 1000, 20):.1f} s")
    if DEVICE == "cuda":
        large = lw.Solver.new(addition, lw.encoding("learned"), BASELINE).to(DEVICE)
        table.add_row(
            "train, 6L8H width 1024, learned, batch 400, bf16", f"{steps_per_second(large, 400, 10):.2f} steps/s"
        )
    device = torch.cuda.get_device_name() if DEVICE == "cuda" else platform.machine()
    console = Console(width=120)
    console.print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {device}")
    console.print(table)


if __name__ == "__main__":
    main()
