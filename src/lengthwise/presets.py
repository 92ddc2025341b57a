"""Recipes with names: every configuration of the paper's tables and figures, and small ones for a laptop.

    lw.presets.get("adder-tiny")           one of them
    lw.presets.names()                     all, with a line on each

The paper's are named by task, position encoding and scratchpad: `addition-coupling-scratchpad` is its baseline for
addition. An ablation says what it changes: `addition-1l4h-width256`, `addition-data-20k`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from lengthwise import positions, tasks
from lengthwise.errors import InputError, instead
from lengthwise.model.config import ModelConfig
from lengthwise.positions.base import Encoding
from lengthwise.recipe import Data, Recipe, Training, Watch
from lengthwise.tasks import Task


@dataclass(frozen=True)
class Preset:
    """A recipe yet to be made, and a line on it."""

    summary: str
    make: Callable[[], Recipe]
    """What makes it, its name apart."""


def get(name: str) -> Recipe:
    """The recipe of a name."""
    if not isinstance(name, str) or name not in PRESETS:
        raise InputError(f"There is no preset {name!r}: {_instead(name)}")
    return replace(PRESETS[name].make(), name=name)


def with_encoding(recipe: Recipe, name: str) -> Recipe:
    """A recipe with another position encoding; scores then depend on content, too, as most encodings need."""
    sizes = {"sizes": tuple(recipe.task.paper_max_ids.values())} if name == "learned" else {}
    model = replace(recipe.model, content_scores=True)
    return replace(recipe, encoding=positions.encoding(name, **sizes), model=model)


def names() -> dict[str, str]:
    """All presets, with a line on each."""
    return {name: preset.summary for name, preset in PRESETS.items()}


def _instead(name: object) -> str:
    hint = instead(str(name), PRESETS)
    return hint if hint.startswith("did you") else "lengthwise list shows them all."


# The paper's tables.

PAPER_MODEL = ModelConfig(layers=6, heads=8, width=1024, head_dim=128, feedforward=2048, reserved_tokens=2)
PARITY_MODEL = ModelConfig(layers=6, heads=8, width=512, head_dim=64, feedforward=2048, reserved_tokens=2)
PAPER_TRAINING = Training(steps=50_000, batch_size=400, learning_rate=3e-5, warm_up=0.01, floor=0.1)


def addition(method: str, *, model: ModelConfig = PAPER_MODEL, data: Data | None = None, **options: Any) -> Recipe:
    """The paper's table for addition, with one of its methods; options are the task's."""
    task, encoding = _with_positions("addition", method, options)
    return Recipe(
        name="addition",
        task=task,
        encoding=encoding,
        model=model,
        data=data or Data(length=10, count=10, problems=500_000),
        training=PAPER_TRAINING,
        watch=Watch(cells=("15x15", "20x20", "30x30") if encoding.name == "learned" else ("12x12", "15x15")),
    )


def multiplication(method: str, **options: Any) -> Recipe:
    """The paper's table for multiplication."""
    task, encoding = _with_positions("multiplication", method, options)
    return Recipe(
        name="multiplication",
        task=task,
        encoding=encoding,
        model=PAPER_MODEL,
        data=Data(length=10, count=10, problems=500_000),
        training=replace(PAPER_TRAINING, batch_size=200, learning_rate=5e-5),
        watch=Watch(cells=("12x12", "15x15", "20x20")),
    )


def parity(method: str, **options: Any) -> Recipe:
    """The paper's table for parity."""
    task, encoding = _with_positions("parity", method, options)
    return Recipe(
        name="parity",
        task=task,
        encoding=encoding,
        model=PARITY_MODEL,
        data=Data(length=20, count=None, problems=10_000),
        training=replace(PAPER_TRAINING, batch_size=20),
        watch=Watch(cells=("30", "50", "100")),
    )


def _with_positions(task: str, method: str, options: dict[str, Any]) -> tuple[Task, Encoding]:
    """A task with the coordinates that a method encodes: the paper's coupled ones, or plain positions."""
    if method == "coupling":
        coupled = tasks.task(task, **options)
        sizes = tuple(coupled.paper_max_ids.values())
        return coupled, positions.encoding("learned", sizes=sizes)
    encodings: dict[str, tuple[str, dict[str, Any]]] = {
        "nope": ("none", {}),
        "rope": ("rotary", {}),
        "fire": ("fire", {}),
        # Paper: FIRE; the authors' code differs from FIRE's own paper, see docs/paper-differences.md.
        "fire-authors": ("fire", {"norm": "min", "shared": True}),
    }
    name, settings = encodings[method]
    return tasks.task(task, coupling=("index",), **options), positions.encoding(name, **settings)


def _one_layer(heads: int, width: int, head_dim: int | None = None) -> ModelConfig:
    return ModelConfig(layers=1, heads=heads, width=width, head_dim=head_dim, feedforward=2 * width, reserved_tokens=2)


# Small ones.

WINDOW = positions.encoding("windowed", window=1, hard=True, initial_std=2.0)
TINY_MODEL = ModelConfig(layers=1, heads=4, width=32, feedforward=64, content_scores=False, tied_head=False)
TINY_DATA = Data(length=10, count=10, problems=None, random_offsets=False)


def adder_tiny() -> Recipe:
    """Windowed coupling, hard, W 1: trained on two CPU cores in half a minute, right far beyond 30 × 30."""
    return Recipe(
        name="adder-tiny",
        task=tasks.task("addition"),
        encoding=WINDOW,
        model=TINY_MODEL,
        data=TINY_DATA,
        training=Training(steps=1000, batch_size=64, learning_rate=6e-3, warm_up=0.02, floor=0.01, precision="float32"),
        watch=Watch(
            log_every=20, validate_every=200, validation_samples=200, cells=("20x20", "30x30"), cell_samples=10
        ),
    )


