"""What several benchmarks share: the device and what it can do at most, clocks, and a model in training."""

import platform
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import torch

import lengthwise as lw
from lengthwise.data import Feed
from lengthwise.learning import learn, make_optimizer
from lengthwise.pages import Examples
from lengthwise.recipe import Recipe
from lengthwise.train import is_compiled

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def device_name() -> str:
    return torch.cuda.get_device_name() if DEVICE.type == "cuda" else f"{platform.machine()}, CPU"


def wait() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def timed(work: Callable[[], object]) -> float:
    """Seconds, all work of the device included."""
    wait()
    begun = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - begun


def matrix_rate() -> float:
    """Operations a second of a large product of matrices of random numbers, in bfloat16 on a GPU: a ceiling."""
    size, dtype = (8192, torch.bfloat16) if DEVICE.type == "cuda" else (2048, torch.float32)
    one, other = (torch.randn(size, size, device=DEVICE, dtype=dtype) for _ in range(2))
    times = [timed(lambda: [one @ other for _ in range(5)]) / 5 for _ in range(12)]
    return 2 * size**3 / median(times[2:])


def copy_rate() -> float:
    """Bytes a second, read and written, of a large copy within the device: the other ceiling."""
    source = torch.randn(2**28 if DEVICE.type == "cuda" else 2**25, device=DEVICE)
    goal = torch.empty_like(source)
    times = [timed(lambda: goal.copy_(source)) for _ in range(12)]
    return 2 * source.nbytes / median(times[2:])


class InTraining:
    """A new model by a recipe, with all it takes to train it."""

    def __init__(self, recipe: Recipe, compiled: bool | None = None) -> None:
        """Compiled or not, or as a run by this recipe would be."""
        some = None if recipe.data.problems is None else min(recipe.data.problems, 50_000)
        self.recipe = replace(recipe, data=replace(recipe.data, problems=some))
        self.model = lw.Solver.new(recipe.task, recipe.encoding, recipe.model).to(DEVICE)
        self.optimizer = make_optimizer(self.model.transformer, recipe.training)
        self.feed = Feed(self.recipe, self.model)
        if is_compiled(recipe, self.model) if compiled is None else compiled:
            self.model.transformer.compile()

    def steps(self, first: int, last: int) -> None:
        for step in range(first, last):
            learn(self.model, self.optimizer, self.recipe.training, self.feed.at(step))

    def batches(self, first: int, last: int) -> list[Examples]:
        return [part for step in range(first, last) for part in self.feed.at(step)]

    def work(self, first: int, last: int) -> tuple[int, float]:
        """Tokens of these steps, and the operations of their products and of causal attention.

        Forward and backward: 6 for every weight and token, and 6 · heads · head_dim for every pair of a length squared.
        The last layer's queries, output and feed-forward are worked out, and counted, for the wanted tokens alone.
        """
        tokens, operations = 0, 0.0
        blocks = list(self.model.transformer.blocks)
        every = [sum(weight.numel() for weight in block.parameters()) for block in blocks]
        names = ("attention.key", "attention.value")
        needed = sum(weight.numel() for name, weight in blocks[-1].named_parameters() if name.startswith(names))
        config = self.recipe.model
        for part in self.batches(first, last):
            size, wanted = len(part.tokens), len(part.wanted)
            tokens += size
            operations += 6 * (sum(every[:-1]) + needed) * size + 6 * (every[-1] - needed) * wanted
            squares = sum(length**2 for length in part.known.sizes)
            operations += 6 * config.layers * config.heads * config.dim_per_head * squares
        return tokens, operations
