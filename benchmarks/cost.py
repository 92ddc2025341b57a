"""What a full reproduction of the paper costs: python benchmarks/cost.py [--figures NAME …] [--out FILE]

All runs of `lengthwise reproduce all --scale paper`, each counted once. Of every shape of model a few steps of training
and three cells are timed on this device, one shape after the other, compiled where such a run compiles its model. The
rest is arithmetic: steps of the recipe over steps a second, and tokens of its grids over tokens a second. One run at a
time: where small models share a GPU it costs less.
"""

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from common import DEVICE, InTraining, device_name, matrix_rate, timed
from rich.console import Console
from rich.table import Table
from tyro.conf import arg

from lengthwise.evaluate import is_much_work, measure_cell
from lengthwise.experiments import experiment, kinds
from lengthwise.jobs import Job
from lengthwise.reproduce import jobs
from lengthwise.tasks import Task

WARM_UP = 5


@dataclass(frozen=True)
class Options:
    steps: Annotated[int, arg(help="steps that are timed, of every shape")] = 20
    samples: Annotated[int, arg(help="problems of each of the three cells that are timed")] = 200
    figures: Annotated[tuple[str, ...], arg(help="these only")] = ()
    out: Annotated[Path | None, arg(help="also write the numbers to this JSON file, as they come")] = None


def shape(job: Job) -> tuple[str, str, str, str, int]:
    """What decides how long a step takes."""
    recipe, model, data = job.recipe, job.recipe.model, job.recipe.data
    size = f"{model.layers} × {model.heads} × {model.width}, head {model.dim_per_head}"
    pad = "" if recipe.task.scratchpad else ", no scratchpad"
    trained = f"{data.length}" if data.count is None else f"{data.count} × {data.length}"
    return f"{recipe.task.name}{pad}", trained, recipe.encoding.name, size, recipe.training.batch_size


def effort(job: Job) -> int:
    """About how many weights its model has, times its steps."""
    model = job.recipe.model
    return (
        model.layers
        * model.width
        * (4 * model.heads * model.dim_per_head + 3 * model.feedforward)
        * (job.recipe.training.steps)
    )


def cells(job: Job) -> dict[tuple[int, int | None], int]:
    """Problems of every cell that is measured, all grids together; what is decoded counts like what is not."""
    found: dict[tuple[int, int | None], int] = defaultdict(int)
    for asked in job.measurements:
        for length in asked.lengths:
            for count in asked.counts or (None,):
                found[length, count] += asked.samples
    return found


def page(task: Task, length: int, count: int | None) -> int:
    return len(task.sample(1, length=length, count=count, seed=0, fixed=True).tokens)


def tokens(job: Job) -> int:
    """Tokens of all its grids."""
    return sum(many * page(job.recipe.task, *cell) for cell, many in cells(job).items())


def measure(job: Job, options: Options) -> dict[str, float]:
    training = InTraining(job.recipe)
    timed(lambda: training.steps(0, WARM_UP))
    seconds = timed(lambda: training.steps(WARM_UP, WARM_UP + options.steps))
    model = training.model.eval()
    model.transformer.uncompile()
    if is_much_work(model, list(cells(job)), job.measurements[0].samples):  # as `evaluate` compiles it
        model.transformer.compile()
    sizes = sorted(cells(job))
    chosen = [sizes[len(sizes) // 4], sizes[len(sizes) // 2], sizes[-1]]
    measure_cell(model, *chosen[0], samples=options.samples, seed=0)
    spent = timed(lambda: [measure_cell(model, *cell, samples=options.samples, seed=1) for cell in chosen])
    read = options.samples * sum(page(model.task, *cell) for cell in chosen)
    return {"steps_per_second": options.steps / seconds, "tokens_per_second": read / spent}


def main(options: Options) -> None:
    console = Console(width=150)
    console.print(f"torch {torch.__version__}, {device_name()}, {matrix_rate() / 1e12:,.1f} TFLOP/s in products")
    figures = [experiment(name) for name in options.figures or kinds()]
    asked = jobs(figures, "paper", Path("runs"))
    groups: dict[tuple[Any, ...], list[Job]] = defaultdict(list)
    for job in asked:
        groups[shape(job)].append(job)
    titles = ("task", "trained on", "positions", "layers × heads × width", "batch", "runs", "steps/s")
    table = Table(*titles, "tokens/s measured", "training, h", "grids, h")
    rows: list[dict[str, Any]] = []
    heaviest_first = sorted(groups.items(), key=lambda item: -len(item[1]) * effort(item[1][0]))
    for what, group in heaviest_first:
        speed = measure(group[0], options)
        train = sum(job.recipe.training.steps for job in group) / speed["steps_per_second"] / 3600
        read = tokens(group[0]) * len(group) / speed["tokens_per_second"] / 3600
        rows.append({"shape": what, "runs": len(group), **speed, "training_hours": train, "grid_hours": read})
        speeds = f"{speed['steps_per_second']:.1f}", f"{speed['tokens_per_second']:,.0f}"
        table.add_row(*map(str, what), str(len(group)), *speeds, f"{train:.1f}", f"{read:.1f}")
        print(f"{what}: {len(group)} runs, {train:.1f} + {read:.1f} h", flush=True)
        if options.out is not None:
            options.out.write_text(json.dumps({"device": device_name(), "rows": rows}))
        torch.compiler.reset()  # every shape is compiled anew
        if DEVICE.type == "cuda":
            torch.cuda.empty_cache()
    console.print(table)
    train, read = (sum(row[name] for row in rows) for name in ("training_hours", "grid_hours"))
    console.print(f"{len(asked)} runs: {train:,.0f} hours of training, {read:,.0f} of grids, one run at a time")


if __name__ == "__main__":
    main(tyro.cli(Options))
