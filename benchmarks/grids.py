"""How long the paper's grid takes: python benchmarks/grids.py [--models NAME …] [--samples 1000] [--step 1]

The whole grid of 30 lengths × 29 counts × 1,000 problems, teacher-forced, of the paper's six-layer baseline and of
adder-tiny. Weights do not matter for time: a preset that is not in the box is measured as it was initialised.
`--step 5` takes every fifth length and count, where there is no GPU.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro
from common import DEVICE, copy_rate, device_name, matrix_rate
from rich.console import Console
from rich.table import Table
from tyro.conf import arg

import lengthwise as lw
from lengthwise.models import names


@dataclass(frozen=True)
class Options:
    models: Annotated[tuple[str, ...], arg(help="presets")] = ("addition-6l8h", "adder-tiny")
    samples: Annotated[int, arg(help="problems a cell")] = 1000
    step: Annotated[int, arg(help="every so many lengths and counts")] = 1
    out: Annotated[Path | None, arg(help="keep the grids here")] = None


def load(name: str) -> lw.Solver:
    if name in names():
        return lw.load(name).to(DEVICE)
    recipe = lw.presets.get(name)
    return lw.Solver.new(recipe.task, recipe.encoding, recipe.model).to(DEVICE)


def main(options: Options) -> None:
    console = Console(width=110)
    console.print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {device_name()}")
    console.print(f"ceilings: {matrix_rate() / 1e12:,.2f} TFLOP/s in products, {copy_rate() / 1e9:,.0f} GB/s in copies")
    table = Table("model", "parameters", "cells", "problems a cell", "tokens", "seconds", "tokens/s", "mean")
    lengths, counts = range(1, 31)[:: options.step], range(2, 31)[:: options.step]
    for name in options.models:
        model, file = load(name), None if options.out is None else options.out / f"{name}.json"
        begun = time.perf_counter()
        grid = lw.evaluate(model, lengths=lengths, counts=counts, samples=options.samples, out=file)
        seconds = time.perf_counter() - begun  # its counts have been read back: nothing is left to wait for
        page = [
            len(model.task.sample(1, length=n, count=m, seed=0, fixed=True).tokens) for n in lengths for m in counts
        ]
        tokens = options.samples * sum(page)
        rates = [rate or 0.0 for row in grid.accuracy for rate in row]
        parameters = sum(weight.numel() for weight in model.parameters())
        row = [f"{parameters:,}", str(len(rates)), f"{options.samples:,}", f"{tokens:,}", f"{seconds:.1f}"]
        table.add_row(name, *row, f"{tokens / seconds:,.0f}", f"{sum(rates) / len(rates):.2%}")
        console.print(f"{name}: {seconds:.1f} s")
    console.print(table)


if __name__ == "__main__":
    main(tyro.cli(Options))
