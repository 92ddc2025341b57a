"""Jobs: runs that are to be trained and measured, as far as that is missing.

What is done is known by its files: a whole grid is never measured again, a finished run never trained again, and
weights are not needed where all grids are there.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lengthwise import checkpoint
from lengthwise.device import pick_device
from lengthwise.errors import InputError
from lengthwise.evaluate import evaluate
from lengthwise.focus import focus
from lengthwise.looking import average_attention
from lengthwise.measurements import Measurement, map_of
from lengthwise.processes import attempt, tell
from lengthwise.recipe import Recipe
from lengthwise.results import Grid, read_json, write_json
from lengthwise.runs import Record, Run
from lengthwise.session import Observer
from lengthwise.solver import Solver
from lengthwise.storage import mirrored
from lengthwise.together import train_together, why_not
from lengthwise.train import train

NEWS_SECONDS = 0.5
"""How often a run tells how far it has come."""


@dataclass(frozen=True, kw_only=True)
class News:
    """How far a run has come."""

    step: int
    steps: int
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run: to be trained, unless it is, and measured."""

    folder: Path
    recipe: Recipe
    measurements: tuple[Measurement, ...]
    kept_at: str | None = None
    """The address where the run is kept, if not in its folder: whoever works on it fetches it and brings it back."""

    @property
    def missing(self) -> tuple[Measurement, ...]:
        """What has not been measured yet."""
        return tuple(one for one in self.measurements if not _is_whole(self.folder / "grids" / one.file))

    @property
    def cost(self) -> float:
        """How long it takes, roughly, in any unit."""
        model, training = self.recipe.model, self.recipe.training
        hooks = self.recipe.encoding.build(self.recipe.shape)
        waiting, pairs = 3e7, 2 if hooks.has_bias and hooks.reach is None else 1
        return (
            training.steps * model.layers * pairs * (waiting + training.batch_size * model.width * (model.width + 512))
        )

    def require_same(self) -> None:
        """Refuse to take another recipe's run for this one."""
        if (self.folder / checkpoint.CONFIG).is_file():
            different = Run(self.folder).recipe.differences(self.recipe)
            if different:
                raise InputError(
                    f"{str(self.folder)!r} holds a run by another recipe: its {different[0]}. Move it away, or give "
                    "another folder with --out."
                )


def runs(number: int) -> str:
    """So many of them.

    >>> runs(1), runs(1200)
    ('1 run', '1,200 runs')
    """
    return f"{number:,} run{'' if number == 1 else 's'}"


def work(
    job: Job, device: str | None = None, observer: Callable[[], Observer] | None = None, patience: float = 0.0
) -> str:
    """Train and measure a run, as far as that is missing; says in a line how it went.

    `patience` is how many seconds to wait for a folder that another process has.
    """
    if job.kept_at is None:
        return _work(job, device, observer, patience, lambda: None)
    with mirrored(job.kept_at) as mirror:
        return _work(replace(job, folder=mirror.folder), device, observer, patience, mirror.push)


def _work(
    job: Job,
    device: str | None,
    observer: Callable[[], Observer] | None,
    patience: float,
    saved: Callable[[], None],
    before: str | None = None,
) -> str:
    """`before` says how it was trained, where that has just been done."""
    begun = time.monotonic()
    chosen = pick_device(device)
    if not job.missing:
        return "done already"
    job.require_same()
    done = Run(job.folder).step if Run(job.folder).exists else 0
    watcher = _Teller() if observer is None else observer()
    run = train(job.recipe, job.folder, resume=True, device=chosen, observer=watcher, patience=patience, on_save=saved)
    trained, steps = time.monotonic() - begun, job.recipe.training.steps - done
    model = run.model.to(chosen).eval()
    words = [before or (f"{steps:,} steps in {trained:.0f} s" if steps else "trained already")]
    for one in job.missing:
        if isinstance(watcher, _Teller):
            watcher.measuring(job.recipe.training.steps)
        words.append(measure(model, one, job.folder))
        saved()
    return ", ".join(words) + ("" if before else f"; {time.monotonic() - begun:.0f} s in all")


Team = tuple[Job, ...]
"""Runs that are trained as one, if that is possible."""


