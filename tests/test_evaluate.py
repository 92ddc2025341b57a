"""Measuring: a cell depends on nothing but its question, and a grid can be stopped and taken up."""

import importlib
import itertools
import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

import lengthwise as lw
from calculator import SMALL, Calculator, at, calculator, half_trained, random_model
from lengthwise import marking
from lengthwise.device import pick_device
from lengthwise.evaluate import measure_cell
from lengthwise.files import locked
from lengthwise.model.transformer import Transformer
from lengthwise.positions.learned import Learned
from lengthwise.results import Grid, wilson
from lengthwise.tasks.problems import Problems
from lengthwise.tasks.stress import suites

measuring = importlib.import_module("lengthwise.evaluate")  # the package has a function of that name
results = importlib.import_module("lengthwise.results")


# What a cell depends on.


def noisy(operands: list[int], line: int, place: int, token: str) -> str:
    """Wrong on about half of the pages, as the numbers fall."""
    return at(line=2, place=0)(operands, line, place, token) if sum(operands) % 7 < 3 else token


def test_a_cell_depends_on_nothing_but_its_question() -> None:
    model = calculator(noisy)
    about: dict[str, Any] = {"samples": 40, "seed": 3}
    grid = lw.evaluate(model, lengths=[1, 2, 3], counts=[2, 3], **about)
    assert len({count for row in grid.correct for count in row}) > 1
    for row, column, length, count in grid.cells:
        alone = lw.evaluate(model, lengths=[length], counts=[count or 0], **about)
        assert (alone.correct, alone.answers) == ([[grid.correct[row][column]]], [[grid.answers[row][column]]])
        assert measure_cell(model, length, count, **about) == (grid.correct[row][column], grid.answers[row][column], 40)
    turned = lw.evaluate(model, lengths=[3, 1, 2], counts=(3, 2), **about)
    assert (turned.axes, turned.correct) == (grid.axes, grid.correct)
    other = lw.evaluate(model, lengths=[1, 2, 3], counts=[2, 3], samples=40, seed=4)
    assert other.correct != grid.correct


