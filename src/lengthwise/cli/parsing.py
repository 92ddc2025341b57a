"""What all commands share: options by tyro, whose complaints become one sentence, sizes as people write them, and where
to print.
"""

import contextlib
import difflib
import io
import re
from typing import Any

import tyro
from rich.console import Console
from tyro.conf import FlagCreatePairsOff

from lengthwise.cli.command import COMMANDS
from lengthwise.errors import InputError
from lengthwise.ranks import own_rank

Flag = FlagCreatePairsOff[bool]


def parse(form: Any, command: str, arguments: list[str], description: str | None = None) -> Any:
    """Parse with tyro; what it would print as a box of help becomes one sentence."""
    complaint = io.StringIO()
    described = description or f"{COMMANDS[command][0].upper()}{COMMANDS[command][1:]}."
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(form, prog=f"lengthwise {command}", args=arguments, description=described)
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
    if missing := re.match(r"Missing from .*?: ([A-Z]+) (.*?) \(required\)", gist):
        return f"The {missing[1].lower()} is missing: give {missing[2]}"
    if valueless := re.match(r"Missing value for argument '(\S+)'", gist):
        return f"{valueless[1]} needs a value"
    if chosen := re.fullmatch(r"invalid choice (.+) for argument '(\S+)'\. Expected one of \((.*)\)", gist):
        return f"{chosen[2]} cannot be {chosen[1]}: choose one of {chosen[3].replace(chr(39), '').rstrip(',')}"
    if refused := re.fullmatch(r"Error parsing (--\S+): .*?(?:from|literal|float)[^'\[]*(?:\[|: )(.*?)\]?", gist):
        return f"{refused[1]} cannot be {refused[2].replace(', ', ' ')}"
    if gist.startswith("Unrecognized options: "):
        meant = [option for word in re.findall(r"--[\w.-]+", gist) for option in _similar(word, sections[1:])]
        return f"{gist}; did you mean {' and '.join(meant)}?" if meant else gist
    return re.sub(r"^Error parsing \w+: ", "", gist)  # a sentence of our own, from the class that refused


def _similar(option: str, sections: list[str]) -> list[str]:
    """The option that tyro thinks was meant, if it has an idea."""
    for section in sections:
        title, _, suggestions = section.partition("\n")
        if title in ("Perhaps you meant:", f"Arguments similar to {option}:"):
            return difflib.get_close_matches(option, re.findall(r"--[\w.-]+", suggestions), n=1)
    return []


def require_quotes(command: str, arguments: list[str]) -> None:
    """Refuse a problem that the shell has taken apart."""
    if len(arguments) > 1 and arguments[1] in ("+", "*", "×"):
        raise InputError(
            f"A problem with spaces must stand in quotes: lengthwise {command} '{' '.join(arguments[:3])}'."
        )


def console_for_people() -> Console:
    """Where to print: as wide as the terminal, or 80 characters where it claims to have no width at all.

    Of several processes that share their work, only the first prints.
    """
    console = Console(highlight=False, quiet=own_rank() > 0)
    return console if console.width >= 20 else Console(highlight=False, width=80, quiet=own_rank() > 0)


def numbers(text: str, name: str, *, least: int = 1) -> list[int]:
    """Lengths or counts as people write them, in order; from 1 up unless `least` is 0.

    >>> numbers("1:4", "--lengths"), numbers("5:20:5", "--lengths"), numbers("10,2:3,3", "--counts")
    ([1, 2, 3, 4], [5, 10, 15, 20], [2, 3, 10])
    """
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,7})(?::(\d{1,7})(?::(\d{1,7}))?)?\s*", part, re.ASCII)
        first, last, step = (int(group) if group else None for group in match.groups()) if match else (None, None, None)
        if (
            first is None
            or first < least
            or step == 0
            or not 0 <= (first if last is None else last) - first <= 1_000_000
        ):
            example = "1:30, 5:30:5 or 2,3,10" if least else "0:3 or 0,2,5"
            raise InputError(f"{name} cannot be {text!r}: write {example}.")
        found.update(range(first, (first if last is None else last) + 1, step or 1))
    return sorted(found)
