"""Pictures as files: PNG, SVG or PDF by the ending, written whole or not at all."""

from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure

from lengthwise.errors import InputError
from lengthwise.files import write_whole

FORMATS = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 200
MAX_INCHES = 65_535 // DOTS_PER_INCH
"""Matplotlib draws at most so many dots in a row."""


def save_figure(figure: Figure, file: Path) -> None:
    """Save a picture as PNG, SVG or PDF, by the file's ending."""
    kind = next((ending for ending in FORMATS if file.name.lower().endswith(ending)), None)
    if kind is None:
        raise InputError(f"{file.name!r} has no ending of a picture: save as {', '.join(FORMATS)}.")
    if not file.absolute().parent.is_dir():
        raise InputError(f"There is no folder {str(file.parent)!r} to save {file.name!r} in: make it first.")
    if max(figure.get_size_inches()) > MAX_INCHES:
        raise InputError(f"{file.name!r} would be too large a picture: draw fewer panels at once.")
    picture = BytesIO()
    figure.savefig(picture, dpi=DOTS_PER_INCH, format=kind[1:])
    try:
        write_whole(file, picture.getvalue())
    except OSError as error:
        raise InputError(f"{file.name!r} cannot be written: {error.strerror or error}.") from error