@pytest.mark.parametrize("offsets", ["one", "training"])
@pytest.mark.parametrize("decoding", ["teacher-forced", "greedy"])
def test_a_cell_does_not_depend_on_how_many_tokens_go_through_at_once(
    decoding: Any, offsets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = calculator(noisy)
    ids: list[torch.Tensor] = []
    forward = Calculator.forward

    def keep(self: Calculator, tokens: Any, position_ids: torch.Tensor, *rest: Any, **options: Any) -> torch.Tensor:
        ids.append(position_ids)
        return forward(self, tokens, position_ids, *rest, **options)

    monkeypatch.setattr(Calculator, "forward", keep)
    seen = {}
    for tokens, passes in ((2**14, 1), (29 * 4, 3), (40, 9), (1, 9)):
        for limit in (marking.TOKENS_AT_ONCE, marking.DECODED_AT_ONCE):
            monkeypatch.setitem(limit, "cpu", tokens)
        ids.clear()
        right = measure_cell(model, 2, 3, samples=9, seed=0, decoding=decoding, offsets=offsets)
        assert len(ids) == passes
        seen[tokens] = right, torch.cat(ids, 1).tolist()
    assert 0 < seen[1][0][0] < 9
    assert all(found == seen[1] for found in seen.values())


def test_a_memory_that_is_too_small_gets_fewer_pages_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, room = calculator(noisy), {"pages": 9}
    expected = measure_cell(model, 2, 3, samples=9, seed=0)
    forward = Calculator.forward

    def crowded(self: Calculator, tokens: Any, ids: Any, boundaries: torch.Tensor, **options: Any) -> torch.Tensor:
        if len(boundaries) - 1 > room["pages"]:
            raise torch.OutOfMemoryError("out of memory")
        return forward(self, tokens, ids, boundaries, **options)

    monkeypatch.setattr(Calculator, "forward", crowded)
    for room["pages"] in (4, 1):
        assert measure_cell(model, 2, 3, samples=9, seed=0) == expected
    room["pages"] = 0
    with pytest.raises(lw.InputError, match="a page of 29 tokens does not fit the memory of cpu"):
        measure_cell(model, 2, 3, samples=9, seed=0)


# Grids.


def test_a_grid_says_what_was_asked_of_which_model_and_how(tmp_path: Path) -> None:
    model = random_model()
    model.save_pretrained(tmp_path / "mine")
    grid = lw.evaluate(tmp_path / "mine", lengths=range(1, 3), counts=(2,), samples=4, seed=9)
    assert grid.axes == {"length": [1, 2], "count": [2]}
    assert (grid.samples, grid.seed, grid.problems, grid.offsets) == (4, 9, "random", "one")
    assert (grid.metric, grid.decoding, grid.dtype) == ("exact-match", "teacher-forced", "float32")
    assert grid.task["name"] == "addition"
    assert grid.total == [[4], [4]]
    assert grid.complete
    assert grid.model["name"] == "mine"
    assert grid.model["parameters"] == sum(weight.numel() for weight in model.parameters())
    assert grid.model["encoding"]["name"] == "none"
    assert grid.model["trained_on"] is None
    assert set(grid.made) >= {"lengthwise", "torch", "python", "device", "date"}
    assert grid.model["fingerprint"] != lw.evaluate(random_model(seed=1), lengths=[1], counts=[2], samples=1).model.get(
        "fingerprint"
    )
    grid.save(tmp_path / "grid.json")
    assert Grid.load(tmp_path / "grid.json") == grid
    half = lw.evaluate(model, lengths=[1], counts=[2], samples=1, precision="bfloat16", name="half")
    assert (half.dtype, half.model["name"]) == ("bfloat16", "half")


def test_intervals_come_with_the_counts() -> None:
    grid = lw.evaluate(calculator(noisy), lengths=[1, 2], counts=[3], samples=20)
    assert grid.intervals == [[wilson(row[0] or 0, 20)] for row in grid.correct]


def test_parity_has_no_counts(tmp_path: Path) -> None:
    model = half_trained()
    grid = lw.evaluate(model, lengths=[3, 5], samples=30, out=tmp_path / "grid.json")
    assert grid.axes == {"length": [3, 5]}
    assert grid.correct == [[measure_cell(model, length, None, samples=30, seed=0)[0]] for length in (3, 5)]
    assert Grid.load(tmp_path / "grid.json") == grid


def test_measuring_leaves_the_model_as_it_was() -> None:
    for model in (random_model().train(), random_model()):
        before = model.training
        lw.evaluate(model, lengths=[1], counts=[2], samples=1)
        assert model.training == before

        def stop(grid: Grid, row: int, column: int, model: lw.Solver = model) -> None:
            assert not model.training
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            lw.evaluate(model, lengths=[1], counts=[2], samples=1, progress=stop)
        assert model.training == before
        assert all(weight.grad is None for weight in model.parameters())


# Stress suites and offsets.


@pytest.mark.parametrize("suite", ["random", "nines", "chains", "zeros", "huge", "ragged"])
def test_stress_suites_are_measured_like_random_cells(suite: str) -> None:
    """A model that forgets what is carried into the tens: right wherever nothing is."""
    seen: set[tuple[int, ...]] = set()

    def forgetful(operands: list[int], line: int, place: int, token: str) -> str:
        seen.add(tuple(operands))
        carried = line and place == 1 and sum(number % 10 for number in operands[: line - 1]) % 10
        carries = place == 1 and line and carried + operands[line - 1] % 10 >= 10
        return str((int(token) - 1) % 10) if carries else token

    def needs_a_carry(operands: tuple[int, ...]) -> bool:
        units = [number % 10 for number in operands]
        return any(sum(units[: line - 1]) % 10 + units[line - 1] >= 10 for line in range(1, len(units) + 1))

    grid = lw.evaluate(calculator(forgetful), lengths=[3], counts=[4], samples=40, problems=suite)
    assert grid.problems == suite
    assert grid.total[0][0] == {"nines": 1, "chains": 4, "zeros": 4}.get(suite, 40)
    assert len(seen) == grid.total[0][0]
    assert grid.correct[0][0] == sum(not needs_a_carry(operands) for operands in seen)
    expected = {"nines": {(999,) * 4}, "zeros": {tuple(100 * (place == one) for place in range(4)) for one in range(4)}}
    assert seen == expected.get(suite, seen)
    if suite == "chains":
        assert grid.correct == [[0]]


def test_a_suite_that_a_task_does_not_have_is_refused(tmp_path: Path) -> None:
    model = random_model("multiplication")
    assert "huge" not in suites(model.task)
    for suite in ("huge", "chainz"):
        with pytest.raises(
            lw.InputError, match=f"multiplication has no problems '{suite}': choose one of random, nines"
        ):
            lw.evaluate(model, lengths=[2], counts=[2], samples=1, problems=suite, out=tmp_path / "grid.json")
    assert list(tmp_path.iterdir()) == []


def highest_ids(model: lw.Solver, monkeypatch: pytest.MonkeyPatch, offsets: Any) -> list[int]:
    seen: list[torch.Tensor] = []
    forward = Transformer.forward

    def keep(self: Transformer, tokens: torch.Tensor, ids: torch.Tensor, *rest: Any, **options: Any) -> torch.Tensor:
        seen.append(ids)
        return forward(self, tokens, ids, *rest, **options)

    monkeypatch.setattr(Transformer, "forward", keep)
    grid = lw.evaluate(model, lengths=[3], counts=[4], samples=200, offsets=offsets)
    monkeypatch.undo()
    assert grid.offsets == offsets
    highest: list[int] = torch.cat(seen, 1).amax(1).tolist()
    return highest


def test_training_offsets_shift_ids_up_to_the_models_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model()
    assert highest_ids(model, monkeypatch, "one") == [5, 5]
    assert highest_ids(model, monkeypatch, "training") == [40, 40]
    narrower = lw.Solver.new(lw.task("addition", max_ids=(8, 9)), Learned(sizes=(8, 9)), SMALL)
    assert highest_ids(narrower, monkeypatch, "training") == [8, 9]


def test_training_offsets_need_a_largest_id_that_the_model_knows(tmp_path: Path) -> None:
    plain = random_model(coupling=("index",))
    narrow = lw.Solver.new(lw.task("addition"), Learned(sizes=(12, 40)), SMALL)
    for model, words in (
        (plain, "index ids without max_ids always count from 1"),
        (narrow, "random offsets would lead to column ids up to 40, but the model's go up to 12"),
        (random_model(coupling=("index",), id_policy="random"), "always count from 1"),
    ):
        with pytest.raises(lw.InputError, match=words):
            lw.evaluate(model, lengths=[2], counts=[2], offsets="training", out=tmp_path / "grid.json")
        lw.evaluate(model, lengths=[2], counts=[2], samples=1)
    with pytest.raises(lw.InputError, match="column ids up to 62, but the maximum id of 'column' is 40"):
        lw.evaluate(random_model(), lengths=[60], counts=[2], offsets="training", out=tmp_path / "grid.json")
    assert list(tmp_path.iterdir()) == []


def test_a_grid_beyond_the_models_ids_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = lw.Solver.new(lw.task("addition"), Learned(sizes=(10, 10)), SMALL)
    monkeypatch.setattr(Transformer, "forward", lambda *_, **__: pytest.fail("something was measured"))
    for lengths, counts, words in (
        (range(1, 30), [2], "addition of length 29 and count 2 needs column ids up to 31, but the model's go up to 10"),
        ([2], [2, 12], "needs row ids up to 13"),
    ):
        with pytest.raises(lw.InputError, match=words):
            lw.evaluate(model, lengths=lengths, counts=counts, out=tmp_path / "grid.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lengths": []}, "lengths must be different whole numbers from 1 up"),
        ({"lengths": [0, 1]}, "lengths must be"),
        ({"lengths": [2, 2]}, "lengths must be"),
        ({"lengths": 5}, "lengths must be"),
        ({"lengths": "12"}, "lengths must be"),
        ({"lengths": [1.5]}, "lengths must be"),
        ({"counts": [True]}, "counts must be"),
        ({"counts": [1]}, "count 2 or more"),
        ({"counts": None}, "addition needs length 1 or more and count 2 or more"),
        ({"lengths": [200_000]}, "too long"),
        ({"samples": 0}, "samples must be 1 or more"),
        ({"samples": 1.5}, "samples must be 1 or more"),
        ({"seed": "a"}, "seed a whole number"),
        ({"offsets": "two"}, "offsets must be 'one' or 'training'"),
        ({"decoding": "sampled"}, "decoding 'teacher-forced' or 'greedy'"),
        ({"model": "no/such/folder"}, "no model folder"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    asked = {"model": random_model(), "lengths": [1], "counts": [2], "samples": 1, "out": tmp_path / "grid.json"}
    with pytest.raises(lw.InputError, match=words) as error:
        lw.evaluate(**{**asked, **changes})
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200
    assert list(tmp_path.iterdir()) == []


def test_parity_takes_no_counts() -> None:
    with pytest.raises(lw.InputError, match="leave count out"):
        lw.evaluate(random_model("parity"), lengths=[1], counts=[2])


# Stopping and going on.


class Counting:
    """Counts cells as they are measured, and stops after some if told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.measured: list[tuple[int, int | None]] = []
        go_over = measuring._Cell.go_over

        def counted(cell: Any, *options: Any) -> torch.Tensor:
            self.measured.append(cell.model.task.extent(cell.batch.problems))
            found: torch.Tensor = go_over(cell, *options)
            return found

        monkeypatch.setattr(measuring._Cell, "go_over", counted)

    def stop_after(self, cells: int) -> Any:
        def progress(grid: Grid, row: int, column: int) -> None:
            if len(self.measured) == cells:
                raise KeyboardInterrupt

        return progress


def test_a_stopped_grid_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, file = calculator(noisy), tmp_path / "grid.json"
    asked: dict[str, Any] = {"lengths": [1, 2, 3], "counts": [2, 3], "samples": 10}
    cells = Counting(monkeypatch)
    uninterrupted = lw.evaluate(model, **asked)
    assert cells.measured == [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3)]
    cells.measured.clear()
    with pytest.raises(KeyboardInterrupt):
        lw.evaluate(model, **asked, out=file, progress=cells.stop_after(2))
    half = Grid.load(file)
    assert half.correct == [uninterrupted.correct[0], [None, None], [None, None]]
    assert half.seconds > 0
    with pytest.raises(KeyboardInterrupt):
        lw.evaluate(model, **asked, out=file, progress=cells.stop_after(3))
    whole = lw.evaluate(model, **asked, out=file)
    assert cells.measured == [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3)]
    assert (whole.correct, whole.answers, whole.total) == (
        *(uninterrupted.correct, uninterrupted.answers, uninterrupted.total),
    )
    assert whole.seconds >= half.seconds
    assert Grid.load(file) == whole
    told: list[tuple[int, int]] = []
    before = file.read_bytes()
    again = lw.evaluate(model, **asked, out=file, progress=lambda grid, row, column: told.append((row, column)))
    assert again == whole
    assert len(cells.measured) == 6
    assert told == [(row, column) for row, column, *_ in whole.cells]
    assert file.read_bytes() == before


@pytest.mark.parametrize("options", [{"coupling": ("index",)}, {"max_ids": (40, 40)}, {}])
def test_a_grid_of_any_format_and_encoding_can_be_taken_up(options: dict[str, Any], tmp_path: Path) -> None:
    task = lw.task("addition", **options)
    model = lw.Solver.new(task, Learned(sizes=(90,) * len(task.levels)), SMALL)
    first = lw.evaluate(model, lengths=[1], counts=[2], samples=1, out=tmp_path / "grid.json")
    assert lw.evaluate(model, lengths=[1], counts=[2], samples=1, out=tmp_path / "grid.json") == first


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": random_model(seed=1)}, "of another model"),
        ({"model": random_model().to(torch.float64)}, "with other dtype"),
        ({"model": random_model(start_with_zeros=False)}, "with other task"),
        ({"samples": 3}, "with other samples"),
        ({"seed": 1}, "with other seed"),
        ({"lengths": [1, 2]}, "with other axes"),
        ({"counts": [3]}, "with other axes"),
        ({"problems": "zeros"}, "with other problems"),
        ({"offsets": "training"}, "with other offsets"),
        ({"decoding": "greedy"}, "with other decoding"),
        ({"precision": "bfloat16"}, "with other dtype"),
    ],
)
def test_the_cells_of_another_question_are_left_alone(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    file = tmp_path / "grid.json"
    asked: dict[str, Any] = {"model": random_model(), "lengths": [1], "counts": [2], "samples": 2, "out": file}
    lw.evaluate(**asked)
    before = file.read_bytes()
    with pytest.raises(lw.InputError, match=f"holds a grid {words}: give another file"):
        lw.evaluate(**{**asked, **changes})
    assert file.read_bytes() == before


def test_a_damaged_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "grid.json"
    file.write_text('{"kind": "grid", "for')
    with pytest.raises(lw.InputError, match="not JSON"):
        lw.evaluate(random_model(), lengths=[1], counts=[2], samples=1, out=file)
    with pytest.raises(lw.InputError, match="is a folder: give a file"):
        lw.evaluate(random_model(), lengths=[1], counts=[2], samples=1, out=tmp_path)
    assert file.read_text() == '{"kind": "grid", "for'
    assert list(tmp_path.iterdir()) == [file]


def test_a_disk_that_fills_up_keeps_the_cells_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "grid.json"
    lw.evaluate(random_model(), lengths=[1], counts=[2], samples=1, out=tmp_path / "other.json")
    write = results.write_whole
    written: list[Path] = []

    def fill_up(file: Path, content: bytes) -> None:
        if written:
            raise OSError(28, "No space left on device")
        written.append(file)
        write(file, content)

    monkeypatch.setattr(results, "write_whole", fill_up)
    with pytest.raises(lw.InputError, match="cannot be written: No space left on device"):
        lw.evaluate(random_model(), lengths=[1, 2], counts=[2], samples=1, out=file)
    assert Grid.load(file).total == [[1], [None]]
    monkeypatch.undo()
    assert lw.evaluate(random_model(), lengths=[1, 2], counts=[2], samples=1, out=file).complete
    with pytest.raises(lw.InputError, match="cannot be written"):
        lw.evaluate(random_model(), lengths=[1], counts=[2], samples=1, out=file / "grid.json")


def test_two_processes_do_not_measure_into_one_file(tmp_path: Path) -> None:
    file = tmp_path / "grid.json"
    asked: dict[str, Any] = {"lengths": [1, 2], "counts": [2], "samples": 1, "out": file}
    random_model().save_pretrained(tmp_path / "model")
    other = (
        "import sys, lengthwise as lw\n"
        "def wait(*_):\n"
        "    print('measuring', flush=True)\n"
        "    sys.stdin.readline()\n"
        f"asked = dict(lengths=[1, 2], counts=[2], samples=1, out={str(file)!r})\n"
        f"lw.evaluate({str(tmp_path / 'model')!r}, **asked, progress=wait)\n"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", other], env=environment, **pipes)  # type: ignore[call-overload]
    try:
        assert process.stdout.readline() == "measuring\n"
        before = file.read_bytes()
        with pytest.raises(lw.InputError, match="another process is measuring into"):
            lw.evaluate(random_model(), **asked)
        assert file.read_bytes() == before
        lw.evaluate(random_model(), **{**asked, "out": tmp_path / "another.json"})
    finally:
        process.kill()
        process.communicate()
    # A lock goes with its process, however that ended.
    assert lw.evaluate(random_model(), **asked).complete
    with locked(tmp_path / ".grid.json.lock") as alone:
        assert alone
        with pytest.raises(lw.InputError, match="another process"):
            lw.evaluate(random_model(), **asked)


def test_quick_cells_do_not_wait_for_the_disk_and_none_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid is saved now and then, at its end, and when it is stopped."""
    saves, write = [], Grid.save

    def save(grid: Grid, file: str | Path) -> None:
        saves.append(file)
        write(grid, file)

    monkeypatch.setattr(Grid, "save", save)
    asked: dict[str, Any] = {"lengths": [1], "counts": range(2, 12), "samples": 1, "out": tmp_path / "grid.json"}

    def stop(grid: Grid, row: int, column: int) -> None:
        if column == 6:
            raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "SAVE_SECONDS", 1000.0)
    with pytest.raises(KeyboardInterrupt):
        lw.evaluate(random_model(), **asked, progress=stop)
    assert len(saves) == 2, "the first cell, and all there was when it stopped"
    (totals,) = Grid.load(tmp_path / "grid.json").total
    assert sum(total is not None for total in totals) == 7
    assert lw.evaluate(random_model(), **asked).complete
    assert Grid.load(tmp_path / "grid.json").complete
    assert len(saves) == 4


