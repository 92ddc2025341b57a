"""How far the windowed models carry: python benchmarks/frontier.py TASK [--seeds 0 1 2 3 4] [--workers 5]

    addition         adder-tiny: the paper's 30 × 29 grid, 10 … 100 digits and numbers, and up to 1,000 numbers of 1,000
    multiplication   multiplier: the 30 × 30 grid, 10 … 100 digits, and up to 1,000 × 1,000 digits, lopsided ones too
    parity           parity-tiny: 20 … 10,000 bits, decoded token by token

Trains the preset, seed by seed, on nothing longer than its data say, and measures it in float32. Runs go to runs/,
grids to results/; what is there already is not done again. Teacher-forced, but for parity.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro
from rich.console import Console
from torch import multiprocessing
from tyro.conf import Positional, arg

import lengthwise as lw

TENS, POWERS = range(10, 101, 10), (2, 10, 100, 300, 1000)
PRESETS = {"addition": "adder-tiny", "multiplication": "multiplier", "parity": "parity-tiny"}
GRIDS: dict[str, dict[str, dict[str, Any]]] = {
    "addition": {
        "30x29": {"lengths": range(1, 31), "counts": range(2, 31), "samples": 1000},
        "100x100": {"lengths": TENS, "counts": TENS, "samples": 200},
        "1000x1000": {"lengths": POWERS, "counts": POWERS, "samples": 20},
    },
    "multiplication": {
        "30x30": {"lengths": range(1, 31), "counts": range(1, 31), "samples": 200},
        "30x30-corners": {"lengths": (1, 30), "counts": (1, 30), "samples": 1000},
        "60x60": {"lengths": range(10, 61, 10), "counts": range(10, 61, 10), "samples": 200},
        "60x60-lopsided": {"lengths": (2, 60), "counts": (2, 60), "samples": 1000},
        "100x100": {"lengths": TENS, "counts": TENS, "samples": 100},
        "1000x1000": {"lengths": POWERS, "counts": POWERS, "samples": 20},
    },
    "parity": {"10000": {"lengths": (20, 100, 1000, 10_000), "samples": 100, "decoding": "greedy"}},
}


@dataclass(frozen=True)
class Options:
    task: Positional[Literal["addition", "multiplication", "parity"]]
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """Of the weights and the data."""
    only: Annotated[tuple[str, ...], arg(help="these grids only")] = ()
    workers: int = 1
    """Processes at once."""
    out: Path = Path("results")
    """Where grids go."""
    runs: Path = Path("runs")
    """Where training runs go."""


def work(job: tuple[Options, int]) -> list[str]:
    """One seed: training, then its grids."""
    options, seed = job
    if options.workers > 1:
        torch.set_num_threads(1)
    name = f"{PRESETS[options.task]}-seed{seed}"
    recipe = replace(lw.presets.get(PRESETS[options.task]), seed=seed)
    run = lw.train(recipe, options.runs / name, resume=True)
    model = run.model.to("cuda" if torch.cuda.is_available() else "cpu")
    lines = []
    for label, grid in GRIDS[options.task].items():
        if options.only and label not in options.only:
            continue
        file = options.out / f"{name}-{label}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        measured = lw.evaluate(model, precision="float32", out=file, name=name, **grid)
        right, total = (sum(cell or 0 for row in cells for cell in row) for cells in (measured.correct, measured.total))
        lines.append(
            f"{name} {label}: {right:,} of {total:,} right, lowest {measured.lowest}, {measured.seconds:.0f} s"
        )
        print(lines[-1], flush=True)
    return lines


def main(options: Options) -> None:
    jobs = [(options, seed) for seed in options.seeds]
    if options.workers == 1:
        results = list(map(work, jobs))
    else:
        with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
            results = pool.map(work, jobs, chunksize=1)
    for lines in results:
        Console(width=140).print("\n".join(lines), highlight=False)


if __name__ == "__main__":
    main(tyro.cli(Options))
