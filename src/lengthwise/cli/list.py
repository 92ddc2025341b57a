"""lengthwise list: what there is."""

import json
from dataclasses import asdict, dataclass

from rich.table import Column, Table

import lengthwise as lw
from lengthwise import experiments
from lengthwise.cli.parsing import Flag, console_for_people, parse
from lengthwise.tasks.stress import SUITES, suites


@dataclass(frozen=True)
class _List:
    json: Flag = False
    """print as JSON"""


def run(arguments: list[str]) -> None:
    """Print tables of what there is."""
    options = parse(_List, "list", arguments)
    encodings = {name: kind.summary for name, kind in lw.positions.encodings().items()}
    tasks = {name: kind() for name, kind in lw.tasks.kinds().items()}
    presets = lw.presets.names()
    figures = {name: f"{kind.figure}: {kind.summary}" for name, kind in experiments.kinds().items()}
    boxed = [lw.models.describe(name) for name in lw.models.names()]
    if options.json:
        described = {
            name: {
                "summary": task.summary,
                "example": task.example,
                "coordinates": task.coordinates,
                "suites": suites(task),
            }
            for name, task in tasks.items()
        }
        there_is = {"tasks": described, "encodings": encodings, "presets": presets, "suites": dict(SUITES)}
        there_is["figures"] = figures
        print(json.dumps({**there_is, "models": {model.name: asdict(model) for model in boxed}}))
        return
    console = console_for_people()
    table = Table("task", "what it is", "example", "coordinates", title="Tasks", title_justify="left")
    for name, task in tasks.items():
        table.add_row(name, task.summary, task.written_example, ", ".join(task.coordinates))
    console.print(table)
    columns = (Column("model", no_wrap=True), "task", "positions", Column("parameters", justify="right"), "trained on")
    table = Table(*columns, title="Models in the box, for lengthwise solve and lw.load", title_justify="left")
    for model in boxed:
        sizes = "up to " + " × ".join(map(str, model.trained_on.values()))
        table.add_row(model.name, model.task, model.encoding, f"{model.parameters:,}", sizes)
    console.print(table)
    for title, column, rows in (
        ("Position encodings", "encoding", encodings),
        ("Presets, for lengthwise train", "preset", presets),
        ("Problems, for lengthwise evaluate --problems", "suite", dict(SUITES)),
        ("The paper's figures, for lengthwise reproduce", "figure", figures),
    ):
        longest = max(len(name) for name in rows)  # a name must be typed: it is never cut
        table = Table(Column(column, min_width=longest), "what it is", title=title, title_justify="left")
        for name, summary in rows.items():
            table.add_row(name, summary)
        console.print(table)
