"""Every figure as the paper describes it: what it compares, how that is trained and measured, with how many seeds."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

import pytest
from synthetic import plan

import lengthwise as lw
from lengthwise.experiments import Case, Measurement, experiment, kinds
from lengthwise.experiments.plans import SCALES, Scale
from lengthwise.recipe import Recipe, require_cell
from lengthwise.reproduce import jobs

BASELINE = "addition-coupling-scratchpad"
METHODS = [f"{method}{pad}" for method in ("nope", "fire", "fire-authors", "coupling") for pad in ("", "-scratchpad")]
PAPER: dict[str, list[str]] = {
    "parity": [
        *(
            f"parity-{method}{pad}"
            for method in ("nope", "rope", "fire", "fire-authors")
            for pad in ("", "-scratchpad")
        ),
        "parity-coupling-scratchpad",
    ],
    "addition-methods": [f"addition-{method}" for method in METHODS],
    "addition-train-lengths": ["addition-7x7", BASELINE, "addition-13x13"],
    "addition-zero-padding": [BASELINE, "addition-unpadded"],
    "addition-architecture": [
        *(f"addition-{layers}l{heads}h" for layers in (1, 2, 4, 6) for heads in (2, 4, 8) if (layers, heads) != (6, 8)),
        BASELINE,
    ],
    "addition-head-dim": ["addition-1l4h", "addition-1l4h-head128", "addition-1l8h", "addition-1l8h-head256"],
    "addition-embedding-dim": [f"addition-1l4h-width{width}" for width in (64, 128, 256, 512)],
    "addition-data-size": [*(f"addition-data-{size}" for size in ("20k", "100k", "2m", "10m")), BASELINE],
    "addition-input-formats": [
        BASELINE,
        "addition-unpadded",
        *(f"addition-{what}{pad}" for what in ("reversed-query", "plain-response") for pad in ("", "-unpadded")),
    ],
    "multiplication-methods": [f"multiplication-{method}" for method in METHODS],
    "attention-patterns": [
        *(f"addition-{method}{pad}" for method in ("nope", "fire", "coupling") for pad in ("", "-scratchpad")),
        "addition-1l4h",
    ],
    "windowed": [],
}
"""The presets of every figure. FIRE stands in both of its forms where methods are compared."""
OURS = {
    "parity": 1,
    "addition-methods": 1,
    "addition-train-lengths": 3,
    "addition-zero-padding": 2,
    "addition-architecture": 12,
    "addition-head-dim": 0,
    "addition-embedding-dim": 4,
    "addition-data-size": 3,
    "addition-input-formats": 6,
    "multiplication-methods": 1,
    "attention-patterns": 1,
    "windowed": 28,
}
"""How many cases of windowed coupling stand beside them."""
SEEDS = {
    "parity": 4,
    "addition-methods": 4,
    "addition-train-lengths": 4,
    "addition-zero-padding": 4,
    "addition-architecture": 6,
    "addition-head-dim": 8,
    "addition-embedding-dim": 8,
    "addition-data-size": 8,
    "addition-input-formats": 8,
    "multiplication-methods": 4,
    "attention-patterns": 1,
    "windowed": 5,
}
"""As the captions say; at least four where they say nothing, and one where single heads are shown."""
EVERY = list(product(kinds(), SCALES))


def papers(name: str, scale: str) -> Iterator[tuple[Case, str, int]]:
    """The cases of a figure that are the paper's, each with its preset and what its learning rate is multiplied by."""
    for case in plan(name, scale):
        if not case.own:
            preset, _, factor = case.key.partition("-rate")
            yield case, preset, int(factor or 1)


def same_model(recipe: Recipe) -> Recipe:
    """A recipe that says how wide heads are, where that follows from the width."""
    return replace(recipe, model=replace(recipe.model, head_dim=recipe.model.dim_per_head))


# What is compared.


def test_every_figure_is_here_in_the_papers_order() -> None:
    assert list(kinds()) == list(PAPER) == [*OURS] == [*SEEDS]
    for name, kind in kinds().items():
        assert kind.name == name
        assert kind.figure
        assert kind.summary
        assert tuple(kind.scales) == SCALES
        assert all(scale.name == key for key, scale in kind.scales.items())


