"""What several figures share: the scales of each task, cases by preset, and windowed coupling as it stands beside them.

The scale `small` was chosen so that six figures fit half an hour of one H200: the paper's models at half the width
(parity's as they are), 3 % of its sums, 5 % of its products, 20 % of its bits, learning rates raised to match. `paper`
is the paper's own: its tables' steps and batches, 1,000 problems a cell, as many seeds as the caption says.
"""

from dataclasses import replace
from typing import Any

from lengthwise import presets, tasks
from lengthwise.experiments.plans import Case, Scale
from lengthwise.recipe import Data, Recipe

COARSE = (1, 2, 4, 6, 8, 10, 11, 12, 13, 15, 17, 20, 25, 30)
"""Lengths at the scale small: dense where training ends, since that is where most methods do."""
COARSE_COUNTS = (2, 3, *COARSE[2:])


def addition_scales(seeds: int) -> dict[str, Scale]:
    """The scales of figures on addition; `seeds` is the caption's number."""
    return {
        "smoke": Scale(
            name="smoke",
            seeds=1,
            lengths=(2, 3),
            counts=(2, 3),
            samples=3,
            shrink=64,
            steps=2,
            batch_size=4,
            problems=16,
            validation_samples=4,
        ),
        "small": Scale(
            name="small",
            seeds=1,
            lengths=COARSE,
            counts=COARSE_COUNTS,
            samples=100,
            shrink=2,
            steps=6_000,
            batch_size=100,
            learning_rate=2e-4,
        ),
        "paper": Scale(
            name="paper", seeds=seeds, lengths=tuple(range(1, 31)), counts=tuple(range(2, 31)), samples=1000
        ),
    }


def multiplication_scales(seeds: int) -> dict[str, Scale]:
    """The scales of the figure on multiplication."""
    scales = addition_scales(seeds)
    return {
        "smoke": scales["smoke"],
        "small": replace(scales["small"], counts=COARSE, samples=50, steps=5_000, learning_rate=3e-4),
        "paper": replace(scales["paper"], counts=scales["paper"].lengths),
    }


def case(preset: str, title: str, scale: Scale) -> Case:
    """A preset of the paper at a scale."""
    return Case(title=title, recipe=scale.recipe(presets.get(preset)), key=preset)


def windowed(scale: Scale, title: str, preset: str = "adder-tiny", label: str = "", **changes: Any) -> Case:
    """Windowed coupling by one of our presets, at a scale; `changes` are settings by part, `label` names them."""
    recipe: Recipe = presets.get(preset)
    for part, settings in changes.items():
        recipe = replace(recipe, **{part: replace(getattr(recipe, part), **settings)})
    key = f"windowed-{recipe.task.name}" + (f"-{label}" if label else "")
    return Case(title=title, recipe=scale.windowed(recipe), key=key, own=True)


def windowed_format(scale: Scale, title: str, label: str, **options: bool) -> Case:
    """Windowed coupling for addition in another format."""
    made = windowed(scale, title, label=label)
    return replace(made, recipe=replace(made.recipe, task=tasks.task("addition", **options)))


def windowed_sizes(scale: Scale, title: str, size: int) -> Case:
    """Windowed coupling for addition, trained on other sizes."""
    label = "" if size == 10 else f"{size}x{size}"
    data: Data = presets.get("adder-tiny").data
    return windowed(scale, title, label=label, data={"length": size, "count": size, "problems": data.problems})
