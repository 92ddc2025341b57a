"""How often is a model right on problems of a size it may never have seen?

A cell is many problems of one exact size; a grid is cells over lengths and counts. How pages are marked is in
`marking.py`.

    grid = lw.evaluate(model, lengths=range(1, 31), counts=range(2, 31), samples=1000)
    grid.accuracy, grid.intervals, grid.lowest

Under torchrun several processes share the cells of a grid, and the first keeps them.
"""

import hashlib
import json
import math
import reprlib
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Int
from torch import Tensor

from lengthwise import checkpoint
from lengthwise.device import Beside, Precision, circumstances, is_half
from lengthwise.errors import InputError
from lengthwise.files import locked, sweep
from lengthwise.marking import Decoding, score, score_decoded
from lengthwise.pages import Pages
from lengthwise.randomness import derive
from lengthwise.ranks import Ranks, joined
from lengthwise.recipe import require_cell
from lengthwise.results import Grid, as_read
from lengthwise.solver import Solver, load
from lengthwise.tasks import Batch, Task
from lengthwise.tasks.operands import is_whole
from lengthwise.tasks.stress import draw, suites

MUCH_WORK = 1e16
"""From how many operations on it pays to compile a model on a GPU, which takes about half a minute."""
SAVE_SECONDS = 1.0
"""How often a grid is saved at most: cells that take milliseconds should not wait for the disk."""


Progress = Callable[[Grid, int, int], None]
"""Called after every cell, with its row and column."""


