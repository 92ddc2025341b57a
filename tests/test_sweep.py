"""Sweeps: combinations of settings, run folders by name, only what is missing, medians and quartiles."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lengthwise as lw
from lengthwise.engines import Engine
from lengthwise.jobs import Job, News
from lengthwise.measurements import Measurement
from lengthwise.recipe import Recipe
from lengthwise.results import Grid
from lengthwise.runs import Run
from lengthwise.storage import Mirror, mirrored
from lengthwise.sweep import Comparison, combinations, quartiles, sweep, usual_measurement

HERE, TWO = Engine(workers=1, device="cpu"), Engine(workers=2, device="cpu")
SMALL = Measurement(lengths=(2, 30), counts=None, samples=4)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture
def recipe() -> Recipe:
    base = lw.presets.get("parity-tiny")
    watch = replace(base.watch, validate_every=0, log_every=1)
    return replace(base, training=replace(base.training, steps=3, batch_size=4), watch=watch)


def grids(folder: Path) -> dict[str, int]:
    return {str(file.relative_to(folder)): file.stat().st_mtime_ns for file in folder.glob("*/grids/*.json")}


def test_every_combination_is_run_with_every_seed_into_a_folder_of_its_name(recipe: Recipe, tmp_path: Path) -> None:
    said: list[str] = []
    found = sweep(
        recipe,
        seeds=[0, 5],
        vary={"model.width": [8, 16], "training.learning_rate": [1e-3]},
        measurement=SMALL,
        out=tmp_path,
        engine=HERE,
        say=said.append,
    )
    names = [f"parity-tiny-width{width}-learning_rate0.001-seed{seed}" for width in (8, 16) for seed in (0, 5)]
    assert sorted(path.name for path in tmp_path.glob("*-seed*")) == sorted(names)
    for name in names:
        held = Run(tmp_path / name).recipe
        assert (held.model.width, held.seed) == (int(name.split("width")[1].split("-")[0]), int(name[-1]))
        assert held.training.learning_rate == 1e-3
    assert said[0] == "4 runs, 0 of them done already"
    assert [row.seeds for row in found.rows] == [2, 2]
    assert found.failed == {}
    assert Path(str(found.picture)).is_file()
    assert json.loads((tmp_path / "sweep.json").read_text())["kind"] == "sweep"


def test_a_sweep_started_again_does_only_what_is_missing(recipe: Recipe, tmp_path: Path) -> None:
    def again(seeds: range) -> list[str]:
        said: list[str] = []
        sweep(recipe, seeds=seeds, measurement=SMALL, out=tmp_path, engine=HERE, say=said.append)
        return said

    again(range(1))
    before = grids(tmp_path)
    assert again(range(2))[0] == "2 runs, 1 of them done already"
    assert {name: stamp for name, stamp in grids(tmp_path).items() if name in before} == before
    assert again(range(2)) == ["2 runs, 2 of them done already"]


def test_several_processes_yield_what_one_does_and_tell_how_they_go(recipe: Recipe, tmp_path: Path) -> None:
    heard: list[tuple[str, int]] = []

    def hear(job: Job, news: News) -> None:
        heard.append((job.folder.name, news.step))

    for engine, name in ((HERE, "one"), (TWO, "two")):
        sweep(recipe, seeds=range(2), measurement=SMALL, out=tmp_path / name, engine=engine, hear=hear)
        assert {run for run, _ in heard} == {"parity-tiny-seed0", "parity-tiny-seed1"}
        assert max(step for _, step in heard) == 3
        heard.clear()
    for file in sorted((tmp_path / "one").glob("*/metrics.jsonl")):
        assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()


def test_a_run_that_fails_is_named_with_its_reason_and_stops_no_other(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "parity-tiny-seed1").mkdir()
    (tmp_path / "parity-tiny-seed1" / "shopping.txt").write_text("milk")
    found = sweep(recipe, seeds=range(3), measurement=SMALL, out=tmp_path, engine=HERE)
    assert list(found.failed) == ["parity-tiny-seed1"]
    assert "holds other things, such as 'shopping.txt'" in found.failed["parity-tiny-seed1"]
    assert found.rows[0].seeds == 2


def test_another_recipe_under_the_same_name_is_refused_before_any_run(recipe: Recipe, tmp_path: Path) -> None:
    sweep(recipe, measurement=SMALL, out=tmp_path, engine=HERE)
    other = replace(recipe, training=replace(recipe.training, steps=4))
    with pytest.raises(lw.InputError, match=r"training\.steps is 3, not 4"):
        sweep(other, seeds=range(2), measurement=SMALL, out=tmp_path, engine=HERE)
    assert not (tmp_path / "parity-tiny-seed1").exists()


def test_a_report_runs_nothing(recipe: Recipe, tmp_path: Path) -> None:
    found = sweep(recipe, measurement=SMALL, out=tmp_path, engine=HERE, run=False)
    assert found.rows[0].seeds == 0
    assert found.rows[0].beyond is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("measurement", "words"),
    [
        (Measurement(lengths=(2, 30), counts=None, samples=0), "samples must be 1 or more, not 0"),
        (Measurement(lengths=(2, 30), counts=(2,), samples=4), "parity has a length only"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_trained(
    measurement: Measurement, words: str, recipe: Recipe, tmp_path: Path
) -> None:
    with pytest.raises(lw.InputError, match=words):
        sweep(recipe, measurement=measurement, out=tmp_path, engine=HERE)
    assert list(tmp_path.iterdir()) == []


def test_sizes_beyond_the_ids_of_one_setting_are_refused(tmp_path: Path) -> None:
    vary: dict[str, list[Any]] = {"model.width": [8], "encoding": ["learned"]}
    sizes = Measurement(lengths=(300,), counts=(2,), samples=4)
    with pytest.raises(lw.InputError, match="needs column ids up to 302"):
        sweep("addition-1l4h", vary=vary, measurement=sizes, out=tmp_path, engine=HERE)
    assert list(tmp_path.iterdir()) == []


def test_a_report_remembers_why_runs_failed(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "parity-tiny-seed0").mkdir()
    (tmp_path / "parity-tiny-seed0" / "shopping.txt").write_text("milk")
    failed = sweep(recipe, measurement=SMALL, out=tmp_path, engine=HERE).failed
    assert list(failed) == ["parity-tiny-seed0"]
    assert sweep(recipe, measurement=SMALL, out=tmp_path, engine=HERE, run=False).failed == failed
    (tmp_path / "parity-tiny-seed0" / "shopping.txt").unlink()
    assert sweep(recipe, measurement=SMALL, out=tmp_path, engine=HERE).failed == {}
    assert sweep(recipe, measurement=SMALL, out=tmp_path, engine=HERE, run=False).failed == {}


def test_the_spread_of_a_setting_that_is_not_there(recipe: Recipe, tmp_path: Path) -> None:
    found = sweep(recipe, measurement=SMALL, out=tmp_path, engine=HERE, run=False)
    with pytest.raises(lw.InputError, match=r"has no setting 'parity': .*parity-tiny"):
        found.spread("parity")
    with pytest.raises(lw.InputError, match="no run of 'parity-tiny' has been measured"):
        found.spread("parity-tiny")


def written(folder: Path, accuracies: list[float]) -> None:
    """Runs whose grids say what a test wants to hear."""
    for seed, accuracy in enumerate(accuracies):
        grid = Grid.blank({"length": [2, 30]}, task={"name": "parity"}, seed=0, samples=100)
        for row, rate in enumerate((1.0, accuracy)):
            grid.correct[row][0] = grid.answers[row][0] = round(100 * rate)
            grid.total[row][0] = 100
        (folder / f"parity-tiny-seed{seed}" / "grids").mkdir(parents=True)
        grid.save(folder / f"parity-tiny-seed{seed}" / "grids" / SMALL.file)


def test_medians_and_quartiles_are_over_seeds_and_of_sizes_beyond_training(recipe: Recipe, tmp_path: Path) -> None:
    written(tmp_path, [0.0, 0.5, 0.6, 1.0])
    found: Comparison = sweep(recipe, seeds=range(4), measurement=SMALL, out=tmp_path, run=False)
    (row,) = found.rows
    assert row.seeds == 4
    assert row.beyond == row.farthest == pytest.approx((0.375, 0.55, 0.7))
    assert found.spread("parity-tiny").median == [[1.0], [0.55]]


def test_quartiles_of_few() -> None:
    assert quartiles([]) is None
    assert quartiles([0.25]) == (0.25, 0.25, 0.25)


def test_the_usual_grid_goes_three_times_as_far_as_training() -> None:
    usual = usual_measurement(lw.presets.get("adder-tiny"))
    assert (usual.lengths, usual.counts) == ((10, 15, 20, 30), (10, 15, 20, 30))
    assert usual_measurement(lw.presets.get("parity-tiny")).counts is None


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ({"width": [1]}, "'width' is no setting of a recipe"),
        ({"model.widht": [1]}, "model has no setting 'widht': did you mean 'width'"),
        ({"model.width": [0]}, "width"),
        ({"encoding": ["rottary"]}, "rotary"),
        ({"seed.x": [1]}, "'seed.x' is no setting"),
    ],
)
def test_what_cannot_be_varied_is_refused(vary: dict[str, list[object]], words: str) -> None:
    with pytest.raises(lw.InputError, match=words):
        combinations(lw.presets.get("adder-tiny"), vary)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Engine(workers=0), "workers must be 1 or more"),
        (lambda: Engine(per_gpu=0), "per_gpu must be 1 or more"),
        (lambda: Engine(on="ray", workers=2), "leave workers out"),
        (lambda: Engine(address="auto"), "say on='ray'"),
        (
            lambda: Engine(on="moon"),  # type: ignore[arg-type]
            "on local or ray, not 'moon'",
        ),
    ],
)
def test_engines_that_make_no_sense_are_refused(make: Callable[[], Engine], words: str) -> None:
    with pytest.raises(lw.InputError, match=words):
        make()


def test_a_value_named_twice_is_refused(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(lw.InputError, match="named twice"):
        sweep(recipe, vary={"model.width": [8, 8]}, measurement=SMALL, out=tmp_path, engine=HERE)
    assert list(tmp_path.iterdir()) == []


# Runs that are kept elsewhere.


def test_a_sweep_at_an_address_leaves_ordinary_runs_there(recipe: Recipe, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/kept"
    found = sweep(recipe, seeds=range(2), measurement=SMALL, out=address, engine=HERE)
    assert found.rows[0].seeds == 2
    runs = sorted(path.name for path in (tmp_path / "kept").glob("*-seed*"))
    assert runs == ["parity-tiny-seed0", "parity-tiny-seed1"]
    held = Run(tmp_path / "kept" / runs[0])
    assert held.finished
    assert not (held.folder / "state" / "state.safetensors").exists(), "what is gone here is gone there"
    assert (tmp_path / "kept" / "figures" / "sweep.png").is_file()
    said: list[str] = []
    sweep(recipe, seeds=range(2), measurement=SMALL, out=address, engine=HERE, say=said.append)
    assert said == ["2 runs, 2 of them done already"]


def test_a_run_that_was_stopped_elsewhere_goes_on_here(recipe: Recipe, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/kept/run"
    lw.train(recipe, tmp_path / "whole", device="cpu")
    steps = 0

    class EnoughError(Exception):
        pass

    class Watcher:
        def begin(self, *_: object) -> None: ...
        def note(self, *_: object) -> None: ...
        def end(self, *_: object) -> None: ...
        def advance(self, step: int, speed: float) -> None:
            nonlocal steps
            steps += 1
            if step == 2:
                raise EnoughError

    eager = replace(recipe, watch=replace(recipe.watch, save_seconds=0.0))
    with pytest.raises(EnoughError), mirrored(address) as mirror:
        lw.train(eager, mirror.folder, device="cpu", observer=Watcher(), on_save=mirror.push)
    assert Run(tmp_path / "kept" / "run").step == 2
    with mirrored(address) as mirror:
        lw.train(eager, mirror.folder, resume=True, device="cpu", on_save=mirror.push)
    assert steps == 2
    kept, whole = (folder / "model.safetensors" for folder in (tmp_path / "kept" / "run", tmp_path / "whole"))
    assert kept.read_bytes() == whole.read_bytes()


def test_only_what_has_changed_is_brought_back(tmp_path: Path) -> None:
    mirror = Mirror(f"file://{tmp_path}/there", tmp_path / "here")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a").write_text("1")
    (tmp_path / "here" / "b").write_text("2")
    mirror.push()
    (tmp_path / "there" / "a").write_text("touched by others")
    (tmp_path / "here" / "b").unlink()
    mirror.push()
    assert (tmp_path / "there" / "a").read_text() == "touched by others"
    assert not (tmp_path / "there" / "b").exists()


def test_an_address_that_cannot_be_reached_is_refused_in_a_sentence(recipe: Recipe) -> None:
    with pytest.raises(lw.InputError, match="'nowhere://x' cannot be reached"):
        sweep(recipe, measurement=SMALL, out="nowhere://x", engine=HERE)
