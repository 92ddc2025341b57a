"""What was measured, as files: grids of counts, and attention averaged over many pages.

A result file is complete in itself: what was asked, of which model, how, when and on what, beside the counts.
Figures are drawn from these files and nothing else.

>>> grid = Grid.blank({"length": [10, 20], "count": [2, 3]}, task={"name": "addition"}, seed=0, samples=50)
>>> grid.correct[0][1], grid.total[0][1] = 49, 50
>>> grid.accuracy
[[None, 0.98], [None, None]]
>>> low, high = wilson(49, 50)
>>> round(low, 3), round(high, 3)
(0.895, 0.996)
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import chain, product
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from lengthwise.errors import InputError
from lengthwise.files import write_whole
from lengthwise.settings import to_json

GRID_FORMAT = 1
"""The version of a grid file; a reader refuses newer ones."""
DERIVED = ("accuracy", "intervals")
"""What a grid file says besides its counts, though it follows from them."""

Counts = list[list[int | None]]
"""One row for each length, one column for each count; None where a cell has not been measured."""


def wilson(correct: int, total: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % interval of a proportion by Wilson's formula: sensible near 0 and 1, and for few samples."""
    if total == 0:
        return 0.0, 1.0
    rate, spread = correct / total, z * z / total
    middle = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / total + spread / (4 * total)) / (1 + spread)
    low = 0.0 if correct == 0 else middle - half
    high = 1.0 if correct == total else middle + half
    return low, high