def evaluate(
    model: Solver | str | Path,
    *,
    lengths: Iterable[int],
    counts: Iterable[int] | None = None,
    samples: int = 1000,
    seed: int = 0,
    problems: str = "random",
    offsets: Literal["one", "training"] = "one",
    decoding: Decoding = "teacher-forced",
    precision: Precision = "auto",
    compile: bool | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Grid:
    """Measure a grid of cells. With `out`, cells are kept as they are done, and done cells are not done again.

    `name` is what the file calls the model; by default the name of its folder. Where there is much to do on a GPU the
    model is compiled, unless `compile` says otherwise.
    """
    name = Path(model).name if name is None and isinstance(model, (str, Path)) else name
    solver = model if isinstance(model, Solver) else load(model)
    axes = {"length": _axis("lengths", lengths)} | ({} if counts is None else {"count": _axis("counts", counts)})
    check_request(solver, axes, samples, seed, problems, offsets, decoding)
    grid = Grid.blank(
        axes,
        task=as_read(solver.task),
        problems=problems,
        offsets=offsets,
        decoding=decoding,
        samples=samples,
        seed=seed,
        dtype="bfloat16"
        if is_half(solver.device, precision)
        else str(next(solver.parameters()).dtype).removeprefix("torch."),
        model=about(solver, name),
        made=circumstances(solver.device),
    )
    with joined(solver.device) as ranks, ExitStack() as stack:
        if out is None:
            stack.enter_context(_compiled(solver, grid, compile))
            _fill(solver, grid, None, precision, progress, ranks)
            return grid
        file = Path(out)
        held = [grid]
        ranks.settle(lambda: _claim(held, file, stack))
        stack.enter_context(_compiled(solver, held[0], compile))
        try:
            _fill(solver, held[0], file, precision, progress, ranks)
        except OSError as error:
            raise InputError(f"{str(out)!r} cannot be written: {error.strerror or error}.") from error
        return held[0]


def _claim(held: list[Grid], file: Path, stack: ExitStack) -> None:
    """Keep the file for this grid, as long as the stack stands, and take the cells that are in it already."""
    _continued(held[0], file)  # refused before anything is written, a lock included
    try:
        if not stack.enter_context(locked(file.parent / f".{file.name}.lock")):
            raise InputError(f"another process is measuring into {str(file)!r}: give another file.")
        sweep(file.parent)
    except OSError as error:
        raise InputError(f"{str(file)!r} cannot be written: {error.strerror or error}.") from error
    held[0] = _continued(held[0], file)


def _compiled(model: Solver, grid: Grid, wanted: bool | None) -> AbstractContextManager[None]:
    """The model compiled, if that is wanted, or where what is missing of a grid is much work for a GPU."""
    if wanted is None:
        missing = [(length, count) for row, column, length, count in grid.cells if grid.total[row][column] is None]
        wanted = model.device.type == "cuda" and is_much_work(model, missing, grid.samples)
    return model.compiled() if wanted and grid.decoding == "teacher-forced" else nullcontext()


def is_much_work(model: Solver, cells: Sequence[tuple[int, int | None]], samples: int) -> bool:
    """Whether it pays to compile a model on a GPU to measure these cells once."""
    if not cells:
        return False
    weights = sum(weight.numel() for weight in model.transformer.blocks.parameters())
    largest = max(cells, key=lambda cell: model.task.page_cells(*cell))
    written = model.task.page_tokens(*largest) / model.task.page_cells(*largest)
    return 2 * weights * samples * written * sum(model.task.page_cells(*cell) for cell in cells) >= MUCH_WORK


def measure_cell(
    model: Solver,
    length: int,
    count: int | None,
    *,
    samples: int,
    seed: int,
    problems: str = "random",
    offsets: Literal["one", "training"] = "one",
    decoding: Decoding = "teacher-forced",
    precision: Precision = "auto",
) -> tuple[int, int, int]:
    """Right responses, right answers, and problems of one cell. It depends on nothing but what is given here."""
    cell = _Cell.ask(model, length, count, samples, seed, problems, offsets, decoding)
    return cell.read(cell.go_over(precision))


@dataclass(frozen=True)
class _Cell:
    """A cell's problems, written down for a model."""

    model: Solver
    batch: Batch
    pages: Pages | None
    """The same, ready for one pass; None where the model is to write them itself."""

    @staticmethod
    def ask(
        model: Solver,
        length: int,
        count: int | None,
        samples: int,
        seed: int,
        problems: str,
        offsets: str,
        decoding: str,
    ) -> "_Cell":
        own = derive(seed, "cell", length, -1 if count is None else count)
        try:
            asked = draw(model.task, problems, samples, length=length, count=count, seed=own, device=model.device)
            batch = model.task.write_all(asked, offsets_seed=own if offsets == "training" else None)
            return _Cell(model, batch, Pages(model, batch) if decoding == "teacher-forced" else None)
        except torch.OutOfMemoryError as error:
            raise InputError(
                f"{samples:,} pages of this size do not fit the memory of {model.device}: take fewer samples."
            ) from error

    def go_over(self, precision: Precision) -> Int[Tensor, "2"]:
        """Right responses and right answers. A GPU may still be at work on them."""
        if self.pages is not None:
            return score(self.model, self.pages, precision)
        return torch.tensor(score_decoded(self.model, self.batch, precision))

    def read(self, counts: Int[Tensor, "2"]) -> tuple[int, int, int]:
        """The counts as numbers, with how many problems there were."""
        right, answers = counts.tolist()
        return right, answers, len(self.batch)


def _fill(
    model: Solver, grid: Grid, file: Path | None, precision: Precision, progress: Progress | None, ranks: Ranks
) -> None:
    """Measure what is missing. Of processes that share the work each takes a cell at a time, and all wait for all.

    While a GPU works on a cell, the next one is written.
    """
    before = model.training
    model.eval()
    cells = list(grid.cells)
    missing = [place for place, (row, column, *_) in enumerate(cells) if grid.total[row][column] is None]
    missing = json.loads(ranks.tell(json.dumps(missing)))  # the first knows what is in the file
    rounds = [missing[start : start + ranks.size] for start in range(0, len(missing), ranks.size)]
    beside = Beside(model.device)
    saved, unsaved = -math.inf, False

    def ask(number: int) -> _Cell | None:
        if number == len(rounds) or ranks.rank >= len(rounds[number]):
            return None
        _, _, length, count = cells[rounds[number][ranks.rank]]
        how = grid.samples, grid.seed, grid.problems, grid.offsets, grid.decoding
        with beside.work():
            return _Cell.ask(model, length, count, *how)

    def keep(places: Sequence[int], found: Sequence[Sequence[int]]) -> None:
        for place, counts in zip(places, found, strict=False):
            row, column, *_ = cells[place]
            grid.correct[row][column], grid.answers[row][column], grid.total[row][column] = counts

    try:
        if progress is not None and ranks.first:
            for place in sorted(set(range(len(cells))) - set(missing)):
                progress(grid, *cells[place][:2])
        begun, cell = time.perf_counter(), ask(0)
        for number, places in enumerate(rounds):
            counts = None if cell is None else cell.go_over(precision)
            upcoming, trouble = None, None
            try:
                upcoming = ask(number + 1)
            except BaseException as error:  # whatever it is, this cell is done, and kept
                trouble = error
            found = ranks.gather((0, 0, 0) if cell is None or counts is None else cell.read(counts))
            cell = upcoming  # only now: what the device read from must not be written over before it is done
            grid.seconds, begun = round(grid.seconds + time.perf_counter() - begun, 3), time.perf_counter()
            keep(places, found)
            unsaved = file is not None and ranks.first
            if file is not None and unsaved and time.monotonic() - saved >= SAVE_SECONDS:
                grid.save(file)
                saved, unsaved = time.monotonic(), False
            if progress is not None and ranks.first:
                for place in places:
                    progress(grid, *cells[place][:2])
            if trouble is not None and isinstance(trouble.__cause__, torch.OutOfMemoryError):
                cell = ask(number + 1)  # there is more room now
            elif trouble is not None:
                raise trouble
    finally:
        model.train(before)
        if file is not None and unsaved:  # the last cells, or those before whatever stopped this
            grid.save(file)


def _continued(asked: Grid, file: Path) -> Grid:
    """The cells already done, if the file is there and answers the same question; else the grid as it is."""
    if file.is_dir():
        raise InputError(f"{str(file)!r} is a folder: give a file for the grid.")
    if not file.exists():
        return asked
    found = Grid.load(file)
    for name in ("task", "axes", "problems", "offsets", "decoding", "samples", "seed", "dtype"):
        if getattr(asked, name) != getattr(found, name):
            raise InputError(f"{str(file)!r} holds a grid with other {name}: give another file, or remove it.")
    if asked.model["fingerprint"] != found.model.get("fingerprint"):
        raise InputError(f"{str(file)!r} holds a grid of another model: give another file, or remove it.")
    return found


def _axis(name: str, values: Iterable[int]) -> list[int]:
    axis = list(values) if isinstance(values, Iterable) else []
    if not axis or not all(is_whole(value) and value >= 1 for value in axis) or len(set(axis)) < len(axis):
        raise InputError(f"{name} must be different whole numbers from 1 up, not {reprlib.repr(values)}.")
    return sorted(int(value) for value in axis)


def check_request(
    model: Solver, axes: dict[str, list[int]], samples: int, seed: int, problems: str, offsets: str, decoding: str
) -> None:
    """Refuse what cannot be measured: no samples, unknown suites, or problems beyond the ids a model has."""
    if not is_whole(samples) or samples < 1 or not is_whole(seed):
        raise InputError(f"samples must be 1 or more and seed a whole number, not {samples!r} and {seed!r}.")
    if problems not in suites(model.task):
        raise InputError(
            f"{model.task.name} has no problems {problems!r}: choose one of {', '.join(suites(model.task))}."
        )
    if offsets not in ("one", "training") or decoding not in ("teacher-forced", "greedy"):
        raise InputError("offsets must be 'one' or 'training', and decoding 'teacher-forced' or 'greedy'.")
    known = model.transformer.encoding.max_ids(model.transformer.shape)
    counts = axes.get("count", [None])
    for length, count in {(axes["length"][0], counts[0]), (axes["length"][-1], counts[-1])}:
        require_cell(model.task, known, length, count)
        if offsets == "training":
            model.task.require_size(length, count, random_offsets=True)
    if offsets == "training":
        _require_offsets(model.task, known)


def _require_offsets(task: Task, known: tuple[int | None, ...]) -> None:
    """Refuse random offsets where there is nothing to draw them up to, or where they lead beyond a model's ids."""
    limits = task.coupling_for(training=True).max_ids
    if limits == (None,) * len(limits):
        raise InputError(f"{' and '.join(task.levels)} ids without max_ids always count from 1: measure offsets 'one'.")
    for level, has, limit in zip(task.levels, known, limits, strict=True):
        if has is not None and limit is not None and limit > has:
            raise InputError(
                f"random offsets would lead to {level} ids up to {limit}, but the model's go up to {has}: "
                "measure offsets 'one'."
            )


def about(model: Solver, name: str | None) -> dict[str, Any]:
    """What a result file says of a model."""
    digest = hashlib.blake2b(digest_size=8)
    for key, weight in sorted(checkpoint.tensors_of(model.transformer).items()):
        digest.update(key.encode() + weight.reshape(-1).view(torch.uint8).numpy().tobytes())
    return {
        "name": name,
        "fingerprint": digest.hexdigest(),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "encoding": as_read(model.transformer.encoding),
        "trained_on": model.trained_on,
    }
