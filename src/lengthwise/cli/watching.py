"""A model writes before one's eyes."""

import time
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from rich.console import Console
from rich.text import Text

from lengthwise.solver import Solver
from lengthwise.tasks.operands import DIGITS
from lengthwise.verdict import Verdict

FRAME_SECONDS = 1 / 30
"""Tokens are shown at most so often: a fast model is not held up by the terminal."""
RIGHT, WRONG = "green", "bold white on red"


def watch(console: Console, model: Solver, operands: list[str], name: str) -> bool:
    """Print the tokens as the model writes them, each number on a row of its own, wrong ones marked; was all right?"""
    page = model.task.write(operands)
    tokens = model.stream(operands)
    first = next(tokens)  # what the model cannot take is refused here, before anything is printed
    console.print(Text("".join(page.prompt[1:]), "bold"), soft_wrap=True)
    expected, written = page.response, list[str]()
    for frame in _frames(chain([first], tokens)):
        pieces: list[tuple[str, str]] = []
        for token in frame:
            right = len(written) < len(expected) and token == expected[len(written)]
            pieces += _laid_out(token, RIGHT if right else WRONG, begins=not written)
            written.append(token)
        text = Text()
        for style, alike in groupby(pieces, key=lambda piece: piece[1]):
            text.append("".join(piece for piece, _ in alike), style)
        console.print(text, end="", soft_wrap=True)
        console.file.flush()
    verdict = Verdict.on(page, model.task.read(operands, written))
    console.print(Text(f"\n{verdict.sentence(name)}"), soft_wrap=True)
    return verdict.right and verdict.mistake is None


def _laid_out(token: str, style: str, *, begins: bool) -> list[tuple[str, str]]:
    """A token and what parts it from those before it: a symbol begins a row, its number follows after a space."""
    if token in DIGITS:
        return [("  ", "")] * begins + [(token, style)]
    return [("\n", "")] * (not begins) + [(token, style), (" ", "")]


def _frames(tokens: Iterable[str]) -> Iterator[list[str]]:
    """Tokens as they come, those that come fast together."""
    frame, shown = list[str](), float("-inf")
    for token in tokens:
        frame.append(token)
        if time.monotonic() - shown >= FRAME_SECONDS:
            yield frame
            frame, shown = [], time.monotonic()
    if frame:
        yield frame