def teams(jobs: Sequence[Job], most: int) -> list[Team]:
    """Runs that differ in their seeds alone, so many at most in a team; the others by themselves."""
    found: dict[str, list[Job]] = {}
    for job in jobs:
        recipe = job.recipe.to_json()
        del recipe["seed"]
        alone = str(job.folder) if most == 1 or why_not(job.recipe) else ""
        found.setdefault(json.dumps([alone, recipe], sort_keys=True), []).append(job)
    return [tuple(group[first : first + most]) for group in found.values() for first in range(0, len(group), most)]


def work_as_one(team: Team, device: str | None = None, patience: float = 0.0) -> list[tuple[str, bool]]:
    """Train the runs of a team as one, as far as that is missing, and measure each: what is said of it, and if well.

    News come with the place of the run they are of.
    """
    with ExitStack() as stack:
        here, saved, reasons = list(team), [lambda: None] * len(team), dict[int, str | None]()

        def prepare(place: int) -> bool:
            """Bring a run here, if it is kept elsewhere: whether there is something to do."""
            address = team[place].kept_at
            if address is not None:
                mirror = stack.enter_context(mirrored(address))
                here[place], saved[place] = replace(team[place], folder=mirror.folder), mirror.push
            return bool(here[place].missing)

        begun, todo = time.monotonic(), []
        for place in range(len(team)):
            said, well = attempt(prepare, place)
            reasons[place] = None if well else str(said)
            if well and said:
                todo.append(place)
        if len(todo) > 1:
            outcomes = train_together(
                [here[place].recipe for place in todo],
                [here[place].folder for place in todo],
                device=device,
                observers=[_Teller(place) for place in todo],
                on_save=[saved[place] for place in todo],
                patience=patience,
            )
            reasons |= dict(zip(todo, outcomes, strict=True))
        trained = f"{len(todo)} runs as one in {time.monotonic() - begun:.0f} s" if len(todo) > 1 else None

        def finish(place: int) -> tuple[str, bool]:
            if (reason := reasons[place]) is not None:
                return reason, False
            watcher, words = partial(_Teller, place), trained if place in todo else None
            return attempt(lambda job: _work(job, device, watcher, patience, saved[place], words), here[place])

        return [finish(place) for place in range(len(team))]


class _Teller:
    """An observer that tells how far a run has come; in a team, which of its runs."""

    def __init__(self, place: int | None = None) -> None:
        self._steps, self._words, self._told = 0, "", float("-inf")
        self._place = place

    def begin(self, recipe: Recipe, run: Run, model: Solver, step: int) -> None:
        self._steps = recipe.training.steps
        self.advance(step, 0.0)

    def advance(self, step: int, tokens_per_second: float) -> None:
        if time.monotonic() - self._told >= NEWS_SECONDS:
            self._told = time.monotonic()
            self._tell(step)

    def note(self, record: Record) -> None:
        if "loss" in record:
            self._words = f"loss {record['loss']:.4f}"

    def end(self, step: int, seconds: float) -> None:
        self._tell(step)

    def measuring(self, steps: int) -> None:
        """The run is trained, and now measured."""
        self._steps, self._words = steps, "measuring"
        self._tell(steps)

    def _tell(self, step: int) -> None:
        news = News(step=step, steps=self._steps, words=self._words)
        tell(news if self._place is None else (self._place, news))


def measure(model: Solver, asked: Measurement, folder: Path) -> str:
    """One measurement of a model, into its run folder; says in a few words what came out."""
    file = folder / "grids" / asked.file
    if asked.kind == "attention":
        assert asked.counts is not None
        found = average_attention(
            model, length=asked.lengths[0], count=asked.counts[0], samples=asked.samples, name=folder.name
        )
        found.save(map_of(file))
        scores = focus(found)
        write_json(file, {"kind": "focus", "focus": scores.to_json(), "about": found.about})
        return f"most on what matters {max(max(layer) for layer in scores.weight):.0%}"
    grid = evaluate(
        model,
        lengths=asked.lengths,
        counts=asked.counts,
        samples=asked.samples,
        decoding=asked.decoding,
        out=file,
        name=folder.name,
    )
    rates = [rate for row in (grid.answer_accuracy if asked.counts is None else grid.accuracy) for rate in row]
    what = "answers" if asked.counts is None else "exact match"
    decoded = ", decoded" if asked.decoding == "greedy" else ""
    return f"{what} {sum(rate or 0 for rate in rates) / len(rates):.1%} on average{decoded}"


def _is_whole(file: Path) -> bool:
    if not file.is_file():
        return False
    return "focus" in read_json(file) if file.name.startswith("focus") else Grid.load(file).complete
