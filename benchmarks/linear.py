"""Attention to neighbours beside attention over all keys: python benchmarks/linear.py [--largest 80] [--out FILE]

A training step (forward and backward) and an evaluation (forward) of adder-tiny on one page of n numbers of n digits,
both ways in one run: seconds, and the memory that came on top. Every measurement is a process of its own, the best of
three. Attention over all keys is left out where a page has more than `dense_limit` tokens.
"""

import json
import platform
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from torch import multiprocessing
from tyro.conf import arg

import lengthwise as lw


@dataclass(frozen=True)
class Options:
    largest: int = 160
    """Digits and numbers of the largest page; each page is twice the one before, from 10 on."""
    dense_limit: int = 20_000
    """Tokens of the longest page for attention over all keys."""
    out: Annotated[Path | None, arg(help="also write the numbers to this JSON file")] = None


def measure(size: int, near: bool, training: bool) -> tuple[int, float, float]:
    """Tokens, seconds, and memory in MiB."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    recipe = lw.presets.get("adder-tiny")
    model = lw.Solver.new(recipe.task, recipe.encoding, recipe.model).to(device)
    if not near:
        model.transformer.hooks.reach = None
    batch = model.task.sample(1, length=size, count=size, seed=0, fixed=True, device=device)
    wanted = batch.targets.nonzero()[:, 0] - 1
    small = model.task.sample(1, length=2, count=2, seed=0, fixed=True, device=device)
    _run(model, small, small.targets.nonzero()[:, 0] - 1, training)  # what is loaded and compiled once
    before = _memory(device)
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        _run(model, batch, wanted, training)
        seconds.append(time.perf_counter() - begun)
    return len(batch.tokens), min(seconds), max(0.0, _memory(device) - before)


def _run(model: lw.Solver, batch: lw.Batch, wanted: torch.Tensor, training: bool) -> None:
    if training:
        torch.autograd.backward(model(batch, wanted=wanted).square().mean())
    else:
        with torch.no_grad():
            model(batch, wanted=wanted)
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _memory(device: str) -> float:
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2 ** (20 if sys.platform == "darwin" else 10)


def main(options: Options) -> None:
    table = Table("digits × numbers", "tokens", "", "neighbours", "all keys", "neighbours", "all keys")
    sizes = [10]
    while 2 * sizes[-1] <= options.largest:
        sizes.append(2 * sizes[-1])
    records = []
    for training in (True, False):
        for size in sizes:
            cells: dict[bool, tuple[int, float, float]] = {}
            for near in (True, False):
                if not near and cells[True][0] > options.dense_limit:
                    continue
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    cells[near] = pool.apply(measure, (size, near, training))
                tokens, seconds, memory = cells[near]
                record = {"tokens": tokens, "seconds": seconds, "memory_mib": memory}
                records.append({"size": size, "training": training, "neighbours": near, **record})
            row = [f"{size} × {size}", f"{cells[True][0]:,}", "training step" if training else "evaluation"]
            row += [f"{cells[near][1] * 1e3:,.1f} ms" if near in cells else "–" for near in (True, False)]
            row += [f"{cells[near][2]:,.0f} MiB" if near in cells else "–" for near in (True, False)]
            table.add_row(*row)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{platform.machine()} CPU"
    Console(width=140).print(f"{device}, {torch.get_num_threads()} threads, torch {torch.__version__}", table)
    if options.out is not None:
        about = {"device": device, "threads": torch.get_num_threads(), "torch": torch.__version__}
        options.out.write_text(json.dumps({**about, "measured": records}, indent=1) + "\n")
        draw(records, device, options.out.with_suffix(".png"))


def draw(records: list[dict[str, Any]], device: str, out: Path) -> None:
    """Seconds and memory of a training step, both ways, against tokens."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, key, label in zip(figure.subplots(1, 2), ("seconds", "memory_mib"), ("seconds", "MiB"), strict=True):
        for near, name, colour in ((True, "neighbours", "#0072b2"), (False, "all keys", "#d55e00")):
            chosen = [entry for entry in records if entry["training"] and entry["neighbours"] == near]
            tokens, values = [entry["tokens"] for entry in chosen], [entry[key] for entry in chosen]
            axes.loglog(tokens, values, "o-", ms=4, color=colour, label=name)
        axes.set(xlabel="tokens of one page", ylabel=label)
        axes.grid(linewidth=0.4, color="#dddddd")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
    figure.suptitle(f"a training step of adder-tiny · {device}", fontsize=10)
    figure.savefig(out, dpi=150)


if __name__ == "__main__":
    main(tyro.cli(Options))