@pytest.mark.parametrize(("name", "scale"), EVERY)
def test_a_figure_compares_the_papers_cases_and_ours(name: str, scale: str) -> None:
    rates = (1, 3, 10, 30) if name == "addition-embedding-dim" else (1,)
    assert sorted((preset, factor) for _, preset, factor in papers(name, scale)) == sorted(product(PAPER[name], rates))
    own = [case for case in plan(name, scale) if case.own]
    assert len(own) == OURS[name]
    assert all(case.key.startswith(f"windowed-{case.recipe.task.name}") for case in own)
    assert all(case.recipe.encoding.name == "windowed" for case in own)


@pytest.mark.parametrize(("name", "scale"), EVERY)
def test_keys_and_titles_tell_cases_apart(name: str, scale: str) -> None:
    cases = plan(name, scale)
    assert len({case.key for case in cases}) == len({case.title for case in cases}) == len(cases)
    assert all(case.measurements for case in cases)
    assert all(case.recipe.seed == 0 for case in cases)
    assert cases[0].seeded(3) == replace(cases[0].recipe, seed=3)


@pytest.mark.parametrize("scale", SCALES)
def test_a_key_means_the_same_run_in_every_figure_and_a_file_the_same_question(scale: str) -> None:
    runs: dict[str, Recipe] = {}
    questions: dict[tuple[str, str], Measurement] = {}
    shared = 0
    for case in (case for name in kinds() for case in plan(name, scale)):
        shared += case.key in runs
        assert runs.setdefault(case.key, case.recipe) == case.recipe, case.key
        for asked in case.measurements:
            assert questions.setdefault((case.key, asked.file), asked) == asked, (case.key, asked.file)
    assert shared == sum(map(len, (plan(name, scale) for name in kinds()))) - len(runs) > 40


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_different_keys_mean_different_runs(scale: str) -> None:
    """Else the same would be trained twice."""
    runs = {case.key: case.recipe for name in kinds() for case in plan(name, scale)}
    recipes = [json.dumps(replace(recipe, name="").to_json()) for recipe in runs.values()]
    assert len(set(recipes)) == len(runs)


# How it is trained.


@pytest.mark.parametrize("name", PAPER)
def test_at_the_scale_of_the_paper_every_recipe_is_its_preset(name: str) -> None:
    """In all but what is watched on the way; and, where several learning rates are tried, in these."""
    for case, preset, factor in papers(name, "paper"):
        recipe, expected = case.recipe, same_model(lw.presets.get(preset))
        assert recipe.watch.cells == ()
        assert recipe.watch.validate_every == recipe.training.steps == 50_000
        rate = expected.training.learning_rate * factor
        expected = replace(expected, training=replace(expected.training, learning_rate=rate))
        assert replace(same_model(recipe), watch=expected.watch).differences(expected) == [], case.key


