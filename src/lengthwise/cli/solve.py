"""lengthwise solve: a model writes its scratchpad and the answer, token by token; Python's integers check it.

The exit code is 0 whether the answer is right or wrong: what was asked for was to see it.
"""

import json
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg

import lengthwise as lw
from lengthwise import models
from lengthwise.cli.many import Load, read_lines, solve_lines, to_json
from lengthwise.cli.parsing import Flag, console_for_people, parse, require_quotes
from lengthwise.cli.watching import watch
from lengthwise.device import pick_device
from lengthwise.errors import InputError
from lengthwise.solver import Solver
from lengthwise.tasks.text import recognise
from lengthwise.verdict import Verdict


@dataclass(frozen=True)
class _Solve:
    problem: Annotated[
        Positional[str | None],
        arg(metavar="PROBLEM", help="57+48+96, 37*925 or 0101; - reads one or more from standard input, one a line"),
    ] = None
    file: Annotated[
        str | None, arg(metavar="FILE", help="a file of problems, one a line; # begins a comment; - is standard input")
    ] = None
    model: Annotated[
        str | None, arg(metavar="NAME|FOLDER", help="a model in the box or a model folder; by default the box chooses")
    ] = None
    json: Annotated[Flag, arg(help="print tokens, answer and the first mistake as one JSON object")] = False
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "cpu"


def run(arguments: list[str]) -> None:
    """Solve a problem before the reader's eyes, or many in batches."""
    require_quotes("solve", arguments)
    options = parse(_Solve, "solve", arguments)
    if (options.problem is None) == (options.file is None):
        raise InputError(
            "The problem is missing: give 57+48+96, 37*925 or 0101, or --file FILE (see lengthwise solve --help)."
            if options.problem is None
            else "There is a problem and a --file of problems: give one of them."
        )
    lines = read_lines(options.file or "-") if options.file or options.problem == "-" else []

    def load(task: str | None) -> tuple[str, Solver]:
        return _load(options, task)

    if options.file is not None or len(lines) > 1:
        solve_lines(lines, load, options.model is not None, options.json)
    else:
        _solve_one(lines[0][1] if lines else options.problem, load, options)


def _solve_one(problem: str, load: Load, options: _Solve) -> None:
    task, operands = recognise(problem)
    lw.task(task).parse(operands)  # what is wrong with the problem itself is said first
    name, model = load(task)
    if model.task.name != task:
        operands = recognise(problem, model.task.name)[1]
    if options.json:
        solution = model.solve(operands)
        print(json.dumps(to_json(name, solution, Verdict.on(solution.page, solution.reading))))
    else:
        watch(console_for_people(), model, operands, name)


def _load(options: _Solve, task: str | None) -> tuple[str, Solver]:
    """The model asked for, or the one in the box for a task; with what to call it."""
    if options.model is None:
        assert task is not None
        name = models.first_choice(task)
        model = lw.load(models.FOLDER / name)
    else:
        # A folder that is called like a model in the box is told apart from it.
        name, folder = options.model, models.find(options.model)
        name = f"./{name}" if name in models.names() and folder != models.FOLDER / name else name
        model = lw.load(folder)
    return name, model.to(pick_device(options.device))
