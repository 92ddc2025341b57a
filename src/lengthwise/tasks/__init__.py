"""Tasks: problems, how they are written, and how position ids follow from that. One file a task."""

import difflib
import sys
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from typing import Any

from lengthwise.discovery import discover
from lengthwise.errors import InputError
from lengthwise.tasks.batch import Batch
from lengthwise.tasks.page import Page
from lengthwise.tasks.problems import Problems
from lengthwise.tasks.reading import Mistake, Reading
from lengthwise.tasks.task import Task

__all__ = ["Batch", "Mistake", "Page", "Problems", "Reading", "Task", "task", "tasks"]


@cache
def tasks() -> dict[str, type[Task]]:
    """Every task, by name."""
    return discover(sys.modules[__name__], Task)


def task(name: str, **options: Any) -> Task:
    """A task in a format: `task("addition", zero_padding=False)`. Options left out are the paper's."""
    if name not in tasks():
        raise InputError(f"There is no task {name!r}{_instead(name, tasks())}")
    kind = tasks()[name]
    known = [option.name for option in fields(kind)]
    for option in options:
        if option not in known:
            raise InputError(f"{name} has no option {option!r}{_instead(option, known)}")
    return kind(**{option: tuple(v) if isinstance(v, list) else v for option, v in options.items()})


def _instead(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    return f": did you mean {close[0]!r}?" if close else f": choose one of {', '.join(known)}."