@dataclass(kw_only=True)
class Grid:
    """How many problems of each size a model gets right."""

    task: dict[str, Any]
    """The task with all its options, as in a model's config.json."""
    axes: dict[str, list[int]]
    """The values of `length` and of `count`; parity has no `count`."""
    problems: str = "random"
    """The suite the problems come from: `random`, the paper's test distribution, or a stress suite."""
    offsets: Literal["one", "training"] = "one"
    """Whether ids count from 1, or from random offsets as in training."""
    metric: str = "exact-match"
    """What `correct` counts: whole responses without a single mistake, the end included."""
    decoding: Literal["teacher-forced", "greedy"] = "teacher-forced"
    """How the model was asked: in one pass over the right page, or token by token on its own."""
    correct: Counts
    answers: Counts
    """Right answers alone. Teacher-forced, that is with the right scratchpad given; greedy, with the model's own."""
    total: Counts
    samples: int
    """How many problems a cell is to have."""
    seed: int
    dtype: str = "float32"
    model: dict[str, Any] = field(default_factory=dict)
    """Its `name`, a `fingerprint` of its weights, its number of `parameters`, its `encoding`, and the largest sizes it
    was `trained_on`, by axis."""
    seconds: float = 0.0
    """Time spent on the cells."""
    made: dict[str, str] = field(default_factory=dict)
    """Versions, device and date."""

    @classmethod
    def blank(cls, axes: Mapping[str, Sequence[int]], **about: Any) -> "Grid":
        """A grid of these axes with no cell measured yet."""
        rows, columns = len(axes["length"]), len(axes.get("count", [0]))

        def nothing() -> Counts:
            return [[None] * columns for _ in range(rows)]

        values = {name: [int(value) for value in axis] for name, axis in axes.items()}
        return cls(axes=values, correct=nothing(), answers=nothing(), total=nothing(), **about)

    @property
    def cells(self) -> Iterator[tuple[int, int, int, int | None]]:
        """Row and column of every cell with its length and count."""
        counts: Sequence[int | None] = self.axes.get("count", [None])
        for (row, length), (column, count) in product(enumerate(self.axes["length"]), enumerate(counts)):
            yield row, column, length, count

    @property
    def accuracy(self) -> list[list[float | None]]:
        """The rate of whole responses without a mistake; None where a cell has not been measured."""
        return _rates(self.correct, self.total)

    @property
    def answer_accuracy(self) -> list[list[float | None]]:
        """The rate of right answers."""
        return _rates(self.answers, self.total)

    @property
    def intervals(self) -> list[list[tuple[float, float] | None]]:
        """95 % Wilson intervals of the accuracy."""
        return [
            [
                None if right is None or asked is None else wilson(right, asked)
                for right, asked in zip(*pair, strict=True)
            ]
            for pair in zip(self.correct, self.total, strict=True)
        ]

    @property
    def complete(self) -> bool:
        """Whether every cell has been measured."""
        return all(count is not None for row in self.total for count in row)

    @property
    def lowest(self) -> float | None:
        """The accuracy of the worst cell measured."""
        return min((rate for row in self.accuracy for rate in row if rate is not None), default=None)

    def to_json(self) -> dict[str, Any]:
        """Everything, as it stands in the file: the rates and intervals that follow from the counts, too."""
        derived = {name: getattr(self, name) for name in DERIVED}
        return {"format": GRID_FORMAT, "kind": "grid", **asdict(self), **derived}

    def save(self, file: str | Path) -> None:
        """Write the file, whole or not at all."""
        write_json(Path(file), self.to_json())

    @classmethod
    def load(cls, file: str | Path) -> "Grid":
        """Read a grid file; anything amiss is refused in a sentence."""
        data = read_json(Path(file))
        if not isinstance(data, dict) or data.get("kind") != "grid":
            raise InputError(f"{str(file)!r} is not a grid: grids are made by lengthwise evaluate.")
        if type(data.get("format")) is not int or data["format"] < 1:
            raise InputError(f"{str(file)!r} is not a whole grid: it does not say its format.")
        if data["format"] > GRID_FORMAT:
            raise InputError(f"{str(file)!r} is a grid of a newer format: install a newer lengthwise.")
        known = {entry.name for entry in fields(cls)}
        given = {key: value for key, value in data.items() if key not in ("format", "kind", *DERIVED)}
        if set(given) != known:
            odd = sorted(set(given) ^ known)[0]
            raise InputError(
                f"{str(file)!r} is not a whole grid: {odd!r} is {'unknown' if odd in given else 'missing'}."
            )
        grid = cls(**given)
        grid._require_kinds(str(file))
        grid._require_shape(str(file))
        return grid

    def _require_kinds(self, where: str) -> None:
        for name in ("task", "model", "made"):
            if not isinstance(getattr(self, name), dict):
                raise InputError(f"{where!r} is not a whole grid: its {name} must be an object.")
        whole = all(type(number) is int for number in (self.samples, self.seed)) and self.samples >= 1
        if not whole or type(self.seconds) not in (int, float) or not 0 <= self.seconds < math.inf:
            raise InputError(f"{where!r} is not a whole grid: its samples, seed and seconds must be numbers.")
        words = (self.task.get("name"), self.problems, self.metric, self.dtype, self.offsets, self.decoding)
        if not all(isinstance(word, str) for word in words):
            raise InputError(f"{where!r} is not a whole grid: its task, problems and decoding must be named.")
        if self.offsets not in ("one", "training") or self.decoding not in ("teacher-forced", "greedy"):
            raise InputError(f"{where!r} is not a whole grid: it was measured in a way that is not known here.")

    def _require_shape(self, where: str) -> None:
        sound = isinstance(self.axes, dict) and "length" in self.axes and set(self.axes) <= {"length", "count"}
        sound = sound and all(
            isinstance(axis, list)
            and axis
            and all(type(value) is int and value >= 1 for value in axis)
            and len(set(axis)) == len(axis)
            for axis in self.axes.values()
        )
        if not sound:
            raise InputError(f"{where!r} is not a whole grid: its axes must be lists of different sizes.")
        shape = len(self.axes["length"]), len(self.axes.get("count", [0]))
        for counts in (self.correct, self.answers, self.total):
            rows = isinstance(counts, list) and all(isinstance(row, list) for row in counts)
            if not rows or (len(counts), {len(row) for row in counts}) != (shape[0], {shape[1]}):
                raise InputError(f"{where!r} is not a whole grid: its counts must be {shape[0]} rows of {shape[1]}.")
        for right, answers, asked in zip(
            *(chain(*part) for part in (self.correct, self.answers, self.total)), strict=True
        ):
            measured = type(asked) is int and 1 <= asked <= self.samples
            for number in (right, answers):
                if not (measured and type(number) is int and 0 <= number <= asked) and (number, asked) != (None, None):
                    raise InputError(f"{where!r} is not a whole grid: it says {number} of {asked} in a cell.")


