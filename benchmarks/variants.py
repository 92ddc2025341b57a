"""Tables of variants, many seeds each: python benchmarks/variants.py TABLE [--seeds 0 1 2] [--workers 2] [--out FILE]

    ablations        what windowed coupling for addition needs, and other encodings of the same ids, at one budget
    sizes            how small an adder can be
    multipliers      how small a multiplier can be
    paper-products   multiplication in the paper's own format
    seeds            the presets adder-tiny and multiplier as they are

Everything is trained on 10 × 10 and nothing longer, in float32, and measured by whole responses without a mistake, one
teacher-forced pass. The file collects a record for every variant and seed; those it has are not trained again.
"""

import json
import math
import platform
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from torch import multiprocessing
from tyro.conf import Positional, arg

import lengthwise as lw
from lengthwise.evaluate import measure_cell

Cells = tuple[tuple[str, int], ...]
Change = dict[str, dict[str, Any]]
NEAR_AND_FAR: Cells = (("10x10", 200), ("15x15", 200), ("20x20", 100), ("30x30", 100), ("60x60", 20))
SIZE: Cells = (("10x10", 1000), ("30x30", 1000), ("100x100", 100))
PRODUCTS: Cells = (("10x10", 100), ("30x30", 100), ("60x60", 50), ("100x100", 50), ("60x2", 100), ("2x60", 100))

WIDE = {"width": 64, "feedforward": 128}
CONTENT = {"content_scores": True, "scale_scores": True}
COUPLED: Change = {"model": WIDE | CONTENT, "data": {"random_offsets": True}, "task": {"max_ids": (40, 40)}}
LOW: Change = {"training": {"learning_rate": 1e-3}}
ABLATIONS: dict[str, Change] = {
    "adder-tiny": {},
    "scores of content, too": {"model": CONTENT},
    "hard, W 2": {"encoding": {"window": 2}},
    "hard, W 3": {"encoding": {"window": 3}},
    "soft, W 1": {"encoding": {"hard": False}},
    "soft, W 1, sharpened": {"encoding": {"hard": False, "train_length": 250}},
    "soft, W 1, sharpened, content": {"encoding": {"hard": False, "train_length": 250}, "model": CONTENT},
    "soft, W 2, sharpened": {"encoding": {"hard": False, "window": 2, "train_length": 250}},
    "initial numbers 0": {"encoding": {"initial_std": 0.0}},
    "initial numbers N(0, 0.5)": {"encoding": {"initial_std": 0.5}},
    "initial numbers N(0, 1)": {"encoding": {"initial_std": 1.0}},
    "initial numbers N(0, 4)": {"encoding": {"initial_std": 4.0}},
    "gain 1": {"encoding": {"gain": 1.0}},
    "2 layers": {"model": {"layers": 2}},
    "2 heads": {"model": {"heads": 2}},
    "8 heads": {"model": {"heads": 8}},
    "width 64": {"model": WIDE},
    "width 64, content": {"model": WIDE | CONTENT},
    "learned tables": COUPLED | {"new_encoding": {"name": "learned", "sizes": (40, 40)}},
    "learned tables, rate 1e-3": COUPLED | LOW | {"new_encoding": {"name": "learned", "sizes": (40, 40)}},
    "rotary": {"model": WIDE | CONTENT, "new_encoding": {"name": "rotary"}},
    "rotary, rate 1e-3": LOW | {"model": WIDE | CONTENT, "new_encoding": {"name": "rotary"}},
    "ALiBi": {"model": WIDE | CONTENT, "new_encoding": {"name": "alibi"}},
    "ALiBi, rate 1e-3": LOW | {"model": WIDE | CONTENT, "new_encoding": {"name": "alibi"}},
}


def _size(width: int, heads: int = 4, feedforward: int | None = None, **options: Any) -> Change:
    model = {"width": width, "heads": heads, "feedforward": feedforward or 2 * width, **options}
    return {"model": model, "training": {"steps": 3000, "learning_rate": 6e-3 if width >= 32 else 1e-2}}


