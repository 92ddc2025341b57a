"""A run goes into the box: its card says what its files say."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lengthwise as lw
from lengthwise import boxing, models
from lengthwise.boxing import box, train_command
from lengthwise.cli.train import Asked
from lengthwise.recipe import Recipe
from lengthwise.runs import Run
from lengthwise.solver import Solution


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few steps, which can do nothing."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    recipe = lw.presets.get("parity-tiny")
    small = replace(
        recipe,
        seed=3,
        model=lw.ModelConfig(layers=1, heads=2, width=16, feedforward=16),
        training=replace(recipe.training, steps=2, batch_size=4),
        watch=replace(recipe.watch, validate_every=0),
    )
    lw.train(small, folder, device="cpu")
    return folder


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are taken to solve whatever they are asked."""
    monkeypatch.setattr(Solution, "correct", True)


@pytest.mark.usefixtures("able")
def test_the_card_says_what_the_files_say(trained: Path, tmp_path: Path) -> None:
    grid = lw.evaluate(trained, lengths=[2, 4, 6], samples=20, seed=1, out=tmp_path / "grid.json")
    folder = box(trained, "mine", grid=tmp_path / "grid.json", hardware="an abacus", into=tmp_path)
    card = (folder / "README.md").read_text(encoding="utf-8")
    right = sum(row[0] or 0 for row in grid.correct)
    assert grid.lowest is not None
    for words in (
        "# mine",
        f"{grid.model['parameters']:,} parameters for parity: 1 layer",
        'lw.load("mine").solve("0101")',
        "| trained on | sizes up to 20, new problems every step |",
        "| steps | 2 of 4 problems |",
        "| seed | 3 |",
        "`lengthwise train parity-tiny --seed 3 --model.heads 2 --model.width 16 --model.feedforward 16 ",
        "| hardware | an abacus |",
        f"fingerprint {grid.model['fingerprint']}",
        f"{right} of 60 whole responses without a mistake",
        f"Lowest cell: {grid.lowest:.1%} at ",
        "lengthwise evaluate mine --lengths 2:6:2 --samples 20 --seed 1\n",
        f"torch {grid.made['torch']}",
    ):
        assert words in card
    for name in ("config.json", "model.safetensors"):
        assert (folder / name).read_bytes() == (trained / name).read_bytes()
    assert lw.Grid.load(folder / models.GRID) == grid
    assert lw.load(folder).trained_on == {"length": 20}
    assert box(trained, "mine", into=tmp_path) == folder
    assert not (folder / models.GRID).exists()  # a grid goes with the box it was made for
    assert "not been measured" in (folder / "README.md").read_text(encoding="utf-8")


def adder(with_encoding: str | None = None, **changes: Any) -> Recipe:
    recipe = lw.presets.get("adder-tiny")
    return replace(lw.presets.with_encoding(recipe, with_encoding) if with_encoding else recipe, **changes)


@pytest.mark.parametrize(
    ("recipe", "command"),
    [
        (adder(), "lengthwise train adder-tiny"),
        (adder(seed=7), "lengthwise train adder-tiny --seed 7"),
        (adder(watch=lw.Watch()), "lengthwise train adder-tiny"),
        (
            adder(training=replace(adder().training, steps=5, betas=(0.8, 0.9), clip=None)),
            "lengthwise train adder-tiny --training.steps 5 --training.betas 0.8 0.9 --training.clip None",
        ),
        (
            adder(task=lw.task("addition", zero_padding=False), data=replace(adder().data, random_offsets=True)),
            "lengthwise train adder-tiny --task.no-zero-padding --data.random-offsets",
        ),
        (
            adder("rotary", task=lw.task("addition", coupling=("column", "row"))),
            "lengthwise train adder-tiny --encoding rotary --task.coupling column row",
        ),
        (
            adder("learned", encoding=lw.encoding("learned", sizes=(40, 50))),
            "lengthwise train adder-tiny --encoding learned --encoding.sizes 40 50",
        ),
        (adder(name="of my own"), None),
        (adder(task=lw.task("parity")), None),
    ],
)
def test_the_command_leads_to_the_same_recipe(recipe: Recipe, command: str | None) -> None:
    assert train_command(recipe) == command
    if command is not None:
        asked = Asked.of(command.split()[2:])
        again, _ = asked.read(lw.presets.get(asked.preset))
        assert replace(again, watch=recipe.watch) == recipe


def other_weights(run: Path, folder: Path) -> dict[str, Any]:
    lw.evaluate("parity-tiny", lengths=[2], samples=5, out=folder / "grid.json")
    return {"grid": folder / "grid.json"}


def half_a_grid(run: Path, folder: Path) -> dict[str, Any]:
    grid = lw.evaluate(run, lengths=[2, 3], samples=5)
    grid.correct[1][0] = grid.answers[1][0] = grid.total[1][0] = None
    grid.save(folder / "grid.json")
    return {"grid": folder / "grid.json"}


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (lambda run, folder: {"name": "../x"}, "is no name for a model"),
        (lambda run, folder: {"name": "Mine"}, "is no name for a model"),
        (lambda run, folder: {"folder": folder / "nothing"}, "no run folder"),
        (lambda run, folder: {"folder": models.FOLDER}, "has no config.json"),
        (lambda run, folder: {"grid": folder / "nothing"}, "There is no file"),
        (other_weights, "measured of other weights"),
        (half_a_grid, "is not complete"),
    ],
)
def test_what_does_not_go_into_the_box(
    trained: Path, tmp_path: Path, changes: Callable[[Path, Path], dict[str, Any]], words: str
) -> None:
    asked = {"folder": trained, "name": "mine", "into": tmp_path / "box", **changes(trained, tmp_path)}
    with pytest.raises(lw.InputError) as error:
        box(asked.pop("folder"), asked.pop("name"), **asked)
    assert words in str(error.value)
    assert not (tmp_path / "box").exists()


@pytest.mark.usefixtures("able")
def test_a_run_that_was_stopped(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "finished", property(lambda run: False))
    with pytest.raises(lw.InputError, match="is not finished"):
        box(trained, "mine", into=tmp_path)
    card = (box(trained, "mine", unfinished=True, into=tmp_path) / "README.md").read_text(encoding="utf-8")
    assert f"; stopped after {Run(trained).step:,} |" in card


def test_a_model_that_cannot_solve_its_example(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(lw.InputError, match="cannot go into the box: on 0101 the response "):
        box(trained, "mine", into=tmp_path / "box")


def test_from_the_command_line(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    def note(*given: str, **options: str) -> Path:
        made.append((given, options))
        return tmp_path

    monkeypatch.setattr(boxing, "box", note)
    boxing.main(["run", "mine", "--grid", "grid.json", "--hardware", "an abacus"])
    boxing.main(["run", "mine", "--unfinished"])
    assert made == [
        (("run", "mine"), {"grid": "grid.json", "hardware": "an abacus", "unfinished": False}),
        (("run", "mine"), {"grid": None, "hardware": None, "unfinished": True}),
    ]
    monkeypatch.undo()
    with pytest.raises(SystemExit) as stop:
        boxing.main([str(tmp_path / "nothing"), "mine"])
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("scripts/box: There is no run folder")
