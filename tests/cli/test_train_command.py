"""lengthwise train: presets, overrides, and runs that can be stopped and taken up."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from asking import TINY, check_help, contents, full_disk, refused, run, train_tiny

import lengthwise as lw
from lengthwise.cli.train import _Common
from lengthwise.positions.rotary import Rotary
from lengthwise.positions.windowed import Windowed
from lengthwise.progress import TrainingProgress
from lengthwise.recipe import Data, Training, Watch


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_preset_becomes_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "train", "adder-tiny", "--steps", 3, *TINY)
    assert err == ""
    told = " ".join(out.split())
    for word in ("training adder-tiny", "addition up to 10×10", "step 3 · loss", "validation exact match", "2×2"):
        assert word in told
    assert "done: runs/adder-tiny (lengthwise evaluate runs/adder-tiny measures it)" in told
    trained = lw.Run.at("runs/adder-tiny")
    assert (trained.finished, trained.step) == (True, 3)
    assert trained.recipe.name == "adder-tiny"
    assert trained.recipe.model == lw.ModelConfig(
        layers=1, heads=2, width=16, feedforward=16, content_scores=False, tied_head=False
    )
    assert [record["step"] for record in trained.metrics] == [3, 3]
    assert trained.model.trained_on == {"length": 10, "count": 10}


def test_every_setting_can_be_given_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    changes = [
        *("--task.no-scratchpad", "--task.padding-rule", "theory", "--encoding.window", 2, "--encoding.no-hard"),
        *("--training.learning-rate", 0.01, "--training.betas", 0.9, 0.99, "--training.clip", "None"),
        *("--data.problems", 10, "--data.length", 3, "--data.count", 3, "--seed", 7, "--steps", 1, "--device", "cpu"),
    ]
    run(capsys, "train", *TINY, "--out", "here", *changes, "adder-tiny", "--watch.cells", "2x2", "3x3")
    recipe = lw.Run.at("here").recipe
    assert recipe.task == lw.task("addition", scratchpad=False, padding_rule="theory")
    assert recipe.encoding == Windowed(window=2, hard=False, initial_std=2.0)
    assert (recipe.training.steps, recipe.training.learning_rate, recipe.training.betas) == (1, 0.01, (0.9, 0.99))
    assert recipe.training.clip is None
    assert (recipe.data.problems, recipe.data.length, recipe.data.count, recipe.seed) == (10, 3, 3, 7)
    assert recipe.watch.cells == ("2x2", "3x3")


@pytest.mark.parametrize("option", [["--encoding", "rotary"], ["--encoding=rotary"]])
def test_another_encoding_with_settings_of_its_own(capsys: pytest.CaptureFixture[str], option: list[str]) -> None:
    chosen = [*option, "--encoding.base", 500, "--task.coupling", "index", "--out", "rotary"]
    out, _ = run(capsys, "train", "adder-tiny", "--steps", 1, *TINY, *chosen)
    assert "rotary positions" in out
    recipe = lw.Run.at("rotary").recipe
    assert recipe.encoding == Rotary(base=500.0)
    assert recipe.task.levels == ("index",)


def test_plain_positions_by_rotary_as_in_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "train", "adder-tiny", "--encoding", "rotary", "--task.coupling", "index", "--steps", 1, *TINY)
    assert lw.Run.at("runs/adder-tiny").recipe.encoding == Rotary()


def test_learned_tables_are_as_large_as_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "train", "adder-tiny", "--encoding", "learned", "--steps", 1, *TINY)
    assert lw.Run.at("runs/adder-tiny").recipe.encoding == lw.encoding("learned", sizes=(40, 40))


def test_a_folder_may_be_named_like_a_preset(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "train", "--out", "adder-tiny", "parity-tiny", "--steps", 1, *TINY[:-2], "--watch.cells", 2)
    assert lw.Run.at("adder-tiny").recipe.name == "parity-tiny"


def test_help_explains_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    forms: list[tuple[str, type[Any]]] = [("", _Common), ("model.", lw.ModelConfig), ("data.", Data)]
    forms += [("training.", Training), ("watch.", Watch), ("encoding.", Windowed)]
    check_help(capsys, "train", *forms, ("task.", type(lw.task("addition"))))
    assert "--encoding NAME" in run(capsys, "train", "--help")[0]
    assert "the preset parity-tiny" in run(capsys, "train", "parity-tiny", "--help")[0]
    assert "--encoding.base" in run(capsys, "train", "adder-tiny", "--encoding", "rotary", "--help")[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "The preset is missing: lengthwise train adder-tiny, for one"),
        (["--steps", "3"], "The preset is missing"),
        (["adder-tinny"], "There is no preset 'adder-tinny': did you mean 'adder-tiny'?"),
        (["division"], "lengthwise list shows them all"),
        (["adder-tiny", "parity-tiny"], "Unrecognized options: parity-tiny"),
        (["adder-tiny", "--model.widht", "128"], "--model.widht, 128; did you mean --model.width?"),
        (["adder-tiny", "--width", "128"], "did you mean --model.width?"),
        (
            ["adder-tiny", "--modle.width", "3", "--traning.steps", "4"],
            "did you mean --model.width and --training.steps?",
        ),
        (["adder-tiny", "--model.width", "63"], "a width of 63 cannot be divided among 4 heads"),
        (["adder-tiny", "--model.width", "wide"], "--model.width cannot be 'wide'"),
        (["adder-tiny", "--model.width", "1.5"], "--model.width cannot be '1.5'"),
        (["adder-tiny", "--model.width"], "--model.width needs a value"),
        (["adder-tiny", "--model.layers", "0"], "layers must be from 1"),
        (["adder-tiny", "--task.max-ids", "8", "8"], "the maximum id of 'column' is 8: raise it to 12 or more"),
        (["adder-tiny", "--task.max-ids", "8"], "max_ids must give one positive integer for each level"),
        (["adder-tiny", "--task.max-ids", "a", "b"], "--task.max-ids cannot be 'a' 'b'"),
        (["adder-tiny", "--task.coupling", "colum"], "couple any of column, row, index"),
        (["adder-tiny", "--training.optimizer", "sgd"], "cannot be 'sgd': choose one of adam, adamw"),
        (["adder-tiny", "--training.learning-rate", "-1"], "learning_rate"),
        (["adder-tiny", "--training.betas", "0.9"], "betas must be two numbers"),
        (["adder-tiny", "--steps", "0"], "steps must be 1 or more, not 0"),
        (["adder-tiny", "--steps", "many"], "--steps cannot be 'many'"),
        (["adder-tiny", "--data.length", "0"], "length 1 or more"),
        (["adder-tiny", "--data.count", "none"], "--data.count cannot be 'none'"),
        (["adder-tiny", "--watch.cells", "20by20"], "'20by20' is not a size: write length x count, such as 20x15"),
        (["adder-tiny", "--encoding", "rotry"], "There is no encoding 'rotry': did you mean 'rotary'?"),
        (["adder-tiny", "--encoding"], "choose one of alibi, fire"),
        (["adder-tiny", "--encoding", "fire"], "fire encodes one level of ids, not 2"),
        (["adder-tiny", "--encoding", "learned", "--watch.cells", "60x2"], "needs column ids up to 62"),
        (["adder-tiny", "--encoding", "learned", "--encoding.sizes", "9", "9"], "ids up to 12"),
        (["adder-tiny", "--device", "cuda:99"], "the device 'cuda:99' cannot be used here: try cpu."),
        (["adder-tiny", "--device", "toaster"], "the device 'toaster' cannot be used here"),
    ],
)
def test_bad_input_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str
) -> None:
    sentence = refused(capsys, "train", *arguments)
    assert words in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_the_runs_own_is_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = contents(tmp_path)
    asked = ["train", "adder-tiny", "--steps", "1", *TINY, "--out"]
    assert "holds other things, such as 'chapter.txt'" in refused(capsys, *asked, "thesis")
    assert "is a file: give a folder" in refused(capsys, *asked, "file")
    assert "cannot be written to" in refused(capsys, *asked, "file/under")
    assert "has no config.json" in refused(capsys, "evaluate", "thesis")
    assert contents(tmp_path) == before


def test_a_run_is_not_trained_over(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    train_tiny(tmp_path / "mine")
    before = contents(tmp_path)
    for extra in ([], ["--steps", "9"], ["--seed", "1"]):
        sentence = refused(capsys, "train", "adder-tiny", *TINY, "--out", "mine", *extra)
        assert sentence == "'mine' holds a run already: resume it, or give another folder."
    assert contents(tmp_path) == before


def test_resuming_a_finished_run_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    train_tiny(tmp_path / "mine", steps=2)
    before = contents(tmp_path)
    assert run(capsys, "train", "adder-tiny", "--out", "mine", "--resume") == ("mine is finished: 2 steps.\n", "")
    for extra, words in (
        (["adder-tiny", "--steps", "9"], "holds a run by another recipe: its"),
        (["adder-tiny", "--model.width", "128"], "holds a run by another recipe: its"),
        (["parity-tiny"], "its name is 'adder-tiny', not 'parity-tiny'"),
    ):
        assert words in refused(capsys, "train", *extra, "--out", "mine", "--resume")
    assert contents(tmp_path) == before


def stop_at(monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    """Press Ctrl-C while a step is under way."""
    advance = TrainingProgress.advance

    def press(self: TrainingProgress, step: int, tokens_per_second: float) -> None:
        advance(self, step, tokens_per_second)
        if step == last:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(TrainingProgress, "advance", press)


def test_ctrl_c_leaves_a_run_that_goes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["train", "adder-tiny", *TINY, "--steps", "5", "--watch.log-every", "1"]
    run(capsys, *asked, "--out", "whole")
    stop_at(monkeypatch, 2)
    _, err = run(capsys, *asked, "--out", "parted", expect=130)
    assert err.splitlines()[-1] == (
        "lengthwise: stopped after step 2; lengthwise train adder-tiny --out parted --resume goes on."
    )
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert not lw.Run.at("parted").finished
    out, _ = run(capsys, "train", "adder-tiny", "--out", "parted", "--resume")  # as the sentence says
    assert "going on after step 2" in " ".join(out.split())
    for file in ("model.safetensors", "metrics.jsonl", "config.json"):
        assert Path("parted", file).read_bytes() == Path("whole", file).read_bytes()


def test_a_full_disk_leaves_what_was_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["train", "adder-tiny", *TINY, "--steps", "4"]
    with monkeypatch.context() as patch:
        stop_at(patch, 2)
        run(capsys, *asked, "--out", "begun", expect=130)
    before = contents(tmp_path)
    with monkeypatch.context() as patch:
        for module in ("runs", "checkpoint"):
            patch.setattr(f"lengthwise.{module}.write_whole", full_disk)
        for folder, extra in (("new", []), ("begun", ["--resume"])):
            _, err = run(capsys, *asked, "--out", folder, *extra, expect=2)
            assert err.startswith("lengthwise: ")
            assert "No space left on device" in err
            assert len(err.splitlines()) == 1
    assert contents(tmp_path) == before
    run(capsys, *asked, "--out", "begun", "--resume")
    run(capsys, *asked, "--out", "new")
    assert lw.Run.at("begun").finished
    assert lw.Run.at("new").finished
