"""How fast models train and evaluate: python benchmarks/model.py [--compile] [--only NAME …]

On a CPU, the work that the authors' code was timed on: a training step of 1 layer, 4 heads, width 256, learned bi-level
coupling, batch 64 of S_A(10,10), float32; and a cell of 1,000 problems of 20 numbers of 20 digits with the same model.
On a GPU, the paper's sizes in bfloat16. All data are made on the device within the time. Nothing is asserted.

Model FLOPs are those of the matrix products and of causal attention, forward and backward, for all tokens:
6 · weights · tokens + 6 · layers · heads · head_dim · Σ length². Utilisation is of an H200's 990 TFLOP/s in bfloat16.
"""

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import torch
import tyro
from rich.console import Console
from rich.table import Table
from tyro.conf import arg

import lengthwise as lw
from lengthwise.data import Feed
from lengthwise.evaluate import measure_cell
from lengthwise.learning import learn, make_optimizer

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
PEAK = 990e12
SAMPLES = 1000


@dataclass(frozen=True)
class Options:
    compile: Annotated[bool, arg(help="compile the models")] = False
    only: Annotated[tuple[str, ...], arg(help="these presets only")] = ()


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


def wait() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def timed(work: Callable[[], object]) -> float:
    wait()
    begun = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - begun


def measure(work: Work, compiled: bool) -> list[str]:
    recipe = lw.presets.get(work.preset)
    recipe = replace(
        recipe,
        training=replace(recipe.training, batch_size=work.batch),
        data=replace(recipe.data, problems=None if recipe.data.problems is None else 50_000),
    )
    model = lw.Solver.new(recipe.task, recipe.encoding, recipe.model).to(DEVICE)
    optimizer, feed = make_optimizer(model.transformer, recipe.training), Feed(recipe, model)
    if compiled:
        model.transformer.compile(dynamic=True)

    def steps(first: int, last: int) -> None:
        for step in range(first, last):
            learn(model, optimizer, recipe.training, feed.at(step))

    warm_up = timed(lambda: steps(0, 5))
    seconds = timed(lambda: steps(5, 5 + work.steps))
    parts = [part for step in range(5, 5 + work.steps) for part in feed.at(step)]
    lengths = [size for part in parts for size in part.known.sizes]
    weights = sum(weight.numel() for block in model.transformer.blocks for weight in block.parameters())
    config = recipe.model
    pairs = config.layers * config.heads * config.dim_per_head * sum(length**2 for length in lengths)
    flops = 6 * weights * sum(lengths) + 6 * pairs
    row = [
        f"{work.preset}{', compiled' if compiled else ''}",
        str(work.batch),
        f"{work.steps / seconds:.2f}",
        f"{sum(lengths) / seconds:,.0f}",
        f"{flops / seconds / PEAK:.1%}" if DEVICE.type == "cuda" else f"{flops / seconds / 1e9:.0f} GFLOP/s",
        f"{warm_up:.1f} s",
    ]
    if not work.cell:
        return [*row, "–"]
    model.eval()
    measure_cell(model, 20, 20, samples=20, seed=1)
    return [*row, f"{timed(lambda: measure_cell(model, 20, 20, samples=SAMPLES, seed=0)):.2f} s"]


def main(options: Options) -> None:
    table = Table(
        "preset", "batch", "steps/s", "tokens/s", "of peak" if DEVICE.type == "cuda" else "", "first 5", "20×20 × 1,000"
    )
    for work in GPU if DEVICE.type == "cuda" else CPU:
        if not options.only or work.preset in options.only:
            table.add_row(*measure(work, options.compile))
            print(".", end="", flush=True)
    device = torch.cuda.get_device_name() if DEVICE.type == "cuda" else platform.machine()
    console = Console(width=130)
    console.print(f"\ntorch {torch.__version__}, {torch.get_num_threads()} threads, {device}")
    console.print(table)


if __name__ == "__main__":
    main(tyro.cli(Options))
