"""The paper, figure by figure: one file for each figure or table, found by walking this package.

A file says what its figure compares, at three scales, how it is drawn, and what the paper claims of it. Adding one is
adding a file. `lengthwise.reproduce` does the work.

    lengthwise reproduce                                  all of them, with their state
    lengthwise reproduce addition-methods --scale small   one of them, end to end
"""

import sys

from lengthwise.discovery import discover
from lengthwise.errors import InputError, instead
from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.verdicts import Claim, Verdict
from lengthwise.measurements import Measurement

__all__ = ["Case", "Claim", "Experiment", "Found", "Measurement", "Scale", "Verdict", "experiment", "kinds"]


def kinds() -> dict[str, type[Experiment]]:
    """Every experiment, by name, in the paper's order."""
    found = discover(sys.modules[__name__], Experiment)  # type: ignore[type-abstract]
    return dict(sorted(found.items(), key=lambda item: item[1].place))


def experiment(name: str) -> Experiment:
    """The experiment of a name."""
    known = kinds()
    if name not in known:
        raise InputError(f"There is no figure {name!r}: {instead(name, known)}")
    return known[name]()
