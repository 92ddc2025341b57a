"""The command: it parses, calls the library and prints. `--json` prints one object on stdout and nothing else."""

import contextlib
import dataclasses
import difflib
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table
from tyro.conf import FlagCreatePairsOff, OmitArgPrefixes, Positional, arg

import lengthwise as lw
from lengthwise.errors import InputError, instead
from lengthwise.figures.page import draw_page
from lengthwise.figures.saving import save_figure
from lengthwise.figures.terminal import page_text
from lengthwise.tasks import Task
from lengthwise.tasks.text import recognise

MAX_SHOWN_TOKENS = 20_000

Flag = FlagCreatePairsOff[bool]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code: 0, or 2 for a request that cannot be met."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without × and ─ shows question marks, not a traceback
    try:
        _dispatch(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except InputError as error:
        sys.exit(_complain(str(error)))
    except BrokenPipeError:  # the reader had enough: nothing to report, and nothing left to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_complain(f"The output cannot be written: {error.strerror}."))
    except KeyboardInterrupt:
        sys.exit(130)


def _complain(sentence: str) -> int:
    print(f"lengthwise: {sentence}", file=sys.stderr)
    return 2


def _dispatch(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        _print_overview()
    elif arguments[0] == "--version":
        print(f"lengthwise {lw.__version__}")
    elif arguments[0] in COMMANDS:
        COMMANDS[arguments[0]](arguments[1:])
    else:
        raise InputError(f"There is no command {arguments[0]!r}: {instead(arguments[0], COMMANDS)}")


def _parse(form: Any, command: str, arguments: list[str]) -> Any:
    """Parse with tyro; what it would print as a box of help becomes one sentence."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(form, prog=f"lengthwise {command}", args=arguments)
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
    raise InputError(f"{_one_sentence(complaint.getvalue())} (see lengthwise {command} --help).")


def _one_sentence(complaint: str) -> str:
    """The gist of tyro's explanation: what was wrong, and what it suggests. Its frame may be of any characters."""
    lines = [line.strip("╭╮╰╯│─ ") for line in complaint.splitlines()]
    lines = ["" if set(line) == {"-"} else line for line in lines]
    sections = "\n".join(lines[1:]).strip("\n").split("\n\n")
    gist = " ".join(sections[0].split()).rstrip(".")
    if gist.startswith(("Missing from", "Missing value for argument 'problem'")):
        return "The problem is missing: give 57+48+96, 37*925 or 0101"
    if refused := re.fullmatch(r"Error parsing (--\S+): .*?(?:from|literal)[^'\[]*(?:\[|: )(.*?)\]?", gist):
        return f"{refused[1]} cannot be {refused[2].replace(', ', ' ')}"
    gist = re.sub(r"^Error parsing \w+: ", "", gist)  # a sentence of our own, from the class that refused
    unknown = re.match(r"Unrecognized options: (--\S+)", gist)
    if unknown:
        suggested = re.findall(r"--[\w.-]+", complaint.partition("Perhaps you meant")[2])
        close = difflib.get_close_matches(unknown[1], suggested, n=1)
        return f"{gist}; did you mean {close[0]}?" if close else gist
    return gist


def _print_overview() -> None:
    print("usage: lengthwise COMMAND …   (lengthwise COMMAND --help explains each)\n")
    for name, command in COMMANDS.items():
        print(f"  {name:8}{(command.__doc__ or '').splitlines()[0]}")


def _show_form(kind: type[Task]) -> Any:
    """The options of `show`, with the format options of one task."""
    return dataclasses.make_dataclass(
        "Show",  # its docstring is the description that --help gives
        [
            (
                "problem",
                Annotated[
                    Positional[str],
                    arg(metavar="PROBLEM", help="57+48+96, 37*925 or 0101; - reads it from standard input"),
                ],
            ),
            ("task", Annotated[str | None, arg(metavar="NAME", help="the task, where the text leaves it open")], None),
            ("json", Annotated[Flag, arg(help="print tokens, ids, targets and answer as JSON")], False),
            ("save", Annotated[Path | None, arg(metavar="FILE", help="draw a picture: .png, .svg or .pdf")], None),
            ("offsets", Annotated[tuple[int, ...] | None, arg(help="where the ids of each level start; 1s")], None),
            ("format", Annotated[kind, OmitArgPrefixes], dataclasses.field(default_factory=kind)),
        ],
        frozen=True,
    )


def _kinds_to_try(arguments: list[str]) -> list[type[Task]]:
    """All tasks, beginning with the one that --task names or that an argument looks like a problem of."""
    named = [following for argument, following in pairwise([*arguments, ""]) if argument == "--task"]
    named += [argument.partition("=")[2] for argument in arguments if argument.startswith("--task=")]
    likely = "addition"
    for argument in reversed(arguments):
        with contextlib.suppress(InputError):
            likely = recognise(argument)[0]
    first = type(lw.task(named[-1])) if named and named[-1] else lw.tasks.kinds()[likely]
    return [first, *(kind for kind in lw.tasks.kinds().values() if kind is not first)]


def _read_show(arguments: list[str]) -> tuple[Any, list[str]]:
    """The options and the operands. Which options there are depends on the task, and the task on the problem."""
    failures: list[InputError] = []
    for kind in _kinds_to_try(arguments):
        try:
            options = _parse(_show_form(kind), "show", arguments)
        except InputError as error:
            failures.append(error)
            continue
        name, operands = recognise(options.problem, options.task)
        right = type(lw.task(name))
        return (options if right is kind else _parse(_show_form(right), "show", arguments)), operands
    raise failures[0]


def _console() -> Console:
    """Where to print: as wide as the terminal, or 80 characters where it claims to have no width at all."""
    console = Console(highlight=False)
    return console if console.width >= 20 else Console(highlight=False, width=80)


def show(arguments: list[str]) -> None:
    """write a problem as the model sees it, with its position ids in colour"""
    if "-" in arguments and sys.stdin is None:
        raise InputError("There is no standard input to read the problem from.")
    arguments = [sys.stdin.read() if argument == "-" else argument for argument in arguments]
    if len(arguments) > 1 and arguments[1] in ("+", "*", "×"):
        raise InputError(f"A problem with spaces must stand in quotes: lengthwise show '{' '.join(arguments[:3])}'.")
    if arguments and re.match(r"-[\d.]", arguments[0]):  # a number, not an option
        name, operands = recognise(arguments[0])
        lw.task(name).write(operands)
    options, operands = _read_show(arguments)
    page = options.format.write(operands, offsets=options.offsets)
    if options.save is not None:
        save_figure(draw_page(page), options.save)
    if options.json:
        print(json.dumps(_page_object(page)))
        return
    if len(page.tokens) > MAX_SHOWN_TOKENS:
        raise InputError(
            f"A page of {len(page.tokens):,} tokens is too long to show: "
            f"up to {MAX_SHOWN_TOKENS:,} are shown, --json takes any."
        )
    console = _console()
    console.print(page_text(page, console.width), end="")
    console.print(
        f"{page.task}: the answer is {page.answer}; the model writes {sum(page.targets)} of {len(page.tokens)} tokens"
    )


def _page_object(page: lw.Page) -> dict[str, object]:
    return {
        "task": page.task,
        "operands": page.operands,
        "tokens": page.tokens,
        "levels": page.levels,
        "position_ids": page.position_ids,
        "targets": page.targets,
        "answer": page.answer,
    }


@dataclass(frozen=True)
class _List:
    json: Flag = False
    """Print as JSON."""


def list_all(arguments: list[str]) -> None:
    """what there is: tasks with their coordinates, position encodings"""
    options = _parse(_List, "list", arguments)
    encodings = lw.positions.encodings()
    kinds = {name: kind() for name, kind in lw.tasks.kinds().items()}
    if options.json:
        tasks = {
            name: {"summary": task.summary, "example": task.example, "coordinates": task.coordinates}
            for name, task in kinds.items()
        }
        print(json.dumps({"tasks": tasks, "encodings": {name: kind.summary for name, kind in encodings.items()}}))
        return
    table = Table("task", "what it is", "example", "coordinates", title="Tasks", title_justify="left")
    for name, task in kinds.items():
        table.add_row(name, task.summary, task.written_example, ", ".join(task.coordinates))
    console = _console()
    console.print(table)
    table = Table("encoding", "what it is", title="Position encodings", title_justify="left")
    for name, encoding in encodings.items():
        table.add_row(name, encoding.summary)
    console.print(table)


@dataclass(frozen=True)
class _Demo:
    samples: int = 500_000
    """How many addition problems to make."""


def demo(arguments: list[str]) -> None:
    """the library at work: the paper's three examples, a mistake found, half a million problems made"""
    options = _parse(_Demo, "demo", arguments)
    if options.samples < 1:
        raise InputError(f"samples must be 1 or more, not {options.samples}.")
    console = _console()
    for name, kind in lw.tasks.kinds().items():
        page = kind().write(kind.example)
        console.print(f"[bold]{name}[/bold]  {kind().written_example} → {page.answer}")
        console.print(page_text(page, console.width))
    addition = lw.task("addition")
    slip = "000>750>401>002$"
    console.print(f"[bold]reading back[/bold]  a model writes {slip} after 057+048+096=")
    console.print(f"  {addition.read([57, 48, 96], slip).mistake}\n")
    console.print(
        f"[bold]sampling[/bold]  {options.samples:,} sums of 2–10 numbers of 1–10 digits, with ids and offsets …"
    )
    begun = time.perf_counter()
    batch = addition.sample(options.samples, length=10, count=10, seed=0)
    seconds = time.perf_counter() - begun
    console.print(f"  {batch.tokens.numel():,} tokens in {seconds:.1f} s; the first is {''.join(batch.text(0))}")


COMMANDS: dict[str, Callable[[list[str]], None]] = {"demo": demo, "show": show, "list": list_all}

if __name__ == "__main__":
    main()
