"""lengthwise demo: the main job in small, in a minute or two on a laptop."""

import time
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

import lengthwise as lw
from lengthwise.cli.evaluate import draw, print_grid
from lengthwise.cli.parsing import console_for_people, numbers, parse
from lengthwise.cli.watching import watch
from lengthwise.device import pick_device
from lengthwise.errors import InputError
from lengthwise.evaluate import check_request
from lengthwise.figures.terminal import page_text
from lengthwise.progress import TrainingProgress, grid_progress

PRESET = "adder-tiny"
BOXED, PRODUCT = "multiplier", ["31415926535897932384", "27182818"]
PAPER = "the paper's lowest cell (median over seeds): 67.8% for its baseline of 63 M parameters, 90.0% for its best"
LONG_LENGTH, LONG_COUNT = 30, 8
"""The size of the long sum that is solved before the reader's eyes."""


@dataclass(frozen=True)
class _Demo:
    out: Annotated[Path | None, arg(metavar="FOLDER", help="where the run goes (runs/demo, or the next free name)")] = (
        None
    )
    steps: Annotated[int | None, arg(help="fewer or more training steps")] = None
    seed: Annotated[int, arg(help="of the weights and of all that is drawn")] = 0
    lengths: Annotated[str, arg(help="operand lengths to measure")] = "1,5,10,15,20,25,30"
    counts: Annotated[str, arg(help="numbers of operands to measure")] = "2,5,10,15,20,25,30"
    samples: Annotated[int, arg(help="problems a cell")] = 100
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "cpu"


def run(arguments: list[str]) -> None:
    """Show a page, solve with a model in the box, train one, solve with it, measure, draw, compare."""
    options = parse(_Demo, "demo", arguments)
    begun = time.monotonic()
    console = console_for_people()
    recipe = replace(lw.presets.get(PRESET), seed=options.seed)
    if options.steps is not None:
        recipe = replace(recipe, training=replace(recipe.training, steps=options.steps))
    lengths, counts = numbers(options.lengths, "--lengths"), numbers(options.counts, "--counts")
    folder = options.out or _free_folder()
    device = pick_device(options.device)
    untrained = lw.Solver.new(recipe.task, recipe.encoding, recipe.model)
    axes = {"length": lengths, "count": counts}
    check_request(untrained, axes, options.samples, options.seed, "random", "one", "teacher-forced")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{str(folder)!r} exists already: give a new folder for the demo.")

    console.rule("A sum as the model sees it", align="left")
    console.print(page_text(lw.task("addition").write([57, 48, 96]), console.width))

    console.rule(f"A model in the box, {BOXED}, multiplies", align="left")
    watch(console, lw.load(BOXED), PRODUCT, BOXED)

    console.rule("Training on sums of up to ten 10-digit numbers, and nothing longer", align="left")
    started = time.monotonic()
    finished = lw.train(recipe, folder, device=device, observer=TrainingProgress(console))
    console.print(f"trained in {time.monotonic() - started:.0f} s")
    model = finished.model.to(device)

    console.rule(f"Solving {LONG_COUNT} numbers of {LONG_LENGTH} digits, token by token", align="left")
    problems = model.task.sample_problems(1, length=LONG_LENGTH, count=LONG_COUNT, seed=options.seed, fixed=True)
    watch(console, model, [model.task.operand_text(digits) for digits in problems.operands(0)], str(folder))

    console.rule(f"Measuring up to {max(counts)} numbers of {max(lengths)} digits", align="left")
    file, picture = folder / "grids" / "demo.json", folder / "figures" / "demo.png"
    with grid_progress(console, len(lengths) * len(counts)) as progress:
        grid = lw.evaluate(
            model,
            name=PRESET,
            lengths=lengths,
            counts=counts,
            samples=options.samples,
            seed=options.seed,
            out=file,
            progress=progress,
        )
    draw(grid, picture, PRESET)
    print_grid(console, grid)
    lowest = grid.lowest
    if lowest is None:
        raise InputError("nothing was measured.")
    parameters = sum(weight.numel() for weight in model.parameters())
    console.print(f"heatmap: {picture}", soft_wrap=True)
    console.print(
        f"lowest cell here: {lowest:.1%} with {parameters:,} parameters (one seed, {options.samples} problems a cell); "
        f"{PAPER}",
        soft_wrap=True,
    )
    console.print(f"all of it took {time.monotonic() - begun:.0f} s")


def _free_folder() -> Path:
    first = Path("runs/demo")
    return (
        first
        if not first.exists()
        else next(folder for number in count(2) if not (folder := Path(f"runs/demo-{number}")).exists())
    )
