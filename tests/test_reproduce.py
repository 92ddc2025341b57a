"""Doing what is missing, and nothing else: runs that were stopped, failed, shared by figures, or done side by side."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

import lengthwise as lw
from lengthwise import jobs as working
from lengthwise import processes
from lengthwise.engines import Engine
from lengthwise.experiments import Measurement, experiment, kinds
from lengthwise.jobs import Job
from lengthwise.recipe import Recipe
from lengthwise.reproduce import Report, State, claims_table, jobs, reproduce, state
from lengthwise.results import Grid
from lengthwise.runs import STATE, Record, Run
from lengthwise.solver import Solver

FIGURE = "addition-zero-padding"
PADDED, UNPADDED = "windowed-addition-seed0", "windowed-addition-unpadded-seed0"
"""Two runs of that figure that take no time, our own."""
ONE, TWO = Engine(workers=1, device="cpu"), Engine(workers=2, device="cpu")


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a power cut can tell whether a file had reached the disk itself, and reaching it is slow."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


class Onlooker:
    """Keeps what it is told of all runs, and does something after the first step of each."""

    def __init__(self, after: Callable[[], object] = lambda: None) -> None:
        self.told: list[str] = []
        self._after = after

    def begin(self, recipe: Recipe, run: Run, model: Solver, step: int) -> None:
        self.told.append(f"{run.folder.name} after {step}")

    def advance(self, step: int, tokens_per_second: float) -> None:
        self._after()

    def note(self, record: Record) -> None:
        pass

    def end(self, step: int, seconds: float) -> None:
        pass


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def do(out: Path, **options: Any) -> Report:
    """The two runs, as far as they are missing."""
    asked = {"scale": "smoke", "only": ["windowed-*"], "engine": ONE, **options}
    (report,) = reproduce([FIGURE], out=out, **asked)
    return report


def stamps(folder: Path) -> dict[str, int]:
    """When each file of the runs was written."""
    return {
        str(file.relative_to(folder)): file.stat().st_mtime_ns
        for file in sorted(folder.glob("*-seed*/**/*"))
        if file.is_file() and "lock" not in file.name
    }


def grids(folder: Path) -> dict[str, tuple[Any, ...]]:
    """What was counted, by run and file."""
    return {
        str(file.relative_to(folder)): (grid.correct, grid.answers, grid.total)
        for file in sorted(folder.glob("*-seed*/grids/grid-*.json"))
        for grid in [Grid.load(file)]
    }


def only_grid(run: Path) -> Path:
    (file,) = run.glob("grids/grid-*.json")
    return file


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two runs, done without a break."""
    folder = tmp_path_factory.mktemp("whole")
    do(folder)
    return folder


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    """A copy of them, to be changed."""
    shutil.copytree(whole, tmp_path / "out")
    return tmp_path / "out"


# Nothing done is done again.


def test_what_is_done_is_not_done_again(out: Path) -> None:
    before, said = stamps(out / "smoke"), list[str]()
    assert {name.split("/")[0] for name in before} == {PADDED, UNPADDED}
    report = do(out, say=said.append, observer=lambda: pytest.fail("nothing is to be trained"))
    assert said == ["2 runs, 2 of them done already"]
    assert stamps(out / "smoke") == before
    assert report.state == State(runs=2, wanted=4)


