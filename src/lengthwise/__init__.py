"""Length generalization in arithmetic Transformers: train on short problems, measure on long ones."""

import os

# Read when torch is loaded: threads that wait for each other sleep sooner. Beside another busy process, where each may
# have to wait for a thread that is not running, training a small model takes half the time (docs/performance.md).
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from lengthwise import interop, models, positions, presets, results, tasks
from lengthwise.construction import construct
from lengthwise.errors import InputError
from lengthwise.evaluate import evaluate
from lengthwise.looking import average_attention
from lengthwise.mistakes import find_mistakes
from lengthwise.model import ModelConfig, Transformer
from lengthwise.positions import Coupling, Encoding, encoding
from lengthwise.recipe import Data, Recipe, Training, Watch
from lengthwise.results import Grid
from lengthwise.runs import Run
from lengthwise.solver import Solver, load
from lengthwise.tasks import Batch, Page, Problems, Reading, Task, task
from lengthwise.train import train
from lengthwise.version import __version__

__all__ = [
    "Batch",
    "Coupling",
    "Data",
    "Encoding",
    "Grid",
    "InputError",
    "ModelConfig",
    "Page",
    "Problems",
    "Reading",
    "Recipe",
    "Run",
    "Solver",
    "Task",
    "Training",
    "Transformer",
    "Watch",
    "__version__",
    "average_attention",
    "construct",
    "encoding",
    "evaluate",
    "find_mistakes",
    "interop",
    "load",
    "models",
    "positions",
    "presets",
    "results",
    "task",
    "tasks",
    "train",
]
