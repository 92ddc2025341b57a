"""A folder of reproductions with made-up measurements: what a figure says of grids that nobody trained for."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from lengthwise.experiments import Case, Claim, Found, experiment
from lengthwise.focus import Focus
from lengthwise.measurements import map_of
from lengthwise.results import Grid

Rate = Callable[[int, int | None], float]


def flat(rate: float) -> Rate:
    """The same everywhere."""
    return lambda length, count: rate


def parted(inside: float, beyond: float, trained: int = 10) -> Rate:
    """One rate up to the training sizes, another beyond."""
    return lambda length, count: inside if max(length, count or 0) <= trained else beyond


def at(cells: dict[tuple[int, int | None], float], elsewhere: float = 0.0) -> Rate:
    """Rates of some cells."""
    return lambda length, count: cells.get((length, count), elsewhere)


@cache
def plan(name: str, scale: str) -> list[Case]:
    """The cases of a figure, made once for all tests."""
    return experiment(name).plan(scale)


class Measured:
    """A figure at a scale, measured as a test says."""

    def __init__(self, name: str, out: Path, scale: str = "small") -> None:
        self.experiment, self.out, self.scale = experiment(name), out, scale

    @property
    def found(self) -> Found:
        """What lies there now."""
        chosen = self.experiment.scale(self.scale)
        return Found(plan(self.experiment.name, self.scale), chosen, self.out / self.scale)

    def put(self, title: str, *seeds: Rate, number: int = 0, answers: Rate | None = None, first: int = 0) -> None:
        """Grids with these rates of whole responses, one for each seed from the first; answers are right as often."""
        case = self.found.case(title)
        asked = case.measurements[number]
        axes = {"length": list(asked.lengths)} | ({} if asked.counts is None else {"count": list(asked.counts)})
        for seed, rate in enumerate(seeds, start=first):
            grid = Grid.blank(axes, task={"name": case.recipe.task.name}, seed=0, samples=asked.samples)
            for row, column, length, count in grid.cells:
                grid.total[row][column] = asked.samples
                grid.correct[row][column] = round(asked.samples * rate(length, count))
                grid.answers[row][column] = round(asked.samples * (answers or rate)(length, count))
            _write(self.found.run_folder(case, seed) / "grids" / asked.file, grid.to_json())

    def put_answers(self, title: str, rate: Rate, number: int = 0) -> None:
        """A grid with these rates of right answers, and no whole response right."""
        self.put(title, flat(0.0), number=number, answers=rate)

    def put_focus(self, title: str, *seeds: tuple[float, float]) -> None:
        """Where heads look, for each seed: the most weight of any head on what matters, and that head's keys."""
        case = self.found.case(title)
        for seed, (weight, keys) in enumerate(seeds):
            focus = Focus(
                weight=[[0.01, weight]], with_carry=[[0.02, weight]], keys=[[90.0, keys]], uniform=0.02, matter=2.0
            )
            file = self.found.run_folder(case, seed) / "grids" / case.measurements[0].file
            assert not map_of(file).exists()
            _write(file, {"kind": "focus", "focus": focus.to_json(), "about": {}})

    def claim(self, words: str) -> Claim:
        """The one claim with these words, compared."""
        (claim,) = [claim for claim in self.experiment.claims(self.found) if words in claim.says]
        return claim


def _write(file: Path, data: Any) -> None:
    """Without waiting for the disk, which `write_json` does."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data))
