"""How fast models train and evaluate: python benchmarks/model.py [--compile] [--only NAME …] [--profile]

On a CPU, the work that the authors' code was timed on: a training step of 1 layer, 4 heads, width 256, learned bi-level
coupling, batch 64 of S_A(10,10), float32; and a cell of 1,000 problems of 20 numbers of 20 digits with the same model.
On a GPU, the paper's sizes in bfloat16. All data are made on the device within the time. Nothing is asserted.

How much of the device is used is measured against what it does in the same run: a large product of matrices, and a
large copy. What is counted of a model are its products and causal attention, as `common.InTraining.work` says.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import torch
import tyro
from common import DEVICE, InTraining, copy_rate, device_name, matrix_rate, timed
from rich.console import Console
from rich.table import Table
from torch.profiler import ProfilerActivity, profile
from tyro.conf import arg

import lengthwise as lw
from lengthwise.evaluate import measure_cell

SAMPLES = 1000
WARM_UP = 5


@dataclass(frozen=True)
class Options:
    compile: Annotated[bool, arg(help="compile the models")] = False
    only: Annotated[tuple[str, ...], arg(help="these presets only")] = ()
    profile: Annotated[bool, arg(help="also list what a few steps and a cell spend their time on")] = False


@dataclass(frozen=True)
class Work:
    preset: str
    batch: int
    steps: int
    cell: bool = False


CPU = (Work("addition-1l4h-width256", 64, 20, cell=True), Work("adder-tiny", 64, 40, cell=True))
GPU = (
    Work("adder-tiny", 64, 200, cell=True),
    Work("addition-1l4h-width256", 400, 200, cell=True),
    Work("addition-1l4h", 400, 100, cell=True),
    Work("addition-6l8h", 400, 60, cell=True),
    Work("addition-fire-scratchpad", 400, 30),
    Work("multiplication-coupling-scratchpad", 200, 60),
)


def measure(work: Work, options: Options, ceiling: float, console: Console) -> list[str]:
    recipe = lw.presets.get(work.preset)
    recipe = replace(recipe, training=replace(recipe.training, batch_size=work.batch))
    training = InTraining(recipe, options.compile)
    warm_up = timed(lambda: training.steps(0, WARM_UP))
    last = WARM_UP + work.steps
    seconds = timed(lambda: training.steps(WARM_UP, last))
    tokens, operations = training.work(WARM_UP, last)
    row = [
        f"{work.preset}{', compiled' if options.compile else ''}",
        str(work.batch),
        f"{work.steps / seconds:.2f}",
        f"{tokens / seconds:,.0f}",
        f"{operations / seconds / ceiling:.1%}",
        f"{warm_up:.1f} s",
    ]
    if options.profile:
        console.print(f"{work.preset}: five steps of training")
        look(lambda: training.steps(last, last + 5), console)
    if not work.cell:
        return [*row, "–"]
    model = training.model.eval()
    measure_cell(model, 20, 20, samples=20, seed=1)
    measure_cell(model, 20, 20, samples=SAMPLES, seed=1)
    row.append(f"{timed(lambda: measure_cell(model, 20, 20, samples=SAMPLES, seed=0)):.2f} s")
    if options.profile:
        console.print(f"{work.preset}: a cell")
        look(lambda: measure_cell(model, 20, 20, samples=SAMPLES, seed=2), console)
    return row


def look(work: Callable[[], object], console: Console) -> None:
    """What the time goes to, by kernel, and how long the device was busy."""
    kinds = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if DEVICE.type == "cuda" else [])
    with profile(activities=kinds) as seen:
        seconds = timed(work)
    order = f"self_{DEVICE.type}_time_total"
    averages = seen.key_averages()
    kernels = [one for one in averages if one.device_type.name != "CPU"]
    busy = sum(one.self_device_time_total for one in kernels if not one.is_user_annotation) / 1e6
    console.print(
        f"{seconds * 1000:.0f} ms with the profiler" + (f", the device busy for {busy:.3f} s" if busy else "")
    )
    console.print(averages.table(sort_by=order, row_limit=30, max_name_column_width=60), soft_wrap=True)


def main(options: Options) -> None:
    console = Console(width=130)
    ceiling, copying = matrix_rate(), copy_rate()
    console.print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {device_name()}")
    console.print(f"ceilings: {ceiling / 1e12:,.2f} TFLOP/s in products, {copying / 1e9:,.0f} GB/s in copies")
    table = Table("preset", "batch", "steps/s", "tokens/s", "of products' rate", "first 5", "20×20 × 1,000")
    for work in GPU if DEVICE.type == "cuda" else CPU:
        if not options.only or work.preset in options.only:
            table.add_row(*measure(work, options, ceiling, console))
            print(".", end="", flush=True)
    console.print()
    console.print(table)
    console.print(f"ceiling after: {matrix_rate() / 1e12:,.2f} TFLOP/s in products")


if __name__ == "__main__":
    main(tyro.cli(Options))
