"""Addition: how far it carries by what it was trained on, S_A(7,7), (10,10) and (13,13) (Figure 5).

    lengthwise reproduce addition-train-lengths --scale small --workers 6

Small (15 November 2026, one H200 shared by 14 or 15 processes, 5 to 9 minutes a run, two seeds; half the width, 6,000
steps of 100): as the paper says, in every seed. Beyond 13 × 13 it is 31 %, 56 % and 90 %.
"""

from typing import ClassVar

from matplotlib.figure import Figure

from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.setups import addition_scales, case, windowed_sizes
from lengthwise.experiments.verdicts import Claim, judged, per_cent

PRESETS = {7: "addition-7x7", 10: "addition-coupling-scratchpad", 13: "addition-13x13"}


def titled(size: int) -> str:
    """The title of a case."""
    return f"trained on S_A({size},{size})"


class AdditionTrainLengths(Experiment):
    """What longer training problems give."""

    name = "addition-train-lengths"
    place = 3
    figure = "Figure 5"
    summary = "addition trained on sizes up to 7 × 7, 10 × 10, 13 × 13"
    scales: ClassVar = addition_scales(seeds=4)

    def cases(self, scale: Scale) -> list[Case]:
        paper = [case(preset, titled(size), scale) for size, preset in PRESETS.items()]
        return [*paper, *(windowed_sizes(scale, f"windowed (ours), {titled(size)}", size) for size in PRESETS)]

    def draw(self, found: Found) -> dict[str, Figure]:
        return found.heatmaps(self.name)

    def claims(self, found: Found) -> list[Claim]:
        titles = [titled(size) for size in PRESETS]
        means = [found.mean_beyond(title, 13) for title in titles]
        known = [mean for mean in means if mean is not None]
        rises = None if len(known) < len(means) else float(known == sorted(known) and known[0] < known[-1])
        return [
            Claim(
                says="models trained on longer problems generalise further",
                paper="“as expected”, no number",
                ours="mean of cells beyond 13 × 13: "
                + ", ".join(f"{per_cent(mean)} ({size})" for size, mean in zip(PRESETS, means, strict=True)),
                verdict=judged(rises, confirmed=1),
                seeds=found.seeds(*titles),
            )
        ]
