"""Run folders: read strictly, written whole, by one process at a time; whatever ends that, a run can go on."""

import errno
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from safetensors.torch import load_file

import lengthwise as lw
from lengthwise import presets
from lengthwise.cli import main
from lengthwise.model.config import ModelConfig
from lengthwise.recipe import Data, Recipe, Watch
from lengthwise.runs import METRICS, STATE, Run, read_lines
from lengthwise.solver import Solver
from test_recipe import tiny
from test_train import Onlooker, crash, interrupt, outcome, saving_often, stop_after

pytestmark = pytest.mark.usefixtures("as_users_run")


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a power cut can tell whether a file had reached the disk itself, and reaching it is slow."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def new(recipe: Recipe) -> Solver:
    return Solver.new(recipe.task, recipe.encoding, recipe.model, seed=recipe.seed)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, the lock apart."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "lock"
    }


@contextmanager
def refused(words: str) -> Iterator[None]:
    with pytest.raises(lw.InputError, match=words) as error:
        yield
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A run of six steps that was stopped after four."""
    with pytest.raises(KeyboardInterrupt):
        lw.train(tiny(), tmp_path / "run", observer=stop_after(4))
    return tmp_path / "run"


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, bytes]:
    """What the same run yields if nothing disturbs it."""
    lw.train(tiny(), tmp_path / "whole")
    return outcome(tmp_path / "whole")


# What a folder says.


@pytest.mark.parametrize("name", presets.names())
def test_every_preset_comes_back_from_its_run_folder(name: str, tmp_path: Path) -> None:
    recipe = replace(presets.get(name), model=ModelConfig(layers=1, heads=2, width=16, feedforward=16), seed=3)
    Run(tmp_path).save_model(recipe, new(recipe), 7)
    run = Run.at(tmp_path)
    assert run.recipe == recipe
    assert run.recipe.differences(recipe) == []
    assert run.step == 7
    assert not run.finished
    assert run.model.task == recipe.task


@pytest.mark.parametrize(
    "training",
    [
        {"learning_rate": 1 / 3, "betas": (0.1, 0.999), "clip": None, "optimizer": "adamw", "weight_decay": 1e-9},
        {"accumulate": 3, "precision": "bfloat16", "compile": True, "warm_up": 0, "floor": 1},
    ],
)
def test_odd_settings_come_back_too(training: dict[str, Any], tmp_path: Path) -> None:
    recipe = tiny(problems=11, **training)
    Run(tmp_path).save_model(recipe, new(recipe), 0)
    assert Run.at(tmp_path).recipe == recipe


def spoil(**parts: Any) -> Callable[[dict[str, Any]], None]:
    def change(config: dict[str, Any]) -> None:
        for name, value in parts.items():
            part = config["run"] if name in config["run"] or name not in config else config
            if isinstance(value, dict):
                part[name] = {**part[name], **value}
            else:
                part[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (spoil(color="red"), "'color' is missing or unknown"),
        (lambda config: config["run"].pop("watch"), "'watch' is missing or unknown"),
        (lambda config: config.update(run=[]), "as objects"),
        (lambda config: config.update(run={}), "is missing or unknown"),
        (lambda config: config.pop("run"), "holds a model but no training run"),
        (lambda config: config.update(extra=1), "unknown key 'extra'"),
        (spoil(training={"speed": 3}), "unknown setting 'speed'"),
        (lambda config: config["run"]["training"].pop("steps"), "lacks the setting 'steps'"),
        (spoil(training={"steps": "six"}), "steps must be a whole number"),
        (spoil(training={"betas": [0.9]}), "betas must be two numbers"),
        (spoil(data=5), "data in .* must be an object"),
        (spoil(watch=None), "watch in .* must be an object"),
        (spoil(data={"problems": 0}), "problems must be 1 or more"),
        (spoil(watch={"cells": ["20 by 20"]}), "is not a size"),
        (spoil(seed="0"), "seed must be a whole number"),
        (spoil(preset=3), "name of a recipe must be a text"),
        (spoil(model={"width": 7}), "width of 7 cannot be divided"),
        (spoil(task={"name": "division"}), "unknown task 'division'"),
    ],
)
def test_a_spoilt_description_is_refused(change: Any, words: str, stopped: Path) -> None:
    config = json.loads((stopped / "config.json").read_text())
    change(config)
    (stopped / "config.json").write_text(json.dumps(config))
    before = contents(stopped)
    with refused(words):
        Run.at(stopped)
    for resume in (False, True):
        with refused(words):
            lw.train(tiny(), stopped, resume=resume)
    assert contents(stopped) == before


def test_what_is_no_run_folder(tmp_path: Path) -> None:
    with refused("There is no run folder"):
        Run.at(tmp_path / "none")
    with refused("has no config.json"):
        Run.at(tmp_path)
    new(tiny()).save_pretrained(tmp_path / "model")
    with refused("holds a model but no training run"):
        Run.at(tmp_path / "model")


@pytest.mark.parametrize("line", ["{", "[1]", "3", '{"loss": 1.0}', '{"step": "1"}', "\xff", "[" * 100_000])
def test_damaged_metrics_are_refused(line: str, stopped: Path) -> None:
    file = stopped / METRICS
    file.write_bytes(file.read_bytes() + line.encode("latin-1") + b"\n")
    before = contents(stopped)
    with refused("metrics.jsonl' is damaged"):
        read_lines(file)
    with refused("metrics.jsonl' is damaged"):
        lw.train(tiny(), stopped, resume=True)
    assert contents(stopped) == before


# What is refused, with everything left as it was.


def test_a_run_is_not_trained_over(stopped: Path, whole: dict[str, bytes]) -> None:
    before = contents(stopped)
    with refused("holds a run already: resume it, or give another folder"):
        lw.train(tiny(), stopped)
    for other, words in (
        (tiny(steps=7), "another recipe: its training.steps is 6, not 7"),
        (tiny(seed=1), "another recipe: its seed is 0, not 1"),
        (tiny("windowed hard"), "another recipe: its encoding.name is 'learned', not 'windowed'"),
        (replace(tiny(), model=replace(tiny().model, width=32)), "another recipe: its model.width is 16, not 32"),
    ):
        with refused(words):
            lw.train(other, stopped, resume=True)
    assert contents(stopped) == before
    lw.train(tiny(), stopped, resume=True)
    assert outcome(stopped) == whole
    with refused("holds a run already"):
        lw.train(tiny(), stopped)
    assert outcome(stopped) == whole


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("a file")
    new(tiny()).save_pretrained(tmp_path / "model")
    before = contents(tmp_path)
    for folder, words in (
        ("mine", "holds other things, such as 'thesis.tex'"),
        ("file", "is a file: give a folder"),
        ("file/below", "cannot be written to: Not a directory"),
        ("model", "holds a model but no training run"),
    ):
        for resume in (False, True):
            with refused(words):
                lw.train(tiny(), tmp_path / folder, resume=resume)
    assert contents(tmp_path) == before
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        *("README.md", "config.json", "model.safetensors"),
    ]


def test_an_impossible_recipe_leaves_no_folder(tmp_path: Path) -> None:
    with refused("maximum id"):
        lw.train(replace(tiny(), data=replace(tiny().data, length=50)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_empty_folder_or_a_hidden_file_is_no_hindrance(tmp_path: Path, whole: dict[str, bytes]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".gitignore").write_text("*")
    lw.train(tiny(), tmp_path / "run")
    assert outcome(tmp_path / "run") == whole
    assert (tmp_path / "run" / ".gitignore").read_text() == "*"


def test_an_error_of_an_observer_is_not_taken_for_a_full_disk(tmp_path: Path) -> None:
    def broken() -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        lw.train(tiny(), tmp_path / "run", observer=stop_after(2, broken))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["adder-tinny"], "did you mean 'adder-tiny'"),
        ([], "The preset is missing"),
        (["adder-tiny", "--model.width", "30"], "width of 30 cannot be divided among 4 heads"),
        (["adder-tiny", "--training.steps", "0"], "steps must be 1 or more"),
        (["adder-tiny", "--steps", "many"], "--steps cannot be 'many'"),
        (["adder-tiny", "--training.learning-rate", "fast"], "--training.learning-rate"),
        (["adder-tiny", "--model.widht", "30"], "did you mean --model.width?"),
        (["adder-small", "--data.length", "50"], "maximum id of 'column' is 40"),
        (["adder-small", "--watch.cells", "60x4"], "needs column ids up to 62"),
        (["adder-small", "--encoding.sizes", "20", "20"], "but the encoding's go up to 20"),
        (["parity-tiny", "--data.count", "3"], "count"),
        (["adder-tiny", "--device", "abacus"], "the device 'abacus' cannot be used"),
    ],
)
def test_a_command_that_cannot_be_met(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["train", *arguments, "--out", str(tmp_path / "run")])
    out, err = capsys.readouterr()
    assert stop.value.code == 2
    assert words in err
    assert err.startswith("lengthwise: ")
    assert len(err.splitlines()) == 1
    assert out == ""
    assert not (tmp_path / "run").exists()


# States that are damaged, lost, or another run's.


def test_a_damaged_state_is_refused(stopped: Path, whole: dict[str, bytes]) -> None:
    file = stopped / STATE
    good = file.read_bytes()
    kept, _ = Run(stopped).load_state() or ({}, 0)
    header = 8 + int.from_bytes(good[:8], "little")
    flips = [*range(0, header, 7), *range(header, len(good), 499), len(good) - 1]
    damaged = [good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :] for place in flips]
    damaged += [good[:size] for size in (0, 1, 8, 100, header, header + 1, len(good) // 2, len(good) - 1)]
    damaged += [b"not a state", good + b"x", b"\0" * len(good)]
    assert len(good) - header > 1000
    for content in damaged:
        file.write_bytes(content)
        with refused("is damaged: bring it back from a copy, or train anew into another folder"):
            Run(stopped).load_state()
    before = contents(stopped)
    with refused("is damaged"):
        lw.train(tiny(), stopped, resume=True)
    assert contents(stopped) == before
    file.write_bytes(good)
    assert kept.keys() == (Run(stopped).load_state() or ({}, 0))[0].keys()
    lw.train(tiny(), stopped, resume=True)
    assert outcome(stopped) == whole


def test_a_header_that_says_something_else_is_damage(stopped: Path) -> None:
    """Flips that leave a file readable: another step, another kind of number."""
    file = stopped / STATE
    good = file.read_bytes()
    for old, other in ((b'"step":"4"', b'"step":"5"'), (b'"dtype":"F32"', b'"dtype":"I32"')):
        assert old in good
        file.write_bytes(good.replace(old, other, 1))
        with refused("is damaged"):
            Run(stopped).load_state()


def deeper(recipe: Recipe) -> Recipe:
    return replace(recipe, model=replace(recipe.model, layers=2))


@pytest.mark.parametrize(
    ("other", "own"),
    [
        (replace(tiny(), model=replace(tiny().model, width=32)), tiny()),
        (deeper(tiny()), tiny()),
        (tiny(), deeper(tiny())),
        (tiny("windowed hard"), tiny()),
        (tiny("learned plain"), tiny()),
        (replace(tiny(), model=replace(tiny().model, width=2)), tiny()),
    ],
)
@pytest.mark.parametrize("step", [3, 0])
def test_a_state_of_another_model_is_refused(other: Recipe, own: Recipe, step: int, tmp_path: Path) -> None:
    for name, recipe in (("other", other), ("own", own)):
        with pytest.raises((KeyboardInterrupt, ZeroDivisionError)):
            lw.train(recipe, tmp_path / name, observer=stop_after(step or 1, interrupt if step else crash))
    shutil.copy(tmp_path / "other" / STATE, tmp_path / "own" / STATE)
    before = contents(tmp_path / "own")
    with refused("does not belong to this run"):
        lw.train(own, tmp_path / "own", resume=True)
    assert contents(tmp_path / "own") == before


def test_a_lost_state_does_not_make_a_run_begin_anew(stopped: Path) -> None:
    (stopped / STATE).unlink()
    before = contents(stopped)
    with refused("has no state/state.safetensors, so it cannot be resumed"):
        lw.train(tiny(), stopped, resume=True)
    assert contents(stopped) == before


def test_a_lost_or_cut_model_of_a_run_is_refused(stopped: Path) -> None:
    file = stopped / "model.safetensors"
    content = file.read_bytes()
    for spoilt in (content[:50], b""):
        file.write_bytes(spoilt)
        with refused("model.safetensors of .* is missing or damaged"):
            lw.train(tiny(), stopped, resume=True)
        with refused("cut short"):
            lw.load(stopped)


def test_an_observer_sees_a_resumed_run_begin_where_it_stopped(stopped: Path) -> None:
    onlooker = Onlooker()
    lw.train(tiny(), stopped, resume=True, observer=onlooker)
    assert onlooker.told == ["begin 4", "step 5", "step 6", "end 6"]
    assert [record["step"] for record in onlooker.records] == [6, 6]


def test_a_run_that_was_killed_while_tidying_up_is_tidied_up(tmp_path: Path, whole: dict[str, bytes]) -> None:
    """All is written but the state is still there, and a part of a file: finished is what has none of that."""
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        lw.train(tiny(), folder, observer=stop_after(5))
    state = (folder / STATE).read_bytes()
    lw.train(tiny(), folder, resume=True)
    assert Run(folder).finished
    (folder / STATE).write_bytes(state)
    (folder / ".config.json.abc.part").write_bytes(b"half")
    assert not Run(folder).finished
    lw.train(tiny(), folder, resume=True)
    assert Run(folder).finished
    assert outcome(folder) == whole


# A full disk.


class Disk:
    """Takes some writes and is then full: of the next file, only a part is written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int | None = None) -> None:
        self.written, self._room = 0, room
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, descriptor: int) -> None:
        if self._room is not None and self.written >= self._room:
            if not os.path.isdir(f"/proc/self/fd/{descriptor}"):
                os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            raise OSError(errno.ENOSPC, "No space left on device")
        self.written += 1


