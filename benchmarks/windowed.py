"""How reliably the small windowed adder learns: python benchmarks/windowed.py [--seeds 0 1 2 3 4] [--workers 2]

Trains the preset adder-tiny, seed by seed, on S_A(10,10) and nothing longer, then counts whole responses without a
mistake, by one teacher-forced pass, far beyond that. In float32 on whatever device there is.
"""

import dataclasses
import tempfile
import time
from dataclasses import dataclass
from typing import Annotated

import torch
import tyro
from rich.console import Console
from rich.table import Table
from torch import multiprocessing
from tyro.conf import arg

import lengthwise as lw
from lengthwise.evaluate import measure_cell

CELLS = (
    (1, 2, 1000, "random"),
    (3, 3, 1000, "random"),
    (1, 30, 200, "random"),
    (30, 2, 200, "random"),
    (10, 10, 1000, "random"),
    (20, 20, 100, "random"),
    (30, 30, 100, "random"),
    (60, 60, 10, "random"),
    (10, 10, 1, "nines"),
    (30, 30, 1, "nines"),
)


@dataclass(frozen=True)
class Options:
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """Of the weights and the data."""
    steps: int | None = None
    """Other than the preset's."""
    rate: Annotated[float | None, arg(help="another learning rate")] = None
    std: Annotated[float | None, arg(help="another spread of the window's initial numbers")] = None
    second_beta: Annotated[float | None, arg(help="Adam's second beta")] = None
    workers: int = 1
    """Processes at once."""


def recipe_for(options: Options, seed: int) -> lw.Recipe:
    recipe = lw.presets.get("adder-tiny")
    training = dataclasses.replace(
        recipe.training,
        precision="float32",
        steps=options.steps or recipe.training.steps,
        learning_rate=options.rate or recipe.training.learning_rate,
        betas=(0.9, options.second_beta or recipe.training.betas[1]),
    )
    encoding = recipe.encoding if options.std is None else lw.encoding("windowed", initial_std=options.std)
    watch = dataclasses.replace(recipe.watch, validate_every=0, cells=())
    return dataclasses.replace(recipe, training=training, encoding=encoding, watch=watch, seed=seed)


def trial(job: tuple[Options, int]) -> list[str]:
    options, seed = job
    if options.workers > 1:
        torch.set_num_threads(1)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = lw.train(recipe_for(options, seed), folder)
        seconds, model = time.perf_counter() - begun, run.model
        loss = next(record["loss"] for record in reversed(run.metrics) if "loss" in record)
    model = model.to("cuda" if torch.cuda.is_available() else "cpu")
    row = [str(seed), f"{seconds:.0f} s", f"{loss:.1e}"]
    for length, count, samples, problems in CELLS:
        right, _, total = measure_cell(
            model, length, count, samples=samples, seed=5, problems=problems, precision="float32"
        )
        row.append(f"{right / total:.3f}".replace("1.000", "1"))
    return row


def main(options: Options) -> None:
    table = Table(
        "seed", "training", "loss", *(f"{length}×{count}\n{problems}" for length, count, _, problems in CELLS)
    )
    jobs = [(options, seed) for seed in options.seeds]
    if options.workers == 1:
        rows = [trial(job) for job in jobs]
    else:
        with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
            rows = pool.map(trial, jobs, chunksize=1)
    for row in rows:
        table.add_row(*row)
    Console(width=140).print(dataclasses.asdict(recipe_for(options, 0).training), table)


if __name__ == "__main__":
    main(tyro.cli(Options))
