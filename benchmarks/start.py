"""From nothing to 30 × 30: python benchmarks/start.py [--preset adder-tiny] [--runs 3]

The time from the start of a process, imports and compilation included, until a model has been trained and has been
asked 1,000 sums of thirty 30-digit numbers. Every run is a process and a seed of its own, and says where its time went.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table
from tyro.conf import arg

PROGRAM = """
import json, sys, time
begun = float(sys.argv[1])
import torch
import lengthwise as lw
from dataclasses import replace
from lengthwise.evaluate import measure_cell
imported = time.time()
device = "cuda" if torch.cuda.is_available() else "cpu"
recipe = replace(lw.presets.get(sys.argv[2]), seed=int(sys.argv[3]))
run = lw.train(recipe, sys.argv[4], device=device)
trained = time.time()
model = run.model.to(device).eval()
size = (30, None if recipe.data.count is None else 30)
right, _, asked = measure_cell(model, *size, samples=1000, seed=1)
ended = time.time()
print(json.dumps({"imports": imported - begun, "training": trained - imported, "measuring": ended - trained,
                  "all": ended - begun, "right": right, "asked": asked,
                  "steps": recipe.training.steps, "device": device}))
"""


@dataclass(frozen=True)
class Options:
    preset: Annotated[str, arg(help="what is trained")] = "adder-tiny"
    runs: Annotated[int, arg(help="how many, one after the other, with the seeds 0, 1 …")] = 3


def main(options: Options) -> None:
    table = Table("seed", "imports", "training", "1,000 of 30 × 30", "in all", "right")
    for seed in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            told = [str(time.time()), options.preset, str(seed), f"{folder}/run"]
            done = subprocess.run([sys.executable, "-c", PROGRAM, *told], capture_output=True, text=True, check=True)
        said = json.loads(done.stdout.splitlines()[-1])
        times = [f"{said[part]:.1f} s" for part in ("imports", "training", "measuring", "all")]
        table.add_row(str(seed), *times, f"{said['right'] / said['asked']:.1%}")
        print(".", end="", flush=True)
    console = Console()
    console.print(f"\n{options.preset}, {said['steps']:,} steps, {said['device']}")
    console.print(table)


if __name__ == "__main__":
    main(tyro.cli(Options))
