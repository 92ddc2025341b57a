"""lengthwise solve: a model writes its scratchpad and the answer, token by token."""

import json
import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.text import Text
from tyro.conf import Positional, arg

import lengthwise as lw
from lengthwise import checkpoint
from lengthwise.cli.parsing import Flag, console_for_people, parse, require_quotes
from lengthwise.device import pick_device
from lengthwise.errors import InputError
from lengthwise.solver import Solver
from lengthwise.tasks.operands import DIGITS
from lengthwise.tasks.text import recognise

SMALL = {"addition": "adder-tiny", "parity": "parity-tiny"}
"""The preset to begin with, by task."""


@dataclass(frozen=True)
class _Solve:
    problem: Annotated[Positional[str], arg(metavar="PROBLEM", help="57+48+96, 37*925 or 0101; - reads standard input")]
    model: Annotated[str | None, arg(metavar="FOLDER", help="a model folder; the newest in runs/ that fits")] = None
    json: Annotated[Flag, arg(help="print tokens, answer and the first mistake as JSON")] = False
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "cpu"


def run(arguments: list[str]) -> None:
    """Solve a problem before the reader's eyes."""
    if "-" in arguments and sys.stdin is None:
        raise InputError("There is no standard input to read the problem from.")
    arguments = [sys.stdin.read() if argument == "-" else argument for argument in arguments]
    require_quotes("solve", arguments)
    options = parse(_Solve, "solve", arguments)
    task, operands = recognise(options.problem)
    lw.task(task).parse(operands)  # what is wrong with the problem itself is said first
    name = options.model or _newest(task)
    model = lw.load(name).to(pick_device(options.device))
    if model.task.name != task:
        task, operands = recognise(options.problem, model.task.name)
    if options.json:
        solution = model.solve(operands)
        print(
            json.dumps(
                {
                    "model": str(name),
                    "task": model.task.name,
                    "operands": solution.page.operands,
                    "response": solution.response,
                    "answer": solution.answer,
                    "correct": solution.correct,
                    "right_answer": solution.page.answer,
                    "mistake": None if solution.reading.mistake is None else str(solution.reading.mistake),
                }
            )
        )
        return
    watch(console_for_people(), model, operands, str(name))


def watch(console: Console, model: Solver, operands: list[str], name: str) -> bool:
    """Print the tokens as the model writes them, each number on a row of its own, wrong ones marked; was all right?"""
    page = model.task.write(operands)
    tokens = model.stream(operands)
    first = next(tokens)  # what the model cannot take is refused here, before anything is printed
    console.print(f"{''.join(page.prompt[1:])}", soft_wrap=True, style="bold")
    written: list[str] = []
    fill = "  "
    for token in chain([first], tokens):
        right = page.response[len(written)] if len(written) < len(page.response) else None
        if written and token not in DIGITS:
            console.print("\n", end="")
            fill = ""
        style = "green" if token == right else "bold white on red"
        console.print(Text(fill + (f"{token} " if token not in DIGITS else token), style), end="", soft_wrap=True)
        console.file.flush()
        fill = "" if token in DIGITS else fill
        written.append(token)
    reading = model.task.read(operands, written)
    verdict = "right, every token" if reading.correct else f"wrong: {reading.mistake}"
    console.print(f"\nanswer {reading.answer or 'none'} by {name}: {verdict}", soft_wrap=True)
    return reading.correct


def _newest(task: str) -> Path:
    """The newest model in runs/ for a task."""
    fitting = []
    for config in Path("runs").glob("*/" + checkpoint.CONFIG):
        try:
            if checkpoint.describe(config.parent).task.name == task and (config.parent / checkpoint.WEIGHTS).is_file():
                fitting.append(config.parent)
        except InputError:
            continue
    if not fitting:
        preset = SMALL.get(task, f"{task}-coupling-scratchpad")
        raise InputError(
            f"There is no model for {task} in runs/: train one (lengthwise train {preset}), or give --model FOLDER."
        )
    return max(fitting, key=lambda folder: (folder / checkpoint.WEIGHTS).stat().st_mtime)
