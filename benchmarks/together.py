"""What training many seeds as one model gains: python benchmarks/together.py [--preset adder-tiny] [--sweep 16]

First steps alone: so many models as one, beside one model, in steps of a model a second. Then, with --sweep, whole
sweeps of so many seeds by the clock, from the start of the first process to the last grid: in processes side by side,
and as one.
"""

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import torch
import tyro
from common import DEVICE, InTraining, device_name, timed
from rich.console import Console
from rich.table import Table
from tyro.conf import arg

import lengthwise as lw
from lengthwise.engines import Engine
from lengthwise.learning import make_optimizer
from lengthwise.measurements import Measurement
from lengthwise.recipe import Recipe
from lengthwise.sweep import sweep
from lengthwise.together import Feeds, Stack, learn_together

WARM_UP = 5


@dataclass(frozen=True)
class Options:
    preset: Annotated[str, arg(help="a model of windowed coupling")] = "adder-tiny"
    models: Annotated[tuple[int, ...], arg(help="how many are trained as one")] = (1, 2, 4, 8, 16, 32, 64)
    steps: Annotated[int, arg(help="steps that are timed")] = 96
    sweep: Annotated[int, arg(help="also sweep so many seeds")] = 0
    sweep_steps: Annotated[int | None, arg(help="steps of every run of a sweep; by default those of the preset")] = None
    side_by_side: Annotated[int | None, arg(help="processes at a time; by default one a core, on a GPU one a seed")] = (
        None
    )


def steps_a_second(recipe: Recipe, models: int, steps: int) -> float:
    recipes = [replace(recipe, seed=seed) for seed in range(models)]
    solvers = [lw.Solver.new(one.task, one.encoding, one.model, seed=one.seed).to(DEVICE) for one in recipes]
    stack, feeds = Stack([solver.transformer for solver in solvers]), Feeds(recipes, solvers)
    optimizer = make_optimizer(stack, recipe.training)

    def some(first: int, last: int) -> None:
        for step in range(first, last):
            learn_together(stack, optimizer, recipe.training, feeds.at(step))

    timed(lambda: some(0, WARM_UP))
    return models * steps / timed(lambda: some(WARM_UP, WARM_UP + steps))


def sweep_seconds(recipe: Recipe, seeds: int, engine: Engine) -> tuple[float, float]:
    size = Measurement(lengths=(10, 30), counts=None if recipe.data.count is None else (10, 30), samples=100)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        found = sweep(recipe, seeds=range(seeds), measurement=size, out=Path(folder), engine=engine)
        seconds = time.perf_counter() - begun
    assert not found.failed, found.failed
    row = found.rows[0]
    return seconds, row.farthest[1] if row.farthest else 0.0


def main(options: Options) -> None:
    console = Console(width=100)
    recipe = lw.presets.get(options.preset)
    console.print(f"{options.preset}, torch {torch.__version__}, {torch.get_num_threads()} threads, {device_name()}")
    single = InTraining(recipe, compiled=False)
    timed(lambda: single.steps(0, WARM_UP))
    alone = options.steps / timed(lambda: single.steps(WARM_UP, WARM_UP + options.steps))
    table = Table("models as one", "steps of a model a second", "times one model")
    table.add_row("by itself", f"{alone:.1f}", "1.0")
    for models in options.models:
        speed = steps_a_second(recipe, models, options.steps)
        table.add_row(str(models), f"{speed:.1f}", f"{speed / alone:.1f}")
        print(f"{models}: {speed:.1f}", flush=True)
    console.print(table)
    if options.sweep:
        steps = options.sweep_steps or recipe.training.steps
        recipe = replace(recipe, training=replace(recipe.training, steps=steps))
        seeds = options.sweep
        many = options.side_by_side or (seeds if DEVICE.type == "cuda" else torch.get_num_threads())
        ways = {
            f"{many} processes side by side": Engine(workers=many, device=DEVICE.type),
            f"{seeds} as one": Engine(workers=1, device=DEVICE.type, together=seeds),
        }
        table = Table(f"{seeds} seeds of {steps:,} steps", "seconds", "largest size, median")
        for name, engine in ways.items():
            seconds, rate = sweep_seconds(recipe, seeds, engine)
            table.add_row(name, f"{seconds:.1f}", f"{rate:.1%}")
            print(f"{name}: {seconds:.1f} s", flush=True)
        console.print(table)


if __name__ == "__main__":
    main(tyro.cli(Options))
