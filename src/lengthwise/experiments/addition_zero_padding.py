"""Addition without zero-padding (Figure 6).

    lengthwise reproduce addition-zero-padding --scale small --workers 4

Small (15 November 2026, one H200 shared by 14 or 15 processes, 5 to 9 minutes a run, two seeds; half the width, 6,000
steps of 100): no degradation. 74 % beyond 10 × 10 without padding, 66 % with it, in either seed 7 to 9 points more; but
six runs of the padded model, two of them these, differ by 21 (`addition-data-size`).
"""

from typing import ClassVar

from matplotlib.figure import Figure

from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.setups import addition_scales, case, windowed, windowed_format
from lengthwise.experiments.verdicts import Claim, compared, judged, per_cent

PADDED, UNPADDED = "zero-padded", "not padded"


class AdditionZeroPadding(Experiment):
    """What zero-padding is worth."""

    name = "addition-zero-padding"
    place = 4
    figure = "Figure 6"
    summary = "addition with and without zero-padding"
    scales: ClassVar = addition_scales(seeds=4)

    def cases(self, scale: Scale) -> list[Case]:
        return [
            case("addition-coupling-scratchpad", PADDED, scale),
            case("addition-unpadded", UNPADDED, scale),
            windowed(scale, f"windowed (ours), {PADDED}"),
            windowed_format(scale, f"windowed (ours), {UNPADDED}", "unpadded", zero_padding=False),
        ]

    def draw(self, found: Found) -> dict[str, Figure]:
        return found.heatmaps(self.name, per_row=2)

    def claims(self, found: Found) -> list[Claim]:
        padded, unpadded = found.mean_beyond(PADDED, 10), found.mean_beyond(UNPADDED, 10)
        at_20 = found.rate(UNPADDED, 20, 30)
        return [
            Claim(
                says="without zero-padding the models generalise less far",
                paper="“a moderate degradation”",
                ours=f"mean beyond 10 × 10 {per_cent(unpadded)} without, {per_cent(padded)} with",
                verdict=compared(padded, unpadded, seeds=found.seeds(PADDED, UNPADDED)),
                seeds=found.seeds(PADDED, UNPADDED),
            ),
            Claim(
                says="without zero-padding they still add many numbers of fewer than 25 digits",
                paper="“reasonable accuracy for operand lengths below 25 digits”",
                ours=f"{per_cent(at_20)} at 30 numbers of 20 digits, {per_cent(found.rate(UNPADDED, 10, 30))} of 10",
                verdict=judged(at_20, confirmed=0.5, weaker=0.05),
                seeds=found.seeds(UNPADDED),
            ),
        ]
