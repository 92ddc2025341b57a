"""Length generalization in arithmetic Transformers: train on short problems, measure on long ones."""

from lengthwise import interop, positions, tasks
from lengthwise.errors import InputError
from lengthwise.model import ModelConfig, Transformer
from lengthwise.positions import Coupling, Encoding, encoding
from lengthwise.solver import Solver, load
from lengthwise.tasks import Batch, Page, Problems, Reading, Task, task

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "Coupling",
    "Encoding",
    "InputError",
    "ModelConfig",
    "Page",
    "Problems",
    "Reading",
    "Solver",
    "Task",
    "Transformer",
    "encoding",
    "interop",
    "load",
    "positions",
    "task",
    "tasks",
]
