"""Addition: 1, 2, 4 and 6 layers of 2, 4 and 8 heads (Figure 10).

    lengthwise reproduce addition-architecture --scale small --workers 10

Small (15 November 2026, one H200 shared by 14 processes, 1.5 to 5 minutes a run; half the width, 6,000 steps of 100;
two seeds of one layer, one of the others): two layers do best, with 4 heads 98 % over the whole grid. One layer of 2
heads is the worst by its median, but one of its two seeds is as good as most: seeds differ by more than shapes.
"""

from itertools import product
from statistics import median
from typing import ClassVar

from matplotlib.figure import Figure

from lengthwise.experiments.base import Case, Claim, Experiment, Found, Scale, Verdict, compared, judged, per_cent
from lengthwise.experiments.setups import addition_scales, case, windowed

SHAPES = tuple(product((1, 2, 4, 6), (2, 4, 8)))


def titled(layers: int, heads: int) -> str:
    """The title of a case."""
    return f"{layers} layer{'s' if layers > 1 else ''}, {heads} heads"


class AdditionArchitecture(Experiment):
    """How many layers and heads it takes."""

    name = "addition-architecture"
    place = 5
    figure = "Figure 10"
    summary = "addition: 1, 2, 4, 6 layers of 2, 4, 8 heads"
    scales: ClassVar = addition_scales(seeds=6)

    def cases(self, scale: Scale) -> list[Case]:
        paper = [
            case(
                "addition-coupling-scratchpad" if shape == (6, 8) else "addition-{}l{}h".format(*shape),
                titled(*shape),
                scale,
            )
            for shape in SHAPES
        ]
        ours = [
            windowed(
                scale,
                f"windowed (ours), {titled(layers, heads)}",
                label="" if (layers, heads) == (1, 4) else f"{layers}l{heads}h",
                model={"layers": layers, "heads": heads},
            )
            for layers, heads in SHAPES
        ]
        return [*paper, *ours]

    def draw(self, found: Found) -> dict[str, Figure]:
        paper, ours = ([f"{whose}{titled(*shape)}" for shape in SHAPES] for whose in ("", "windowed (ours), "))
        return found.heatmaps(self.name, paper) | found.heatmaps(f"{self.name}-windowed", ours)

    def claims(self, found: Found) -> list[Claim]:
        means = {titled(*shape): found.mean_beyond(titled(*shape), 10) for shape in SHAPES}
        known = {title: mean for title, mean in means.items() if mean is not None}
        whole, worst = len(known) == len(means), titled(1, 2)
        known_seeds = found.means_beyond(worst, 10)
        two, four, six = titled(2, 2), titled(1, 4), titled(6, 8)
        few, many = found.rate(worst, 15, 10), found.rate(four, 15, 10)
        rank = sorted(known, key=lambda title: known[title])
        others = [mean for title, mean in known.items() if title != worst]
        # one good seed is enough to doubt it: seeds of one shape differ by more than most shapes
        settled: Verdict = "confirmed" if others and max(known_seeds, default=1.0) < median(others) else "weaker"
        return [
            Claim(
                says="1 layer of 2 heads is the worst of twelve",
                paper="fails at once for longer digits",
                ours="mean beyond 10 × 10: "
                + ", ".join(f"{title} {found.spread_beyond(title, 10)}" for title in means),
                verdict="not run" if not whole else "contradicted" if rank[0] != worst else settled,
                seeds=found.seeds(*means),
            ),
            Claim(
                says="1 layer of 2 heads adds more numbers, but not longer ones; 1 layer of 4 heads does",
                paper="shown as heatmaps",
                ours=f"at 15 digits × 10 numbers {per_cent(few)} and {per_cent(many)}; at 10 × 15 "
                f"{per_cent(found.rate(worst, 10, 15))} and {per_cent(found.rate(four, 10, 15))}",
                verdict=judged(
                    None if few is None or many is None else float(few < 0.1 < many),
                    confirmed=1,
                ),
                seeds=found.seeds(worst, four),
            ),
            Claim(
                says="2 layers of 2 heads do better than the baseline of 6 layers of 8",
                paper="lowest cell 90.0 % against 67.8 %",
                ours=f"lowest cell {per_cent(found.lowest(two, 30, 30))} against "
                f"{per_cent(found.lowest(six, 30, 30))}; "
                f"mean beyond 10 × 10 {found.spread_beyond(two, 10)} against {found.spread_beyond(six, 10)}",
                verdict=compared(means[two], means[six]),
                seeds=found.seeds(two, six),
            ),
            Claim(
                says="1 layer of 4 heads does better than the baseline of 6 layers of 8",
                paper="“even outperforming our baseline”",
                ours=f"mean beyond 10 × 10 {found.spread_beyond(four, 10)} against {found.spread_beyond(six, 10)}; "
                f"at 20 × 20 {per_cent(found.rate(four, 20, 20))} against {per_cent(found.rate(six, 20, 20))}",
                verdict=compared(means[four], means[six]),
                seeds=found.seeds(four, six),
            ),
        ]
