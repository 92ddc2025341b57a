"""What an experiment is: cases that are trained and measured alike, a picture of them, and what the paper claims.

`Found` is what has been measured so far; pictures and claims read nothing else. What is planned stands in `plans.py`,
how claims are judged in `verdicts.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import ClassVar

from matplotlib.figure import Figure

from lengthwise.errors import InputError
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.verdicts import Claim, per_cent
from lengthwise.figures.heatmap import Panel, draw_heatmaps
from lengthwise.measurements import Measurement
from lengthwise.results import Grid


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
        return self.folder / case.run_name(seed)

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

    def lowest(self, title: str, length: int, count: int) -> float | None:
        """The lowest of the medians up to a size."""
        rates = self.rates(title)
        chosen = [
            rate
            for (rows, columns), rate in rates.items()
            if columns is not None and rows <= length and columns <= count
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
