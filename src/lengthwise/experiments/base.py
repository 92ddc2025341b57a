"""What an experiment is: cases that are trained and measured alike, a picture of them, and what the paper claims.

A *case* is one panel or line of the figure: a recipe, run with several seeds. A *scale* says how much of the paper's
training and measuring is done. `Found` is what has been measured so far; pictures and claims read nothing else.

>>> judged(0.95, confirmed=0.9, weaker=0.5), judged(0.6, confirmed=0.9, weaker=0.5), judged(None, confirmed=0.9)
('confirmed', 'weaker', 'not run')
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import ClassVar, Literal

from matplotlib.figure import Figure

from lengthwise.errors import InputError
from lengthwise.figures.heatmap import Panel, draw_heatmaps
from lengthwise.recipe import Recipe
from lengthwise.results import Grid

Verdict = Literal["confirmed", "weaker", "contradicted", "not learned", "not run"]
SCALES = ("smoke", "small", "paper")
LEARNED = 0.9
"""The accuracy within the training sizes from which on a model has learned them."""
MARGIN = 0.05
"""By how much one thing must be better than another."""
SPREAD = 0.35
"""The same where each has but one seed: two seeds of one architecture differ by so much and more."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much of the paper's work is done. What is None is as in the paper's tables."""

    name: str
    seeds: int
    """How many runs of every case, with the seeds 0, 1, 2 …"""
    lengths: tuple[int, ...]
    """The lengths of the grid."""
    counts: tuple[int, ...] | None
    """Its counts; None for parity."""
    samples: int
    """Problems a cell."""
    shrink: int = 1
    """What the widths of the paper's models are divided by."""
    steps: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    problems: int | None = None
    """The largest data set."""
    validation_samples: int = 500
    """How many fresh problems of the training sizes are tried at the end."""

    @property
    def is_less(self) -> bool:
        """Whether models are trained less than the paper's."""
        return self.name != "paper"

    def recipe(self, recipe: Recipe) -> Recipe:
        """A recipe of the paper at this scale: narrower models, fewer steps. It is watched at its end only."""
        model, training, data = recipe.model, recipe.training, recipe.data
        narrower = replace(
            model,
            width=model.width // self.shrink,
            head_dim=max(1, model.dim_per_head // self.shrink),
            feedforward=model.feedforward // self.shrink,
        )
        training = replace(
            training,
            steps=self.steps or training.steps,
            batch_size=self.batch_size or training.batch_size,
            learning_rate=self.learning_rate or training.learning_rate,
        )
        if self.problems is not None and data.problems is not None:
            data = replace(data, problems=min(data.problems, self.problems))
        return self.watched(replace(recipe, model=narrower, training=training, data=data))

    def windowed(self, recipe: Recipe) -> Recipe:
        """A recipe of windowed coupling, within the budget: its own steps and batch, or the scale's where less."""
        training = recipe.training
        if self.steps is not None and self.steps < training.steps:
            training = replace(training, steps=self.steps)
        if self.batch_size is not None and self.batch_size < training.batch_size:
            training = replace(training, batch_size=self.batch_size)
        return self.watched(replace(recipe, training=training))

    def watched(self, recipe: Recipe) -> Recipe:
        """Fresh problems of the training sizes are tried at the end; longer ones are what the grids are for."""
        every = max(1, recipe.training.steps // 100)
        watch = replace(recipe.watch, cells=(), validate_every=recipe.training.steps, log_every=every)
        return replace(recipe, watch=replace(watch, validation_samples=self.validation_samples, save_seconds=120.0))


@dataclass(frozen=True, kw_only=True)
class Case:
    """One panel or line of a figure."""

    title: str
    recipe: Recipe
    """With seed 0; other seeds differ in nothing else."""
    key: str
    """The name of its runs. Cases of several figures that have it are one and the same."""
    own: bool = False
    """Whether it is not the paper's but windowed coupling, ours."""
    measurements: "tuple[Measurement, ...]" = ()
    """What is measured of every run."""

    def seeded(self, seed: int) -> Recipe:
        """The recipe of one run."""
        return replace(self.recipe, seed=seed)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What is measured of every run: a grid, or where its heads look."""

    lengths: tuple[int, ...]
    counts: tuple[int, ...] | None
    samples: int
    decoding: Literal["teacher-forced", "greedy"] = "teacher-forced"
    kind: Literal["grid", "attention"] = "grid"

    @property
    def file(self) -> str:
        """Its file in the run folder: what was asked, so that another question never meets it."""
        axes = [self.lengths] + ([] if self.counts is None else [self.counts])
        size = "x".join(f"{axis[0]}-{axis[-1]}" if len(axis) > 1 else str(axis[0]) for axis in axes)
        cells = "" if self.kind == "attention" else f"-{'x'.join(str(len(axis)) for axis in axes)}cells"
        decoded = "-decoded" if self.decoding == "greedy" else ""
        return f"{'focus' if self.kind == 'attention' else 'grid'}-{size}{cells}-n{self.samples}{decoded}.json"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the paper says, and what came out here."""

    says: str
    paper: str
    """Its number, or its words."""
    ours: str
    verdict: Verdict
    seeds: int
    """How many runs ours comes from: of the case that has the fewest."""


def judged(value: float | None, *, confirmed: float, weaker: float | None = None) -> Verdict:
    """A verdict on a value that should be high: from where it confirms, and from where it does so weakly."""
    if value is None:
        return "not run"
    if value >= confirmed:
        return "confirmed"
    return "weaker" if weaker is not None and value >= weaker else "contradicted"


def compared(better: float | None, worse: float | None, *, seeds: int) -> Verdict:
    """A verdict on what should be better: weaker within a margin, which is wide where there is a single seed."""
    if better is None or worse is None:
        return "not run"
    return judged(better - worse, confirmed=MARGIN if seeds > 1 else SPREAD, weaker=-MARGIN)


def reached(verdict: Verdict, scale: Scale) -> Verdict:
    """A verdict on how far something goes: with less training than the paper's, less far is weaker, no more."""
    return "weaker" if verdict == "contradicted" and scale.is_less else verdict


def learned(verdict: Verdict, inside: float | None) -> Verdict:
    """A verdict on what happens beyond the training sizes: that nothing does is no evidence where these fail, too."""
    return "not learned" if verdict == "confirmed" and (inside is None or inside < LEARNED) else verdict


def per_cent(value: float | None) -> str:
    """A rate in words: one decimal, never rounded up to 100."""
    return "–" if value is None else "100 %" if value == 1 else f"{min(100 * value, 99.9):.1f} %".replace(".0 ", " ")


@dataclass(frozen=True)
class Found:
    """What has been measured of an experiment at a scale."""

    cases: Sequence[Case]
    scale: Scale
    folder: Path
    """Where the run folders of the scale lie."""
    _grids: dict[tuple[str, str], list[Grid]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        titles = [case.title for case in self.cases]
        assert len(set(titles)) == len(titles), "two cases of a figure have one title"

    def run_folder(self, case: Case, seed: int) -> Path:
        """Where a run of a case lies."""
        return self.folder / f"{case.key}-seed{seed}"

    def case(self, title: str) -> Case:
        """The case of a title."""
        return next(case for case in self.cases if case.title == title)

    def files(self, case: Case, measurement: Measurement) -> list[Path]:
        """The files of a measurement that are there, by seed."""
        found = {}
        for file in self.folder.glob(f"{case.key}-seed*/grids/{measurement.file}"):
            seed = file.parts[-3].removeprefix(f"{case.key}-seed")
            if seed.isdecimal():  # also seeds that the scale does not ask for
                found[int(seed)] = file
        return [found[seed] for seed in sorted(found)]

    def grids(self, title: str, number: int = 0) -> list[Grid]:
        """The whole grids of a case, one a seed; of its measurement of that number."""
        case = self.case(title)
        measurement = case.measurements[number]
        name = (case.key, measurement.file)
        if name not in self._grids:
            loaded = [Grid.load(file) for file in self.files(case, measurement)]
            self._grids[name] = [grid for grid in loaded if grid.complete]
        return self._grids[name]

    def seeds(self, *titles: str, number: int = 0) -> int:
        """How many runs of these cases there are, of the one that has the fewest."""
        return min(len(self.grids(title, number)) for title in titles)

    def rates(self, title: str, number: int = 0, *, answers: bool = False) -> dict[tuple[int, int | None], float]:
        """The median accuracy over the seeds, by length and count."""
        grids = self.grids(title, number)
        rates: dict[tuple[int, int | None], list[float]] = {}
        for grid in grids:
            accuracy = grid.answer_accuracy if answers else grid.accuracy
            for row, column, length, count in grid.cells:
                rate = accuracy[row][column]
                assert rate is not None
                rates.setdefault((length, count), []).append(rate)
        return {cell: median(found) for cell, found in rates.items()}

    def least_learned(self, *titles: str) -> float | None:
        """The lowest accuracy at 10 × 10 of these cases, of those that have been measured."""
        return min((rate for title in titles if (rate := self.rate(title, 10, 10)) is not None), default=None)

    def rate(
        self, title: str, length: int, count: int | None = None, number: int = 0, *, answers: bool = False
    ) -> float | None:
        """The median accuracy of a cell; None where it has not been measured."""
        return self.rates(title, number, answers=answers).get((length, count))

    def lowest(self, title: str, length: int, count: int, *, beyond: int = 0) -> float | None:
        """The lowest of the medians up to a size, or of those of them beyond a training size."""
        rates = self.rates(title)
        chosen = [
            rate
            for (rows, columns), rate in rates.items()
            if columns is not None and rows <= length and columns <= count and max(rows, columns) > beyond
        ]
        return min(chosen, default=None)

    def means_beyond(self, title: str, trained: int) -> list[float]:
        """For each seed, the mean over all cells with a size beyond the training sizes."""
        means = []
        for grid in self.grids(title):
            accuracy = grid.accuracy
            rates = [
                rate
                for row, column, length, count in grid.cells
                if max(length, count or 0) > trained and (rate := accuracy[row][column]) is not None
            ]
            means += [sum(rates) / len(rates)] if rates else []
        return means

    def spread_beyond(self, title: str, trained: int) -> str:
        """These means in words: their median, and the lowest and highest of several seeds."""
        means = sorted(self.means_beyond(title, trained))
        if len(means) < 2:
            return per_cent(means[0] if means else None)
        ends = f"{per_cent(means[0])[:-2]} … {per_cent(means[-1])[:-2]} in {len(means)} seeds"
        return f"{per_cent(median(means))} ({ends})"

    def mean_beyond(self, title: str, trained: int) -> float | None:
        """The mean over all cells with a size beyond the training sizes: its median over the seeds."""
        return median(means) if (means := self.means_beyond(title, trained)) else None

    @cached_property
    def titles(self) -> list[str]:
        """All cases' titles."""
        return [case.title for case in self.cases]

    def heatmaps(self, name: str, titles: Sequence[str] | None = None, *, per_row: int = 3) -> dict[str, Figure]:
        """The picture of these cases, or of all, under a name; nothing where none has been measured."""
        panels = self.panels(titles)
        return {name: draw_heatmaps(panels, per_row=per_row)} if any(panel.grids for panel in panels) else {}

    def panels(self, titles: Sequence[str] | None = None) -> list[Panel]:
        """Heatmaps of these cases, or all; empty ones where nothing has been measured yet."""
        return [Panel(title, self.grids(title)) for title in titles or self.titles]


class Experiment(ABC):
    """One figure or table of the paper."""

    name: ClassVar[str]
    place: ClassVar[int]
    """Its place in lists."""
    figure: ClassVar[str]
    """Which of the paper's it is."""
    summary: ClassVar[str]
    """What it compares, in a line."""
    scales: ClassVar[Mapping[str, Scale]]

    def scale(self, name: str) -> Scale:
        """A scale by name."""
        if name not in self.scales:
            raise InputError(f"There is no scale {name!r}: choose one of {', '.join(self.scales)}.")
        return self.scales[name]

    @abstractmethod
    def cases(self, scale: Scale) -> list[Case]:
        """What it compares, the most telling first."""

    def measurements(self, scale: Scale) -> list[Measurement]:
        """What is measured of every case: one grid of exact matches, teacher-forced, unless an experiment says more."""
        return [Measurement(lengths=scale.lengths, counts=scale.counts, samples=scale.samples)]

    @abstractmethod
    def draw(self, found: Found) -> dict[str, Figure]:
        """Its pictures, by file name without the ending."""

    def claims(self, found: Found) -> list[Claim]:
        """What the paper says of it, compared."""
        return []

    def plan(self, scale: str) -> list[Case]:
        """Its cases at a scale, with what is measured of each."""
        chosen = self.scale(scale)
        return [replace(case, measurements=tuple(self.measurements(chosen))) for case in self.cases(chosen)]

    def found(self, scale: str, out: Path) -> Found:
        """What has been measured of it so far, in a folder of reproductions."""
        return Found(self.plan(scale), self.scale(scale), out / scale)
