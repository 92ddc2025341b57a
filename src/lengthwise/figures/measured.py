"""One thing measured, by one run or by several: a title and the grids behind it, with what pictures say about them.

>>> percent(1), percent(0.9996), percent(0.98), percent(0.0001), percent(0)
('100', '99.9', '98', '0.1', '0')
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lengthwise.errors import InputError
from lengthwise.results import Grid, Spread, over_seeds


@dataclass(frozen=True)
class Measured:
    """What a panel or a line shows."""

    title: str
    grids: Sequence[Grid]
    """Several grids are several runs of one thing, which differ in nothing but the model."""

    def spread(self, *, answers: bool = False) -> Spread:
        """Medians and quartiles over the runs; of one run, its accuracies."""
        if not self.grids:
            raise InputError(f"There is no grid to draw for {self.title!r}: give one or more.")
        return over_seeds(self.grids, answers=answers)

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self.grids[0].task.get("name", "this task"))

    @property
    def runs(self) -> str:
        """`median of 3 runs`; nothing for a single one."""
        return f"median of {len(self.grids)} runs" if len(self.grids) > 1 else ""

    @property
    def trained_on(self) -> dict[str, int]:
        """The largest sizes the models were trained on, by axis; nothing where the files do not say."""
        first, *others = [grid.model.get("trained_on") or {} for grid in self.grids]
        if any(other != first for other in others):
            raise InputError(f"The runs of {self.title!r} were trained on different sizes: draw them apart.")
        if not isinstance(first, Mapping) or not all(type(size) is int for size in first.values()):
            raise InputError(f"The grid of {self.title!r} says it was trained on {first!r}: sizes by axis are meant.")
        return dict(first)

    @property
    def how(self) -> str:
        """How many problems were asked, which and how: `1,000 samples per cell · teacher-forced`."""
        asked = {count for grid in self.grids for row in grid.total for count in row if count is not None}
        first = self.grids[0]
        samples = f"{min(asked):,} to {max(asked):,}" if len(asked) > 1 else f"{max(asked, default=0):,}"
        where = "per cell" if "count" in first.axes else "per length"
        suite = "" if first.problems == "random" else f" · {first.problems} problems"
        return f"{samples} samples {where} · {first.decoding}{suite}"


def percent(rate: float) -> str:
    """A rate in per cent with one decimal where it has one; 100 and 0 stand for themselves alone."""
    if rate in (0, 1):
        return f"{100 * rate:.0f}"
    return f"{min(max(100 * rate, 0.1), 99.9):.1f}".removesuffix(".0")
