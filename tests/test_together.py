"""Many seeds as one model: the same numbers as by themselves, in ordinary run folders that go on alone or together."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import lengthwise as lw
from lengthwise.engines import Engine
from lengthwise.jobs import Job, News, teams, work_as_one
from lengthwise.measurements import Measurement
from lengthwise.positions.learned import Learned
from lengthwise.positions.none import NoPositions
from lengthwise.recipe import Recipe
from lengthwise.runs import Run
from lengthwise.sweep import sweep
from lengthwise.together import train_together

SMALL = Measurement(lengths=(2, 30), counts=None, samples=4)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def recipe(preset: str = "parity-tiny", steps: int = 40, **changes: Any) -> Recipe:
    """A run of a second, with everything noted."""
    base = lw.presets.get(preset)
    watch = replace(base.watch, log_every=10, validate_every=20, validation_samples=20, cells=(), save_seconds=1000.0)
    training = replace(base.training, steps=steps, batch_size=8)
    return replace(base, training=training, watch=watch, **changes)


def seeded(one: Recipe, seeds: range) -> list[Recipe]:
    return [replace(one, seed=seed) for seed in seeds]


def close(ours: Path, theirs: Path, weights: float = 2e-5) -> None:
    """Two runs have the same numbers up to rounding."""
    one, other = Run(ours), Run(theirs)
    assert one.step == other.step
    assert len(one.metrics) == len(other.metrics) > 0
    for mine, its in zip(one.metrics, other.metrics, strict=True):
        assert mine.keys() == its.keys()
        for name in mine:
            assert mine[name] == pytest.approx(its[name], rel=1e-4, abs=1e-6), name
    pairs = zip(one.model.transformer.parameters(), other.model.transformer.parameters(), strict=True)
    assert max((mine - its).detach().abs().max().item() for mine, its in pairs) < weights


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("parity-tiny", {}),
        ("adder-tiny", {}),
        ("adder-tiny", {"data": lw.recipe.Data(length=4, count=4, problems=50, random_offsets=False)}),
        ("adder-tiny", {"task": lw.task("addition", max_ids=(20, 20)), "data": lw.recipe.Data(length=4, count=4)}),
        ("multiplier", {"data": lw.recipe.Data(length=3, count=3, problems=None, random_offsets=False)}),
    ],
    ids=["parity", "sums", "data set", "random offsets", "two layers"],
)
def test_each_has_the_numbers_of_a_run_of_its_own(preset: str, changes: dict[str, Any], tmp_path: Path) -> None:
    two_layers = preset == "multiplier"  # in which Adam makes much of the rounding of gradients that are nearly 0
    recipes = seeded(recipe(preset, steps=10 if two_layers else 40, **changes), range(3))
    assert train_together(recipes, [tmp_path / f"team{one.seed}" for one in recipes]) == [None] * 3
    for one in recipes:
        team, alone = tmp_path / f"team{one.seed}", tmp_path / f"alone{one.seed}"
        lw.train(one, alone)
        close(team, alone, weights=1e-3 if two_layers else 2e-5)
    first, second = (Run(tmp_path / f"team{seed}").model.transformer.embedding for seed in (0, 1))
    assert not torch.equal(first, second)


class Stopper:
    """An observer that wants all to stop after a step."""

    def __init__(self, step: int) -> None:
        self.step, self.ended = step, 0

    def begin(self, recipe: Recipe, run: Run, model: lw.Solver, step: int) -> None:
        pass

    def advance(self, step: int, tokens_per_second: float) -> None:
        if step == self.step:
            signal.raise_signal(signal.SIGINT)

    def note(self, record: dict[str, Any]) -> None:
        pass

    def end(self, step: int, seconds: float) -> None:
        self.ended = step


def test_a_team_that_was_stopped_goes_on_together_apart_or_with_others(tmp_path: Path) -> None:
    recipes = seeded(recipe(), range(4))
    folders = [tmp_path / f"team{one.seed}" for one in recipes]
    stopper = Stopper(17)
    with pytest.raises(KeyboardInterrupt):
        train_together(recipes[:3], folders[:3], observers=[None, stopper, None])
    assert [Run(folder).step for folder in folders[:3]] == [17, 17, 17]
    assert stopper.ended == 17
    lw.train(recipes[0], folders[0], resume=True)  # alone
    assert train_together(recipes, folders) == [None] * 4  # one is finished, two are under way, one is new
    for one, folder in zip(recipes, folders, strict=True):
        lw.train(one, tmp_path / f"alone{one.seed}")
        close(folder, tmp_path / f"alone{one.seed}")
        assert not (folder / "state" / "state.safetensors").exists()


def test_a_run_begun_alone_goes_on_in_a_team(tmp_path: Path) -> None:
    recipes = seeded(recipe(), range(2))
    folders = [tmp_path / f"team{one.seed}" for one in recipes]
    for one, folder in zip(recipes, folders, strict=True):
        with pytest.raises(KeyboardInterrupt):
            lw.train(one, folder, observer=Stopper(13))
    assert train_together(recipes, folders) == [None, None]
    for one, folder in zip(recipes, folders, strict=True):
        lw.train(one, tmp_path / f"alone{one.seed}")
        close(folder, tmp_path / f"alone{one.seed}")


def test_one_that_fails_is_named_with_its_reason_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipes = seeded(recipe(steps=20), range(4))
    folders = [tmp_path / f"team{one.seed}" for one in recipes]
    folders[2].mkdir()
    (folders[2] / "shopping.txt").write_text("milk")
    born = lw.Solver.new

    def diverging(*arguments: Any, seed: int = 0, **options: Any) -> lw.Solver:
        model = born(*arguments, seed=seed, **options)
        if seed == 1:
            model.transformer.embedding.data.fill_(torch.nan)
        return model

    monkeypatch.setattr(lw.Solver, "new", diverging)
    reasons = train_together(recipes, folders)
    assert (reasons[0], reasons[3]) == (None, None)
    assert "no number" in str(reasons[1])
    assert "holds other things, such as 'shopping.txt'" in str(reasons[2])
    monkeypatch.undo()
    lw.train(recipes[3], tmp_path / "alone3")
    close(folders[3], tmp_path / "alone3")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"training": replace(recipe().training, steps=41)}, r"training\.steps is 40, not 41"),
        ({"encoding": Learned(sizes=(400,))}, "encoding"),
    ],
)
def test_other_recipes_are_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(lw.InputError, match=f"differ in their seeds alone, but .*{words}"):
        train_together([recipe(), replace(recipe(), seed=1, **change)], [tmp_path / "a", tmp_path / "b"])
    assert list(tmp_path.iterdir()) == []


def test_models_that_see_everything_are_refused(tmp_path: Path) -> None:
    one = recipe(encoding=NoPositions(), model=lw.ModelConfig(width=8, heads=2, feedforward=8))
    with pytest.raises(lw.InputError, match="'none' shows them all: train these seeds one by one"):
        train_together(seeded(one, range(2)), [tmp_path / "a", tmp_path / "b"])
    parts = replace(recipe(), training=replace(recipe().training, accumulate=2))
    with pytest.raises(lw.InputError, match="set accumulate to 1"):
        train_together(seeded(parts, range(2)), [tmp_path / "a", tmp_path / "b"])


# Sweeps.


def job(one: Recipe, folder: Path) -> Job:
    return Job(folder=folder / f"{one.name}-{one.model.width}-seed{one.seed}", recipe=one, measurements=(SMALL,))


def test_teams_have_runs_that_differ_in_their_seeds_alone(tmp_path: Path) -> None:
    narrow, every = recipe(), recipe(encoding=NoPositions())
    wide = replace(narrow, model=replace(narrow.model, width=64))
    jobs = [job(one, tmp_path / kind.encoding.name) for kind in (narrow, every, wide) for one in seeded(kind, range(5))]
    found = [[one.folder.name[-8:] for one in team] for team in teams(jobs, 3)]
    assert [len(team) for team in found] == [3, 2, 1, 1, 1, 1, 1, 3, 2]
    assert sorted(one.folder for team in teams(jobs, 3) for one in team) == sorted(one.folder for one in jobs)
    assert [len(team) for team in teams(jobs, 1)] == [1] * 15


@pytest.mark.parametrize(("workers", "widths"), [(1, [8, 16]), (2, [8])])
def test_a_sweep_in_teams_finds_what_a_sweep_one_by_one_does(workers: int, widths: list[int], tmp_path: Path) -> None:
    heard: dict[str, int] = {}
    lines: list[str] = []

    def hear(job: Job, news: News) -> None:
        heard[job.folder.name] = news.step

    teams = Engine(workers=workers, device="cpu", together=2)
    single = Engine(workers=1, device="cpu")
    assert teams.room == workers
    for name, engine in (("teams", teams), ("single", single)):
        found = sweep(
            recipe(steps=20), seeds=range(3), vary={"model.width": widths}, measurement=SMALL, out=tmp_path / name,
            engine=engine, hear=hear, say=lines.append,
        )  # fmt: skip
        assert found.failed == {}
        assert [row.seeds for row in found.rows] == [3] * len(widths)
        assert set(heard.values()) == {20}
        assert len(heard) == 3 * len(widths)
        heard.clear()
    assert sum("2 runs as one" in line for line in lines) == 2 * len(widths)
    for folder in sorted((tmp_path / "single").glob("*-seed*")):
        close(tmp_path / "teams" / folder.name, folder)


def test_a_failing_run_of_a_team_is_named_in_the_sweep(tmp_path: Path) -> None:
    (tmp_path / "parity-tiny-seed1").mkdir()
    (tmp_path / "parity-tiny-seed1" / "shopping.txt").write_text("milk")
    engine = Engine(workers=1, device="cpu", together=8)
    found = sweep(recipe(steps=5), seeds=range(3), measurement=SMALL, out=tmp_path, engine=engine)
    assert list(found.failed) == ["parity-tiny-seed1"]
    assert "holds other things" in found.failed["parity-tiny-seed1"]
    assert found.rows[0].seeds == 2


def test_a_sweep_in_teams_is_kept_elsewhere_too(tmp_path: Path) -> None:
    engine = Engine(workers=1, device="cpu", together=2)
    found = sweep(recipe(steps=5), seeds=range(2), measurement=SMALL, out=f"file://{tmp_path}/there", engine=engine)
    assert found.failed == {}
    for seed in range(2):
        assert Run(tmp_path / "there" / f"parity-tiny-seed{seed}").step == 5


def test_a_team_killed_without_warning_goes_on_from_its_last_state(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from dataclasses import replace\n"
        "from test_together import Stopper, recipe, seeded\n"
        "from lengthwise.together import train_together\n"
        "class Killer(Stopper):\n"
        "    def advance(self, step, tokens_per_second):\n"
        "        if step == self.step: os._exit(9)\n"
        "one = recipe()\n"
        "one = replace(one, watch=replace(one.watch, save_seconds=0.0))\n"
        "folders = [sys.argv[1] + '/a', sys.argv[1] + '/b']\n"
        "train_together(seeded(one, range(2)), folders, observers=[None, Killer(17)])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=Path(__file__).parent, check=False)
    assert done.returncode == 9
    one = recipe()
    recipes = seeded(replace(one, watch=replace(one.watch, save_seconds=0.0)), range(2))
    assert train_together(recipes, [tmp_path / "a", tmp_path / "b"]) == [None, None]
    for one, name in zip(recipes, "ab", strict=True):
        lw.train(one, tmp_path / f"alone{one.seed}")
        close(tmp_path / name, tmp_path / f"alone{one.seed}")


def test_together_must_be_a_number_of_runs() -> None:
    with pytest.raises(lw.InputError, match="together must be 1 or more, not 0"):
        Engine(together=0)


def test_what_no_run_could_be_is_refused_before_there_are_folders(tmp_path: Path) -> None:
    long = recipe(data=lw.recipe.Data(length=200_000, count=None, problems=None, random_offsets=False))
    with pytest.raises(lw.InputError, match="100,000"):
        train_together(seeded(long, range(2)), [tmp_path / "a", tmp_path / "b"])
    compiled = replace(recipe(), training=replace(recipe().training, compile=True))
    with pytest.raises(lw.InputError, match="are not compiled"):
        train_together(seeded(compiled, range(2)), [tmp_path / "a", tmp_path / "b"])
    assert list(tmp_path.iterdir()) == []
    assert train_together([], []) == []


def test_a_damaged_file_of_one_run_stops_no_other_of_its_team(tmp_path: Path) -> None:
    team = tuple(
        Job(folder=tmp_path / f"run{one.seed}", recipe=one, measurements=(SMALL,))
        for one in seeded(recipe(steps=3), range(3))
    )
    (tmp_path / "run1" / "grids").mkdir(parents=True)
    (tmp_path / "run1" / "grids" / SMALL.file).write_text("{")
    said = work_as_one(team, device="cpu")
    assert [well for _, well in said] == [True, False, True]
    assert "2 runs as one" in said[0][0]
    assert "trained already" not in said[0][0]
    assert SMALL.file in said[1][0]
    assert [Run(job.folder).step for job in (team[0], team[2])] == [3, 3]


def test_what_goes_wrong_for_all_is_said_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise lw.InputError("ids are too large")

    monkeypatch.setattr("lengthwise.together.Feeds._write", refuse)
    assert train_together(seeded(recipe(), range(2)), [tmp_path / "a", tmp_path / "b"]) == ["ids are too large"] * 2
