"""Every format of every task, for tests that hold in all of them."""

from itertools import product
from typing import Any

import lengthwise as lw

SWITCHES = ("scratchpad", "zero_padding", "reverse_query", "reverse_response")


def _all_formats() -> list[lw.Task]:
    found = []
    for name in ("parity", "addition", "multiplication"):
        for values in product((True, False), repeat=len(SWITCHES)):
            found.append(lw.task(name, **dict(zip(SWITCHES, values, strict=True))))
    found.append(lw.task("addition", start_with_zeros=False))
    found.append(lw.task("addition", start_with_zeros=False, zero_padding=False))
    found.append(lw.task("addition", padding_rule="theory"))
    found.extend(lw.task(name, coupling=("index",)) for name in ("parity", "addition", "multiplication"))
    found.append(lw.task("addition", coupling=("row", "index", "column")))
    found.append(lw.task("multiplication", staircase=True))
    found.append(lw.task("multiplication", staircase=True, reverse_query=True, reverse_response=False))
    return found


FORMATS = _all_formats()


def describe(task: lw.Task) -> str:
    switches = [switch for switch in SWITCHES if getattr(task, switch)]
    more = [repr(getattr(task, option)) for option in ("coupling", "padding_rule") if getattr(task, option, None)]
    zeros = [] if getattr(task, "start_with_zeros", True) else ["no zero start"]
    stairs = ["staircase"] if getattr(task, "staircase", False) else []
    return " ".join([task.name, *switches, *zeros, *stairs, *more])


SIZES: dict[str, dict[str, Any]] = {
    "parity": {"length": 9},
    "addition": {"length": 5, "count": 12},
    "multiplication": {"length": 4, "count": 6},
}
