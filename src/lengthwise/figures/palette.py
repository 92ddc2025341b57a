"""Colours of position ids: the same id has the same colour everywhere, in the terminal and in pictures.

The eight are distinguishable with the common kinds of colour blindness and light enough for black text.
Ids beyond eight go round; the number stands in the cell anyway.
"""

ID_COLOURS = ("#f5c76b", "#8fd0f5", "#7fd4b4", "#f4ec8e", "#9db8e8", "#f0a585", "#dfabd0", "#c4c4c4")
PART_COLOURS = {"query": "#cfdcf7", "response": "#f9d3cf"}


def id_colour(identifier: int) -> str | None:
    """The background of an id; None for 0, an uncoupled token."""
    return ID_COLOURS[(identifier - 1) % len(ID_COLOURS)] if identifier > 0 else None
