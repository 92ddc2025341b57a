"""Addition: one layer of 4 or 8 heads of 128 or 256 dimensions, at the same width (Figure 11).

    lengthwise reproduce addition-head-dim --scale small --workers 4

Small (15 November 2026, one H200 shared by 14 or 15 processes, 1 to 3 minutes a run; half the width, 6,000 steps of
100; two seeds, three of `addition-1l4h` and `addition-1l8h`): wider heads do better, 90 % against 78 % beyond 10 × 10
with 8 of them and 89 % against 74 % with 4. The latter only by a third seed; two gave 71 % against 74 %.
"""

from typing import ClassVar

from matplotlib.figure import Figure

from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.setups import addition_scales, case
from lengthwise.experiments.verdicts import Claim, compared, per_cent

PRESETS = {
    (4, 256): "addition-1l4h",
    (4, 128): "addition-1l4h-head128",
    (8, 256): "addition-1l8h-head256",
    (8, 128): "addition-1l8h",
}


def titled(heads: int, dim: int) -> str:
    """The title of a case, by the paper's dimensions."""
    return f"{heads} heads of width/{1024 // dim}"


class AdditionHeadDim(Experiment):
    """What the width of heads matters. Windowed coupling has no scores of content, so the question does not arise."""

    name = "addition-head-dim"
    place = 6
    figure = "Figure 11"
    summary = "addition: one layer, 4 or 8 heads, 128 or 256 dimensions each"
    scales: ClassVar = addition_scales(seeds=8)

    def cases(self, scale: Scale) -> list[Case]:
        return [case(preset, titled(*size), scale) for size, preset in PRESETS.items()]

    def draw(self, found: Found) -> dict[str, Figure]:
        return found.heatmaps(self.name, per_row=2)

    def claims(self, found: Found) -> list[Claim]:
        claims = []
        for heads, what in ((8, "1 layer of 8 heads improves with wider heads"), (4, "1 layer of 4 heads needs them")):
            wide, narrow = titled(heads, 256), titled(heads, 128)
            first, second = found.mean_beyond(wide, 10), found.mean_beyond(narrow, 10)
            ours = f"mean beyond 10 × 10 {per_cent(first)} wide, {per_cent(second)} narrow"
            claims.append(
                Claim(
                    says=what,
                    paper="shown as heatmaps",
                    ours=ours,
                    verdict=compared(first, second, seeds=found.seeds(wide, narrow)),
                    seeds=found.seeds(wide, narrow),
                )
            )
        return claims
