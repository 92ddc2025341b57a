"""A recipe says all of a training run: impossible ones are refused in a sentence, before anything is begun."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from models import CASES

import lengthwise as lw
from lengthwise import presets
from lengthwise.model.config import ModelConfig
from lengthwise.positions.learned import Learned
from lengthwise.recipe import Data, Recipe, Training, Watch, parse_cell, settings_from_json


def tiny(case: str = "learned", *, seed: int = 0, problems: int | None = None, **training: Any) -> Recipe:
    """A run of six steps that takes no time, with the encoding of one of `models.CASES`."""
    encoding, options = CASES[case]
    return Recipe(
        name="tiny",
        task=lw.task("addition", **options),
        encoding=encoding,
        model=ModelConfig(layers=1, heads=2, width=16, feedforward=16),
        data=Data(length=3, count=3, problems=problems),
        training=Training(**{"steps": 6, "batch_size": 6, "learning_rate": 0.01, "warm_up": 0.3} | training),
        watch=Watch(
            log_every=2,
            validate_every=3,
            validation_samples=8,
            cells=("4x4",),
            cell_samples=4,
            save_seconds=3600.0,
        ),
        seed=seed,
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Training(steps=0), "steps must be 1 or more, not 0"),
        (lambda: Training(steps=2.5), "steps must be a whole number"),  # type: ignore[arg-type]
        (lambda: Training(batch_size=0), "batch_size must be 1 or more"),
        (lambda: Training(accumulate=0), "accumulate must be 1 or more"),
        (lambda: Training(batch_size=4, accumulate=5), "a batch of 4 cannot be worked through in 5 parts"),
        (lambda: Training(learning_rate=0.0), "learning_rate and clip must be above 0"),
        (lambda: Training(learning_rate=float("nan")), "learning_rate must be a number"),
        (lambda: Training(clip=0.0), "clip must be above 0"),
        (lambda: Training(weight_decay=-0.1), "weight_decay not below"),
        (lambda: Training(warm_up=1.5), "warm_up and floor are parts"),
        (lambda: Training(floor=-0.5), "warm_up and floor are parts"),
        (lambda: Training(optimizer="sgd"), "optimizer must be one of 'adam', 'adamw'"),  # type: ignore[arg-type]
        (lambda: Training(betas=(0.9,)), "betas must be two numbers"),
        (lambda: Training(betas=(0.9, 1.0)), "betas must be two numbers"),
        (lambda: Training(precision="half"), "precision must be one of"),  # type: ignore[arg-type]
        (lambda: Data(problems=0), "problems must be 1 or more"),
        (lambda: Data(length="10"), "length must be a whole number"),  # type: ignore[arg-type]
        (lambda: Watch(log_every=0), "log_every must be 1 or more"),
        (lambda: Watch(validate_every=-1), "validate_every 0 or more"),
        (lambda: Watch(cell_samples=0), "cell_samples must be 1 or more"),
        (lambda: Watch(save_seconds=-1.0), "save_seconds 0 or more"),
        (lambda: Watch(cells=("20 by 20",)), "'20 by 20' is not a size"),
        (lambda: ModelConfig(width=30, heads=4), "width of 30 cannot be divided among 4 heads"),
        (lambda: replace(tiny(), seed="zero"), "seed must be a whole number"),  # type: ignore[arg-type]
        (lambda: replace(tiny(), name=7), "name of a recipe must be a text"),  # type: ignore[arg-type]
        (lambda: replace(tiny(), task="addition"), "task of a recipe must be a Task"),  # type: ignore[arg-type]
        (lambda: replace(tiny(), training={"steps": 3}), "must be a Training"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_an_impossible_setting_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(lw.InputError, match=words) as error:
        make()
    assert "\n" not in str(error.value)


def with_data(**changes: Any) -> Recipe:
    return replace(tiny(), data=replace(tiny().data, **changes))


PARITY = replace(presets.get("parity-tiny"), watch=Watch())


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (with_data(length=50), "needs column ids up to 52, but the maximum id of 'column' is 40"),
        (with_data(count=60), "needs row ids up to 61, but the maximum id of 'row' is 40"),
        (with_data(count=None), "count"),
        (with_data(length=0), "length"),
        (replace(tiny(), encoding=Learned(sizes=(20, 40))), "uses column ids up to 40, but the encoding's go up to 20"),
        (replace(with_data(random_offsets=False), encoding=Learned(sizes=(4, 40))), "column ids up to 5"),
        (replace(tiny(), encoding=Learned(sizes=(40,))), "largest id of every level, 2 in all"),
        (replace(tiny(), encoding=lw.encoding("fire")), "level"),
        (replace(tiny(), watch=Watch(cells=("4x4", "60x4"))), "length 60 and count 4 needs column ids up to 62"),
        (replace(tiny(), watch=Watch(cells=("40",))), "count"),
        (replace(PARITY, data=Data(length=5, count=3, problems=None)), "count"),
        (replace(PARITY, watch=Watch(cells=("5x5",))), "count"),
    ],
)
def test_what_cannot_be_trained_is_refused(recipe: Recipe, words: str) -> None:
    with pytest.raises(lw.InputError, match=words) as error:
        recipe.check()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("case", CASES)
def test_every_encoding_can_be_trained(case: str) -> None:
    tiny(case).check()


def test_ids_just_as_large_as_needed_are_enough() -> None:
    """Three digits and two numbers: 999 + 999 has four, so column ids go to 5, and rows to 3 with the zeros."""
    data = Data(length=3, count=2, problems=None)
    for sizes, fits in (((5, 3), True), ((4, 3), False), ((5, 2), False)):
        recipe = replace(tiny(), task=lw.task("addition", max_ids=sizes), encoding=Learned(sizes=sizes), data=data)
        recipe = replace(recipe, watch=Watch())
        if fits:
            recipe.check()
        else:
            with pytest.raises(lw.InputError, match="maximum id"):
                recipe.check()


@pytest.mark.parametrize(
    ("text", "cell"),
    [("20x15", (20, 15)), ("20×15", (20, 15)), (" 7x2 ", (7, 2)), ("40", (40, None))],
)
def test_cells_as_people_write_them(text: str, cell: tuple[int, int | None]) -> None:
    assert parse_cell(text) == cell


@pytest.mark.parametrize("text", ["", "x", "20x", "x20", "20x15x3", "-3x4", "2.5x3", "20*15", "٣x٤", "1234567"])
def test_what_is_no_cell(text: str) -> None:
    with pytest.raises(lw.InputError, match="is not a size"):
        parse_cell(text)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({}, []),
        ({"training": replace(tiny().training, steps=7)}, ["training.steps is 6, not 7"]),
        ({"seed": 3}, ["seed is 0, not 3"]),
        ({"name": "other"}, ["name is 'tiny', not 'other'"]),
        ({"data": replace(tiny().data, problems=50)}, ["data.problems is None, not 50"]),
        ({"encoding": Learned(sizes=(40, 41))}, ["encoding.sizes is (40, 40), not (40, 41)"]),
        ({"task": lw.task("addition", zero_padding=False)}, ["task.zero_padding is True, not False"]),
        (
            {"model": replace(tiny().model, heads=4), "watch": replace(tiny().watch, log_every=5)},
            ["model.heads is 2, not 4", "watch.log_every is 2, not 5"],
        ),
    ],
)
def test_differences_are_named(change: dict[str, Any], difference: list[str]) -> None:
    assert tiny().differences(replace(tiny(), **change)) == difference


def test_another_encoding_is_a_difference() -> None:
    assert "encoding.name is 'learned', not 'windowed'" in tiny().differences(tiny("windowed hard"))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"data": 3}, "data in the file must be an object"),
        ({"watch": [1, 2]}, "watch in the file must be an object"),
        ({"training": {"steps": 3}}, "training in the file lacks the setting"),
        ({"data": {**tiny().to_json()["data"], "size": 3}}, "data in the file has an unknown setting 'size'"),
        ({"training": {**tiny().to_json()["training"], "steps": -1}}, "training in the file cannot be used"),
    ],
)
def test_settings_are_read_strictly(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.InputError, match=words):
        settings_from_json(tiny().to_json() | parts, "the file")
