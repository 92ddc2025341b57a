"""Addition: 1, 2, 4 and 6 layers of 2, 4 and 8 heads (Figure 10).

    lengthwise reproduce addition-architecture --scale small --workers 10

Small (15 November 2026, one H200 shared by 14 or 15 processes, 1 to 8 minutes a run; half the width, 6,000 steps of
100; three seeds of one layer, two of the others): no trend in depth. Four layers of 4 heads do best, 93 % beyond
10 × 10; one layer of 4 does better than six of 8. One layer of 2 heads is the worst by its median, but one of its three
seeds is as good as most: seeds of one shape differ by up to 72 points, more than most shapes.
"""

from itertools import product
from statistics import median
from typing import ClassVar

from matplotlib.figure import Figure

from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.setups import addition_scales, case, windowed
from lengthwise.experiments.verdicts import LEARNED, Claim, Verdict, compared, per_cent
from lengthwise.results import Grid

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
            self._two_heads(found),
            Claim(
                says="2 layers of 2 heads do better than the baseline of 6 layers of 8",
                paper="lowest cell 90.0 % against 67.8 %",
                ours=f"lowest cell {per_cent(found.lowest(two, 30, 30))} against "
                f"{per_cent(found.lowest(six, 30, 30))}; "
                f"mean beyond 10 × 10 {found.spread_beyond(two, 10)} against {found.spread_beyond(six, 10)}",
                verdict=compared(means[two], means[six], seeds=found.seeds(two, six)),
                seeds=found.seeds(two, six),
            ),
            Claim(
                says="1 layer of 4 heads does better than the baseline of 6 layers of 8",
                paper="“even outperforming our baseline”",
                ours=f"mean beyond 10 × 10 {found.spread_beyond(four, 10)} against {found.spread_beyond(six, 10)}; "
                f"at 20 × 20 {per_cent(found.rate(four, 20, 20))} against {per_cent(found.rate(six, 20, 20))}",
                verdict=compared(means[four], means[six], seeds=found.seeds(four, six)),
                seeds=found.seeds(four, six),
            ),
        ]

    def _two_heads(self, found: Found) -> Claim:
        """Seed by seed: a median of one that has learned its training sizes and one that has not means nothing."""
        titles = (titled(1, 2), titled(1, 4))
        cells = ((10, 10), (10, 15), (15, 10))
        seeds = {title: [_rates(grid, cells) for grid in found.grids(title)] for title in titles}
        able = {title: [rates for rates in each if rates[0] >= LEARNED] for title, each in seeds.items()}
        few, many = able.values()
        verdict: Verdict = "not run"
        if all(seeds.values()):
            verdict = "not learned"
        if few and many:
            longer, more = median(rates[2] for rates in few), median(rates[1] for rates in few)
            fails = longer < 0.1 < median(rates[2] for rates in many)
            verdict = "contradicted" if not fails else "confirmed" if more > 0.5 else "weaker"
        shown = "; ".join(
            f"{title} {', '.join(' / '.join(per_cent(rate) for rate in rates) for rates in each)}"
            for title, each in seeds.items()
        )
        return Claim(
            says="1 layer of 2 heads adds more numbers, but not longer ones; 1 layer of 4 heads does",
            paper="shown as heatmaps",
            ours=f"10 digits × 10 numbers / 10 × 15 / 15 × 10, seed by seed: {shown}",
            verdict=verdict,
            seeds=found.seeds(*titles),
        )


def _rates(grid: Grid, cells: tuple[tuple[int, int], ...]) -> list[float]:
    """The accuracies of some cells; 0 where there is no such cell."""
    accuracy = grid.accuracy
    places = {(length, count): accuracy[row][column] for row, column, length, count in grid.cells}
    return [places.get(cell) or 0.0 for cell in cells]
