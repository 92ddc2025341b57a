"""What a training run sees, step by step, made on the device.

The batch of a step follows from the recipe and the step alone, so a run can be taken up anywhere. Batches are written
many at a time, because their sizes must be read back from the device, and reading back waits: once for all of them.
Where several processes share a run, each writes its own part of every batch.
"""

from itertools import pairwise

import torch
from jaxtyping import Int
from torch import Tensor

from lengthwise.pages import Examples, Pages
from lengthwise.randomness import derive, generator
from lengthwise.ranks import ALONE, Ranks
from lengthwise.recipe import Recipe
from lengthwise.solver import Solver
from lengthwise.tasks import Batch
from lengthwise.tasks.problems import Problems

STEPS_AT_ONCE = 32
"""How many batches are written at a time."""


class Feed:
    """The batches of a run."""

    def __init__(self, recipe: Recipe, model: Solver, ranks: Ranks = ALONE) -> None:
        self._recipe, self._model, self._device, self._ranks = recipe, model, model.device, ranks
        self._whole_batch = recipe.training.batch_size
        self._first, last = ranks.share(self._whole_batch)
        self._batch = last - self._first
        self._problems: Problems | None = None
        if recipe.data.problems is not None:
            self._problems = self._draw(recipe.data.problems, derive(recipe.seed, "data set"))
        self._order: tuple[int, Tensor] | None = None
        self._chunk: tuple[int, list[list[Examples]], list[int]] | None = None

    def at(self, step: int) -> list[Examples]:
        """The batch of a step, or this process's share of it, in as many parts as it is worked through."""
        return self._look_up(step)[0]

    def targets(self, step: int) -> int:
        """How many targets the whole batch of a step has."""
        return self._look_up(step)[1]

    def _look_up(self, step: int) -> tuple[list[Examples], int]:
        number, place = divmod(step, STEPS_AT_ONCE)
        if self._chunk is None or self._chunk[0] != number:
            parts = self._write(number)
            counts = torch.tensor([sum(part.expected.shape[0] for part in step) for step in parts])
            self._chunk = number, parts, self._ranks.sum(counts).tolist()
        return self._chunk[1][place], self._chunk[2][place]

    def _draw(self, samples: int, seed: int) -> Problems:
        data = self._recipe.data
        task = self._model.task
        return task.sample_problems(samples, length=data.length, count=data.count, seed=seed, device=self._device)

    def _chosen(self, number: int) -> Problems:
        """The problems of many steps: new ones, or the next of the data set, which every round through it shuffles."""
        samples = STEPS_AT_ONCE * self._whole_batch
        if self._problems is None:
            return self._draw(samples, derive(self._recipe.seed, "problems", number))
        rows, place = [], number * samples
        while samples > 0:
            epoch, within = divmod(place, len(self._problems))
            part = self._shuffled(epoch)[within : within + samples]
            rows.append(part)
            place, samples = place + len(part), samples - len(part)
        return self._problems[torch.cat(rows)]

    def _shuffled(self, epoch: int) -> Int[Tensor, " problems"]:
        assert self._problems is not None
        if self._order is None or self._order[0] != epoch:
            source = generator(self._recipe.seed, "order", epoch, device=self._device)
            self._order = epoch, torch.randperm(len(self._problems), generator=source, device=self._device)
        return self._order[1]

    def _own_rows(self) -> Int[Tensor, " own"] | None:
        """Which of the problems of many steps are this process's; None for all."""
        if self._batch == self._whole_batch:
            return None
        starts = torch.arange(STEPS_AT_ONCE, device=self._device) * self._whole_batch + self._first
        return (starts[:, None] + torch.arange(self._batch, device=self._device)).flatten()

    def pages(self, number: int) -> Batch:
        """What this process sees in many steps, in their order."""
        recipe, model = self._recipe, self._model
        seed = derive(recipe.seed, "offsets", number) if recipe.data.random_offsets else None
        return model.task.write_all(self._chosen(number), offsets_seed=seed, only=self._own_rows())

    def _write(self, number: int) -> list[list[Examples]]:
        pages = Pages(self._model, self.pages(number), look_around=True)
        pieces = self._recipe.training.accumulate
        cuts = [self._batch * piece // pieces for piece in range(pieces + 1)]
        return [
            [pages.examples(step * self._batch + first, step * self._batch + last) for first, last in pairwise(cuts)]
            for step in range(STEPS_AT_ONCE)
        ]
