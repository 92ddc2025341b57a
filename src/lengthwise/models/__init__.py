"""Trained models in the box, found by name.

    lw.models.names()                    which there are
    lw.models.describe("adder-tiny")     its task, its parameters, the largest sizes it was trained on
    lw.load("adder-tiny")                the model itself

Each is a folder here: `config.json` and `model.safetensors` as anywhere, a card that says where it comes from, and
`grid.json` where it has been measured. `scripts/box` makes them of run folders.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from lengthwise import checkpoint
from lengthwise.errors import InputError, instead

FOLDER = Path(__file__).parent
GRID = "grid.json"
FIRST_CHOICE = {"addition": "adder-tiny", "multiplication": "multiplier", "parity": "parity-tiny"}
"""Which model is taken for a task, where none is named."""


@dataclass(frozen=True, kw_only=True)
class Boxed:
    """A model in the box, weights apart."""

    name: str
    task: str
    encoding: str
    """The name of its position encoding."""
    parameters: int
    trained_on: dict[str, int]
    """The largest sizes of its training, by axis."""


def names() -> tuple[str, ...]:
    """All models in the box, in alphabetical order."""
    return tuple(sorted(config.parent.name for config in FOLDER.glob(f"*/{checkpoint.CONFIG}")))


def describe(name: str) -> Boxed:
    """What is known of a model in the box without reading its weights."""
    if name not in names():
        raise InputError(f"There is no model {name!r} in the box: {instead(name, names())}")
    about = checkpoint.describe(FOLDER / name)
    return Boxed(
        name=name,
        task=about.task.name,
        encoding=about.encoding.name,
        parameters=checkpoint.count_parameters(FOLDER / name),
        trained_on=about.trained_on or {},
    )


def find(name: str | Path) -> Path:
    """The folder of a model. A model folder that is there wins over a model in the box that is called like it.

    A `Path` is always a folder, and a name is looked up among the models in the box, never made into a path there.
    """
    if os.path.isfile(os.path.join(name, checkpoint.CONFIG)):
        return Path(name)
    if isinstance(name, str) and name in names():
        return FOLDER / name
    if os.path.isdir(name):
        return Path(name)  # reading it says what it lacks
    if isinstance(name, Path):
        raise InputError(f"There is no model folder {str(name)!r}: give a folder that a model was saved to.")
    hint = instead(name, names())
    raise InputError(
        f"There is no model folder {name!r}, and no model of that name in the box: "
        + (hint if hint.startswith("did you") else f"give a folder, or one of {', '.join(names())}.")
    )


def first_choice(task: str) -> str:
    """The name of the model in the box for a task."""
    name = FIRST_CHOICE.get(task)
    if name is None or name not in names():
        raise InputError(f"There is no model for {task} in the box: train one, and give its folder as --model FOLDER.")
    return name
