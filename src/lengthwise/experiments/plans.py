"""What is to be done for a figure: cases, each a recipe that is run with several seeds, and what is measured of them.

A *scale* says how much of the paper's training and measuring is done.
"""

from dataclasses import dataclass, replace

from lengthwise.measurements import Measurement
from lengthwise.recipe import Recipe

SCALES = ("smoke", "small", "paper")


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much of the paper's work is done. What is None is as in the paper's tables."""

    name: str
    seeds: int
    """How many runs of every case, with the seeds 0, 1, 2 …"""
    lengths: tuple[int, ...]
    """The lengths of the grid."""
    counts: tuple[int, ...] | None
    """Its counts; None for parity."""
    samples: int
    """Problems a cell."""
    shrink: int = 1
    """What the widths of the paper's models are divided by."""
    steps: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    problems: int | None = None
    """The largest data set."""
    validation_samples: int = 500
    """How many fresh problems of the training sizes are tried at the end."""

    @property
    def is_less(self) -> bool:
        """Whether models are trained less than the paper's."""
        return self.name != "paper"

    def recipe(self, recipe: Recipe) -> Recipe:
        """A recipe of the paper at this scale: narrower models, fewer steps. It is watched at its end only."""
        model, training, data = recipe.model, recipe.training, recipe.data
        narrower = replace(
            model,
            width=model.width // self.shrink,
            head_dim=max(1, model.dim_per_head // self.shrink),
            feedforward=model.feedforward // self.shrink,
        )
        training = replace(
            training,
            steps=self.steps or training.steps,
            batch_size=self.batch_size or training.batch_size,
            learning_rate=self.learning_rate or training.learning_rate,
        )
        if self.problems is not None and data.problems is not None:
            data = replace(data, problems=min(data.problems, self.problems))
        return self.watched(replace(recipe, model=narrower, training=training, data=data))

    def windowed(self, recipe: Recipe) -> Recipe:
        """A recipe of windowed coupling, within the budget: its own steps and batch, or the scale's where less."""
        training = recipe.training
        if self.steps is not None and self.steps < training.steps:
            training = replace(training, steps=self.steps)
        if self.batch_size is not None and self.batch_size < training.batch_size:
            training = replace(training, batch_size=self.batch_size)
        return self.watched(replace(recipe, training=training))

    def watched(self, recipe: Recipe) -> Recipe:
        """Fresh problems of the training sizes are tried at the end; longer ones are what the grids are for."""
        every = max(1, recipe.training.steps // 100)
        watch = replace(recipe.watch, cells=(), validate_every=recipe.training.steps, log_every=every)
        return replace(recipe, watch=replace(watch, validation_samples=self.validation_samples, save_seconds=120.0))


@dataclass(frozen=True, kw_only=True)
class Case:
    """One panel or line of a figure."""

    title: str
    recipe: Recipe
    """With seed 0; other seeds differ in nothing else."""
    key: str
    """The name of its runs. Cases of several figures that have it are one and the same."""
    own: bool = False
    """Whether it is not the paper's but windowed coupling, ours."""
    measurements: tuple[Measurement, ...] = ()
    """What is measured of every run."""

    def run_name(self, seed: int) -> str:
        """The name of the folder of one run."""
        return f"{self.key}-seed{seed}"

    def seeded(self, seed: int) -> Recipe:
        """The recipe of one run."""
        return replace(self.recipe, seed=seed)
