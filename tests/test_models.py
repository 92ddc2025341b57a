"""The models in the box: what there is, how it is found, and that it solves."""

from pathlib import Path

import pytest

import lengthwise as lw
from lengthwise import checkpoint, models
from lengthwise.integers import right_answer
from lengthwise.tasks.text import recognise

EASY = {
    "addition": ["57+48+96", "1+2", "0+0", "999+1", "12345+67890+13579+24680"],
    "multiplication": ["37*925", "3*4", "12*12", "99*99"],
    "parity": ["0101", "1", "0111", "1100110011"],
}


def test_every_task_has_a_first_choice() -> None:
    assert set(models.FIRST_CHOICE) == set(lw.tasks.kinds())
    for task, name in models.FIRST_CHOICE.items():
        assert models.first_choice(task) == name
        assert lw.models.describe(name).task == task


def test_a_task_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "FIRST_CHOICE", {"multiplication": "not-there"})
    for task in ("multiplication", "division"):
        with pytest.raises(lw.InputError, match=f"no model for {task} in the box: train one"):
            models.first_choice(task)


@pytest.mark.parametrize("name", lw.models.names())
def test_each_is_whole_and_solves(name: str) -> None:
    about, model = lw.models.describe(name), lw.load(name)
    assert about.parameters == sum(weight.numel() for weight in model.parameters())
    assert about.task == model.task.name
    assert about.encoding == model.transformer.encoding.name
    assert about.trained_on == model.trained_on
    assert about.trained_on["length"] >= 1
    for problem, solution in zip(EASY[about.task], model.solve_all(EASY[about.task]), strict=True):
        assert solution.correct, f"{problem}: {solution.reading.mistake}"
        assert solution.answer == right_answer(about.task, recognise(problem)[1])
    card = (models.FOLDER / name / checkpoint.CARD).read_text(encoding="utf-8")
    assert f"# {name}\n" in card
    assert f"{about.parameters:,} parameters" in card
    assert "lengthwise train" in card
    if (models.FOLDER / name / models.GRID).exists():
        assert lw.Grid.load(models.FOLDER / name / models.GRID).complete


def test_which_folder_a_name_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    boxed = models.FOLDER / "adder-tiny"
    assert models.find("adder-tiny") == boxed
    Path("adder-tiny").mkdir()
    assert models.find("adder-tiny") == boxed  # a folder that is no model's does not hide it
    lw.Solver.new(lw.task("parity"), lw.encoding("none")).save_pretrained("adder-tiny")
    for name in ("adder-tiny", "./adder-tiny", Path("adder-tiny"), tmp_path / "adder-tiny"):
        assert models.find(name) == Path(name)
        assert lw.load(name).task.name == "parity"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("adder-tny", "no model folder 'adder-tny', and no model of that name in the box: did you mean 'adder-tiny'?"),
        ("xyz", "give a folder, or one of adder-"),
        ("../models/adder-tiny", "no model folder"),
        ("./adder-tiny", "no model folder"),
        ("adder-tiny/", "no model folder"),
        ("adder-tiny/config.json", "no model folder"),
        ("", "no model folder ''"),
        ("a\0b", "no model folder"),
        ("9" * 10_000, "no model folder"),
        (Path("adder-tiny"), "no model folder 'adder-tiny': give a folder that a model was saved to"),
        (".", "has no config.json"),
    ],
)
def test_what_leads_nowhere(name: str | Path, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(lw.InputError) as error:
        lw.load(name)
    assert words in str(error.value)


def test_a_model_that_is_not_in_the_box() -> None:
    for name in ("adder-tny", "../models/adder-tiny", "__pycache__"):
        with pytest.raises(lw.InputError, match="in the box"):
            lw.models.describe(name)
