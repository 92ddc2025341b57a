"""What the paper says, what came out here, and the verdict: rules that all figures share.

>>> judged(0.95, confirmed=0.9, weaker=0.5), judged(0.6, confirmed=0.9, weaker=0.5), judged(None, confirmed=0.9)
('confirmed', 'weaker', 'not run')
"""

from dataclasses import dataclass
from typing import Literal

from lengthwise.experiments.plans import Scale

Verdict = Literal["confirmed", "weaker", "contradicted", "not learned", "not run"]
LEARNED = 0.9
"""The accuracy within the training sizes from which on a model has learned them."""
MARGIN = 0.05
"""By how much one thing must be better than another."""
SPREAD = 0.35
"""The same where each has but one seed: two seeds of one architecture differ by so much and more."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the paper says, and what came out here."""

    says: str
    paper: str
    """Its number, or its words."""
    ours: str
    verdict: Verdict
    seeds: int
    """How many runs ours comes from: of the case that has the fewest."""


def judged(value: float | None, *, confirmed: float, weaker: float | None = None) -> Verdict:
    """A verdict on a value that should be high: from where it confirms, and from where it does so weakly."""
    if value is None:
        return "not run"
    if value >= confirmed:
        return "confirmed"
    return "weaker" if weaker is not None and value >= weaker else "contradicted"


def compared(better: float | None, worse: float | None, *, seeds: int) -> Verdict:
    """A verdict on what should be better: weaker within a margin, which is wide where there is a single seed."""
    if better is None or worse is None:
        return "not run"
    return judged(better - worse, confirmed=MARGIN if seeds > 1 else SPREAD, weaker=-MARGIN)


def reached(verdict: Verdict, scale: Scale) -> Verdict:
    """A verdict on how far something goes: with less training than the paper's, less far is weaker, no more."""
    return "weaker" if verdict == "contradicted" and scale.is_less else verdict


def learned(verdict: Verdict, inside: float | None) -> Verdict:
    """A verdict on what happens beyond the training sizes: that nothing does is no evidence where these fail, too."""
    return "not learned" if verdict == "confirmed" and (inside is None or inside < LEARNED) else verdict


def per_cent(value: float | None) -> str:
    """A rate in words: one decimal, never rounded up to 100."""
    return "–" if value is None else "100 %" if value == 1 else f"{min(100 * value, 99.9):.1f} %".replace(".0 ", " ")
