"""A page as a picture: tokens above, one coloured row of ids per level below, as in the paper's figures."""

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lengthwise.errors import InputError
from lengthwise.figures.palette import PART_COLOURS, id_colour
from lengthwise.tasks.page import Page

MAX_TOKENS = 2_000
PER_ROW = 48


def draw_page(page: Page) -> Figure:
    """The page, in rows of at most 48 tokens."""
    if len(page.tokens) > MAX_TOKENS:
        raise InputError(
            f"A page of {len(page.tokens):,} tokens does not fit a picture: {MAX_TOKENS:,} tokens do, --json takes any."
        )
    stretches = list(page.breaks(PER_ROW))
    columns = max(stop - start for start, stop in stretches)
    height, margin, gap = len(page.levels) + 1.7, 3.4, 0.25
    figure = Figure(figsize=((columns + margin) * 0.26, (len(stretches) * height + gap) * 0.26))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-margin, columns + gap)
    axes.set_ylim(-len(stretches) * height, gap)
    axes.axis("off")
    parts = page.parts
    for number, (start, stop) in enumerate(stretches):
        top = -number * height
        for line, name in enumerate(["tokens", *page.levels]):
            axes.text(-0.35, top - line - 0.5, name, ha="right", va="center", fontsize=7, color="#555555")
        for place in range(start, stop):
            column = place - start
            _cell(axes, column, top - 1, page.tokens[place], PART_COLOURS.get(parts[place]), weight="bold")
            for level, ids in enumerate(page.position_ids):
                _cell(axes, column, top - level - 2, str(ids[place]), id_colour(ids[place]))
    return figure


def _cell(axes: Axes, column: int, bottom: float, text: str, colour: str | None, weight: str = "normal") -> None:
    if colour:
        axes.add_patch(Rectangle((column + 0.03, bottom + 0.03), 0.94, 0.94, facecolor=colour, edgecolor="none"))
    shade = "#111111" if colour else "#777777"
    size = 8.5 if len(text) < 3 else 6.5
    axes.text(
        column + 0.5, bottom + 0.47, text, ha="center", va="center", fontsize=size, color=shade, fontweight=weight
    )
