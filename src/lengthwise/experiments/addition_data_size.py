"""Addition: training sets of 20,000 to 10,000,000 problems (Figure 13).

    lengthwise reproduce addition-data-size --scale small --workers 6

Small (15 November 2026, one H200 shared by 14 or 15 processes, 5 to 9 minutes a run, two seeds; half the width, 6,000
steps of 100): no order in the sizes, 66 to 79 % beyond 10 × 10, and 20,000 problems do as well as 10 million. A run
sees 600,000 problems, so from 500,000 on the sets are one experiment in effect: what they differ by is what seeds do.
"""

from dataclasses import replace
from typing import ClassVar

from matplotlib.figure import Figure

from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.setups import addition_scales, case, windowed
from lengthwise.experiments.verdicts import Claim, judged, learned, per_cent
from lengthwise.recipe import Recipe

PRESETS = {
    20_000: "addition-data-20k",
    100_000: "addition-data-100k",
    500_000: "addition-coupling-scratchpad",
    2_000_000: "addition-data-2m",
    10_000_000: "addition-data-10m",
}


def titled(problems: int) -> str:
    """The title of a case."""
    return f"{problems:,} problems"


class AdditionDataSize(Experiment):
    """What the size of the training set matters."""

    name = "addition-data-size"
    place = 8
    figure = "Figure 13"
    summary = "addition: data sets of 20,000 to 10,000,000 problems"
    scales: ClassVar = addition_scales(seeds=8)

    def cases(self, scale: Scale) -> list[Case]:
        paper = [case(preset, titled(problems), scale) for problems, preset in PRESETS.items()]
        if scale.problems is not None:  # sizes that still differ, where all are small
            sizes = range(scale.problems - 2, scale.problems + 3)
            paper = [
                one if problems == 500_000 else replace(one, recipe=_sized(one, size))
                for one, problems, size in zip(paper, PRESETS, sizes, strict=True)
            ]
        ours = [
            windowed(
                scale,
                f"windowed (ours), {titled(problems)}",
                label=PRESETS[problems].removeprefix("addition-") if problems != 500_000 else "data-500k",
                data={"problems": problems if scale.problems is None else scale.problems},
            )
            for problems in (20_000, 100_000, 500_000)
        ]
        return [*paper, *ours]

    def draw(self, found: Found) -> dict[str, Figure]:
        return found.heatmaps(self.name, per_row=4)

    def claims(self, found: Found) -> list[Claim]:
        means = {problems: found.mean_beyond(titled(problems), 10) for problems in PRESETS}
        known = [mean for mean in means.values() if mean is not None]
        spread = max(known) - min(known) if len(known) == len(means) else None
        return [
            Claim(
                says="the size of the training set has no significant impact",
                paper="shown as heatmaps",
                ours="mean beyond 10 × 10: "
                + ", ".join(f"{per_cent(mean)} ({problems:,})" for problems, mean in means.items()),
                verdict=learned(
                    judged(None if spread is None else 1 - spread, confirmed=0.85, weaker=0.7),
                    found.least_learned(*map(titled, PRESETS)),
                ),
                seeds=found.seeds(*map(titled, PRESETS)),
            )
        ]


def _sized(one: Case, problems: int) -> Recipe:
    return replace(one.recipe, data=replace(one.recipe.data, problems=problems))
