"""lengthwise mistakes: where a model goes wrong first."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.table import Table
from tyro.conf import Positional, arg

import lengthwise as lw
from lengthwise.cli.folders import find_model
from lengthwise.cli.parsing import Flag, console_for_people, parse
from lengthwise.device import pick_device
from lengthwise.mistakes import Tally, find_mistakes
from lengthwise.recipe import parse_cell

MOST = 12
"""How many rows of a table are printed."""


@dataclass(frozen=True)
class _Mistakes:
    model: Annotated[Positional[str], arg(metavar="MODEL", help="a run folder or model folder, or a model in the box")]
    size: Annotated[str | None, arg(help="of the problems: length x count (20x20), or for parity a length (40)")] = None
    predict: Annotated[tuple[str, ...], arg(help="sizes to predict the accuracy of")] = ()
    samples: Annotated[int, arg(help="how many problems")] = 1000
    seed: Annotated[int, arg(help="of the problems")] = 0
    problems: Annotated[str, arg(help="random, or a stress suite: see lengthwise list")] = "random"
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "auto"
    out: Annotated[
        Path | None,
        arg(
            metavar="FILE",
            help="where the report goes as JSON (MODEL/grids/…, for a model in the box runs/box/MODEL/grids/…)",
        ),
    ] = None
    json: Annotated[Flag, arg(help="print the report as JSON")] = False


def run(arguments: list[str]) -> None:
    """Count first mistakes, save and print them."""
    options = parse(_Mistakes, "mistakes", arguments)
    source, folder = find_model(options.model)
    model = lw.load(source).to(pick_device(options.device))
    size = options.size or ("40" if model.task.name == "parity" else "20x20")
    length, count = parse_cell(size)
    predicted = {size: parse_cell(size) for size in options.predict}
    for cell in predicted.values():
        model.task.require_size(*cell, random_offsets=False)
    report = find_mistakes(
        model,
        length=length,
        count=count,
        samples=options.samples,
        seed=options.seed,
        problems=options.problems,
        name=folder.resolve().name,
    )
    predictions = {cell: report.predict(model.task, *sizes) for cell, sizes in predicted.items()}
    between = {cell: report.predict_interval(model.task, *sizes) for cell, sizes in predicted.items()}
    name = f"mistakes-{options.problems}-{size}-n{options.samples}" + (f"-seed{options.seed}" if options.seed else "")
    file = options.out or folder / "grids" / f"{name}.json"
    report.save(file)
    if options.json:
        print(
            json.dumps(
                {**report.to_json(), "predicted": predictions, "predicted_intervals": between, "file": str(file)}
            )
        )
        return
    console = console_for_people()
    console.print(
        f"{report.wrong:,} of {report.samples:,} problems of {size.replace('x', '×')} have a mistake: "
        f"accuracy {report.accuracy:.2%}, {report.error_rate:.2e} a step "
        f"({report.written:,} tokens up to the first mistake)"
    )
    for title, tally in (("line", report.by_line), ("digit", report.by_digit), ("carry", report.by_carry)):
        if report.wrong:
            console.print(_table(title, tally))
    for cell, rate in predictions.items():
        low, high = between[cell]
        console.print(f"at that rate {cell.replace('x', '×')} would be {rate:.2%} right (95%: {low:.1%}–{high:.1%})")
    console.print(f"report: {file}", soft_wrap=True)


def _table(title: str, tally: Tally) -> Table:
    table = Table(f"by {title}", "first mistakes", "of tokens", "rate")
    rows = sorted(tally.items(), key=lambda item: -item[1][0])
    for name, (failures, made) in rows[:MOST]:
        if failures or title == "carry":
            table.add_row(name, f"{failures:,}", f"{made:,}", f"{failures / made:.2e}")
    return table
