"""Where trained heads look: six models of the appendix, and what the text says in numbers (Figures 7, 15 to 20).

    lengthwise reproduce attention-patterns --scale small --workers 10

Attention is averaged over problems of T_A(11,11). The paper shows some heads of each model; here the four that put most
weight on the tokens that matter are drawn, and all heads are counted: how much of their weight falls on the digits that
are to be added, and how many keys hold nine tenths of it. Models are those of `addition-methods` and
`addition-architecture`: what has been trained for these is not trained again.

Small (15 November 2026, one H200, seconds a map, two seeds): one head of the 1-layer model puts 90 and 99.7 % of its
weight on the two digits to add, and nine tenths of the weight of most heads lie on 2 keys, of each on 2 to 8. In every
6-layer model with scratchpad some head puts 90 % or more there; without one, coupling's best head 62 and 75 % on the
eleven digits of its column. Drawn is the first seed.
"""

from itertools import chain
from statistics import median
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure

from lengthwise.experiments import methods
from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.setups import addition_scales, case, windowed
from lengthwise.experiments.verdicts import Claim, judged, per_cent
from lengthwise.figures.attention import draw_heads
from lengthwise.figures.focus import draw_focus
from lengthwise.focus import Focus
from lengthwise.measurements import Measurement, map_of
from lengthwise.results import AttentionMap, read_json

SIZE = 11
SHOWN = 4
ONE_LAYER = "Position Coupling, with scratchpad, 1 layer of 4 heads"
PLAIN = methods.titled("fire", False)
TITLES = [methods.titled(method, pad) for pad in (True, False) for method in ("nope", "fire", "coupling")]


class AttentionPatterns(Experiment):
    """What heads look at."""

    name = "attention-patterns"
    place = 11
    figure = "Figures 7, 15–20"
    summary = "attention averaged over 1,000 problems of 11 × 11, and how much of it falls on what matters"
    scales: ClassVar = addition_scales(seeds=1)

    def cases(self, scale: Scale) -> list[Case]:
        six = [
            case(f"addition-{method}{'-scratchpad' if pad else ''}", methods.titled(method, pad), scale)
            for pad in (True, False)
            for method in ("nope", "fire", "coupling")
        ]
        return [case("addition-1l4h", ONE_LAYER, scale), *six, windowed(scale, methods.WINDOWED)]

    def measurements(self, scale: Scale) -> list[Measurement]:
        size, samples = (2, 5) if scale.name == "smoke" else (SIZE, 1000)
        return [Measurement(lengths=(size,), counts=(size,), samples=samples, kind="attention")]

    def draw(self, found: Found) -> dict[str, Figure]:
        focuses = {title: focuses[0] for title in found.titles if (focuses := focuses_of(found, title))}
        pictures: dict[str, Figure] = {}
        if focuses:
            pictures["attention-focus"] = draw_focus(focuses)
        for title, focus in focuses.items():
            one = found.case(title)
            maps = [map_of(file) for file in found.files(one, one.measurements[0])]
            if maps and maps[0].is_file():  # kept beside the weights: only where it was trained
                attention = AttentionMap.load(maps[0])
                pictures[f"attention-{one.key}"] = draw_heads(attention, telling(focus))
        return pictures

    def claims(self, found: Found) -> list[Claim]:
        one, plain = focuses_of(found, ONE_LAYER), focuses_of(found, PLAIN)
        weight = median(_best(focus) for focus in one) if one else None
        keys = median(_fewest_matching(focus) for focus in one) if one else None
        even = plain[0].uniform if plain else 0.0
        verdict = judged(median(map(_best, plain)) if plain else None, confirmed=0.5, weaker=3 * even)
        wide = median(_fewest_matching(focus) for focus in plain) if plain else None
        return [
            Claim(
                says="with coupling and scratchpad (1 layer, 4 heads) heads look at a fixed number of tokens: one in "
                "the query, one in the scratchpad",
                paper="in words and a picture",
                ours="–"
                if not one
                else f"the head that does so most puts {per_cent(weight)} on the two digits to add, evenly it would be "
                f"{per_cent(one[0].uniform)}; nine tenths of its weight lie on {keys:.1f} keys",
                verdict=judged(weight, confirmed=0.8, weaker=0.4),
                seeds=len(one),
            ),
            Claim(
                says="with scratchpad, 6-layer models of NoPE, FIRE and coupling have such heads, too (appendix)",
                paper="pictures",
                ours="most of any head: " + self._each(found, TITLES[:3]),
                verdict=judged(self._least(found, TITLES[:3]), confirmed=0.8, weaker=0.4),
                seeds=min(len(focuses_of(found, title)) for title in TITLES[:3]),
            ),
            Claim(
                says="without scratchpad, a head looks at as many tokens as there are operands (FIRE)",
                paper="eleven anti-diagonal lines",
                ours="–"
                if not plain
                else f"most weight of any head on the {plain[0].matter:.0f} digits of a column: "
                f"{self._each(found, TITLES[3:])}; nine tenths of FIRE's lie on {wide:.1f} keys; evenly it would be "
                f"{per_cent(plain[0].uniform)}",
                verdict="not learned" if verdict == "contradicted" and found.scale.is_less else verdict,
                seeds=len(plain),
            ),
        ]

    def _each(self, found: Found, titles: list[str]) -> str:
        """The most that any head of each model puts on what matters, in words."""
        rates = {title: [_best(focus) for focus in focuses_of(found, title)] for title in titles}
        return ", ".join(f"{title} {per_cent(median(best))}" for title, best in rates.items() if best) or "–"

    def _least(self, found: Found, titles: list[str]) -> float | None:
        rates = [[_best(focus) for focus in focuses_of(found, title)] for title in titles]
        return min(median(best) for best in rates) if all(rates) else None


def focuses_of(found: Found, title: str) -> list[Focus]:
    """The scores of a case, one a seed."""
    case = found.case(title)
    files = found.files(case, case.measurements[0])
    return [Focus.from_json(read_json(file)["focus"]) for file in files]


def telling(focus: Focus) -> list[tuple[int, int]]:
    """The heads with most weight on the tokens that matter, as layer and head, both from 1."""
    weights = np.array(focus.weight)
    order = np.argsort(-weights, axis=None)[:SHOWN]
    return sorted((int(place) // weights.shape[1] + 1, int(place) % weights.shape[1] + 1) for place in order)


def _best(focus: Focus) -> float:
    """The most weight that any head puts on the tokens that matter."""
    return max(max(layer) for layer in focus.weight)


def _fewest_matching(focus: Focus) -> float:
    """How many keys that head's weight lies on."""
    return max(zip(chain(*focus.weight), chain(*focus.keys), strict=True))[1]