SIZES: dict[str, Change] = {
    "width 64, content": _size(64, **CONTENT),
    "width 64": _size(64),
    "width 48": _size(48),
    "width 32": _size(32),
    "width 24": _size(24),
    "width 16": _size(16),
    "width 16, feedforward 16": _size(16, feedforward=16),
    "width 16, 2 heads": _size(16, heads=2),
    "width 12": _size(12),
    "width 8": _size(8),
    "width 8, 2 heads": _size(8, heads=2),
    "width 8, feedforward 8": _size(8, feedforward=8),
    "width 6": _size(6, heads=2),
    "width 6, feedforward 6": _size(6, heads=2, feedforward=6),
    "width 4": _size(4),
    "width 4, 2 heads": _size(4, heads=2),
}


def _product(layers: int, width: int, feedforward: int | None = None, **options: Any) -> Change:
    return {"model": {"layers": layers, "width": width, "feedforward": feedforward or 2 * width, **options}}


MULTIPLIERS: dict[str, Change] = {
    "2 layers, width 48": {},
    "2 layers, width 64": _product(2, 64),
    "2 layers, width 64, content": _product(2, 64, **CONTENT),
    "2 layers, width 32": _product(2, 32),
    "2 layers, width 24": _product(2, 24),
    "1 layer, width 64": _product(1, 64),
    "1 layer, width 64, feedforward 256": _product(1, 64, 256),
}


def _as_in_the_paper(**encoding: Any) -> Change:
    model = _product(2, 128, heads=8, **CONTENT)
    return model | {"encoding": encoding, "task": {"staircase": False}, "training": {"learning_rate": 2e-3}}


PAPER_PRODUCTS: dict[str, Change] = {
    "hard, W 1": _as_in_the_paper(),
    "soft, W 1": _as_in_the_paper(hard=False),
    "soft, W 2, sharpened": _as_in_the_paper(hard=False, window=2, train_length=400),
}
SHORTER: Cells = (("10x10", 200), ("15x15", 100), ("20x20", 100), ("30x30", 100))
TABLES: dict[str, tuple[list[tuple[str, str, Change]], Cells]] = {
    "ablations": ([("adder-tiny", name, change) for name, change in ABLATIONS.items()], NEAR_AND_FAR),
    "sizes": ([("adder-tiny", name, change) for name, change in SIZES.items()], SIZE),
    "multipliers": ([("multiplier", name, change) for name, change in MULTIPLIERS.items()], PRODUCTS),
    "paper-products": ([("multiplier", name, change) for name, change in PAPER_PRODUCTS.items()], SHORTER),
    "seeds": ([(name, name, {}) for name in ("adder-tiny", "multiplier")], SIZE),
}


@dataclass(frozen=True)
class Options:
    table: Positional[Literal["ablations", "sizes", "multipliers", "paper-products", "seeds"]]
    seeds: tuple[int, ...] = (0, 1, 2)
    """Of the weights and the data."""
    only: Annotated[tuple[str, ...], arg(help="these variants only")] = ()
    workers: int = 1
    """Processes at once."""
    out: Annotated[Path | None, arg(help="the file of records; results/TABLE.json unless given")] = None

    @property
    def file(self) -> Path:
        return self.out or Path("results") / f"{self.table}.json"


@dataclass(frozen=True)
class Job:
    """One training run."""

    preset: str
    variant: str
    change: Change
    cells: Cells
    seed: int
    alone: bool


def recipe_for(job: Job) -> lw.Recipe:
    """The preset, changed; nothing is measured on the way."""
    recipe = lw.presets.get(job.preset)
    changes = dict(job.change)
    if new := changes.pop("new_encoding", None):
        recipe = replace(recipe, encoding=lw.encoding(**new))
    for part, settings in changes.items():
        recipe = replace(recipe, **{part: replace(getattr(recipe, part), **settings)})
    watch = replace(recipe.watch, validate_every=0, cells=(), log_every=100)
    training = replace(recipe.training, precision="float32", compile=False)
    return replace(recipe, seed=job.seed, watch=watch, training=training)