def test_a_disk_that_is_full_from_the_start_harms_nothing(
    stopped: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(stopped)
    with monkeypatch.context() as patch:
        Disk(patch, room=0)
        for _ in range(2):
            with refused("No space left on device"):
                lw.train(tiny(), stopped, resume=True)
            assert contents(stopped) == before
    lw.train(tiny(), stopped, resume=True)
    assert outcome(stopped) == whole


def test_a_disk_that_fills_up_at_any_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = saving_often(tiny("windowed hard", steps=2))
    with monkeypatch.context() as patch:
        disk = Disk(patch)
        lw.train(recipe, tmp_path / "whole")
        writes = disk.written
    assert writes > 30
    for room in range(writes):
        folder = tmp_path / str(room)
        with monkeypatch.context() as patch:
            Disk(patch, room)
            with refused("No space left on device"):
                lw.train(recipe, folder)
        require_whole_files(folder)
        lw.train(recipe, folder, resume=True)
        assert outcome(folder) == outcome(tmp_path / "whole")


def require_whole_files(folder: Path, swept: bool = True) -> None:
    """Every file that is there can be read; temporary ones are allowed only to those who could not sweep."""
    run = Run(folder)
    metrics, timing = run.metrics, run.timing
    assert all(record["step"] >= 1 for record in metrics + timing)
    state = run.load_state()
    if run.exists:
        assert run.recipe.name
        assert sum(weight.numel() for weight in run.model.parameters()) > 0
        assert state is not None or run.finished
    elif (folder / "model.safetensors").exists():
        load_file(folder / "model.safetensors")
    if state is not None:
        noted = [record["step"] for record in metrics]
        assert state[1] < 2 or max(noted, default=0) >= state[1] // 2 * 2, "a state has the metrics that led to it"
    assert not swept or not list(folder.rglob(".*.part"))


# Processes. They run as many threads as the tests do, so both give the same numbers.

STEPS = 200
OPTIONS = [
    *("--model.width", "16", "--model.heads", "2", "--model.feedforward", "16"),
    *("--steps", str(STEPS), "--training.batch-size", "4", "--data.length", "3", "--data.count", "3"),
    *("--watch.log-every", "2", "--watch.validate-every", "25", "--watch.validation-samples", "8"),
    *("--watch.cells", "4x4", "--watch.cell-samples", "4", "--watch.save-seconds", "0", "--device", "cpu"),
]


def command(folder: Path, *more: str) -> list[str]:
    return ["train", "adder-tiny", "--out", str(folder), *OPTIONS, *more]


def as_the_command(save_seconds: float) -> Recipe:
    """The recipe that these options make."""
    preset = presets.get("adder-tiny")
    return replace(
        preset,
        model=replace(preset.model, width=16, heads=2, feedforward=16),
        data=Data(length=3, count=3, problems=None, random_offsets=False),
        training=replace(preset.training, steps=STEPS, batch_size=4),
        watch=Watch(
            log_every=2,
            validate_every=25,
            validation_samples=8,
            cells=("4x4",),
            cell_samples=4,
            save_seconds=save_seconds,
        ),
    )


def start(*arguments: str, limit: int | None = None) -> subprocess.Popen[str]:
    """The command as a process; with a limit, no file of it can be larger."""

    def confine() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [sys.executable, "-m", "lengthwise", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=confine,
        env={**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads()), "PYTHONUNBUFFERED": "1"},
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the command yields if nothing disturbs it."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    jaxtyping.config.update("jaxtyping_disable", True)
    lw.train(as_the_command(save_seconds=3600.0), folder, device="cpu")  # saving changes nothing, but takes time
    jaxtyping.config.update("jaxtyping_disable", False)
    return outcome(folder)


def finish(folder: Path) -> dict[str, bytes]:
    """Resume in this process."""
    main(command(folder, "--resume"))
    return outcome(folder)


def wait_for_step(folder: Path, process: subprocess.Popen[str], step: int = 1) -> None:
    while process.poll() is None:
        if any(record["step"] >= step for record in read_lines(folder / METRICS)):
            return
        time.sleep(0.005)
    pytest.fail(f"the process ended by itself: {process.communicate()}")


def test_killed_at_random_moments_a_run_ends_as_if_it_had_not(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    folder, chance, reached = tmp_path / "run", random.Random(20), 0
    for kill in range(5):
        process = start(*command(folder, "--resume"))
        if kill < 2:  # while it starts up
            moment = chance.uniform(0.05, 1.5)
        else:  # while it trains, some steps further than the last
            moment = chance.uniform(0, 0.1)
            wait_for_step(folder, process, reached + 2)
        time.sleep(moment)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "too late: it was done"
        require_whole_files(folder, swept=False)
        _, step = Run(folder).load_state() or ({}, 0)
        print(f"killed {moment:.3f} s {'after its start' if kill < 2 else 'into training'}, with the state of {step}")
        assert step > reached or kill < 2
        reached = step
    assert finish(folder) == undisturbed
    names = {"config.json", METRICS, "timing.jsonl", "model.safetensors", "README.md"}
    assert set(contents(folder)) == names, "nothing temporary is left"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_asked_to_stop_says_how_to_go_on(
    number: int, tmp_path: Path, undisturbed: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    process = start(*command(folder))
    wait_for_step(folder, process)
    for more in ([], ["--resume"]):  # two trainings into one folder: the second is refused
        with pytest.raises(SystemExit) as stop:
            main(command(folder, *more))
        assert stop.value.code == 2
        complaint = f"lengthwise: another process is training into {str(folder)!r}: give another folder.\n"
        assert capsys.readouterr().err == complaint
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == 130, out + err
    step = Run(folder).step
    assert 2 <= step < STEPS
    assert err.strip() == (
        f"lengthwise: stopped after step {step:,}; lengthwise train adder-tiny --out {folder} --resume goes on."
    )
    require_whole_files(folder)
    assert finish(folder) == undisturbed


def test_a_process_without_room_for_its_files(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    folder, limit = tmp_path / "run", 20 * 2**10
    with pytest.raises(KeyboardInterrupt):
        lw.train(as_the_command(save_seconds=0.0), folder, device="cpu", observer=stop_after(10))
    before = contents(folder)
    assert len(before[STATE]) > limit > len(before[METRICS]) + 2**12, "metrics will fit, the state will not"
    process = start(*command(folder, "--resume"), limit=limit)
    _, err = process.communicate()
    assert process.returncode == 2
    assert err.startswith("lengthwise: ")
    assert "File too large" in err
    assert len(err.splitlines()) == 1
    after = contents(folder)
    assert after.keys() == before.keys()
    assert after[STATE] == before[STATE]
    assert after["model.safetensors"] == before["model.safetensors"]
    require_whole_files(folder)
    assert finish(folder) == undisturbed


# Killed at every single file operation. Forks are real processes that need not import torch again; they are made by a
# process that computes in one thread: a fork would not take others along.


def test_killed_at_every_file_operation_a_run_ends_as_if_it_had_not(tmp_path: Path) -> None:
    here = Path(__file__).parent
    paths = [str(here), str(here / "model"), str(Path(lw.__file__).parents[1])]
    script = "import sys; from test_runs import die_everywhere; die_everywhere(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.rpartition("deaths: ")[2]) > 50, "every file is synchronised and renamed, several times"


def die_everywhere(place: str) -> None:
    """Kill a run at its first file operation, at its second, and so on, and resume it each time."""
    recipe = replace(tiny("windowed hard", steps=2), watch=Watch(log_every=1, validate_every=0, save_seconds=0.0))
    os.fsync = lambda fd: None  # a killed process, unlike a power cut, loses nothing that was written
    whole = Path(place) / "whole"
    lw.train(recipe, whole)
    deaths = 0
    while True:
        folder = Path(place) / f"killed at {deaths}"
        ended = in_a_fork(recipe, folder, deaths)
        if ended == 0:
            break
        assert ended == -signal.SIGKILL, ended
        require_whole_files(folder, swept=False)
        lw.train(recipe, folder, resume=True)
        assert outcome(folder) == outcome(whole), deaths
        assert sorted(contents(folder)) == sorted(contents(whole)), deaths
        deaths += 1
    print(f"deaths: {deaths}")


def in_a_fork(recipe: Recipe, folder: Path, last: int) -> int:
    """Train in a process of its own that does so many file operations; how it ends: 0, 1, or below 0 by a signal."""
    child = os.fork()
    if child == 0:
        try:
            die_at(last)
            lw.train(recipe, folder)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def die_at(last: int) -> None:
    """Let this process be killed at one of its file operations: at a sync with half of the content on the disk."""
    done = 0

    def deadly(name: str) -> None:
        usual = getattr(os, name)

        def act(*arguments: Any, **options: Any) -> Any:
            nonlocal done
            done += 1
            if done > last:
                if name == "fsync" and os.path.isfile(f"/proc/self/fd/{arguments[0]}"):
                    os.ftruncate(arguments[0], os.fstat(arguments[0]).st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)
            return usual(*arguments, **options)

        setattr(os, name, act)

    for name in ("fsync", "replace", "unlink", "mkdir"):
        deadly(name)
