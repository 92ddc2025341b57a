"""Pictures that commands leave: what cannot be saved is refused before the work for it begins."""

from pathlib import Path

from matplotlib.figure import Figure

from lengthwise.errors import InputError
from lengthwise.figures.saving import FORMATS, save_figure


def require_picture(file: Path | None) -> None:
    """Refuse a file that no picture can be saved as."""
    if file is not None and not file.name.lower().endswith(FORMATS):
        raise InputError(f"{file.name!r} has no ending of a picture: save as {', '.join(FORMATS)}.")


def save_picture(figure: Figure, file: Path) -> None:
    """Save a picture, in a folder that is made for it if need be."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{str(file)!r} cannot be written: {error.strerror or error}.") from error
    save_figure(figure, file)
