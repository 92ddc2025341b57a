"""Length generalization in arithmetic Transformers: train on short problems, measure on long ones."""

from lengthwise import tasks
from lengthwise.errors import InputError
from lengthwise.positions import Coupling
from lengthwise.tasks import Batch, Page, Problems, Reading, Task, task

__version__ = "0.1.0"

__all__ = ["Batch", "Coupling", "InputError", "Page", "Problems", "Reading", "Task", "task", "tasks"]
