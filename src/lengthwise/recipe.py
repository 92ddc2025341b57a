"""A recipe: everything that decides what a training run yields. Presets are recipes with names.

    task  encoding  model          what is trained
    data  training  seed           on what, and how
    watch                          what is measured on the way; it changes nothing of the result

A recipe is frozen and complete: `dataclasses.replace` makes variants, and a run folder keeps the one it was made by.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.positions.base import Encoding, Shape
from lengthwise.settings import check_types, from_json, to_json
from lengthwise.tasks import Task


@dataclass(frozen=True, kw_only=True)
class Data:
    """The training distribution: problems up to a size."""

    length: int = 10
    """The most digits of a number, or bits; for multiplication, of the first operand."""
    count: int | None = 10
    """The most numbers; for multiplication, the most digits of the second operand; None for parity."""
    problems: int | None = 500_000
    """How many problems the data set has, with new id offsets at every use; None for new problems every step."""
    random_offsets: bool = True
    """Whether ids count from random offsets; else always from 1."""

    def __post_init__(self) -> None:
        check_types(self)
        if self.problems is not None and not 1 <= self.problems < 2**31:
            raise InputError(f"problems must be 1 or more, or None for new ones every step, not {self.problems}.")

    @property
    def size(self) -> dict[str, int]:
        """The largest sizes by axis, as result files say what a model was trained on."""
        return {"length": self.length} | ({} if self.count is None else {"count": self.count})


@dataclass(frozen=True, kw_only=True)
class Training:
    """How weights are changed."""

    steps: int = 50_000
    """How many batches."""
    batch_size: int = 400
    """Problems of a batch."""
    learning_rate: float = 3e-5
    """The highest learning rate."""
    warm_up: float = 0.01
    """Which part of the steps the learning rate rises for, linearly from 0."""
    floor: float = 0.1
    """Which part of the highest learning rate is left in the end, after a cosine."""
    optimizer: Literal["adam", "adamw"] = "adam"
    """They differ in weight decay only."""
    betas: tuple[float, ...] = (0.9, 0.95)
    """How slowly Adam's two averages move."""
    weight_decay: float = 0.0
    """Paper: none."""
    clip: float | None = 1.0
    """The largest norm of a gradient; None for no limit."""
    accumulate: int = 1
    """In how many parts a batch is worked through, where it does not fit the memory at once."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """What matrix products are computed in; auto is bfloat16 on CUDA and float32 elsewhere."""
    compile: bool | None = None
    """Whether to compile the model, which takes up to half a minute; None: on CUDA, large models in long runs."""

    def __post_init__(self) -> None:
        check_types(self)
        for name, least in (("steps", 1), ("batch_size", 1), ("accumulate", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be {least} or more, not {getattr(self, name)}.")
        if self.accumulate > self.batch_size:
            raise InputError(f"a batch of {self.batch_size} cannot be worked through in {self.accumulate} parts.")
        if self.learning_rate <= 0 or (self.clip is not None and self.clip <= 0) or self.weight_decay < 0:
            raise InputError("learning_rate and clip must be above 0, and weight_decay not below.")
        if not (0 <= self.warm_up <= 1 and 0 <= self.floor <= 1):
            raise InputError(f"warm_up and floor are parts, from 0 to 1, not {self.warm_up} and {self.floor}.")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise InputError(f"betas must be two numbers from 0 to below 1, not {self.betas}.")


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What is measured on the way. Nothing of it ever selects a checkpoint."""

    log_every: int = 100
    """After how many steps the training loss and accuracy are noted."""
    validate_every: int = 2_500
    """After how many steps fresh problems are tried: of the training sizes, and of the cells; 0 for never."""
    validation_samples: int = 500
    """How many problems of the training sizes."""
    cells: tuple[str, ...] = ()
    """Longer problems to try, such as 20x20: length × count, or a length alone."""
    cell_samples: int = 50
    """How many problems of each cell."""
    save_seconds: float = 60.0
    """After how much time the state of the run is saved."""

    def __post_init__(self) -> None:
        check_types(self)
        if self.log_every < 1 or self.validate_every < 0:
            raise InputError("log_every must be 1 or more, and validate_every 0 or more.")
        if self.validation_samples < 1 or self.cell_samples < 1 or self.save_seconds < 0:
            raise InputError("validation_samples and cell_samples must be 1 or more, and save_seconds 0 or more.")
        for cell in self.cells:
            parse_cell(cell)


