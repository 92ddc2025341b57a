"""What the page offers: models by name, and measured grids.

A name from the outside is looked up here and nowhere else: it never becomes part of a path.
"""

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from lengthwise import checkpoint, models
from lengthwise.construction import Plan, construct
from lengthwise.errors import InputError
from lengthwise.positions.base import Shape
from lengthwise.results import Grid
from lengthwise.settings import to_json
from lengthwise.solver import Solver
from lengthwise.tasks import Task

THEOREM = "theorem"
THEOREM_DIGITS = THEOREM_OPERANDS = 30
DEEPEST = 5
"""How deep folders are searched for models and grids."""
MOST = 2_000
"""How many models and grids are taken from folders, at most."""
Kind = Literal["box", "theorem", "folder"]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A model that may be asked; its weights are read when it is asked first."""

    name: str
    kind: Kind
    task: Task
    encoding: str
    """The name of its position encoding."""
    parameters: int
    layers: int
    heads: int
    width: int
    trained_on: dict[str, int]
    """The largest sizes of its training, by axis; empty where that is not known, or where nothing was trained."""
    max_ids: tuple[int | None, ...]
    """The largest id that it knows, of each level."""
    make: Callable[[], Solver] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """As the API says it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "task": self.task.name,
            "format": to_json(self.task),
            "levels": list(self.task.levels),
            "example": self.task.written_example,
            "encoding": self.encoding,
            "parameters": self.parameters,
            "layers": self.layers,
            "heads": self.heads,
            "width": self.width,
            "trained_on": self.trained_on,
            "first_choice": self.kind == "box" and models.FIRST_CHOICE.get(self.task.name) == self.name,
        }


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A grid with a name; `model` is the one to ask for a problem of a cell, where it is offered here."""

    name: str
    title: str
    grid: Grid
    model: str | None

    def to_json(self) -> dict[str, Any]:
        """As a list says it, without the counts."""
        grid = self.grid
        return {
            "name": self.name,
            "title": self.title,
            "model": self.model,
            "task": grid.task["name"],
            "axes": grid.axes,
            "problems": grid.problems,
            "decoding": grid.decoding,
            "samples": grid.samples,
            "trained_on": grid.model.get("trained_on") or {},
            "parameters": grid.model.get("parameters"),
            "encoding": grid.model.get("encoding"),
            "lowest": grid.lowest,
            "complete": grid.complete,
        }


class Catalogue:
    """All that is offered, by name."""

    def __init__(
        self, offers: Iterable[Offer], grids: Iterable[Measured], device: str = "cpu", empty: Sequence[Path] = ()
    ) -> None:
        self.offers = {offer.name: offer for offer in offers}
        self.grids = {grid.name: grid for grid in grids}
        self.empty = list(empty)
        """Places that were named and hold neither a model nor a grid."""
        self._device = device
        self._loaded: dict[str, Solver] = {}
        self._loading = threading.Lock()

    @classmethod
    def of(cls, places: Sequence[str | Path] = (), *, device: str = "cpu") -> "Catalogue":
        """The box and the theorem; and what lies in these places: model folders, run folders, grid files, or folders
        with such in them."""
        offers = [_boxed(name) for name in models.names()]
        grids = [
            _measured(file, offer.name, offer.name, taken=())
            for offer in offers
            if (file := models.FOLDER / offer.name / models.GRID).is_file()
        ]
        offers.append(_theorem())
        empty: list[Path] = []
        for place in map(Path, places):
            found = list(_search(place))
            empty += [] if found else [place]
            for folder, files in found:
                _take(place, folder, files, offers, grids)
        if empty and len(empty) == len(places):
            raise InputError(
                f"There is neither a model nor a grid in {str(empty[0])!r}: give a run folder, a model folder, a grid "
                "file, or a folder with such in it."
            )
        if len(offers) + len(grids) > MOST:
            raise InputError(f"There are over {MOST:,} models and grids in these folders: give fewer of them.")
        return cls(offers, _matched(grids), device, empty)

    def offer(self, name: str) -> Offer:
        """A model's description."""
        if name not in self.offers:
            raise KeyError(name)
        return self.offers[name]

    def first_choice(self, task: str) -> str:
        """The model for a task where none is named."""
        return models.first_choice(task)

    def load(self, name: str) -> Solver:
        """The model itself, read once; from any thread."""
        offer = self.offer(name)
        with self._loading:
            if name not in self._loaded:
                model = offer.make().to(self._device).eval()
                if not all(weight.isfinite().all() for weight in model.parameters()):
                    raise InputError(f"The weights of {name!r} are not all numbers: its training has come to nothing.")
                self._loaded[name] = model
            return self._loaded[name]


