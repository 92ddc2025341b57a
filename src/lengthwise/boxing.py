"""A finished run becomes a model in the box: its config, its weights, and a card written from what its files say.

    scripts/box runs/adder-tiny adder-tiny --grid runs/adder-tiny/grids/random-1-30x2-30-n1000.json

Nothing of a card is typed by hand but the hardware it was trained on, which no file of a run says. Boxing again
replaces all of it: weights never stand beside the card or the grid of others.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from lengthwise import checkpoint, models, presets
from lengthwise.errors import InputError
from lengthwise.evaluate import about
from lengthwise.files import write_whole
from lengthwise.recipe import Recipe
from lengthwise.results import Grid, wilson
from lengthwise.runs import Run
from lengthwise.solver import Solver
from lengthwise.tasks.text import typed

PARTS = ("task", "encoding", "model", "data", "training")
"""What of a recipe decides the weights, its seed apart."""


def box(
    folder: str | Path,
    name: str,
    *,
    grid: str | Path | None = None,
    hardware: str | None = None,
    unfinished: bool = False,
    into: Path = models.FOLDER,
) -> Path:
    """Put the model of a run into the box; `grid` is a file measured of exactly these weights.

    The run must be finished, unless `unfinished` takes it as it stands; the card says how far it came.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise InputError(f"{name!r} is no name for a model: write it in small letters and hyphens, such as adder-tiny.")
    run = Run.at(folder)
    if not run.finished and not unfinished:
        raise InputError(f"{str(folder)!r} is not finished: lengthwise train … --resume goes on with it.")
    model = run.model
    solution = model.solve(model.task.example)
    if not solution.correct:
        raise InputError(f"this model cannot go into the box: on {_example(model)} {solution.reading.mistake}.")
    measured = None if grid is None else _measured(Path(grid), model)
    files = {name: (run.folder / name).read_bytes() for name in (checkpoint.CONFIG, checkpoint.WEIGHTS)}
    files[checkpoint.CARD] = write_card(run, model, name, grid=measured, hardware=hardware).encode()
    if grid is not None:
        files[models.GRID] = Path(grid).read_bytes()
    try:
        (into / name).mkdir(parents=True, exist_ok=True)
        (into / name / models.GRID).unlink(missing_ok=True)
        for file, content in files.items():
            write_whole(into / name / file, content)
    except OSError as error:
        raise InputError(f"{str(into / name)!r} cannot be written to: {error.strerror or error}.") from error
    return into / name


def write_card(run: Run, model: Solver, name: str, *, grid: Grid | None, hardware: str | None) -> str:
    """What a model is, where it comes from, how to make it again, and how good it is."""
    recipe, config = run.recipe, run.recipe.model
    parameters = sum(weight.numel() for weight in model.parameters())
    problems = "new problems every step" if recipe.data.problems is None else f"{recipe.data.problems:,} problems"
    rows = {
        "task": recipe.task.name,
        "levels of ids": ", ".join(recipe.task.levels),
        "position encoding": f"`{recipe.encoding.name}`",
        "trained on": f"sizes up to {_size(recipe.data.size)}, {problems}",
        "steps": f"{recipe.training.steps:,} of {recipe.training.batch_size:,} problems"
        + ("" if run.finished else f"; stopped after {run.step:,}"),
        "seed": str(recipe.seed),
        "command": f"`{train_command(recipe) or 'none: config.json has the whole recipe'}`",
        "time": f"{sum(record.get('seconds', 0) for record in run.timing):,.0f} s, validation included",
        "hardware": hardware or "not noted",
        "weights": f"fingerprint {about(model, name)['fingerprint']}",
    }
    return f"""---
library_name: lengthwise
license: mit
tags: [arithmetic, length-generalization]
---
# {name}

A Transformer of {parameters:,} parameters for {recipe.task.name}: {_counted(config.layers, "layer")},
{_counted(config.heads, "head")}, width {config.width}. It writes its answers token by token:

    import lengthwise as lw
    lw.load("{name}").solve("{_example(model)}").answer

| | |
|---|---|
{"".join(f"| {what} | {value} |{chr(10)}" for what, value in rows.items())}
## How good it is

{"It has not been measured yet." if grid is None else _grid_in_words(grid, name)}
"""