def test_the_papers_tables() -> None:
    """Its hyperparameters, as printed."""
    parity, addition, multiplication = (
        next(case.recipe for case, preset, _ in papers(name, "paper") if preset.endswith("coupling-scratchpad"))
        for name in ("parity", "addition-methods", "multiplication-methods")
    )
    for recipe, width, batch, rate, problems in (
        (parity, 512, 20, 3e-5, 10_000),
        (addition, 1024, 400, 3e-5, 500_000),
        (multiplication, 1024, 200, 5e-5, 500_000),
    ):
        model, training = recipe.model, recipe.training
        assert (model.layers, model.heads, model.width, model.dim_per_head) == (6, 8, width, width // 8)
        assert model.feedforward == 2048
        assert (training.steps, training.batch_size, training.learning_rate) == (50_000, batch, rate)
        assert (training.warm_up, training.floor) == (0.01, 0.1)
        assert recipe.data.problems == problems
        assert recipe.data.random_offsets


def test_every_width_is_tried_at_four_learning_rates() -> None:
    rates: dict[int, list[float]] = {}
    for case, _, _ in papers("addition-embedding-dim", "paper"):
        rates.setdefault(case.recipe.model.width, []).append(case.recipe.training.learning_rate)
    assert list(rates) == [64, 128, 256, 512]
    for tried in rates.values():
        assert tried == pytest.approx([3e-5, 9e-5, 3e-4, 9e-4])


@pytest.mark.parametrize(
    "name", [name for name in PAPER if name not in ("parity", "addition-embedding-dim", "windowed")]
)
def test_at_the_small_scale_models_have_half_the_width_and_less_is_trained(name: str) -> None:
    steps, batch, rate = (5_000, 100, 3e-4) if name == "multiplication-methods" else (6_000, 100, 2e-4)
    for case, preset, _ in papers(name, "small"):
        whole = lw.presets.get(preset)
        training = replace(whole.training, steps=steps, batch_size=batch, learning_rate=rate)
        model = replace(
            whole.model,
            width=whole.model.width // 2,
            head_dim=whole.model.dim_per_head // 2,
            feedforward=whole.model.feedforward // 2,
        )
        expected = replace(whole, model=model, training=training, watch=case.recipe.watch)
        assert case.recipe.differences(expected) == [], case.key


def test_at_the_small_scale_widths_that_are_compared_and_models_of_parity_are_the_papers() -> None:
    for name, steps, batch, rate in (("parity", 10_000, 20, 1e-4), ("addition-embedding-dim", 6_000, 200, 1e-4)):
        for case, preset, factor in papers(name, "small"):
            whole = same_model(lw.presets.get(preset))
            training = replace(whole.training, steps=steps, batch_size=batch, learning_rate=rate * factor)
            expected = replace(whole, training=training, watch=case.recipe.watch)
            assert case.recipe.differences(expected) == [], case.key


@pytest.mark.parametrize("scale", ["small", "paper"])
@pytest.mark.parametrize(
    ("key", "preset"),
    [
        ("windowed-addition", "adder-tiny"),
        ("windowed-multiplication", "multiplier"),
        ("windowed-parity", "parity-tiny"),
    ],
)
def test_windowed_coupling_keeps_its_own_budget(key: str, preset: str, scale: str) -> None:
    (case,) = [case for case in plan("windowed", scale) if case.key == key]
    expected = lw.presets.get(preset)
    assert replace(case.recipe, watch=expected.watch) == expected


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_windowed_coupling_varies_what_each_figure_varies_and_no_more(scale: str) -> None:
    """Next to its own adder, every case differs in those settings only by which it is named."""
    adder = next(case.recipe for case in plan("windowed", scale) if case.key == "windowed-addition")
    allowed = {
        "addition-train-lengths": {"data.length", "data.count"},
        "addition-zero-padding": {"task.zero_padding"},
        "addition-architecture": {"model.layers", "model.heads"},
        "addition-embedding-dim": {
            *("model.width", "model.feedforward", "training.learning_rate", "training.compile"),
        },
        "addition-data-size": {"data.problems"},
        "addition-input-formats": {"task.zero_padding", "task.reverse_query", "task.reverse_response"},
    }
    for name, settings in allowed.items():
        changed = {
            difference.split(" is ")[0]
            for case in plan(name, scale)
            if case.own
            for difference in adder.differences(case.recipe)
        }
        assert changed == settings, name


def test_a_scale_that_gives_more_than_windowed_coupling_takes_changes_nothing_of_it() -> None:
    scale = Scale(name="large", seeds=1, lengths=(1,), counts=(2,), samples=1, steps=10**6, batch_size=10**4)
    expected = lw.presets.get("adder-tiny")
    assert replace(scale.windowed(expected), watch=expected.watch) == expected
    less = replace(scale, steps=10, batch_size=3).windowed(expected)
    assert (less.training.steps, less.training.batch_size) == (10, 3)


@pytest.mark.parametrize(("name", "scale"), EVERY)
def test_every_recipe_can_be_trained(name: str, scale: str) -> None:
    for case in plan(name, scale):
        case.recipe.check()
        assert case.recipe.watch.validate_every == case.recipe.training.steps, "fresh problems are tried at the end"


@pytest.mark.parametrize("name", PAPER)
def test_at_smoke_nothing_is_large(name: str) -> None:
    for case in plan(name, "smoke"):
        recipe = case.recipe
        assert recipe.training.steps == 2
        assert recipe.training.batch_size <= 4
        assert recipe.model.width <= 48
        assert recipe.data.problems is None or recipe.data.problems <= 20
        assert sum(prod(map(len, (one.lengths, one.counts or (0,)))) for one in case.measurements) <= 4


# How it is measured.


@pytest.mark.parametrize(("name", "seeds"), SEEDS.items())
def test_at_the_scale_of_the_paper_there_are_as_many_seeds_as_its_caption_says(name: str, seeds: int) -> None:
    chosen = experiment(name)
    assert chosen.scale("paper").seeds == seeds
    assert chosen.scale("small").seeds == chosen.scale("smoke").seeds == 1
    runs = jobs([chosen], "paper", Path("nowhere"))
    assert len(runs) == seeds * len(plan(name, "paper"))
    assert {run.recipe.seed for run in runs} == set(range(seeds))


@pytest.mark.parametrize("name", PAPER)
def test_at_the_scale_of_the_paper_as_many_problems_of_as_many_sizes_are_asked(name: str) -> None:
    for case in plan(name, "paper"):
        task = case.recipe.task.name
        if name == "attention-patterns":
            (looked,) = case.measurements
            assert (looked.kind, looked.lengths, looked.counts, looked.samples) == ("attention", (11,), (11,), 1000)
        elif task == "parity":
            given, decoded = case.measurements
            assert (given.lengths, given.counts, given.samples) == (tuple(range(1, 101)), None, 10_000)
            assert (given.decoding, decoded) == ("teacher-forced", replace(given, decoding="greedy"))
        else:
            (grid,) = case.measurements
            counts = range(1, 31) if task == "multiplication" else range(2, 31)
            assert (grid.lengths, grid.counts, grid.samples) == (tuple(range(1, 31)), tuple(counts), 1000)
            assert (grid.kind, grid.decoding) == ("grid", "teacher-forced")


@pytest.mark.parametrize("name", PAPER)
def test_at_the_small_scale_every_size_is_one_of_the_papers_and_the_edges_are_kept(name: str) -> None:
    for small, paper in zip(plan(name, "small"), plan(name, "paper"), strict=True):
        assert small.key == paper.key
        for few, many in zip(small.measurements, paper.measurements, strict=True):
            assert set(few.lengths) <= set(many.lengths)
            assert (few.lengths[0], few.lengths[-1]) == (many.lengths[0], many.lengths[-1])
            assert (few.counts is None) == (many.counts is None)
            if few.counts is not None and many.counts is not None:
                assert set(few.counts) <= set(many.counts)
                assert (few.counts[0], few.counts[-1]) == (many.counts[0], many.counts[-1])
            assert few.samples <= many.samples
            assert list(few.lengths) == sorted(set(few.lengths))


@pytest.mark.parametrize(("name", "scale"), EVERY)
def test_every_size_can_be_measured_by_every_model(name: str, scale: str) -> None:
    """Known beforehand, not after two hours of training: ids suffice at all corners of the grid."""
    for case in plan(name, scale):
        known = case.recipe.encoding.max_ids(case.recipe.shape)
        for asked in case.measurements:
            ends = [(axis[0], axis[-1]) for axis in (asked.lengths, asked.counts) if axis is not None]
            for size in product(*ends):
                require_cell(case.recipe.task, known, size[0], size[1] if len(size) > 1 else None)


def test_a_grid_beyond_a_models_ids_would_be_noticed() -> None:
    """So that the test before this one can fail."""
    (case,) = [case for case in plan("addition-methods", "paper") if case.key == BASELINE]
    known = case.recipe.encoding.max_ids(case.recipe.shape)
    with pytest.raises(lw.InputError, match="needs row ids up to"):
        require_cell(case.recipe.task, known, 30, 60)


def test_what_was_asked_stands_in_the_name_of_its_file() -> None:
    grid = Measurement(lengths=(1, 2, 30), counts=(2, 30), samples=100)
    assert grid.file == "grid-1-30x2-30-3x2cells-n100.json"
    assert replace(grid, decoding="greedy").file == "grid-1-30x2-30-3x2cells-n100-decoded.json"
    assert Measurement(lengths=(1, 100), counts=None, samples=5).file == "grid-1-100-2cells-n5.json"
    assert Measurement(lengths=(11,), counts=(11,), samples=9, kind="attention").file == "focus-11x11-n9.json"


def test_unknown_figures_and_scales_are_refused() -> None:
    with pytest.raises(lw.InputError, match="no figure 'additon-methods': did you mean 'addition-methods'"):
        experiment("additon-methods")
    with pytest.raises(lw.InputError, match="There is no figure 'x': choose one of parity, addition-methods, "):
        experiment("x")
    with pytest.raises(lw.InputError, match="There is no scale 'tiny': choose one of smoke, small, paper"):
        experiment("parity").scale("tiny")
