"""Tasks: problems, how they are written, and how position ids follow from that. One file a task."""

import sys
from functools import cache
from typing import Any

from lengthwise.discovery import discover, make
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
    return make(kinds(), "task", name, options)