def _matched(grids: Sequence[Measured]) -> list[Measured]:
    """Grids that lie by themselves find their model by its fingerprint, where a grid of its own says it."""
    known = {_fingerprint(grid): grid.model for grid in grids if grid.model is not None and _fingerprint(grid)}
    return [grid if grid.model is not None else replace(grid, model=known.get(_fingerprint(grid))) for grid in grids]


def _fingerprint(grid: Measured) -> str:
    return str(grid.grid.model.get("fingerprint") or "")


def _boxed(name: str) -> Offer:
    return _from_folder(name, "box", models.FOLDER / name)


def _from_folder(name: str, kind: Kind, folder: Path) -> Offer:
    folder = folder.resolve()  # the folder that was meant when it was given, and never a repository of the hub
    about = checkpoint.describe(folder)
    model = about.model
    shape = Shape(
        levels=len(about.task.levels),
        width=model.width,
        layers=model.layers,
        heads=model.heads,
        head_dim=model.dim_per_head,
    )
    return Offer(
        name=name,
        kind=kind,
        task=about.task,
        encoding=about.encoding.name,
        parameters=checkpoint.count_parameters(folder),
        layers=about.model.layers,
        heads=about.model.heads,
        width=about.model.width,
        trained_on=about.trained_on or {},
        max_ids=about.encoding.max_ids(shape),
        make=lambda: Solver.from_pretrained(folder),
    )


def _theorem() -> Offer:
    plan = Plan(digits=THEOREM_DIGITS, operands=THEOREM_OPERANDS)

    def make() -> Solver:
        return construct(digits=plan.digits, operands=plan.operands)

    model = make()
    return Offer(
        name=THEOREM,
        kind="theorem",
        task=plan.task,
        encoding=model.transformer.encoding.name,
        parameters=sum(weight.numel() for weight in model.parameters()),
        layers=1,
        heads=model.transformer.config.heads,
        width=model.transformer.config.width,
        trained_on={},
        max_ids=model.transformer.encoding.max_ids(model.transformer.shape),
        make=make,
    )


def _search(place: Path) -> Iterator[tuple[Path | None, list[Path]]]:
    """Model folders with their grid files; and grid files that belong to no model, with None."""
    if place.is_file():
        yield None, [place]
        return
    for path, folders, files in os.walk(place):
        folder = Path(path)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(folder.relative_to(place).parts) >= DEEPEST:
            folders.clear()
        model = checkpoint.CONFIG in files and checkpoint.WEIGHTS in files
        grids = [folder / name for name in sorted(files) if name.endswith(".json") and _looks_like_grid(folder / name)]
        if model:
            grids += sorted(file for file in (folder / "grids").glob("*.json") if _looks_like_grid(file))
            folders.clear()
        if model or grids:
            yield (folder if model else None), grids


def _looks_like_grid(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return b'"kind":"grid"' in stream.read(200).replace(b" ", b"")
    except OSError:
        return False


def _take(place: Path, folder: Path | None, files: list[Path], offers: list[Offer], grids: list[Measured]) -> None:
    model: str | None = None
    if folder is not None:
        model = _free(_name(folder), {offer.name for offer in offers})
        offers.append(_from_folder(model, "folder", folder))
    for file in files:
        inside = file.relative_to(place).with_suffix("") if file != place else Path(file.stem)
        parts = [part for part in inside.parts if part != "grids"]
        if len(files) == 1 and len(parts) > 1:  # a run's only grid is called after the run
            parts.pop()
        title = f"{model}: {file.stem}" if model else " / ".join(parts)
        grids.append(_measured(file, title, model, taken=[grid.name for grid in grids]))


def _measured(file: Path, title: str, model: str | None, taken: Sequence[str]) -> Measured:
    return Measured(name=_free(_slug(title), set(taken)), title=title, grid=Grid.load(file), model=model)


def _name(folder: Path) -> str:
    return _slug(folder.resolve().name) or "model"


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:80] or "unnamed"


def _free(name: str, taken: set[str]) -> str:
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name}-{number}"
    return free
