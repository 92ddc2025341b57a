"""lengthwise show: a problem as the model sees it."""

import contextlib
import dataclasses
import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, arg

import lengthwise as lw
from lengthwise.cli.parsing import Flag, console_for_people, parse, require_quotes
from lengthwise.errors import InputError
from lengthwise.figures.page import draw_page
from lengthwise.figures.saving import save_figure
from lengthwise.figures.terminal import page_text
from lengthwise.tasks import Task
from lengthwise.tasks.text import recognise

MAX_SHOWN_TOKENS = 20_000


def _show_form(kind: type[Task]) -> Any:
    """The options of `show`, with the format options of one task."""
    return dataclasses.make_dataclass(
        "Show",
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
            options = parse(_show_form(kind), "show", arguments)
        except InputError as error:
            failures.append(error)
            continue
        name, operands = recognise(options.problem, options.task)
        right = type(lw.task(name))
        return (options if right is kind else parse(_show_form(right), "show", arguments)), operands
    raise failures[0]


def run(arguments: list[str]) -> None:
    """write a problem as the model sees it, with its position ids in colour"""
    if "-" in arguments and sys.stdin is None:
        raise InputError("There is no standard input to read the problem from.")
    arguments = [sys.stdin.read() if argument == "-" else argument for argument in arguments]
    require_quotes("show", arguments)
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
    console = console_for_people()
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
