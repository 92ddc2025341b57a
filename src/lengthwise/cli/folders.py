"""Which folder a model is read from, and which folder takes what is measured of it."""

from pathlib import Path

from lengthwise import models

FOR_THE_BOX = Path("runs") / "box"
"""Where results of models in the box go. Not `runs` itself: training by a preset goes there, and presets share names
with models in the box."""


def find_model(name: str) -> tuple[Path, Path]:
    """The folder of a model, and the folder for its results: the same, except for a model in the box.

    The box is part of the installation and never written to, whether a model there is given by its name or by its path.
    """
    folder = models.find(name)
    boxed = folder.resolve().parent == models.FOLDER.resolve()
    return folder, FOR_THE_BOX / folder.resolve().name if boxed else folder
