"""Colours of position ids: the same id has the same colour everywhere, in the terminal and in pictures.

The eight are distinguishable with the common kinds of colour blindness and light enough for black text.
Ids beyond eight go round; the number stands in the cell anyway. Lines of a diagram have colours and marks of their own,
dark enough for a white page.
"""

ID_COLOURS = ("#f5c76b", "#8fd0f5", "#7fd4b4", "#f4ec8e", "#9db8e8", "#f0a585", "#dfabd0", "#c4c4c4")
PART_COLOURS = {"query": "#cfdcf7", "response": "#f9d3cf"}
LINE_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
LINE_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""One more than the colours, so that a colour that returns comes with another mark."""
TRAINED_COLOUR = "#e3172d"
FAINT = "#555555"
"""Text that is read second."""


def id_colour(identifier: int) -> str | None:
    """The background of an id; None for 0, an uncoupled token."""
    return ID_COLOURS[(identifier - 1) % len(ID_COLOURS)] if identifier > 0 else None