def multiplier() -> Recipe:
    """Windowed coupling on staircase pages: trained on 10 × 10 digits, right at 100 × 100."""
    return Recipe(
        name="multiplier",
        task=tasks.task("multiplication", staircase=True),
        encoding=WINDOW,
        model=replace(TINY_MODEL, layers=2, width=48, feedforward=96),
        data=TINY_DATA,
        training=Training(
            steps=2000,
            batch_size=64,
            learning_rate=4e-3,
            warm_up=0.02,
            floor=0.01,
            precision="float32",
            compile=False,
        ),
        watch=Watch(
            log_every=20, validate_every=500, validation_samples=200, cells=("20x20", "30x30"), cell_samples=10
        ),
    )


def parity_tiny() -> Recipe:
    """Windowed coupling for parity: trained in seconds on up to 20 bits."""
    return Recipe(
        name="parity-tiny",
        task=tasks.task("parity"),
        encoding=positions.encoding("windowed", window=1, hard=True),
        model=TINY_MODEL,
        data=Data(length=20, count=None, problems=None, random_offsets=False),
        training=Training(steps=300, batch_size=64, learning_rate=4e-3, warm_up=0.02, precision="float32"),
        watch=Watch(log_every=20, validate_every=100, validation_samples=200, cells=("40", "100"), cell_samples=50),
    )


def adder_small() -> Recipe:
    """The paper's method, learned tables on coupled ids, at a size a laptop can train."""
    return replace(
        addition("coupling", model=_one_layer(4, 256), data=Data(problems=None)),
        training=Training(steps=3000, batch_size=64, learning_rate=3e-4, warm_up=0.02),
        watch=Watch(
            log_every=20, validate_every=500, validation_samples=200, cells=("12x12", "20x20"), cell_samples=20
        ),
    )


METHODS = {
    "nope": "no positions",
    "rope": "RoPE",
    "fire": "FIRE",
    "fire-authors": "FIRE as in the authors' code",
    "coupling": "Position Coupling",
}
FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    "unpadded": ("no zero-padding", {"zero_padding": False}),
    "reversed-query": ("query reversed as well", {"reverse_query": True}),
    "reversed-query-unpadded": ("query reversed, no zero-padding", {"reverse_query": True, "zero_padding": False}),
    "plain-response": ("response not reversed", {"reverse_response": False}),
    "plain-response-unpadded": (
        "response not reversed, no zero-padding",
        {"reverse_response": False, "zero_padding": False},
    ),
}
DATA_SIZES = {"20k": 20_000, "100k": 100_000, "2m": 2_000_000, "10m": 10_000_000}


def _methods(make: Callable[..., Recipe], task: str, methods: Iterable[str]) -> dict[str, Preset]:
    """Every method without and with scratchpad."""
    return {
        f"{task}-{method}{'-scratchpad' if scratchpad else ''}": Preset(
            f"{task} with {METHODS[method]}, {'with' if scratchpad else 'without'} scratchpad",
            partial(make, method, scratchpad=scratchpad),
        )
        for method in methods
        for scratchpad in (False, True)
    }


def _ablations() -> dict[str, Preset]:
    """What the paper varies of its baseline for addition."""
    found = {
        f"addition-{size}x{size}": Preset(
            f"addition trained on S_A({size},{size})", partial(addition, "coupling", data=Data(length=size, count=size))
        )
        for size in (7, 13)
    }
    for name, (summary, options) in FORMATS.items():
        found[f"addition-{name}"] = Preset(f"addition, {summary}", partial(addition, "coupling", **options))
    for layers, heads in product((1, 2, 4, 6), (2, 4, 8)):
        model = replace(PAPER_MODEL, layers=layers, heads=heads, head_dim=1024 // heads)
        summary = f"addition, {layers} layer{'s' if layers > 1 else ''} of {heads} heads"
        found[f"addition-{layers}l{heads}h"] = Preset(summary, partial(addition, "coupling", model=model))
    for heads, head_dim in ((4, 128), (8, 256)):
        summary = f"addition, 1 layer of {heads} heads of {head_dim} dimensions"
        model = _one_layer(heads, 1024, head_dim)
        found[f"addition-1l{heads}h-head{head_dim}"] = Preset(summary, partial(addition, "coupling", model=model))
    for width in (64, 128, 256, 512):
        summary = f"addition, 1 layer of 4 heads, width {width}"
        found[f"addition-1l4h-width{width}"] = Preset(
            summary, partial(addition, "coupling", model=_one_layer(4, width))
        )
    for label, problems in DATA_SIZES.items():
        summary = f"addition, a data set of {problems:,} problems"
        data = Data(problems=problems)
        found[f"addition-data-{label}"] = Preset(summary, partial(addition, "coupling", data=data))
    return found


PRESETS: dict[str, Preset] = {
    "adder-tiny": Preset("addition by windowed coupling: half a minute on a laptop", adder_tiny),
    "multiplier": Preset("multiplication by windowed coupling: minutes on a laptop", multiplier),
    "adder-small": Preset("addition by the paper's coupling, one layer of width 256: for a laptop", adder_small),
    "parity-tiny": Preset("parity by windowed coupling: seconds on a laptop", parity_tiny),
    **_methods(parity, "parity", ("nope", "rope", "fire", "fire-authors", "coupling")),
    **_methods(addition, "addition", ("nope", "fire", "fire-authors", "coupling")),
    **_methods(multiplication, "multiplication", ("nope", "fire", "fire-authors", "coupling")),
    **_ablations(),
}
