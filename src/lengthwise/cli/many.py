"""Many problems, one a line: read and checked all at once, then solved in batches and printed in their order."""

import io
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.text import Text

import lengthwise as lw
from lengthwise.cli.parsing import console_for_people
from lengthwise.errors import InputError
from lengthwise.marking import pages_at_once
from lengthwise.progress import problem_progress
from lengthwise.solver import Solution, Solver
from lengthwise.tasks.text import recognise
from lengthwise.verdict import Verdict

AT_ONCE = 256
"""So many problems are sorted by size and solved before the next are looked at: no result waits long for its turn."""
UNEVEN = 1.5
"""The longest page of a batch has at most so many times the cells of the shortest."""

Load = Callable[[str | None], tuple[str, Solver]]
"""The model for a task, with its name; for None the one that was asked for."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One of many."""

    line: int
    """Where it stands, counted from 1."""
    model: str
    """The name of the model that is to solve it."""
    operands: list[str]
    cells: int
    """About how long its page is."""


def read_lines(source: str) -> list[tuple[int, str]]:
    """The problems of a file, or of standard input for `-`, with the numbers of their lines."""
    if source == "-":
        if sys.stdin is None:
            raise InputError("There is no standard input to read the problem from.")
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8-sig", errors="replace")
        text = sys.stdin.read()
    else:
        try:
            text = Path(source).read_text(encoding="utf-8-sig", errors="replace")
        except (OSError, ValueError) as error:
            raise InputError(f"{source!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(text.split("\n"), 1)]
    found = [(number, line) for number, line in lines if line]
    if not found:
        where = "standard input" if source == "-" else repr(source)
        raise InputError(f"There is no problem in {where}: write one a line, such as 57+48+96.")
    return found


def solve_lines(lines: Sequence[tuple[int, str]], load: Load, named: bool, as_json: bool) -> None:
    """Solve and print them all; a line that cannot be solved is refused before anything is."""
    solvers: dict[str, Solver] = {}
    problems = list(_checked(lines, load, named, solvers))
    console = console_for_people()
    # Where results go to a terminal the bar stands below them; else on stderr, if someone looks at that.
    beside = console if console.is_terminal and not as_json else Console(stderr=True, highlight=False)
    hidden = as_json and sys.stdout.isatty()
    done, right, asked = 0, Counter[str](), Counter[str]()
    begun = time.monotonic()
    if as_json:
        print('{"problems": [', end="")
    try:
        with problem_progress(beside, 0 if hidden else len(problems)) as progress:
            for problem, solution in _in_order(problems, solvers, progress):
                verdict = Verdict.on(solution.page, solution.reading)
                asked[problem.model] += 1
                right[problem.model] += verdict.right
                if as_json:
                    about = {"line": problem.line, **to_json(problem.model, solution, verdict)}
                    print(", " * bool(done) + json.dumps(about), end="")
                else:
                    console.print(Text(verdict.line(), "" if verdict.right else "red"), soft_wrap=True)
                done += 1
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped after {done:,} of {len(problems):,} problems.") from None
    seconds = time.monotonic() - begun
    by_model = {name: {"right": right[name], "total": asked[name]} for name in sorted(asked)}
    if as_json:
        summary = {"right": right.total(), "total": done, "models": by_model, "seconds": round(seconds, 3)}
        print(f"], {json.dumps(summary)[1:]}")
        return
    shares = ", ".join(f"{name} {counts['right']:,} of {counts['total']:,}" for name, counts in by_model.items())
    console.print(Text(f"{right.total():,} of {done:,} right in {seconds:.1f} s ({shares})"), soft_wrap=True)


def to_json(model: str, solution: Solution, verdict: Verdict) -> dict[str, Any]:
    """A problem and what came of it."""
    return {
        "model": model,
        "task": solution.page.task,
        "operands": solution.page.operands,
        "response": solution.response,
        **verdict.to_json(),
    }


def _checked(
    lines: Sequence[tuple[int, str]], load: Load, named: bool, solvers: dict[str, Solver]
) -> Iterator[Problem]:
    """The problems as the models can take them; the models are loaded on the way."""
    by_task: dict[str, str] = {}
    fixed: str | None = None
    if named:
        fixed, solver = load(None)
        solvers[fixed] = solver
    for number, text in lines:
        try:
            task, operands = recognise(text, None if fixed is None else solvers[fixed].task.name)
            if fixed is None and task not in by_task:
                lw.task(task).parse(operands)  # what is wrong with the problem itself is said first
                name, solver = load(task)
                by_task[task], solvers[name] = name, solver
            model = by_task[task] if fixed is None else fixed
            yield Problem(line=number, model=model, operands=operands, cells=_cells(solvers[model], operands))
        except InputError as error:
            raise InputError(f"Line {number:,}: {error}") from error


def _cells(model: Solver, operands: list[str]) -> int:
    """About how long a page is; what the model cannot take is refused."""
    task = model.task
    length, count = task.extent(task.parse(operands))
    maxima = (*model.transformer.encoding.max_ids(model.transformer.shape), *(task.max_ids or ()))
    if all(max_id is None for max_id in maxima):
        task.require_size(length, count, random_offsets=False)
    else:  # ids may run out, which only the page itself can tell
        model.require_ids(torch.tensor(task.write(operands).position_ids))
    return task.page_cells(length, count)


def _in_order(
    problems: Sequence[Problem], solvers: dict[str, Solver], progress: Callable[[int], None]
) -> Iterator[tuple[Problem, Solution]]:
    """Problems with their solutions as they were given, solved with those of their size."""
    waiting = iter(problems)
    while stretch := list(islice(waiting, AT_ONCE)):
        solutions: dict[int, Solution] = {}
        shown = 0
        for batch in _batches(stretch, solvers):
            model = solvers[stretch[batch[0]].model]
            solved = model.solve_all([stretch[place].operands for place in batch])
            solutions.update(zip(batch, solved, strict=True))
            progress(len(batch))
            while shown in solutions:
                yield stretch[shown], solutions.pop(shown)
                shown += 1


def _batches(problems: Sequence[Problem], solvers: dict[str, Solver]) -> list[list[int]]:
    """Places of problems that are best solved at once: by one model, of similar size, as many as the memory takes."""
    batches: list[list[int]] = []
    for place in sorted(range(len(problems)), key=lambda place: (problems[place].model, problems[place].cells)):
        problem, batch = problems[place], batches[-1] if batches else []
        first = problems[batch[0]] if batch else problem
        alike = first.model == problem.model and problem.cells <= UNEVEN * first.cells
        if batch and alike and len(batch) < pages_at_once(solvers[problem.model], problem.cells):
            batch.append(place)
        else:
            batches.append([place])
    return sorted(batches, key=min)  # the first line's batch comes first
