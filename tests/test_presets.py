"""The presets are the paper's tables and figures, number by number."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

import lengthwise as lw
from lengthwise import presets
from lengthwise.model.transformer import Transformer
from lengthwise.positions.learned import Learned
from lengthwise.recipe import Recipe

BASELINE = "addition-coupling-scratchpad"


def flat(recipe: Recipe) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part, value in recipe.to_json().items():
        found |= {f"{part}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {part: value}
    del found["name"]
    return found


def changes(name: str, baseline: str) -> dict[str, Any]:
    """What a preset has otherwise than another; what it lacks is None."""
    mine, other = flat(presets.get(name)), flat(presets.get(baseline))
    return {key: mine.get(key) for key in {**mine, **other} if mine.get(key) != other.get(key)}


def parameters(recipe: Recipe) -> int:
    with torch.device("meta"):
        model = Transformer(
            recipe.model,
            recipe.encoding,
            vocabulary_size=len(recipe.task.vocabulary),
            levels=len(recipe.task.levels),
        )
    return sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize("name", presets.names())
def test_every_preset_can_be_trained(name: str) -> None:
    recipe = presets.get(name)
    recipe.check()
    assert recipe.name == name
    assert recipe.seed == 0
    assert 0 < len(presets.names()[name]) < 100
    assert "\n" not in presets.names()[name]


def test_there_is_a_preset_for_every_figure_and_table() -> None:
    methods = {
        "parity": ("nope", "rope", "fire", "fire-authors", "coupling"),
        "addition": ("nope", "fire", "fire-authors", "coupling"),
        "multiplication": ("nope", "fire", "fire-authors", "coupling"),
    }
    expected = {
        f"{task}-{method}{ending}" for task in methods for method in methods[task] for ending in ("", "-scratchpad")
    }
    expected |= {f"addition-{layers}l{heads}h" for layers in (1, 2, 4, 6) for heads in (2, 4, 8)}
    expected |= {"addition-7x7", "addition-13x13", "addition-1l4h-head128", "addition-1l8h-head256"}
    expected |= {f"addition-1l4h-width{width}" for width in (64, 128, 256, 512)}
    expected |= {f"addition-data-{size}" for size in ("20k", "100k", "2m", "10m")}
    expected |= {f"addition-{form}-unpadded" for form in ("reversed-query", "plain-response")}
    expected |= {"addition-unpadded", "addition-reversed-query", "addition-plain-response"}
    expected |= {"adder-tiny", "adder-small", "multiplier", "parity-tiny"}
    assert set(presets.names()) == expected


TABLES: dict[str, dict[str, Any]] = {
    "parity": {
        "model.layers": 6,
        "model.heads": 8,
        "model.width": 512,
        "model.head_dim": 64,
        "model.feedforward": 2048,
        "training.steps": 50_000,
        "training.batch_size": 20,
        "training.learning_rate": 0.00003,
        "data.problems": 10_000,
        "data.length": 20,
        "data.count": None,
    },
    "addition": {
        "model.layers": 6,
        "model.heads": 8,
        "model.width": 1024,
        "model.head_dim": 128,
        "model.feedforward": 2048,
        "training.steps": 50_000,
        "training.batch_size": 400,
        "training.learning_rate": 0.00003,
        "data.problems": 500_000,
        "data.length": 10,
        "data.count": 10,
    },
    "multiplication": {
        "model.layers": 6,
        "model.heads": 8,
        "model.width": 1024,
        "model.head_dim": 128,
        "model.feedforward": 2048,
        "training.steps": 50_000,
        "training.batch_size": 200,
        "training.learning_rate": 0.00005,
        "data.problems": 500_000,
        "data.length": 10,
        "data.count": 10,
    },
}
IN_ALL_TABLES: dict[str, Any] = {
    "model.activation": "gelu",
    "model.gated": True,
    "model.norm": "pre_post",
    "model.final_norm": "rms",
    "model.scale_scores": False,
    "model.tied_head": True,
    "training.warm_up": 0.01,
    "training.floor": 0.1,
    "training.betas": (0.9, 0.95),
    "training.clip": 1.0,
    "training.weight_decay": 0.0,
    "training.accumulate": 1,
    "training.precision": "auto",
    "data.random_offsets": True,
    "task.zero_padding": True,
    "task.reverse_query": False,
    "task.id_policy": "shift",
}


@pytest.mark.parametrize("name", [name for name in presets.names() if {*name.split("-")[1:2]} & {*presets.METHODS}])
def test_the_tables(name: str) -> None:
    task, method, *rest = name.removesuffix("-scratchpad").split("-")
    found = flat(presets.get(name))
    expected = TABLES[task] | IN_ALL_TABLES | {"task.name": task, "task.scratchpad": name.endswith("-scratchpad")}
    expected["task.reverse_response"] = task != "parity"
    encodings: dict[str, dict[str, Any]] = {
        "nope": {"encoding.name": "none"},
        "rope": {"encoding.name": "rotary"},
        "fire": {"encoding.name": "fire", "encoding.norm": "max", "encoding.shared": False},
        "coupling": {"encoding.name": "learned", "encoding.shared": False},
    }
    expected |= encodings[method]
    if rest == ["authors"]:
        expected |= {"encoding.norm": "min", "encoding.shared": True}
    expected["task.coupling"] = None if method == "coupling" else ("index",)
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("name", "levels", "max_ids"),
    [
        ("parity-coupling", 1, (101,)),
        ("parity-coupling-scratchpad", 1, (101,)),
        ("addition-coupling", 1, (40,)),
        ("addition-coupling-scratchpad", 2, (40, 40)),
        ("addition-7x7", 2, (40, 40)),
        ("addition-1l4h-width64", 2, (40, 40)),
        ("multiplication-coupling", 1, (64,)),
        ("multiplication-coupling-scratchpad", 3, (64, 32, 64)),
    ],
)
def test_the_maximum_position_ids(name: str, levels: int, max_ids: tuple[int, ...]) -> None:
    recipe = presets.get(name)
    assert len(recipe.task.levels) == levels
    assert recipe.encoding.max_ids(recipe.shape) == max_ids
    assert recipe.task.coupling_for(training=True).max_ids == max_ids


def test_parameter_counts_are_the_authors() -> None:
    counts = {
        BASELINE: 63_040_512,
        "addition-6l8h": 63_040_512,
        "parity-coupling-scratchpad": 25_233_920,
        "addition-1l4h-width256": 681_728,
    }
    assert {name: parameters(presets.get(name)) for name in counts} == counts
    # The authors' three tables all have 65 rows; the paper's table, and so the preset, has 33 in the second.
    multiplication = presets.get("multiplication-coupling-scratchpad")
    assert parameters(replace(multiplication, encoding=Learned(sizes=(64, 64, 64)))) == 63_157_248
    assert parameters(multiplication) == 63_157_248 - 32 * 1024


SIBLINGS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "addition-7x7": (BASELINE, {"data.length": 7, "data.count": 7}),
    "addition-13x13": (BASELINE, {"data.length": 13, "data.count": 13}),
    "addition-unpadded": (BASELINE, {"task.zero_padding": False}),
    "addition-reversed-query": (BASELINE, {"task.reverse_query": True}),
    "addition-reversed-query-unpadded": (BASELINE, {"task.reverse_query": True, "task.zero_padding": False}),
    "addition-plain-response": (BASELINE, {"task.reverse_response": False}),
    "addition-plain-response-unpadded": (BASELINE, {"task.reverse_response": False, "task.zero_padding": False}),
    "addition-data-20k": (BASELINE, {"data.problems": 20_000}),
    "addition-data-100k": (BASELINE, {"data.problems": 100_000}),
    "addition-data-2m": (BASELINE, {"data.problems": 2_000_000}),
    "addition-data-10m": (BASELINE, {"data.problems": 10_000_000}),
    "addition-6l8h": (BASELINE, {}),
    "addition-1l2h": (BASELINE, {"model.layers": 1, "model.heads": 2, "model.head_dim": 512}),
    "addition-1l4h": (BASELINE, {"model.layers": 1, "model.heads": 4, "model.head_dim": 256}),
    "addition-1l8h": (BASELINE, {"model.layers": 1}),
    "addition-2l2h": (BASELINE, {"model.layers": 2, "model.heads": 2, "model.head_dim": 512}),
    "addition-4l4h": (BASELINE, {"model.layers": 4, "model.heads": 4, "model.head_dim": 256}),
    "addition-6l2h": (BASELINE, {"model.heads": 2, "model.head_dim": 512}),
    "addition-1l4h-head128": ("addition-1l4h", {"model.head_dim": 128}),
    "addition-1l8h-head256": ("addition-1l8h", {"model.head_dim": 256}),
    "addition-fire-authors": ("addition-fire", {"encoding.norm": "min", "encoding.shared": True}),
    "addition-fire-scratchpad": ("addition-fire", {"task.scratchpad": True}),
    "addition-nope-scratchpad": ("addition-nope", {"task.scratchpad": True}),
    "multiplication-fire-scratchpad": ("multiplication-fire", {"task.scratchpad": True}),
    "parity-rope-scratchpad": ("parity-rope", {"task.scratchpad": True}),
}


@pytest.mark.parametrize("name", SIBLINGS)
def test_a_sibling_differs_in_what_its_name_says(name: str) -> None:
    baseline, expected = SIBLINGS[name]
    assert changes(name, baseline) == dict(expected)


@pytest.mark.parametrize(("width", "head_dim"), [(64, 16), (128, 32), (256, 64), (512, 128)])
def test_embedding_dimensions_with_their_head_dimensions(width: int, head_dim: int) -> None:
    recipe = presets.get(f"addition-1l4h-width{width}")
    assert (recipe.model.width, recipe.model.dim_per_head, recipe.model.feedforward) == (width, head_dim, 2 * width)
    assert set(changes(recipe.name, "addition-1l4h")) == {"model.width", "model.head_dim", "model.feedforward"}


def test_watched_cells_are_beyond_the_training_sizes() -> None:
    """Out-of-distribution cells: at least one axis is longer than anything in training."""
    for name in presets.names():
        recipe = presets.get(name)
        assert recipe.watch.cells, name
        for cell in recipe.watch.cells:
            length, count = lw.recipe.parse_cell(cell)
            assert length > recipe.data.length or (count or 0) > (recipe.data.count or 0), (name, cell)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("adder-tinny", "did you mean 'adder-tiny'"),
        ("addition-coupling-scratchpd", "did you mean 'addition-coupling-scratchpad'"),
        ("zzz", "lengthwise list shows them all"),
        ("", "lengthwise list shows them all"),
        (None, "There is no preset None"),
        (["adder-tiny"], "There is no preset"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_an_unknown_preset(name: Any, words: str) -> None:
    with pytest.raises(lw.InputError, match=words) as error:
        presets.get(name)
    assert "\n" not in str(error.value)