def test_what_a_killed_process_left_is_swept_away(tmp_path: Path) -> None:
    (tmp_path / ".grid.json.abc.part").write_text("half")
    lw.evaluate(random_model(), lengths=[1], counts=[2], samples=1, out=tmp_path / "grid.json")
    assert sorted(file.name for file in tmp_path.iterdir()) == [".grid.json.lock", "grid.json"]
    json.loads((tmp_path / "grid.json").read_text())


def failing_at(length: int, error: BaseException, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of this length cannot be written, so many times."""
    write_all, left = lw.Task.write_all, [times]

    def write(task: lw.Task, problems: Problems, **options: Any) -> lw.Batch:
        if problems.digits.shape[2] == length and left[0]:
            left[0] -= 1
            raise error
        return write_all(task, problems, **options)

    monkeypatch.setattr(lw.Task, "write_all", write)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError(), torch.OutOfMemoryError()])
def test_a_cell_is_kept_whose_successor_cannot_be_written(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {"lengths": [1, 2, 3], "counts": [2], "samples": 5, "out": tmp_path / "grid.json"}
    failing_at(3, error, 1000, monkeypatch)
    refused = lw.InputError if isinstance(error, torch.OutOfMemoryError) else type(error)
    with pytest.raises(refused, match="5 pages .* do not fit the memory of cpu" if refused is lw.InputError else None):
        lw.evaluate(random_model(), **asked)
    assert [row[0] for row in Grid.load(tmp_path / "grid.json").total] == [5, 5, None]
    monkeypatch.undo()
    assert lw.evaluate(random_model(), **asked).complete


def test_a_cell_that_does_not_fit_beside_the_last_is_written_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"lengths": [1, 2, 3], "counts": [2], "samples": 5}
    expected = lw.evaluate(random_model(), **asked).correct
    failing_at(2, torch.OutOfMemoryError(), 1, monkeypatch)
    assert lw.evaluate(random_model(), **asked).correct == expected


def test_the_seconds_of_a_grid_are_those_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(measuring.time, "perf_counter", lambda: float(next(ticks)))
    grid = lw.evaluate(calculator(), lengths=[1, 2], counts=[2, 3, 4], samples=1)
    assert 6 <= grid.seconds <= next(ticks)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: nothing is written beside anything")
def test_cells_written_beside_each_other_on_the_gpu_are_those_of_one_by_one() -> None:
    for model in (random_model().cuda(), lw.load("adder-tiny").cuda()):
        grid = lw.evaluate(model, lengths=range(1, 13), counts=range(2, 14), samples=300, precision="float32")
        for row, column, length, count in grid.cells:
            right, answers, _ = measure_cell(model, length, count, samples=300, seed=0, precision="float32")
            assert (right, answers) == (grid.correct[row][column], grid.answers[row][column])
    assert grid.lowest == 1.0


# Compiled.


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.filterwarnings("ignore")
def test_a_compiled_model_finds_the_same_and_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []
    compile_parts = Transformer.compile

    def compile_with(model: Transformer, **options: Any) -> None:
        used.append("aot_eager")  # inductor takes half a minute to translate even the smallest model
        compile_parts(model, backend="aot_eager", **options)

    monkeypatch.setattr(Transformer, "compile", compile_with)
    model = random_model()
    names = list(model.state_dict())
    asked: dict[str, Any] = {"lengths": [1, 3], "counts": [2, 4], "samples": 5}
    plain = lw.evaluate(model, **asked)
    assert used == []
    compiled = lw.evaluate(model, **asked, compile=True)
    assert used == ["aot_eager"]
    assert (compiled.correct, compiled.answers) == (plain.correct, plain.answers)
    assert not model.transformer.is_compiled
    assert list(model.state_dict()) == names
    assert lw.evaluate(model, **asked).correct == plain.correct
    assert used == ["aot_eager"]
    lw.evaluate(model, **asked, decoding="greedy", compile=True)
    assert used == ["aot_eager"], "what is decoded goes token by token"


def test_only_much_work_on_a_gpu_is_worth_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    model = random_model()

    def compiled(solver: lw.Solver) -> AbstractContextManager[None]:
        begun.append(1)
        return nullcontext()

    monkeypatch.setattr(lw.Solver, "compiled", compiled)
    grid = Grid.blank({"length": [30], "count": [30]}, task={"name": "addition"}, seed=0, samples=1000)
    for device, work, expected in (("cpu", 1.0, 0), ("cuda", 1e30, 0), ("cuda", 1.0, 1)):
        monkeypatch.setattr(lw.Solver, "device", torch.device(device))
        monkeypatch.setattr(measuring, "MUCH_WORK", work)
        measuring._compiled(model, grid, None)
        assert len(begun) == expected, (device, work)
    grid.total[0][0] = 1000
    measuring._compiled(model, grid, None)
    assert len(begun) == 1, "nothing is missing"


# Devices.


def test_devices_are_picked_or_refused_in_a_sentence() -> None:
    assert pick_device("cpu").type == "cpu"
    assert pick_device(None) == pick_device("auto")
    for device in ("cuda:99", "meta", "toaster", ""):
        with pytest.raises(lw.InputError, match=f"the device '{device}' cannot be used here: try cpu."):
            pick_device(device)
