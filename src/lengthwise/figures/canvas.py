"""A blank figure measured in inches, with axes placed from its top left corner.

Panels of known size keep their cells square and their labels clear of each other, whatever stands next to them.
"""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


def blank_figure(width: float, height: float) -> Figure:
    """A figure of this size with nothing on it, apart from any state that other figures share."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def add_axes(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes of this size, so far from the figure's left and upper edges."""
    across, down = figure.get_size_inches()
    return figure.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))


def write(figure: Figure, left: float, top: float, text: str, **style: Any) -> None:
    """Text as it stands (`$` is no formula here), its upper edge so far from the figure's."""
    across, down = figure.get_size_inches()
    style = {"va": "top", "ha": "center", "parse_math": False, **style}
    figure.text(left / across, 1 - top / down, text, **style)
