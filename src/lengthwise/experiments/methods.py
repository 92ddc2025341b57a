"""What the two comparisons of position methods share: NoPE, FIRE and coupling, each without and with scratchpad.

FIRE stands there twice: as its own paper defines it, and as the authors' code has it (docs/paper-differences.md).
"""

from abc import abstractmethod
from typing import ClassVar

from matplotlib.figure import Figure

from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.setups import case, windowed
from lengthwise.experiments.verdicts import Claim, judged, per_cent, reached

METHODS = {
    "nope": "NoPE",
    "fire": "FIRE",
    "fire-authors": "FIRE, authors' code",
    "coupling": "Position Coupling",
}
BASELINES = ("nope", "fire", "fire-authors")


def titled(method: str, scratchpad: bool) -> str:
    """The title of a case."""
    return f"{METHODS[method]}, {'with' if scratchpad else 'no'} scratchpad"


COUPLED = titled("coupling", True)
WINDOWED = "windowed coupling (ours), with scratchpad"
IN_ROWS = [
    *(titled(method, scratchpad) for scratchpad in (False, True) for method in ("nope", "fire", "coupling")),
    *(titled("fire-authors", scratchpad) for scratchpad in (False, True)),
    WINDOWED,
]
"""The paper's two rows of three, and a third of what is not in the paper."""


class Methods(Experiment):
    """Which positions let a task grow."""

    task: ClassVar[str]
    own: ClassVar[str]
    """The preset of windowed coupling."""

    def cases(self, scale: Scale) -> list[Case]:
        paper = [
            case(f"{self.task}-{method}{'-scratchpad' if scratchpad else ''}", titled(method, scratchpad), scale)
            for scratchpad in (True, False)
            for method in ("coupling", *BASELINES)
        ]
        return [*paper, windowed(scale, WINDOWED, self.own)]

    def draw(self, found: Found) -> dict[str, Figure]:
        return found.heatmaps(self.name, IN_ROWS)

    @abstractmethod
    def claims(self, found: Found) -> list[Claim]:
        """What the paper says of the task."""


def coupled_goes_furthest(
    found: Found, *, says: str, paper: str, lowest: float | None, confirmed: float, sizes: tuple[tuple[int, int], ...]
) -> Claim:
    """That coupling with scratchpad reaches the paper's lowest cell; weaker where it only goes beyond the others."""
    beyond = found.mean_beyond(COUPLED, 10)
    others = [found.mean_beyond(titled(method, True), 10) for method in BASELINES]
    known = [other for other in others if other is not None]
    verdict = judged(lowest, confirmed=confirmed)
    if beyond is not None and known and beyond > max(known):
        verdict = reached(verdict, found.scale)
    shown = ", ".join(f"{per_cent(found.rate(COUPLED, *size))} at {size[0]} × {size[1]}" for size in sizes)
    return Claim(
        says=says,
        paper=paper,
        ours=f"lowest cell {per_cent(lowest)}; {shown}; mean beyond 10 × 10 {per_cent(beyond)}, "
        f"the others at most {per_cent(max(known, default=None))}",
        verdict=verdict,
        seeds=found.seeds(COUPLED),
    )
