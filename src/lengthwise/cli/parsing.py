"""What all commands share: options by tyro, whose complaints become one sentence, sizes as people write them, and where
to print.
"""

import contextlib
import difflib
import io
import re
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from tyro.conf import FlagCreatePairsOff

from lengthwise.errors import InputError

Flag = FlagCreatePairsOff[bool]


def parse(form: Any, command: str, arguments: list[str]) -> Any:
    """Parse with tyro; what it would print as a box of help becomes one sentence."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(form, prog=f"lengthwise {command}", args=arguments)
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
    raise InputError(f"{one_sentence(complaint.getvalue())} (see lengthwise {command} --help).")


def one_sentence(complaint: str) -> str:
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


def console_for_people() -> Console:
    """Where to print: as wide as the terminal, or 80 characters where it claims to have no width at all."""
    console = Console(highlight=False)
    return console if console.width >= 20 else Console(highlight=False, width=80)


def numbers(text: str, name: str) -> list[int]:
    """Lengths or counts as people write them.

    >>> numbers("1:4", "--lengths"), numbers("5:20:5", "--lengths"), numbers("2,3,10", "--counts")
    ([1, 2, 3, 4], [5, 10, 15, 20], [2, 3, 10])
    """
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,7})(?::(\d{1,7})(?::(\d{1,7}))?)?\s*", part, re.ASCII)
        first, last, step = (int(group) if group else None for group in match.groups()) if match else (None, None, None)
        if first is None or step == 0 or (last is not None and last < first) or (last or first) - first > 1_000_000:
            raise InputError(f"{name} cannot be {text!r}: write 1:30, 5:30:5 or 2,3,10.")
        found.extend(range(first, (first if last is None else last) + 1, step or 1))
    return found


def save_into(folder: Path, room: str, name: str) -> Path:
    """Where a result of a run folder goes."""
    return folder / room / name
