"""Windowed coupling, the project's own method, in every figure where it applies: the same picture, within its budget.

    lengthwise reproduce windowed --scale small --workers 10

Its cases are those that the other figures show beside the paper's. They have sizes, steps and learning rates of their
own (`adder-tiny`, `multiplier`, `parity-tiny`): 9,296 parameters and 64,000 sums, where the paper's baseline has 63
million parameters and sees 20 million.
"""

from collections import Counter
from dataclasses import replace
from typing import ClassVar

from matplotlib.figure import Figure

from lengthwise.experiments import parity
from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.setups import addition_scales
from lengthwise.experiments.verdicts import Claim, judged, per_cent
from lengthwise.figures.curves import Line, draw_curve_panels
from lengthwise.figures.heatmap import Panel, draw_heatmaps

TITLES = {"windowed-addition": "addition", "windowed-multiplication": "multiplication, staircase"}


def own_cases(scale: str) -> list[Case]:
    """The windowed cases of all other figures, each once, titled by what they vary."""
    from lengthwise.experiments import kinds  # noqa: PLC0415  # which finds this file, too

    found: dict[str, Case] = {}
    for name, kind in kinds().items():
        if kind is not Windowed and name != "attention-patterns":
            found |= {case.key: case for case in kind().plan(scale) if case.own and case.key not in found}
    titles = Counter(map(_titled, found.values()))
    return [
        replace(case, title=_titled(case) if titles[_titled(case)] == 1 else f"{_titled(case)} ({case.key})")
        for case in found.values()
    ]


def _titled(case: Case) -> str:
    return TITLES.get(case.key) or case.title.removeprefix("windowed (ours), ")


class Windowed(Experiment):
    """How the same figures look with windowed coupling."""

    name = "windowed"
    place = 12
    figure = "all of them"
    summary = "windowed coupling, ours, in every figure where it applies"
    scales: ClassVar = addition_scales(seeds=5)

    def cases(self, scale: Scale) -> list[Case]:
        return own_cases(scale.name)

    def plan(self, scale: str) -> list[Case]:
        return self.cases(self.scale(scale))  # measured as in the figure each comes from

    def draw(self, found: Found) -> dict[str, Figure]:
        panels: dict[str, list[Panel]] = {"addition": [], "multiplication": []}
        pictures = {}
        for case in found.cases:
            if case.recipe.task.name in panels:
                panels[case.recipe.task.name].append(Panel(case.title, found.grids(case.title)))
        for task, shown in panels.items():
            if any(panel.grids for panel in shown):
                pictures[f"windowed-{task}"] = draw_heatmaps(shown, per_row=min(4, len(shown)))
        lines = {
            panel: [Line(parity.WINDOWED, grids)]
            for number, panel in enumerate((parity.GIVEN, parity.DECODED))
            if (grids := found.grids(parity.WINDOWED, number))
        }
        if lines:
            pictures["windowed-parity"] = draw_curve_panels(lines, answers=True, chance=0.5)
        return pictures

    def claims(self, found: Found) -> list[Claim]:
        claims = []
        for title, words in (("addition", "addition"), (TITLES["windowed-multiplication"], "multiplication")):
            lowest = found.lowest(title, 30, 30)
            case = found.case(title)
            claims.append(
                Claim(
                    says=f"windowed coupling solves {words} at every size up to 30 × 30 (ours, not the paper's)",
                    paper="67.8 % (lowest cell, coupling)"
                    if words == "addition"
                    else "78.55 % (up to 20 × 15, coupling)",
                    ours=f"lowest cell {per_cent(lowest)}, {case.recipe.training.steps:,} steps of "
                    f"{case.recipe.training.batch_size}",
                    verdict=judged(lowest, confirmed=0.99, weaker=0.5),
                    seeds=found.seeds(title),
                )
            )
        rates = [found.rate(parity.WINDOWED, 100, None, number, answers=True) for number in (0, 1)]
        claims.append(
            Claim(
                says="windowed coupling solves parity of 100 bits (ours, not the paper's)",
                paper="“near-perfect” (coupling)",
                ours=f"{per_cent(rates[0])} with the scratchpad given, {per_cent(rates[1])} decoded",
                verdict=judged(rates[1], confirmed=0.99, weaker=0.6),
                seeds=found.seeds(parity.WINDOWED, number=1),
            )
        )
        return claims
