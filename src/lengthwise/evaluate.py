"""How often is a model right on problems of a size it may never have seen?

A cell is many problems of one exact size; a grid is cells over lengths and counts. Whole-response exact match needs one
teacher-forced pass: up to its first mistake a decoder has written what the page says. Answers alone must be decoded,
unless one means to give the model the right scratchpad.

    grid = lw.evaluate(model, lengths=range(1, 31), counts=range(2, 31), samples=1000)
    grid.accuracy, grid.intervals, grid.lowest
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from lengthwise import checkpoint
from lengthwise.device import Precision, autocast, circumstances, is_half
from lengthwise.errors import InputError
from lengthwise.files import locked, sweep
from lengthwise.randomness import derive
from lengthwise.recipe import require_cell
from lengthwise.results import Grid
from lengthwise.settings import to_json
from lengthwise.solver import Solver, load
from lengthwise.tasks import Batch, Problems
from lengthwise.tasks.anatomy import anatomy
from lengthwise.tasks.operands import is_whole
from lengthwise.tasks.stress import SUITES, draw

Decoding = Literal["teacher-forced", "greedy"]

TOKENS_AT_ONCE = {"cpu": 2**14, "cuda": 2**19}
"""How many tokens go through a model at a time."""
PAIRS_AT_ONCE = {"cpu": 2**23, "cuda": 2**27}
"""How many pairs of tokens, where an encoding works out a number for each of them."""


@dataclass(frozen=True, kw_only=True)
class Marked:
    """Pages with a mark on every target."""

    batch: Batch
    targets: Int[Tensor, " targets"]
    """Where the targets stand."""
    sample: Int[Tensor, " targets"]
    """Which page each is on."""
    right: Bool[Tensor, " targets"]
    """Whether the model, given all before it, writes it."""
    losses: Float[Tensor, " targets"]
    """How surprised the model is by it, in nats."""

    def per_page(self, chosen: Bool[Tensor, " targets"] | None = None) -> Bool[Tensor, " samples"]:
        """On which pages all targets are right, or all chosen ones."""
        wrong = ~self.right if chosen is None else ~self.right & chosen
        return torch.bincount(self.sample[wrong], minlength=len(self.batch)) == 0


@torch.no_grad()
def mark(
    model: Solver, problems: Problems, *, offsets_seed: int | None = None, precision: Precision = "auto"
) -> Iterator[Marked]:
    """Go over problems with one teacher-forced pass, as many at a time as the memory takes."""
    for part, seed in _parts(model, problems, offsets_seed):
        batch = model.task.write_all(part, offsets_seed=seed)
        targets = batch.targets.nonzero()[:, 0]
        row = torch.repeat_interleave(torch.arange(len(batch), device=targets.device), batch.boundaries.diff())
        with autocast(model.device, precision):
            logits = model(batch, wanted=targets - 1).float()
        expected = model.numbers(batch.tokens)[targets]
        losses = functional.cross_entropy(logits, expected, reduction="none")
        right = logits.argmax(-1) == expected
        yield Marked(batch=batch, targets=targets, sample=row[targets], right=right, losses=losses)


@torch.no_grad()
def score(
    model: Solver,
    problems: Problems,
    *,
    decoding: Decoding = "teacher-forced",
    offsets_seed: int | None = None,
    precision: Precision = "auto",
) -> tuple[int, int]:
    """How many whole responses, and how many answers, a model gets right."""
    responses = answers = 0
    if decoding == "teacher-forced":
        for marked in mark(model, problems, offsets_seed=offsets_seed, precision=precision):
            answer = anatomy(model.task, marked.batch.problems).answer[marked.targets]
            responses += int(marked.per_page().sum())
            answers += int(marked.per_page(answer).sum())
        return responses, answers
    for part, seed in _parts(model, problems, offsets_seed):
        batch = model.task.write_all(part, offsets_seed=seed)
        with autocast(model.device, precision):
            written = model.responses(batch)
        for sample, response in enumerate(written):
            right = [token for token, target in zip(*_page(batch, sample), strict=True) if target]
            responses += response == right
            answers += model.task.answer(response) == model.task.answer(right)
    return responses, answers


def _page(batch: Batch, sample: int) -> tuple[list[str], list[bool]]:
    return batch.text(sample), batch.targets[batch.span(sample)].tolist()


def _parts(model: Solver, problems: Problems, offsets_seed: int | None) -> Iterator[tuple[Problems, int | None]]:
    """Problems, as many at a time as the memory takes; each part with a seed of its own for its offsets."""
    length, count = model.task.extent(problems)
    page = model.task.page_cells(length, count)
    kind = model.device.type if model.device.type in TOKENS_AT_ONCE else "cuda"
    at_once = TOKENS_AT_ONCE[kind] // page
    if model.transformer.hooks.has_bias:
        at_once = min(at_once, PAIRS_AT_ONCE[kind] // page**2)
    for start in range(0, len(problems), max(1, at_once)):
        seed = None if offsets_seed is None else derive(offsets_seed, start)
        yield problems[start : start + max(1, at_once)], seed


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
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Grid:
    """Measure a grid of cells. With `out`, every cell is kept as it is done, and done cells are not done again.

    `name` is what the file calls the model; by default the name of its folder.
    """
    name = Path(model).name if name is None and isinstance(model, (str, Path)) else name
    solver = model if isinstance(model, Solver) else load(model)
    axes = {"length": _axis("lengths", lengths)} | ({} if counts is None else {"count": _axis("counts", counts)})
    check_request(solver, axes, samples, seed, problems, offsets, decoding)
    grid = Grid.blank(
        axes,
        task=to_json(solver.task),
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
    if out is None:
        _fill(solver, grid, None, precision, progress)
        return grid
    file = Path(out)
    try:
        with locked(file.parent / f".{file.name}.lock") as alone:
            if not alone:
                raise InputError(f"another process is measuring into {str(out)!r}: give another file.")
            sweep(file.parent)
            if file.exists():
                grid = _continued(grid, Grid.load(file), str(out))
            _fill(solver, grid, file, precision, progress)
    except OSError as error:
        raise InputError(f"{str(out)!r} cannot be written: {error.strerror or error}.") from error
    return grid


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
    own = derive(seed, "cell", length, -1 if count is None else count)
    asked = draw(model.task, problems, samples, length=length, count=count, seed=own, device=model.device)
    offsets_seed = own if offsets == "training" else None
    right, answers = score(model, asked, decoding=decoding, offsets_seed=offsets_seed, precision=precision)
    return right, answers, len(asked)


def _fill(model: Solver, grid: Grid, file: Path | None, precision: Precision, progress: Progress | None) -> None:
    before = model.training
    model.eval()
    for row, column, length, count in grid.cells:
        if grid.total[row][column] is None:
            begun = time.perf_counter()
            right, answers, total = measure_cell(
                model,
                length,
                count,
                samples=grid.samples,
                seed=grid.seed,
                problems=grid.problems,
                offsets=grid.offsets,
                decoding=grid.decoding,
                precision=precision,
            )
            grid.correct[row][column], grid.answers[row][column], grid.total[row][column] = right, answers, total
            grid.seconds = round(grid.seconds + time.perf_counter() - begun, 3)
            if file is not None:
                grid.save(file)
        if progress is not None:
            progress(grid, row, column)
    model.train(before)


def _continued(asked: Grid, found: Grid, where: str) -> Grid:
    """The cells already done, if they answer the same question."""
    for name in ("task", "axes", "problems", "offsets", "decoding", "samples", "seed", "dtype"):
        if getattr(asked, name) != getattr(found, name):
            raise InputError(f"{where!r} holds a grid with other {name}: give another file, or remove it.")
    if asked.model["fingerprint"] != found.model.get("fingerprint"):
        raise InputError(f"{where!r} holds a grid of another model: give another file, or remove it.")
    return found


def _axis(name: str, values: Iterable[int]) -> list[int]:
    axis = list(values)
    if not axis or not all(is_whole(value) and value >= 1 for value in axis) or len(set(axis)) < len(axis):
        raise InputError(f"{name} must be different whole numbers from 1 up, not {axis!r}.")
    return sorted(int(value) for value in axis)


def check_request(
    model: Solver, axes: dict[str, list[int]], samples: int, seed: int, problems: str, offsets: str, decoding: str
) -> None:
    """Refuse what cannot be measured: no samples, unknown suites, or problems beyond the ids a model has."""
    if not is_whole(samples) or samples < 1 or not is_whole(seed):
        raise InputError(f"samples must be 1 or more and seed a whole number, not {samples!r} and {seed!r}.")
    if problems not in SUITES:
        raise InputError(f"there is no suite of problems {problems!r}: choose one of {', '.join(SUITES)}.")
    if offsets not in ("one", "training") or decoding not in ("teacher-forced", "greedy"):
        raise InputError("offsets must be 'one' or 'training', and decoding 'teacher-forced' or 'greedy'.")
    known = model.transformer.encoding.max_ids(model.transformer.shape)
    counts = axes.get("count", [None])
    for length, count in {(axes["length"][0], counts[0]), (axes["length"][-1], counts[-1])}:
        require_cell(model.task, known, length, count)
        if offsets == "training":
            model.task.require_size(length, count, random_offsets=True)


def about(model: Solver, name: str | None) -> dict[str, Any]:
    """What a result file says of a model."""
    digest = hashlib.blake2b(digest_size=8)
    for key, weight in sorted(checkpoint.tensors_of(model.transformer).items()):
        digest.update(key.encode() + weight.reshape(-1).view(torch.uint8).numpy().tobytes())
    return {
        "name": name,
        "fingerprint": digest.hexdigest(),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "encoding": to_json(model.transformer.encoding),
        "trained_on": model.trained_on,
    }
