"""How fast problems are made: python benchmarks/sampling.py

Each row is the first and the best of a few runs in a fresh process, on however many threads torch is given
(set OMP_NUM_THREADS=2 to compare with the numbers in docs/performance.md). Nothing here is asserted.
"""

import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import lengthwise as lw

BULK: list[tuple[str, lw.Task, dict[str, Any], int]] = [
    ("S_A(10,10), scratchpad", lw.task("addition"), {"length": 10, "count": 10}, 500_000),
    ("S_A(10,10), unpadded", lw.task("addition", zero_padding=False), {"length": 10, "count": 10}, 500_000),
    ("S_A(10,10), plain response", lw.task("addition", reverse_response=False), {"length": 10, "count": 10}, 500_000),
    ("S_A(10,10), no scratchpad", lw.task("addition", scratchpad=False), {"length": 10, "count": 10}, 500_000),
    ("S_M(10,10), scratchpad", lw.task("multiplication"), {"length": 10, "count": 10}, 200_000),
    ("parity up to 20 bits", lw.task("parity"), {"length": 20}, 500_000),
    ("T_A(30,30)", lw.task("addition"), {"length": 30, "count": 30, "fixed": True}, 20_000),
    ("T_M(30,30)", lw.task("multiplication"), {"length": 30, "count": 30, "fixed": True}, 10_000),
    ("T_A(1000,1000)", lw.task("addition"), {"length": 1000, "count": 1000, "fixed": True}, 10),
]
BATCHES = [row for row in BULK if not row[2].get("fixed")]


def timed(work: Callable[[int], object], repeats: int) -> list[float]:
    """Seconds of each of several calls, with different seeds."""
    seconds = []
    for seed in range(repeats):
        begun = time.perf_counter()
        work(seed)
        seconds.append(time.perf_counter() - begun)
    return seconds


def main() -> None:
    bulk = Table("many at once", "samples", "first run", "best of 4", "tokens", "ns/token (best)")
    for name, task, size, samples in BULK:
        tokens = 0

        def make(seed: int, task: lw.Task = task, size: dict[str, Any] = size, samples: int = samples) -> None:
            nonlocal tokens
            tokens = task.sample(samples, seed=seed, **size).tokens.numel()

        seconds = timed(make, 4)
        per_token = min(seconds) / tokens * 1e9
        bulk.add_row(
            name, f"{samples:,}", f"{seconds[0]:.2f} s", f"{min(seconds):.2f} s", f"{tokens:,}", f"{per_token:.0f}"
        )
    single = Table("one batch of 64", "median of 100")
    for name, task, size, _ in BATCHES:

        def make_batch(seed: int, task: lw.Task = task, size: dict[str, Any] = size) -> None:
            task.sample(64, seed=seed, **size)

        seconds = timed(make_batch, 110)[10:]
        single.add_row(name, f"{statistics.median(seconds) * 1e3:.2f} ms")
    console = Console(width=120)
    console.print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}")
    console.print(bulk)
    console.print(single)


if __name__ == "__main__":
    main()
