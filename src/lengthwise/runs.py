"""A run as a folder: what was trained, how it went, and all that is needed to go on exactly where it stopped.

    config.json          the recipe, complete, in a model's config.json
    metrics.jsonl        losses and accuracies by step; the same recipe on the same machine gives the same file
    timing.jsonl         what the clock said: tokens a second, by session
    model.safetensors    the weights, as of the step it notes
    state/               weights, optimizer and sums in progress: for resuming; gone when the run is finished
    grids/  figures/     what was measured and drawn of it

Every file is written whole or not at all, and a lock keeps a second process out.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save
from torch import Tensor

from lengthwise import checkpoint
from lengthwise.errors import InputError
from lengthwise.files import locked, sweep, write_whole
from lengthwise.recipe import Recipe, settings_from_json
from lengthwise.solver import Solver

METRICS, TIMING, STATE, LOCK = "metrics.jsonl", "timing.jsonl", "state/state.safetensors", "state/lock"
OWN = {
    checkpoint.CONFIG,
    checkpoint.WEIGHTS,
    checkpoint.CARD,
    METRICS,
    TIMING,
    "state",
    "grids",
    "figures",
    "tensorboard",
}
RUN_KEYS = ("preset", "seed", "data", "training", "watch")

Record = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A run folder, finished or not."""

    folder: Path

    @classmethod
    def at(cls, folder: str | Path) -> "Run":
        """The run in a folder; a folder that is none is refused."""
        run = cls(Path(folder))
        if not run.folder.is_dir():
            raise InputError(f"There is no run folder {str(folder)!r}: lengthwise train makes one.")
        run.recipe  # noqa: B018  read, so that it is refused here and not later
        return run

    @property
    def exists(self) -> bool:
        """Whether a run has begun here."""
        return (self.folder / checkpoint.CONFIG).is_file()

    @property
    def recipe(self) -> Recipe:
        """What it was trained by."""
        about = checkpoint.describe(self.folder)
        where = f"{checkpoint.CONFIG} of {str(self.folder)!r}"
        if about.run is None:
            raise InputError(f"{str(self.folder)!r} holds a model but no training run: choose another folder.")
        if set(about.run) != set(RUN_KEYS):
            odd = sorted(set(about.run) ^ set(RUN_KEYS))[0]
            raise InputError(f"{where} does not describe a run: {odd!r} is missing or unknown.")
        return Recipe(
            name=about.run["preset"],
            seed=about.run["seed"],
            task=about.task,
            encoding=about.encoding,
            model=about.model,
            **settings_from_json(about.run, where),
        )

    @property
    def step(self) -> int:
        """How many steps the weights have been trained for."""
        file = self.folder / checkpoint.WEIGHTS
        try:
            with safe_open(file, framework="pt") as stored:
                return int((stored.metadata() or {}).get("step", 0))
        except (SafetensorError, OSError, ValueError) as error:
            raise InputError(f"{checkpoint.WEIGHTS} of {str(self.folder)!r} is missing or damaged.") from error

    @property
    def finished(self) -> bool:
        """Whether all steps are done, and nothing is left to tidy up after them."""
        return self.exists and not (self.folder / STATE).is_file() and self.step >= self.recipe.training.steps

    @property
    def model(self) -> Solver:
        """The model as far as it has been trained."""
        return Solver.from_pretrained(self.folder)

    @property
    def metrics(self) -> list[Record]:
        """What was noted by step."""
        return read_lines(self.folder / METRICS)

    @property
    def timing(self) -> list[Record]:
        """What the clock said."""
        return read_lines(self.folder / TIMING)

    # What training writes.

    @contextmanager
    def claimed(self, patience: float = 0.0) -> Iterator[None]:
        """Keep the folder for oneself; refuse where another process has it, or where it is no run's.

        `patience` is how many seconds to wait for the other: one whose machine is cut off may take a while to end.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{str(self.folder)!r} is a file: give a folder for the run.")
        foreign = [
            item.name for item in self.folder.glob("*") if item.name not in OWN and not item.name.startswith(".")
        ]
        if foreign and not self.exists:
            raise InputError(
                f"{str(self.folder)!r} holds other things, such as {foreign[0]!r}: give a folder of its own."
            )
        if self.exists:
            self.recipe  # noqa: B018  read, so that a folder with a model but no run is refused
        with ExitStack() as stack:
            try:
                alone = stack.enter_context(locked(self.folder / LOCK, patience))
                if alone:
                    sweep(self.folder)
                    sweep(self.folder / "state")
            except OSError as error:
                raise InputError(f"{str(self.folder)!r} cannot be written to: {error.strerror or error}.") from error
            if not alone:
                raise InputError(f"another process is training into {str(self.folder)!r}: give another folder.")
            yield

    def save_model(self, recipe: Recipe, model: Solver, step: int) -> None:
        """The model as of a step, with the recipe."""
        parts = recipe.to_json()
        about = {"preset": recipe.name} | {key: parts[key] for key in RUN_KEYS[1:]}
        checkpoint.write(self.folder, model.transformer, model.task, model.vocabulary, run=about, step=step)

    def save_lines(self, name: str, records: list[Record]) -> None:
        """A file of records, one JSON object a line."""
        write_whole(self.folder / name, "".join(json.dumps(record) + "\n" for record in records).encode())

    def save_state(self, tensors: Mapping[str, Tensor], step: int) -> None:
        """All that is needed to go on after a step."""
        stored = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
        content = save(stored, {"step": str(step), "digest": _digest(stored, step)})
        (self.folder / STATE).parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / STATE, content)

    def load_state(self) -> tuple[dict[str, Tensor], int] | None:
        """What `save_state` kept, with its step; None where nothing has been saved."""
        file = self.folder / STATE
        if not file.is_file():
            return None
        damaged = f"{str(file)!r} is damaged: bring it back from a copy, or train anew into another folder."
        try:
            with safe_open(file, framework="pt") as stored:
                noted = stored.metadata() or {}
            tensors = load(file.read_bytes())
            step = int(noted["step"])
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise InputError(damaged) from error
        if noted.get("digest") != _digest(tensors, step):
            raise InputError(damaged)
        return tensors, step

    def drop_state(self) -> None:
        """Remove what is only needed to go on."""
        (self.folder / STATE).unlink(missing_ok=True)


def _digest(tensors: Mapping[str, Tensor], step: int) -> str:
    digest = hashlib.blake2b(str(step).encode(), digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(repr((name, tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def read_lines(file: Path) -> list[Record]:
    """The records of a file of one JSON object a line."""
    if not file.is_file():
        return []
    damaged = f"{str(file)!r} is damaged: it must hold one JSON object a line, with its step."
    try:
        records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(damaged) from error
    if not all(isinstance(record, dict) and type(record.get("step")) is int for record in records):
        raise InputError(damaged)
    return records
