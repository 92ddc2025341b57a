"""lengthwise train: a preset becomes a model. Every setting of the preset is an option."""

import dataclasses
import os
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

import lengthwise as lw
from lengthwise.cli.parsing import Flag, console_for_people, parse
from lengthwise.device import pick_device
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
    seed: Annotated[int | None, arg(help="of the weights and of all that is drawn (0)")] = None
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "auto"
    tensorboard: Annotated[Flag, arg(help="write for TensorBoard, too; needs the extra [track]")] = False


def run(arguments: list[str]) -> None:
    """Train, with progress."""
    asked = Asked.of(arguments)
    recipe, options = asked.read(lw.presets.get(asked.preset))
    device = pick_device(options.device)
    folder = options.out or Path("runs") / recipe.name
    held = Run(folder)
    if options.resume and held.exists and held.recipe.name == asked.preset:
        recipe, options = asked.read(held.recipe)  # what is not said stays as it was
    console = console_for_people()
    if options.resume and held.exists and held.finished and not held.recipe.differences(recipe):
        console.print(f"{folder} is finished: {held.step:,} steps.", soft_wrap=True)
        return
    try:
        finished = lw.train(
            recipe,
            folder,
            resume=options.resume,
            device=device,
            observer=TrainingProgress(console),
            tensorboard=options.tensorboard,
        )
    except KeyboardInterrupt:
        if not held.exists:
            raise
        command = f"lengthwise train {recipe.name} --out {folder} --resume"
        if "TORCHELASTIC_RUN_ID" in os.environ:
            command = f"torchrun … -m {command}"
        raise KeyboardInterrupt(f"stopped after step {held.step:,}; {command} goes on.") from None
    console.print(f"done: {finished.folder}  (lengthwise evaluate {finished.folder} measures it)", soft_wrap=True)


@dataclass(frozen=True)
class Asked:
    """The arguments, parted: which options there are depends on the preset, and on the encoding if another is named."""

    preset: str
    encoding: str | None
    rest: list[str]

    @classmethod
    def of(cls, arguments: list[str]) -> "Asked":
        names = lw.presets.names()
        places = [
            place
            for place, (before, argument) in enumerate(pairwise(["", *arguments]))
            if argument in names and before != "--out"
        ]
        if not places and any(argument in ("-h", "--help") for argument in arguments):
            return cls("adder-tiny", None, arguments)
        if not places and (not arguments or arguments[0].startswith("-")):
            raise InputError(
                "The preset is missing: lengthwise train adder-tiny, for one; lengthwise list shows them all."
            )
        place = places[0] if places else 0
        preset, rest = lw.presets.get(arguments[place]).name, [*arguments[:place], *arguments[place + 1 :]]
        for place, (option, value) in enumerate(pairwise([*rest, ""])):
            if option == "--encoding":
                return cls(preset, value, [*rest[:place], *rest[place + 2 :]])
            if option.startswith("--encoding="):
                return cls(preset, option.partition("=")[2], [*rest[:place], *rest[place + 1 :]])
        return cls(preset, None, rest)

    def read(self, base: Recipe) -> tuple[Recipe, _Common]:
        """A recipe with what the arguments ask for otherwise, and what concerns this process alone."""
        if self.encoding is not None and self.encoding != base.encoding.name:
            base = lw.presets.with_encoding(base, self.encoding)
        fields: list[Any] = [
            (name, type(getattr(base, name)), dataclasses.field(default=getattr(base, name))) for name in PARTS
        ]
        form = dataclasses.make_dataclass("Train", fields, bases=(_Common,), frozen=True)
        about = (
            f"Train by the preset {base.name}; lengthwise list shows all presets. Any setting can be given otherwise, "
            "and --encoding NAME takes another position encoding, with settings of its own."
        )
        options = parse(form, "train PRESET", self.rest, about)
        recipe = replace(base, **{name: getattr(options, name) for name in PARTS})
        if options.seed is not None:
            recipe = replace(recipe, seed=options.seed)
        if options.steps is not None:
            recipe = replace(recipe, training=replace(recipe.training, steps=options.steps))
        return recipe, options