def work(job: Job) -> dict[str, Any]:
    """Train and measure."""
    if not job.alone:
        torch.set_num_threads(1)
    recipe = recipe_for(job)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = lw.train(recipe, folder)
        except lw.InputError as error:
            return {"variant": job.variant, "seed": job.seed, "failed": str(error)}
        seconds, model, metrics = time.perf_counter() - begun, run.model, run.metrics
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.to(device).eval()
    cells = {}
    for cell, samples in job.cells:
        length, count = (int(part) for part in cell.split("x"))
        try:
            right, _, total = measure_cell(model, length, count, samples=samples, seed=5, precision="float32")
            cells[cell] = [right, total]
        except lw.InputError:  # beyond the ids of a learned table
            continue
        if right == 0:  # nothing longer will be right
            break
    return {
        "variant": job.variant,
        "seed": job.seed,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "steps": recipe.training.steps,
        "seconds": round(seconds, 1),
        "loss": next(record["loss"] for record in reversed(metrics) if "loss" in record),
        "cells": cells,
        "device": torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()} CPU",
        "versions": {"lengthwise": lw.__version__, "torch": torch.__version__},
    }


def in_turn(jobs: list[Job], workers: int) -> Iterator[dict[str, Any]]:
    """All records, as they are done."""
    if workers == 1:
        yield from map(work, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(workers, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(work, jobs, chunksize=1)


def main(options: Options) -> None:
    variants, cells = TABLES[options.table]
    records: list[dict[str, Any]] = json.loads(options.file.read_text()) if options.file.exists() else []
    done = {(record["variant"], record["seed"]) for record in records}
    jobs = [
        Job(preset, variant, change, cells, seed, options.workers == 1)
        for seed in options.seeds
        for preset, variant, change in variants
        if (variant, seed) not in done and (not options.only or variant in options.only)
    ]
    for job in jobs:
        recipe_for(job).check()
    options.file.parent.mkdir(parents=True, exist_ok=True)
    console = Console(width=190)
    for record in in_turn(jobs, options.workers):
        records.append(record)
        options.file.write_text("[\n" + ",\n".join(map(json.dumps, records)) + "\n]\n")
        console.print(json.dumps(record), soft_wrap=True, highlight=False)
    table = Table("variant", "parameters", "seeds", "steps", *(f"{cell} ({samples})" for cell, samples in cells))
    table.box = MARKDOWN
    for _, variant, _ in variants:
        rows = [record for record in records if record["variant"] == variant and "failed" not in record]
        if rows:
            about = [f"{rows[0]['parameters']:,}", str(len(rows)), f"{rows[0]['steps']:,}"]
            table.add_row(variant, *about, *(_summary(rows, cell) for cell, _ in cells))
    console.print(table)


def _summary(rows: list[dict[str, Any]], cell: str) -> str:
    """The median over seeds, and the lowest and highest where they differ."""
    parts = sorted(row["cells"][cell][0] / row["cells"][cell][1] for row in rows if cell in row["cells"])
    parts = [0.0] * sum(
        any(right == 0 for right, _ in row["cells"].values()) for row in rows if cell not in row["cells"]
    ) + parts
    if not parts:
        return "–"
    low, high = (_percent(part) for part in (parts[0], parts[-1]))
    return low if low == high else f"{_percent(statistics.median(parts))} ({low}…{high})"


def _percent(part: float) -> str:
    """Rounded down, so that 100 means all."""
    return f"{math.floor(1000 * part) / 10:.1f}".replace(".0", "")


if __name__ == "__main__":
    main(tyro.cli(Options))