def train_command(recipe: Recipe) -> str | None:
    """The command that trains the same weights; None where no preset leads there."""
    if recipe.name not in presets.names():
        return None
    base = presets.get(recipe.name)
    if type(base.task) is not type(recipe.task):
        return None
    words = ["lengthwise train", recipe.name]
    if base.encoding.name != recipe.encoding.name:
        words.append(f"--encoding {recipe.encoding.name}")
        base = presets.with_encoding(base, recipe.encoding.name)
    words += [f"--seed {recipe.seed}"] * (recipe.seed != base.seed)
    return " ".join([*words, *_otherwise(base, recipe)])


def _otherwise(base: Recipe, recipe: Recipe) -> Iterator[str]:
    """The options that make one recipe of another."""
    for part in PARTS:
        for field in fields(getattr(base, part)):
            value = getattr(getattr(recipe, part), field.name)
            if value != getattr(getattr(base, part), field.name):
                yield _option(part, field.name.replace("_", "-"), value)


def _option(part: str, name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{part}.{'' if value else 'no-'}{name}"
    return f"--{part}.{name} {' '.join(map(str, value)) if isinstance(value, tuple) else value}"


def _measured(file: Path, model: Solver) -> Grid:
    """A grid, if it is whole and of these weights."""
    grid = Grid.load(file)
    if grid.model.get("fingerprint") != about(model, None)["fingerprint"]:
        raise InputError(f"{str(file)!r} was measured of other weights: measure these with lengthwise evaluate.")
    if not grid.complete:
        raise InputError(f"{str(file)!r} is not complete: the command that began it goes on with it.")
    return grid


def _grid_in_words(grid: Grid, name: str) -> str:
    cells = [
        (right / asked, right, asked, {"length": length} | ({} if count is None else {"count": count}))
        for row, column, length, count in grid.cells
        if (right := grid.correct[row][column]) is not None and (asked := grid.total[row][column])
    ]
    rate, right, asked, size = min(cells, key=lambda cell: cell[0])
    low, high = wilson(right, asked)
    options = [f"--{axis}s {_span(values)}" for axis, values in grid.axes.items()]
    options += [f"--samples {grid.samples}"] + [f"--seed {grid.seed}"] * (grid.seed != 0)
    options += [f"--problems {grid.problems}"] * (grid.problems != "random")
    options += [f"--offsets {grid.offsets}"] * (grid.offsets != "one")
    options += [f"--decoding {grid.decoding}"] * (grid.decoding != "teacher-forced")
    made = ", ".join(f"{what} {grid.made[what]}" for what in ("lengthwise", "torch") if what in grid.made)
    all_right, all_asked = sum(cell[1] for cell in cells), sum(cell[2] for cell in cells)
    return f"""{all_right:,} of {all_asked:,} whole responses without a mistake,
in {_counted(len(cells), "cell")} of {grid.samples:,} problems ({grid.problems}, {grid.decoding}, {grid.dtype}).
Lowest cell: {rate:.1%} at {_size(size)} (95 % interval {low:.1%} to {high:.1%}).

    lengthwise evaluate {name} {" ".join(options)}

Measured on {grid.made.get("date", "a day not noted")}, {grid.made.get("device", "hardware not noted")}, {made}.
`{models.GRID}` has every cell."""


def _example(model: Solver) -> str:
    return typed(model.task.name, model.task.example)


def _size(size: dict[str, int]) -> str:
    return " × ".join(map(str, size.values()))


def _span(values: Sequence[int]) -> str:
    """Sizes as the command takes them.

    >>> _span([1, 2, 3]), _span([5, 10, 15]), _span([2, 3, 10]), _span([7])
    ('1:3', '5:15:5', '2,3,10', '7')
    """
    steps = {second - first for first, second in pairwise(values)}
    if len(steps) != 1:
        return ",".join(map(str, values))
    step = steps.pop()
    return f"{values[0]}:{values[-1]}" + (f":{step}" if step > 1 else "")


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Box a run from the command line."""
    parser = argparse.ArgumentParser(prog="scripts/box", description="Put the model of a finished run into the box.")
    parser.add_argument("run", help="a run folder")
    parser.add_argument("name", help="what the model is to be called")
    parser.add_argument("--grid", metavar="FILE", help="a grid measured of exactly these weights")
    parser.add_argument("--hardware", metavar="TEXT", help="what it was trained on, for the card")
    parser.add_argument("--unfinished", action="store_true", help="take a run that was stopped; the card says when")
    options = parser.parse_args(arguments)
    try:
        asked = {"grid": options.grid, "hardware": options.hardware, "unfinished": options.unfinished}
        print(box(options.run, options.name, **asked))
    except InputError as error:
        print(f"scripts/box: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
