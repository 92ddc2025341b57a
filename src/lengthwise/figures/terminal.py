"""A page in the terminal: its tokens with one coloured row of ids per level, as in the paper's figures."""

from itertools import groupby

from rich.text import Text

from lengthwise.figures.palette import PART_COLOURS, id_colour
from lengthwise.tasks.page import Page


def page_text(page: Page, width: int) -> Text:
    """The page, wrapped to `width` characters. It reads without colour, too: a last row marks query and response."""
    cell = 1 + max(len(str(identifier)) for ids in page.position_ids for identifier in ids)
    margin = 2 + max(len(name) for name in ("tokens", *page.levels))
    parts = page.parts
    text = Text()
    for start, stop in page.breaks(max(8, (width - margin) // cell)):
        if start:
            text.append("\n")
        text.append("tokens".ljust(margin))
        for place in range(start, stop):
            colour = PART_COLOURS.get(parts[place])
            text.append(page.tokens[place].rjust(cell), style=f"bold black on {colour}" if colour else "bold")
        text.append("\n")
        for level, ids in zip(page.levels, page.position_ids, strict=True):
            text.append(level.ljust(margin))
            for place in range(start, stop):
                colour = id_colour(ids[place])
                text.append(str(ids[place]).rjust(cell), style=f"black on {colour}" if colour else "dim")
            text.append("\n")
        text.append((" " * margin + _marks(parts[start:stop], cell)).rstrip() + "\n", style="dim")
    return text


def _marks(parts: list[str], cell: int) -> str:
    """A bracket under each stretch of query or response, with as much of its name in it as there is room for."""
    marks = ""
    for part, stretch in groupby(parts):
        room = cell * len(list(stretch))
        if not part:
            marks += " " * room
        elif room > 3:
            inside = next(name for name in (f" {part} ", part, part[:1], "") if len(name) <= room - 3)
            marks += f" └{inside:─^{room - 3}}┘"
        else:
            marks += part[:1].rjust(room)
    return marks
