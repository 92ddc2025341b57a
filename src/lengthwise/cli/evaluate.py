"""lengthwise evaluate: a grid of accuracies, its file, its picture and its table."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

import lengthwise as lw
from lengthwise.cli.folders import find_model
from lengthwise.cli.parsing import Flag, console_for_people, numbers, parse
from lengthwise.cli.pictures import require_picture, save_picture
from lengthwise.device import Precision
from lengthwise.errors import InputError
from lengthwise.evaluate import check_request
from lengthwise.figures.curves import Line, draw_curves
from lengthwise.figures.heatmap import Panel, draw_heatmaps
from lengthwise.marking import Decoding
from lengthwise.progress import grid_progress
from lengthwise.ranks import Ranks, joined, own_rank
from lengthwise.results import Grid
from lengthwise.solver import Solver
from lengthwise.tasks.stress import suites

MAX_TABLE = 12
"""A grid of at most so many cells each way is printed whole."""
DEFAULTS = {"parity": ("10:100:10", None)}
DEFAULT = ("5:30:5", "5:30:5")


@dataclass(frozen=True)
class _Evaluate:
    model: Annotated[Positional[str], arg(metavar="MODEL", help="a run folder or model folder, or a model in the box")]
    lengths: Annotated[
        str | None, arg(help="operand lengths: 1:30, 2,3,10 or 5:30:5, which is the default; parity 10:100:10")
    ] = None
    counts: Annotated[
        str | None, arg(help="numbers of operands, likewise; for multiplication the lengths of the second")
    ] = None
    samples: Annotated[int, arg(help="problems a cell")] = 1000
    seed: Annotated[int, arg(help="of the problems")] = 0
    problems: Annotated[str, arg(help="random, or a stress suite: see lengthwise list")] = "random"
    stress: Annotated[Flag, arg(help="every stress suite, and random training offsets, on the same sizes")] = False
    offsets: Annotated[Literal["one", "training"], arg(help="ids from 1, or from random offsets as in training")] = (
        "one"
    )
    decoding: Annotated[
        Decoding, arg(help="one pass over the right page, or token by token: answers alone are then its own")
    ] = "teacher-forced"
    precision: Annotated[Precision, arg(help="auto is bfloat16 on CUDA and float32 elsewhere")] = "auto"
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "auto"
    out: Annotated[
        Path | None,
        arg(
            metavar="FILE",
            help="the grid's file (MODEL/grids/…, for a model in the box runs/box/MODEL/grids/…); done cells are kept",
        ),
    ] = None
    save: Annotated[
        Path | None, arg(metavar="FILE", help="the picture (figures/… beside grids): .png, .svg or .pdf")
    ] = None
    json: Annotated[Flag, arg(help="print the grid as JSON")] = False


def run(arguments: list[str]) -> None:
    """Measure, save, draw, print."""
    options = parse(_Evaluate, "evaluate", arguments)
    require_picture(options.save)
    with joined(options.device) as ranks:
        _run(options, ranks)


def _run(options: _Evaluate, ranks: Ranks) -> None:
    source, folder = find_model(options.model)
    model = lw.load(source).to(ranks.device)
    lengths, counts = DEFAULTS.get(model.task.name, DEFAULT)
    lengths = lengths if options.lengths is None else options.lengths
    counts = counts if options.counts is None else options.counts
    if model.task.name == "parity":
        if options.counts:
            raise InputError("parity has lengths only: leave --counts out.")
        counts = None
    if options.stress:
        if options.out or options.save or options.problems != "random" or options.offsets != "one":
            raise InputError(
                "--stress measures every suite into files of its own: leave --problems, --out and --save out."
            )
        _stress(options, folder, model, lengths, counts)
        return
    file = options.out or folder / "grids" / f"{_name(options, lengths, counts)}.json"
    console = Console(stderr=True, highlight=False) if options.json else console_for_people()
    grid = _measure(options, folder, model, lengths, counts, file, console)
    if not ranks.first:
        return
    picture = options.save or folder / "figures" / f"{file.stem}.png"
    draw(grid, picture, folder.resolve().name)
    if options.json:
        print(json.dumps({**grid.to_json(), "file": str(file), "picture": str(picture)}))
        return
    print_grid(console, grid)
    console.print(f"grid: {file}\npicture: {picture}", soft_wrap=True)


def _measure(
    options: _Evaluate, folder: Path, model: Solver, lengths: str, counts: str | None, file: Path, console: Console
) -> Grid:
    rows = numbers(lengths, "--lengths")
    columns = None if counts is None else numbers(counts, "--counts")
    cells = len(rows) * (1 if columns is None else len(columns))
    try:
        with grid_progress(console, cells, options.problems) as progress:
            return lw.evaluate(
                model,
                name=folder.resolve().name,
                lengths=rows,
                counts=columns,
                samples=options.samples,
                seed=options.seed,
                problems=options.problems,
                offsets=options.offsets,
                decoding=options.decoding,
                precision=options.precision,
                out=file,
                progress=progress,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; done cells are kept in {file}, and the same command goes on.") from None


def _name(options: _Evaluate, lengths: str, counts: str | None) -> str:
    """A file name that says what was asked, so that another question never meets its file."""
    size = lengths if counts is None else f"{lengths}x{counts}"
    words = [options.problems, re.sub(r"[:,]", "-", size), f"n{options.samples}"]
    words += ["offsets"] * (options.offsets == "training") + ["decoded"] * (options.decoding == "greedy")
    words += [options.precision] * (options.precision != "auto") + [f"seed{options.seed}"] * (options.seed != 0)
    return "-".join(words)


def _stress(options: _Evaluate, folder: Path, model: Solver, lengths: str, counts: str | None) -> None:
    """Every suite on the same sizes, as one table; random training offsets only where there are any."""
    console = Console(stderr=True, highlight=False) if options.json else console_for_people()
    grids: dict[str, Grid] = {}
    asked_for = [(suite, "one") for suite in suites(model.task)]
    without = _why_no_offsets(options, model, lengths, counts)
    for suite, offsets in asked_for if without else [*asked_for, ("random", "training")]:
        asked = _Evaluate(**{**vars(options), "problems": suite, "offsets": offsets})
        file = folder / "grids" / f"{_name(asked, lengths, counts)}.json"
        title = "random, training offsets" if offsets == "training" else suite
        grids[title] = _measure(asked, folder, model, lengths, counts, file, console)
    if own_rank() > 0:
        return
    if options.json:
        print(json.dumps({title: grid.to_json() for title, grid in grids.items()}))
        return
    size = lengths if counts is None else f"{lengths} × {counts}"
    table = Table("problems", "right", "of", "accuracy", "lowest cell", title=f"{folder.resolve().name}, {size}")
    for title, grid in grids.items():
        right = sum(count or 0 for row in grid.correct for count in row)
        total = sum(count or 0 for row in grid.total for count in row)
        table.add_row(title, f"{right:,}", f"{total:,}", f"{right / total:.2%}", _lowest(grid))
    console.print(table)
    console.print(f"grids: {folder / 'grids'}", soft_wrap=True)
    if without:
        console.print(f"without random training offsets: {without}", soft_wrap=True)


def _why_no_offsets(options: _Evaluate, model: Solver, lengths: str, counts: str | None) -> str:
    axes = {"length": numbers(lengths, "--lengths")} | (
        {} if counts is None else {"count": numbers(counts, "--counts")}
    )
    check_request(model, axes, options.samples, options.seed, "random", "one", options.decoding)
    try:
        check_request(model, axes, options.samples, options.seed, "random", "training", options.decoding)
    except InputError as error:
        return str(error)
    return ""


def draw(grid: Grid, picture: Path, title: str) -> None:
    """The picture that fits a grid: a heatmap, or a curve where there is one axis."""
    two_axes = "count" in grid.axes
    save_picture(draw_heatmaps([Panel(title, [grid])]) if two_axes else draw_curves([Line(title, [grid])]), picture)


def print_grid(console: Console, grid: Grid) -> None:
    """The accuracies as a table where it fits, and what they amount to."""
    differ = grid.correct != grid.answers
    given = ", the right scratchpad given" if grid.decoding == "teacher-forced" else ""
    columns = grid.axes.get("count", [0])
    if len(columns) <= MAX_TABLE and len(grid.axes["length"]) <= 3 * MAX_TABLE:
        table = Table("length", *(str(count) if "count" in grid.axes else "right" for count in columns))
        table.title = "exact match of whole responses, %" + (f" / answers alone{given}" if differ else "")
        for length, rates, answers in zip(grid.axes["length"], grid.accuracy, grid.answer_accuracy, strict=True):
            cells = [
                _percent(rate) + (f" / {_percent(answer)}" if differ else "")
                for rate, answer in zip(rates, answers, strict=True)
            ]
            table.add_row(str(length), *cells)
        console.print(table)
    measured = [rate for row in grid.accuracy for rate in row if rate is not None]
    asked = sorted({count for row in grid.total for count in row if count is not None})
    samples = str(asked[0]) if len(asked) == 1 else f"{asked[0]} to {asked[-1]}"
    console.print(
        f"{_counted(len(measured), 'cell')} of {samples} problem{'s' if asked[-1] > 1 else ''} "
        f"({grid.problems}, {grid.decoding}) in {grid.seconds:.0f} s: "
        f"mean {sum(measured) / len(measured):.2%}, lowest {_lowest(grid)}, "
        f"{sum(rate >= 0.99 for rate in measured)} at 99% or more"
    )
    if differ and given:
        console.print("--decoding greedy measures answers with the scratchpad that the model itself writes")


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{100 * rate:.1f}".removesuffix(".0")


def _lowest(grid: Grid) -> str:
    """The worst cell with its interval."""
    worst = min(
        (
            (right / asked, right, asked, length, count)
            for row, column, length, count in grid.cells
            if (right := grid.correct[row][column]) is not None and (asked := grid.total[row][column])
        ),
    )
    rate, right, asked, length, count = worst
    low, high = lw.results.wilson(right, asked)
    size = str(length) if count is None else f"{length}×{count}"
    return f"{rate:.1%} at {size} (95%: {low:.1%}–{high:.1%})"
