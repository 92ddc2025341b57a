"""lengthwise mistakes: where a model goes wrong first."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from rich.table import Table
from tyro.conf import Positional, arg

import lengthwise as lw
from lengthwise.cli.parsing import Flag, console_for_people, parse
from lengthwise.device import pick_device
from lengthwise.mistakes import Tally, find_mistakes
from lengthwise.recipe import parse_cell

MOST = 12
"""How many rows of a table are printed."""


@dataclass(frozen=True)
class _Mistakes:
    model: Annotated[Positional[str], arg(metavar="MODEL", help="a run folder or model folder")]
    size: Annotated[str, arg(help="of the problems: length x count, or a length alone")] = "20x20"
    predict: Annotated[tuple[str, ...], arg(help="sizes to predict the accuracy of")] = ()
    samples: Annotated[int, arg(help="how many problems")] = 1000
    seed: Annotated[int, arg(help="of the problems")] = 0
    problems: Annotated[str, arg(help="random, or a stress suite: see lengthwise list")] = "random"
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "auto"
    out: Annotated[Path | None, arg(metavar="FILE", help="where the report goes as JSON (MODEL/grids/…)")] = None
    json: Annotated[Flag, arg(help="print the report as JSON")] = False


def run(arguments: list[str]) -> None:
    """Count first mistakes, save and print them."""
    options = parse(_Mistakes, "mistakes", arguments)
    folder = Path(options.model)
    model = lw.load(folder).to(pick_device(options.device))
    length, count = parse_cell(options.size)
    sizes = [parse_cell(size) for size in options.predict]
    report = find_mistakes(
        model,
        length=length,
        count=count,
        samples=options.samples,
        seed=options.seed,
        problems=options.problems,
        name=folder.name,
    )
    predictions = {
        "x".join(str(part) for part in size if part is not None): report.predict(model.task, *size) for size in sizes
    }
    file = options.out or folder / "grids" / f"mistakes-{options.problems}-{options.size}-n{options.samples}.json"
    report.save(file)
    if options.json:
        print(json.dumps({**asdict(report), "error_rate": report.error_rate, "predicted": predictions}))
        return
    console = console_for_people()
    console.print(
        f"{report.wrong:,} of {report.samples:,} problems of {options.size} have a mistake: "
        f"accuracy {report.accuracy:.2%}, {report.error_rate:.2e} a step "
        f"({report.written:,} tokens up to the first mistake)"
    )
    for title, tally in (("line", report.by_line), ("digit", report.by_digit), ("carry", report.by_carry)):
        if report.wrong:
            console.print(_table(title, tally))
    for size, rate in predictions.items():
        console.print(f"at that rate {size.replace('x', '×')} would be {rate:.2%} right")
    console.print(f"report: {file}", soft_wrap=True)


def _table(title: str, tally: Tally) -> Table:
    table = Table(f"by {title}", "first mistakes", "of tokens", "rate")
    rows = sorted(tally.items(), key=lambda item: -item[1][0])
    for name, (failures, made) in rows[:MOST]:
        if failures or title == "carry":
            table.add_row(name, f"{failures:,}", f"{made:,}", f"{failures / made:.2e}")
    return table