def _rates(correct: Counts, total: Counts) -> list[list[float | None]]:
    return [
        [None if right is None or not asked else right / asked for right, asked in zip(*pair, strict=True)]
        for pair in zip(correct, total, strict=True)
    ]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Accuracies of several runs, cell by cell: median and quartiles."""

    axes: dict[str, list[int]]
    median: list[list[float | None]]
    lower: list[list[float | None]]
    upper: list[list[float | None]]
    runs: int


def over_seeds(grids: Sequence[Grid], *, answers: bool = False) -> Spread:
    """Median and quartiles of grids that differ in nothing but the model."""
    if not grids:
        raise InputError("there is no grid to summarise: give one or more.")
    first = grids[0]
    for grid in grids[1:]:
        for name in ("axes", "problems", "offsets", "metric", "decoding"):
            if getattr(grid, name) != getattr(first, name):
                raise InputError(f"these grids cannot be summarised together: their {name} differ.")
        if grid.task["name"] != first.task["name"]:
            raise InputError("these grids cannot be summarised together: their tasks differ.")
    rates = [grid.answer_accuracy if answers else grid.accuracy for grid in grids]
    middle, low, high = [], [], []
    for rows in zip(*rates, strict=True):
        cells = [[rate for rate in cell if rate is not None] for cell in zip(*rows, strict=True)]
        middle.append([median(cell) if cell else None for cell in cells])
        quartiles = [
            quantiles(cell, n=4, method="inclusive") if len(cell) > 1 else cell * 3 or [None] * 3 for cell in cells
        ]
        low.append([quartile[0] for quartile in quartiles])
        high.append([quartile[2] for quartile in quartiles])
    return Spread(axes=first.axes, median=middle, lower=low, upper=high, runs=len(grids))


@dataclass(kw_only=True, eq=False)
class AttentionMap:
    """Where every head of every layer looks, averaged over pages of one shape."""

    weights: NDArray[np.float32]
    """layers × heads × queries × keys."""
    tokens: list[str]
    """The tokens of the first page."""
    labels: list[str]
    """What each token is, in words."""
    lines: list[str]
    """The line of the page each token stands on, such as `operand 3`."""
    targets: list[bool]
    """Which tokens the model must write."""
    about: dict[str, Any] = field(default_factory=dict)
    """Task, size, samples, seed, model, versions."""

    def save(self, file: str | Path) -> None:
        """Write the file, whole or not at all."""
        about = {key: getattr(self, key) for key in ("tokens", "labels", "lines", "targets", "about")}
        content = save(
            {"weights": np.ascontiguousarray(self.weights)}, {"kind": "attention", "data": json.dumps(about)}
        )
        _write(Path(file), content)

    @classmethod
    def load(cls, file: str | Path) -> "AttentionMap":
        """Read an attention file; anything amiss is refused in a sentence."""
        if not Path(file).is_file():
            raise InputError(f"There is no file {str(file)!r}.")
        try:
            with safe_open(file, framework="numpy") as stored:
                data = json.loads((stored.metadata() or {})["data"])
                weights = stored.get_tensor("weights")
            return cls(weights=weights, **data)
        except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
            raise InputError(
                f"{str(file)!r} is not an attention map: they are made by lengthwise attention."
            ) from error


def as_read(settings: Any) -> Any:
    """Settings as a file gives them back: with lists for tuples."""
    return json.loads(json.dumps(to_json(settings)))


def read_json(file: Path) -> Any:
    """What a JSON file holds."""
    if not file.is_file():
        raise InputError(f"There is no file {str(file)!r}.")
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{str(file)!r} is not JSON that can be read: {error}.") from error


def write_json(file: Path, data: Any) -> None:
    """Write a JSON file, whole or not at all."""
    _write(file, json.dumps(data, separators=(",", ":")).encode())


def _write(file: Path, content: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, content)
    except OSError as error:
        raise InputError(f"{str(file)!r} cannot be written: {error.strerror or error}.") from error
