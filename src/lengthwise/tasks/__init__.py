"""Tasks: problems, how they are written, and how position ids follow from that. One file a task."""

import sys
from dataclasses import fields
from functools import cache
from typing import Any

from lengthwise.discovery import discover
from lengthwise.errors import InputError, instead
from lengthwise.tasks.base import Task
from lengthwise.tasks.batch import Batch
from lengthwise.tasks.page import Page
from lengthwise.tasks.problems import Problems
from lengthwise.tasks.reading import Mistake, Reading

__all__ = ["Batch", "Mistake", "Page", "Problems", "Reading", "Task", "kinds", "task"]


@cache
def kinds() -> dict[str, type[Task]]:
    """Every task, by name."""
    return discover(sys.modules[__name__], Task)  # type: ignore[type-abstract]


def task(name: str, **options: Any) -> Task:
    """A task in a format: `task("addition", zero_padding=False)`. Options left out are the paper's."""
    if name not in kinds():
        raise InputError(f"There is no task {name!r}: {instead(name, kinds())}")
    kind = kinds()[name]
    known = [option.name for option in fields(kind)]
    for option in options:
        if option not in known:
            raise InputError(f"{name} has no option {option!r}: {instead(option, known)}")
    settings: dict[str, Any] = {o: tuple(value) if isinstance(value, list) else value for o, value in options.items()}
    return kind(**settings)
