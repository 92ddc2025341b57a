"""lengthwise train: a preset becomes a model. Every setting of the preset is an option."""

import dataclasses
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

import lengthwise as lw
from lengthwise.cli.parsing import Flag, console_for_people, parse
from lengthwise.errors import InputError
from lengthwise.progress import TrainingProgress
from lengthwise.recipe import Recipe
from lengthwise.runs import Run

PARTS = ("task", "encoding", "model", "data", "training", "watch")


@dataclass(frozen=True)
class _Common:
    out: Annotated[Path | None, arg(metavar="FOLDER", help="where the run goes (runs/PRESET)")] = None
    resume: Annotated[Flag, arg(help="go on where the run in that folder stopped")] = False
    steps: Annotated[int | None, arg(help="the same as --training.steps")] = None
    seed: Annotated[int, arg(help="of the weights and of all that is drawn")] = 0
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "auto"
    tensorboard: Annotated[Flag, arg(help="write for TensorBoard, too; needs the extra [track]")] = False


def run(arguments: list[str]) -> None:
    """Train, with progress."""
    recipe, options = read(arguments)
    folder = options.out or Path("runs") / recipe.name
    held = Run(folder)
    if options.resume and held.exists and recipe == _chosen(arguments)[0]:
        recipe = held.recipe  # nothing was asked for but to go on
    console = console_for_people()
    if held.exists and options.resume and held.finished:
        console.print(f"{folder} is finished: {held.step:,} steps.")
        return
    try:
        finished = lw.train(
            recipe,
            folder,
            resume=options.resume,
            device=options.device,
            observer=TrainingProgress(console),
            tensorboard=options.tensorboard,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"stopped after step {held.step:,}; lengthwise train {recipe.name} --out {folder} --resume goes on."
        ) from None
    console.print(f"done: {finished.folder}  (lengthwise evaluate {finished.folder} measures it)")


def read(arguments: list[str]) -> tuple[Recipe, _Common]:
    """The recipe that the arguments ask for, and what concerns this process alone."""
    preset, rest = _chosen(arguments)
    fields: list[Any] = [
        (name, type(getattr(preset, name)), dataclasses.field(default=getattr(preset, name))) for name in PARTS
    ]
    form = dataclasses.make_dataclass("Train", fields, bases=(_Common,), frozen=True)
    form.__doc__ = f"Train by the preset {preset.name}; any setting can be given otherwise."
    options = parse(form, "train PRESET", rest)
    recipe = replace(preset, seed=options.seed, **{name: getattr(options, name) for name in PARTS})
    if options.steps is not None:
        recipe = replace(recipe, training=replace(recipe.training, steps=options.steps))
    return recipe, options


def _chosen(arguments: list[str]) -> tuple[Recipe, list[str]]:
    """The preset, with another encoding if one is named, and the arguments left."""
    names = [argument for argument in arguments if argument in lw.presets.PRESETS]
    if not names and any(argument in ("-h", "--help") for argument in arguments):
        return lw.presets.get("adder-tiny"), arguments
    if not names and (not arguments or arguments[0].startswith("-")):
        raise InputError("The preset is missing: lengthwise train adder-tiny, for one; lengthwise list shows them all.")
    preset = lw.presets.get(names[0] if names else arguments[0])
    rest = list(arguments)
    rest.remove(preset.name)
    for option, value in pairwise([*rest, ""]):
        if option == "--encoding" or option.startswith("--encoding="):
            name = value if option == "--encoding" else option.partition("=")[2]
            rest = [other for other in rest if other is not option and (other is not value or option != "--encoding")]
            encoding = lw.encoding(name)
            if name == "learned":
                encoding = lw.encoding(name, sizes=tuple(preset.task.paper_max_ids.values()))
            return replace(preset, encoding=encoding), rest
    return preset, rest
