"""Addition in six formats: query and response plain or reversed, with and without zero-padding (Figure 14).

    lengthwise reproduce addition-input-formats --scale small --workers 8

Small (15 November 2026, one H200 shared by 14 or 15 processes, 5 to 9 minutes a run; half the width, 6,000 steps of
100; two seeds, one of the unpadded formats with a reversed query or a plain response): the response must be reversed,
or 11 and 19 % are left beyond 10 × 10. The other four have 66 to 82 %, as far apart as seeds; the paper's own has the
least.
"""

from typing import ClassVar

from matplotlib.figure import Figure

from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.setups import addition_scales, case, windowed, windowed_format
from lengthwise.experiments.verdicts import Claim, judged, per_cent
from lengthwise.presets import FORMATS

BASELINE = "plain query, reversed response"
TITLES = {
    "": BASELINE,
    "reversed-query": "reversed query, reversed response",
    "plain-response": "plain query, plain response",
    "unpadded": f"{BASELINE}, not padded",
    "reversed-query-unpadded": "reversed query, reversed response, not padded",
    "plain-response-unpadded": "plain query, plain response, not padded",
}


class AdditionInputFormats(Experiment):
    """What the way of writing matters."""

    name = "addition-input-formats"
    place = 9
    figure = "Figure 14"
    summary = "addition in six formats: reversed or plain, padded or not"
    scales: ClassVar = addition_scales(seeds=8)

    def cases(self, scale: Scale) -> list[Case]:
        paper = [
            case(f"addition-{label}" if label else "addition-coupling-scratchpad", title, scale)
            for label, title in TITLES.items()
        ]
        ours = [
            windowed_format(scale, f"windowed (ours), {title}", label, **FORMATS[label][1])
            if label
            else windowed(scale, f"windowed (ours), {title}")
            for label, title in TITLES.items()
        ]
        return [*paper, *ours]

    def draw(self, found: Found) -> dict[str, Figure]:
        return found.heatmaps(self.name)

    def claims(self, found: Found) -> list[Claim]:
        means = {title: found.mean_beyond(title, 10) for title in TITLES.values()}
        known = {title: mean for title, mean in means.items() if mean is not None}
        best = max(known, key=lambda title: known[title], default="–")
        first = None if len(known) < len(means) else float(known[BASELINE] >= 0.9 * known[best])
        return [
            Claim(
                says="its own format (plain query, reversed response, padded) is among the best of six",
                paper="shown as heatmaps, no number",
                ours="mean beyond 10 × 10: " + ", ".join(f"{title} {per_cent(mean)}" for title, mean in means.items()),
                verdict=judged(first, confirmed=1),
                seeds=found.seeds(*TITLES.values()),
            )
        ]