def test_of_a_half_measured_grid_the_other_half_is_measured(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = only_grid(out / "smoke" / PADDED)
    grid = Grid.load(file)
    for row, column in ((0, 1), (1, 1)):
        grid.correct[row][column] = grid.answers[row][column] = grid.total[row][column] = None
    grid.correct[0][0] = grid.answers[0][0] = 2  # it would not come out so: it is measured once, and then believed
    grid.save(file)
    weights = (out / "smoke" / PADDED / "model.safetensors").stat().st_mtime_ns
    evaluating, cells = sys.modules["lengthwise.evaluate"], list[tuple[int, int | None]]()
    go_over = evaluating._Cell.go_over

    def count(cell: Any, *how: Any) -> Tensor:
        cells.append(cell.model.task.extent(cell.batch.problems))
        found: Tensor = go_over(cell, *how)
        return found

    monkeypatch.setattr(evaluating._Cell, "go_over", count)
    onlooker = Onlooker()
    report = do(out, observer=lambda: onlooker)
    assert cells == [(2, 3), (3, 3)]
    assert onlooker.told == []
    assert (out / "smoke" / PADDED / "model.safetensors").stat().st_mtime_ns == weights
    assert report.state.runs == 2
    again = Grid.load(file)
    assert again.complete
    assert again.correct[0][0] == 2


def test_seeds_trained_as_one_leave_the_same_runs(tmp_path: Path) -> None:
    found = {}
    for name, together in (("teams", 2), ("single", 1)):
        said: list[str] = []
        engine = Engine(workers=1, device="cpu", together=together)
        do(tmp_path / name, seeds=(0, 1), engine=engine, say=said.append)
        assert sum("2 runs as one" in line for line in said) == (4 if together == 2 else 0)
        folders = sorted((tmp_path / name / "smoke").glob("windowed-*"))
        found[name] = {folder.name: Grid.load(only_grid(folder)).correct for folder in folders}
    assert len(found["single"]) == 4
    assert found["teams"] == found["single"]


def test_what_is_trained_but_not_measured_is_only_measured(out: Path, whole: Path) -> None:
    for run in (PADDED, UNPADDED):
        shutil.rmtree(out / "smoke" / run / "grids")
    before, onlooker = stamps(out / "smoke"), Onlooker()
    do(out, observer=lambda: onlooker)
    assert onlooker.told == []
    assert {name: stamp for name, stamp in stamps(out / "smoke").items() if "/grids/" not in name} == before
    assert grids(out / "smoke") == grids(whole / "smoke")


def test_only_the_measurement_that_is_missing_is_made(tmp_path: Path) -> None:
    """Parity is measured twice, and attention on top of a grid, by another figure."""
    only: dict[str, Any] = {"scale": "smoke", "out": tmp_path, "engine": ONE, "only": ["windowed-parity"]}
    reproduce(["parity"], **only)
    run = tmp_path / "smoke" / "windowed-parity-seed0"
    given, decoded = (
        run / "grids" / asked.file for asked in jobs([experiment("parity")], "smoke", tmp_path)[0].measurements
    )
    before = given.stat().st_mtime_ns
    decoded.unlink()
    onlooker = Onlooker()
    reproduce(["parity"], **only, observer=lambda: onlooker)
    assert onlooker.told == []
    assert given.stat().st_mtime_ns == before
    assert Grid.load(decoded).decoding == "greedy"


def test_another_figure_measures_a_run_that_is_there_and_trains_nothing(out: Path) -> None:
    before, onlooker, said = stamps(out / "smoke"), Onlooker(), list[str]()
    (report,) = reproduce(
        ["attention-patterns"],
        scale="smoke",
        out=out,
        only=["windowed-addition"],
        engine=ONE,
        say=said.append,
        observer=lambda: onlooker,
    )
    assert said[0] == "1 run, 0 of them done already, 1 begun"
    assert onlooker.told == []
    added = set(stamps(out / "smoke")) - set(before)
    assert added == {f"{PADDED}/grids/focus-2x2-n5.json", f"{PADDED}/grids/attention-2x2-n5.safetensors"}
    assert list(report.pictures) == ["attention-focus", "attention-windowed-addition"]

    before = stamps(out / "smoke")
    missing = only_grid(out / "smoke" / PADDED)
    missing.unlink()
    figures = [FIGURE, "attention-patterns"]
    reproduce(figures, scale="smoke", out=out, only=["windowed-addition"], engine=ONE, observer=lambda: onlooker)
    assert onlooker.told == []
    after = stamps(out / "smoke")
    assert {name for name in before if after[name] != before[name]} == {f"{PADDED}/grids/{missing.name}"}


def test_weights_are_not_needed_where_all_is_measured(out: Path) -> None:
    """They are large, and results are kept without them."""
    for run in (PADDED, UNPADDED):
        (out / "smoke" / run / "model.safetensors").unlink()
    before = stamps(out / "smoke")
    report = do(out, observer=lambda: pytest.fail("nothing is to be trained"))
    assert report.state.runs == 2
    assert list(report.pictures) == [FIGURE]
    assert stamps(out / "smoke") == before


def test_neither_is_anything_else_of_the_run(out: Path) -> None:
    for run in (PADDED, UNPADDED):
        for item in (out / "smoke" / run).iterdir():
            if item.name != "grids":
                shutil.rmtree(item) if item.is_dir() else item.unlink()
    before = stamps(out / "smoke")
    assert do(out, observer=lambda: pytest.fail("nothing is to be trained")).state.runs == 2
    assert stamps(out / "smoke") == before


def test_where_weights_are_missed_that_is_said_of_their_run(out: Path) -> None:
    (out / "smoke" / PADDED / "model.safetensors").unlink()
    only_grid(out / "smoke" / PADDED).unlink()
    with pytest.raises(lw.InputError, match=rf"^1 of 1 runs failed; {PADDED}: model.safetensors of .* is missing"):
        do(out)


def test_a_run_that_was_stopped_goes_on_and_ends_as_if_it_had_not(tmp_path: Path, whole: Path) -> None:
    onlooker = Onlooker(interrupt)
    with pytest.raises(KeyboardInterrupt):
        do(tmp_path, observer=lambda: onlooker)
    first = onlooker.told[0].split(" ")[0]
    assert onlooker.told == [f"{first} after 0"], "the others are not begun"
    assert Run(tmp_path / "smoke" / first).step == 1
    onlooker = Onlooker()
    do(tmp_path, observer=lambda: onlooker)
    assert onlooker.told == [f"{first} after 1", f"{UNPADDED if first == PADDED else PADDED} after 0"]
    assert grids(tmp_path / "smoke") == grids(whole / "smoke")
    for run in (PADDED, UNPADDED):
        ours, theirs = ((folder / "smoke" / run / "model.safetensors").read_bytes() for folder in (tmp_path, whole))
        assert ours == theirs


@pytest.mark.parametrize("part", ["training", "seed"])
def test_a_run_by_another_recipe_is_refused_before_anything_is_begun(part: str, tmp_path: Path) -> None:
    asked = next(job for job in jobs([experiment(FIGURE)], "smoke", tmp_path) if job.folder.name == UNPADDED)
    training = replace(asked.recipe.training, steps=1)
    other = replace(asked.recipe, training=training) if part == "training" else replace(asked.recipe, seed=7)
    lw.train(other, asked.folder, device="cpu")
    before = stamps(tmp_path / "smoke")
    different = "training.steps is 1, not 2" if part == "training" else "seed is 7, not 0"
    with pytest.raises(lw.InputError) as error:
        do(tmp_path)
    assert str(error.value) == (
        f"{str(asked.folder)!r} holds a run by another recipe: its {different}. "
        "Move it away, or give another folder with --out."
    )
    assert stamps(tmp_path / "smoke") == before
    assert not (tmp_path / "smoke" / PADDED).exists()


# What fails, and what that leaves.


def test_a_run_that_fails_does_not_stop_the_others_and_is_named(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, said = working.measure, list[str]()

    def refuse(model: Solver, asked: Measurement, folder: Path) -> str:
        if folder.name == first:
            raise lw.InputError("the ink has dried.")
        return measure(model, asked, folder)

    first, second = (job.folder.name for job in jobs([experiment(FIGURE)], "smoke", tmp_path, only=["windowed-*"]))
    with monkeypatch.context() as patch:
        patch.setattr(working, "measure", refuse)
        with pytest.raises(lw.InputError) as error:
            do(tmp_path, say=said.append)
    assert str(error.value) == f"1 of 2 runs failed; {first}: the ink has dried."
    assert said[1] == f"1/2 {first}: failed: the ink has dried."
    assert said[2].startswith(f"2/2 {second}: 2 steps in ")
    assert list(grids(tmp_path / "smoke")) == [name for name in grids(whole / "smoke") if name.startswith(f"{second}/")]
    assert (tmp_path / "smoke" / "figures" / f"{FIGURE}.png").is_file(), "what there is has been drawn"
    onlooker = Onlooker()
    assert do(tmp_path, observer=lambda: onlooker).state.runs == 2
    assert onlooker.told == [], "what failed had been trained"


def damage_state(out: Path) -> None:
    """A run that was stopped after its first step, and whose state came to harm."""
    with pytest.raises(KeyboardInterrupt):
        do(out, observer=lambda: Onlooker(interrupt), only=["windowed-addition"])
    file = out / "smoke" / PADDED / STATE
    file.write_bytes(file.read_bytes()[:-1] + b"\0\0")


def test_a_damaged_state_fails_its_own_run_only(tmp_path: Path, whole: Path) -> None:
    damage_state(tmp_path)
    with pytest.raises(lw.InputError, match=rf"^1 of 2 runs failed; {PADDED}: .*state.safetensors' is damaged"):
        do(tmp_path)
    name = f"{UNPADDED}/grids/{only_grid(whole / 'smoke' / UNPADDED).name}"
    assert grids(tmp_path / "smoke") == {name: grids(whole / "smoke")[name]}


def test_whatever_goes_wrong_in_a_run_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = working.measure

    def break_down(model: Solver, asked: Measurement, folder: Path) -> str:
        if folder.name == PADDED:
            raise RuntimeError("CUDA error: out of luck")
        return measure(model, asked, folder)

    monkeypatch.setattr(working, "measure", break_down)
    with pytest.raises(lw.InputError, match=rf"^1 of 2 runs failed; {PADDED}: RuntimeError: CUDA error: out of luck"):
        do(tmp_path)
    assert only_grid(tmp_path / "smoke" / UNPADDED).is_file()


# Side by side.


def test_several_processes_yield_what_one_does(tmp_path: Path, whole: Path) -> None:
    said: list[str] = []
    report = do(tmp_path, engine=TWO, say=said.append)
    assert report.state == State(runs=2, wanted=4)
    assert grids(tmp_path / "smoke") == grids(whole / "smoke")
    assert len(grids(tmp_path / "smoke")) == 2
    assert said[0] == "2 runs, 0 of them done already"
    assert [line.split(" ")[0] for line in said[1:]] == ["1/2", "2/2"]
    assert {line.split(" ")[1] for line in said[1:]} == {f"{PADDED}:", f"{UNPADDED}:"}
    before = signal.getsignal(signal.SIGTERM)
    do(tmp_path, engine=TWO)
    assert signal.getsignal(signal.SIGTERM) == before


IN_PROCESS = processes._in_process


def work_or_vanish(work: Callable[[Job], str], job: Job, pipe: Connection, gpu: str | None) -> None:
    """One of the processes is gone all at once, as when the kernel kills it for want of memory."""
    if job.folder.name == UNPADDED:
        os._exit(1)
    IN_PROCESS(work, job, pipe, gpu)


def test_what_fails_in_a_process_of_its_own_is_told_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damage_state(tmp_path)
    monkeypatch.setattr(processes, "_in_process", work_or_vanish)
    said: list[str] = []
    with pytest.raises(lw.InputError, match=r"^2 of 2 runs failed; windowed-addition-"):
        do(tmp_path, engine=TWO, say=said.append)
    told = dict(line.split(" ", 1)[1].split(": failed: ") for line in said[1:])
    assert set(told) == {PADDED, UNPADDED}
    assert told[UNPADDED] == "its process ended without a word"
    assert "state.safetensors' is damaged" in told[PADDED]


STOPPED = '''
"""The command, slow from its fourth step on, and telling when it has come so far; so are its processes."""
import os, signal, sys, time
from pathlib import Path

signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal, wherever the tests themselves run

import lengthwise

training, evaluating = sys.modules["lengthwise.train"], sys.modules["lengthwise.evaluate"]
learning_rate, go_over = training.learning_rate, evaluating._Cell.go_over


def tell(what):
    if what == os.environ["SLOW"]:
        Path(os.environ["TOLD"], str(os.getpid())).touch()
        time.sleep(0.05 if what == "training" else 600)


def slow_rate(settings, step):
    if step > 3:
        tell("training")
    return learning_rate(settings, step)


def slow_cell(cell, *how):
    if cell.model.task.extent(cell.batch.problems) == (3, 2):
        tell("measuring")
    return go_over(cell, *how)


training.learning_rate, evaluating._Cell.go_over = slow_rate, slow_cell
if __name__ == "__main__":
    lengthwise.cli.main()
'''


def stop(
    tmp_path: Path, number: signal.Signals, *arguments: str, processes: int, slow: str = "training", times: int = 1
) -> str:
    """Run the command, stop it as a terminal or a batch system would, and see how it takes that: its last words."""
    script, told, out = tmp_path / "stopped.py", tmp_path / "told", tmp_path / "out"
    script.write_text(STOPPED.replace("import lengthwise\n", "import lengthwise, lengthwise.cli\n"))
    told.mkdir()
    command = [sys.executable, str(script), "reproduce", "windowed", "--out", str(out), "--device", "cpu", *arguments]
    started = subprocess.Popen(
        command,
        env={**os.environ, "TOLD": str(told), "SLOW": slow, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        patience = time.monotonic() + 120
        while len(list(told.iterdir())) < processes:
            assert started.poll() is None, started.communicate()
            assert time.monotonic() < patience
            time.sleep(0.02)
        for _ in range(times):
            if number == signal.SIGINT:
                os.killpg(started.pid, number)  # Ctrl-C reaches all processes of the terminal
            else:
                started.send_signal(number)
            time.sleep(0.2 if times > 1 else 0)
        _, err = started.communicate(timeout=120)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
    assert started.returncode == 130, err
    assert "Traceback" not in err
    assert err.splitlines()[-1] == f"lengthwise: stopped; what is done is kept in {out}, and the same command goes on."
    return err


@pytest.mark.parametrize(
    ("number", "workers", "times"),
    [(signal.SIGINT, 1, 1), (signal.SIGTERM, 2, 1), (signal.SIGINT, 2, 1), (signal.SIGINT, 2, 3)],
)
def test_what_is_stopped_while_it_trains_goes_on_from_there(
    number: signal.Signals, workers: int, times: int, tmp_path: Path
) -> None:
    keys = ["windowed-parity", "windowed-addition"]
    stop(
        tmp_path, number, "--scale", "small", "--workers", str(workers), "--only", *keys, processes=workers, times=times
    )
    runs = [Run(folder) for folder in sorted((tmp_path / "out" / "small").iterdir())]
    assert len(runs) == workers
    steps = {run.folder.name: run.step for run in runs}
    assert all(run.exists and (run.folder / STATE).is_file() and not run.finished for run in runs)
    assert all(step > 3 for step in steps.values()), steps

    for name, step in steps.items():  # the same command goes on, here until its next step
        onlooker = Onlooker(interrupt)
        with pytest.raises(KeyboardInterrupt):
            reproduce(
                ["windowed"],
                scale="small",
                out=tmp_path / "out",
                only=[name.removesuffix("-seed0")],
                engine=ONE,
                observer=lambda onlooker=onlooker: onlooker,  # type: ignore[misc]
            )
        assert onlooker.told == [f"{name} after {step}"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_stopped_while_it_measures_keeps_its_cells(number: signal.Signals, tmp_path: Path) -> None:
    stop(tmp_path, number, "--scale", "smoke", "--only", "windowed-addition", processes=1, slow="measuring")
    grid = Grid.load(only_grid(tmp_path / "out" / "smoke" / PADDED))
    assert [[total is not None for total in row] for row in grid.total] == [[True, True], [False, False]]


# Which runs, and in which order.


def test_long_runs_come_before_short_ones_and_first_seeds_before_all(tmp_path: Path) -> None:
    """So that every case is there early, and no long run is left alone in the end."""
    asked = jobs([experiment("addition-architecture")], "paper", tmp_path, seeds=[1, 0])
    assert [job.recipe.seed for job in asked] == [0] * 24 + [1] * 24
    for half in (asked[:24], asked[24:]):
        assert [job.cost for job in half] == sorted((job.cost for job in half), reverse=True)
    layers = [job.recipe.model.layers for job in asked[:24]]
    assert layers[0] == 6
    assert asked[23].recipe.encoding.name == "windowed"


def test_a_run_that_several_figures_show_is_one_job_with_all_that_is_measured_of_it(tmp_path: Path) -> None:
    methods, patterns = experiment("addition-methods"), experiment("attention-patterns")
    apart = [*jobs([methods], "small", tmp_path), *jobs([patterns], "small", tmp_path)]
    together = {job.folder: job for job in jobs([methods, patterns], "small", tmp_path)}
    assert len(apart) == 17
    assert len(together) == 10
    shared = together[tmp_path / "small" / "addition-fire-seed0"]
    assert [asked.kind for asked in shared.measurements] == ["grid", "attention"]
    assert {asked.kind for asked in together[tmp_path / "small" / "addition-fire-authors-seed0"].measurements} == {
        "grid"
    }
    assert {asked.kind for asked in together[tmp_path / "small" / "addition-1l4h-seed0"].measurements} == {"attention"}
    every = jobs([kind() for kind in kinds().values()], "small", tmp_path)
    assert len(every) == len({job.folder for job in every}) == 93


def test_seeds_and_runs_can_be_chosen(tmp_path: Path) -> None:
    asked = jobs([experiment("parity")], "small", tmp_path, seeds=iter([3, 5]), only=["parity-nope*", "windowed-*"])
    assert {job.folder.name for job in asked} == {
        f"{key}-seed{seed}" for key in ("parity-nope", "parity-nope-scratchpad", "windowed-parity") for seed in (3, 5)
    }
    assert all(job.folder.name.endswith(f"-seed{job.recipe.seed}") for job in asked)


def test_a_seed_of_ones_own_is_trained_and_told_of(tmp_path: Path) -> None:
    report = do(tmp_path, seeds=[2], only=["windowed-addition"])
    assert [folder.name for folder in sorted((tmp_path / "smoke").glob("*-seed*"))] == ["windowed-addition-seed2"]
    assert Run(tmp_path / "smoke" / "windowed-addition-seed2").recipe.seed == 2
    assert list(report.pictures) == [FIGURE]
    assert report.state.runs == 0, "of those the scale asks for"


def test_a_figure_named_twice_is_done_once(out: Path) -> None:
    said: list[str] = []
    reports = reproduce([FIGURE, FIGURE], scale="smoke", out=out, only=["windowed-*"], say=said.append)
    assert [report.name for report in reports] == [FIGURE]
    assert said == ["2 runs, 2 of them done already"]


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        ([FIGURE, "pairity"], {}, "There is no figure 'pairity': did you mean 'parity'"),
        ([FIGURE], {"scale": "huge"}, "There is no scale 'huge': choose one of smoke, small, paper"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_begun(
    names: list[str], options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(lw.InputError, match=words):
        reproduce(names, out=tmp_path / "out", engine=ONE, **{"scale": "smoke", "only": ["windowed-*"], **options})
    assert list(tmp_path.iterdir()) == []


# Drawing and comparing.


def test_a_report_runs_nothing(out: Path) -> None:
    shutil.rmtree(out / "smoke" / "figures")
    shutil.rmtree(out / "smoke" / UNPADDED)
    before = stamps(out / "smoke")
    report = do(out, run=False, observer=lambda: pytest.fail("nothing is to be trained"), say=pytest.fail)
    assert stamps(out / "smoke") == before
    assert report.state == State(runs=1, wanted=4) == state(experiment(FIGURE), "smoke", out)
    assert sorted(file.name for file in (out / "smoke" / "figures").iterdir()) == [f"{FIGURE}.json", f"{FIGURE}.png"]


@pytest.mark.parametrize("scale", ["smoke", "small", "paper"])
@pytest.mark.parametrize("name", kinds())
def test_a_report_on_nothing_leaves_nothing(name: str, scale: str, tmp_path: Path) -> None:
    (report,) = reproduce([name], scale=scale, out=tmp_path / "out", run=False)
    assert report.state.runs == 0
    assert report.state.wanted > 0
    assert report.pictures == {}
    assert {claim.verdict for claim in report.claims} == {"not run"}
    assert list(tmp_path.iterdir()) == []


def test_a_grid_in_the_making_does_not_keep_a_report_from_being_made(out: Path) -> None:
    """As after Ctrl-C during the first measurement of all."""
    shutil.rmtree(out / "smoke" / UNPADDED)
    file = only_grid(out / "smoke" / PADDED)
    grid = Grid.load(file)
    grid.correct[1][1] = grid.answers[1][1] = grid.total[1][1] = None
    grid.save(file)
    report = do(out, run=False)
    assert report.state.runs == 0
    assert "–" in claims_table(out)


def test_a_figure_of_two_pictures_can_have_runs_for_one_of_them(out: Path) -> None:
    """As after --only 'windowed-*'."""
    (report,) = reproduce(["addition-architecture"], scale="smoke", out=out, run=False)
    assert report.state.runs == 1
    assert report.pictures["addition-architecture-windowed"].is_file()
