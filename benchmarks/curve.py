"""Accuracy at 30 × 30 against training time: python benchmarks/curve.py [--name cpu] [--run FOLDER]

Trains adder-tiny, trying 100 sums of 30 numbers of 30 digits every 25 steps, and notes seconds and accuracies in
results/curve-NAME.json; or reads a run made like that elsewhere. Then draws all such files into results/curve.png. The
clock runs through the trials as well: training alone is faster.
"""

import json
import tempfile
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from tyro.conf import arg

import lengthwise as lw
from lengthwise.device import circumstances
from lengthwise.runs import Run

RESULTS = Path("results")
CELL = "30x30"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


@dataclass(frozen=True)
class Options:
    name: str = "cpu"
    """What the machine is called in the file's name."""
    label: Annotated[str, arg(help="what it is called in the picture")] = "two CPU cores"
    run: Annotated[Path | None, arg(help="a run folder made elsewhere, instead of training")] = None
    seed: int = 0


def points(run: Run) -> list[dict[str, float]]:
    """Seconds of training and the accuracy then, at every trial."""
    clock = dict(
        zip(
            (record["step"] for record in run.timing),
            accumulate(record["seconds"] for record in run.timing),
            strict=True,
        )
    )
    trials = [record for record in run.metrics if "cells" in record]
    return [
        {"step": record["step"], "seconds": round(clock[record["step"]], 2), "accuracy": record["cells"][CELL]}
        for record in trials
    ]


def train(seed: int) -> list[dict[str, float]]:
    recipe = lw.presets.get("adder-tiny")
    watch = replace(recipe.watch, log_every=25, validate_every=25, cells=(CELL,), cell_samples=100)
    with tempfile.TemporaryDirectory() as folder:
        return points(lw.train(replace(recipe, watch=watch, seed=seed), folder))


def draw(files: list[Path], out: Path) -> None:
    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    axes = figure.subplots()
    for file, colour in zip(files, COLOURS, strict=False):
        curve: dict[str, Any] = json.loads(file.read_text())
        seconds = [point["seconds"] for point in curve["points"]]
        axes.plot(seconds, [point["accuracy"] for point in curve["points"]], "o-", ms=3, color=colour)
        wrong = [place for place, point in enumerate(curve["points"]) if point["accuracy"] < 1]
        settled = curve["points"][max(wrong) + 1]  # it may be right once, and lose it again
        note = f"{curve['label']}: all 100 right from {settled['seconds']:.1f} s on"
        axes.plot([], [], "o-", ms=3, color=colour, label=note)
    axes.set(xlabel="seconds of training, trials included", ylabel="accuracy at 30 numbers of 30 digits", xscale="log")
    axes.set_xticks([1, 2, 5, 10, 20, 50], minor=False)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(linewidth=0.4, color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    figure.savefig(out, dpi=150)


def main(options: Options) -> None:
    measured = points(Run.at(options.run)) if options.run else train(options.seed)
    made = circumstances(torch.device("cuda" if torch.cuda.is_available() else "cpu")) if options.run is None else {}
    RESULTS.mkdir(exist_ok=True)
    about = {"label": options.label, "preset": "adder-tiny", "seed": options.seed, "made": made}
    file = RESULTS / f"curve-{options.name}.json"
    file.write_text(json.dumps({**about, "points": measured}, indent=1) + "\n")
    draw(sorted(RESULTS.glob("curve-*.json")), RESULTS / "curve.png")
    for point in measured:
        print(f"step {point['step']:5,}  {point['seconds']:6.1f} s  {point['accuracy']:.0%}")


if __name__ == "__main__":
    main(tyro.cli(Options))