def parse_cell(text: str) -> tuple[int, int | None]:
    """The length and count of a cell written as 20x15, or the length alone.

    >>> parse_cell("20x15"), parse_cell("40")
    ((20, 15), (40, None))
    """
    match = re.fullmatch(r"(\d{1,6})(?:[x×](\d{1,6}))?", text.strip(), re.ASCII)
    if not match:
        raise InputError(f"{text!r} is not a size: write length x count, such as 20x15, or a length such as 40.")
    return int(match[1]), None if match[2] is None else int(match[2])


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All of a training run."""

    name: str
    """The preset it began with."""
    task: Task
    encoding: Encoding
    model: ModelConfig = field(default_factory=ModelConfig)
    data: Data = field(default_factory=Data)
    training: Training = field(default_factory=Training)
    watch: Watch = field(default_factory=Watch)
    seed: int = 0
    """Of the weights and of all that is drawn."""

    def __post_init__(self) -> None:
        kinds = {"task": Task, "encoding": Encoding, "model": ModelConfig}
        kinds |= {"data": Data, "training": Training, "watch": Watch}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"{name} of a recipe must be a {kind.__name__}, not {getattr(self, name)!r}.")
        if not isinstance(self.name, str):
            raise InputError(f"name of a recipe must be a text, not {self.name!r}.")
        if type(self.seed) is not int:
            raise InputError(f"seed must be a whole number, not {self.seed!r}.")

    def check(self) -> None:
        """Refuse what cannot be trained: sizes the task does not have, or ids beyond those there are."""
        self.encoding.build(self.shape)  # refuses what it cannot encode
        self.task.require_size(self.data.length, self.data.count, random_offsets=self.data.random_offsets)
        known = self.encoding.max_ids(self.shape)
        used = self.task.coupling_for(training=self.data.random_offsets).max_ids
        largest = self.task.largest_ids(self.data.length, self.data.count)
        for level, has, limit, needs in zip(self.task.levels, known, used, largest, strict=True):
            highest = limit if limit is not None else needs
            if has is not None and highest > has:
                raise InputError(
                    f"training uses {level} ids up to {highest}, but the encoding's go up to {has}: "
                    "make its sizes and the task's max_ids the same."
                )
        for cell in self.watch.cells if self.watch.validate_every else ():
            try:
                require_cell(self.task, known, *parse_cell(cell))
            except InputError as error:
                raise InputError(f"watch.cells has {cell}, which cannot be tried: {error}") from error

    @property
    def shape(self) -> Shape:
        """What the encoding is built for."""
        model = self.model
        return Shape(
            levels=len(self.task.levels),
            width=model.width,
            layers=model.layers,
            heads=model.heads,
            head_dim=model.dim_per_head,
        )

    def to_json(self) -> dict[str, Any]:
        """All settings by part."""
        return {entry.name: _plain(getattr(self, entry.name)) for entry in fields(self)}

    def differences(self, other: "Recipe") -> list[str]:
        """What another recipe has otherwise, as `training.steps is 600, not 700`."""
        mine, theirs = _flat(self.to_json()), _flat(other.to_json())
        return [
            f"{name} is {mine.get(name)!r}, not {theirs.get(name)!r}"
            for name in {**mine, **theirs}
            if mine.get(name) != theirs.get(name)
        ]


def require_cell(task: Task, known: tuple[int | None, ...], length: int, count: int | None) -> None:
    """Refuse a size whose ids go beyond those that a model has, saying how large ids would have to be."""
    replace(task, max_ids=None).require_size(length, count, random_offsets=False)
    limits = [_lower(has, given) for has, given in zip(known, task.max_ids or known, strict=True)]
    needed = task.largest_ids(length, count)
    beyond = [
        (level, needs, limit)
        for level, needs, limit in zip(task.levels, needed, limits, strict=True)
        if limit is not None and needs > limit
    ]
    if beyond:
        size = f"length {length}" + ("" if count is None else f" and count {count}")
        needs = " and ".join(f"{level} ids up to {high}" for level, high, _ in beyond)
        has = " and ".join(str(limit) for _, _, limit in beyond)
        raise InputError(
            f"{task.name} of {size} needs {needs}, but the model's go up to {has}: "
            "take smaller sizes, or train with larger ids."
        )


def _lower(first: int | None, second: int | None) -> int | None:
    return min((limit for limit in (first, second) if limit is not None), default=None)


def settings_from_json(parts: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The `data`, `training` and `watch` that `to_json` gave."""
    kinds: dict[str, type[Any]] = {"data": Data, "training": Training, "watch": Watch}
    for name in kinds:
        if not isinstance(parts[name], dict):
            raise InputError(f"{name} in {where} must be an object, not {parts[name]!r}.")
    return {name: from_json(kind, parts[name], f"{name} in {where}") for name, kind in kinds.items()}


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int)) else to_json(value)


def _flat(parts: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for part, value in parts.items():
        flat |= {f"{part}.{name}": item for name, item in value.items()} if isinstance(value, dict) else {part: value}
    return flat
