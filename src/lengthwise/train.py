"""Training: one visible loop, whose every step follows from the recipe and the step before it.

    run = lw.train(lw.presets.get("adder-tiny"), out="runs/adder")
    run.model.solve("57+48+96").answer

A run can be stopped anywhere, by Ctrl-C or by force, and goes on with `resume=True`: weights and metrics come out bit
for bit as if it had never stopped, on the same kind of machine.

Under torchrun several processes share a run: each works on its part of every batch, gradients are averaged, and the
first process alone writes. The batch is the same as for one process, and so is the run, up to rounding.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from lengthwise.data import Examples, Feed
from lengthwise.device import autocast
from lengthwise.errors import InputError
from lengthwise.evaluate import mark, measure_cell
from lengthwise.learning import learn, learning_rate, make_optimizer
from lengthwise.randomness import derive
from lengthwise.ranks import ALONE, Ranks, joined, restarted
from lengthwise.recipe import Recipe, parse_cell
from lengthwise.runs import METRICS, STATE, TIMING, Record, Run
from lengthwise.solver import Solver

LONG_RUN = 2_000
"""From how many steps on it pays to compile a model on a GPU."""
AGREE_EVERY = 16
"""After how many steps processes that share a run agree whether to save or to stop."""


@runtime_checkable
class Observer(Protocol):
    """Who is told how a run goes."""

    def begin(self, recipe: Recipe, run: Run, model: Solver, step: int) -> None:
        """The run starts, or goes on after a step."""

    def advance(self, step: int, tokens_per_second: float) -> None:
        """A step is done."""

    def note(self, record: Record) -> None:
        """Something was noted in the metrics."""

    def end(self, step: int, seconds: float) -> None:
        """The run is over or was stopped."""


def train(
    recipe: Recipe,
    out: str | Path,
    *,
    resume: bool = False,
    device: str | torch.device | None = None,
    observer: Observer | None = None,
    tensorboard: bool = False,
    patience: float = 0.0,
    on_save: Callable[[], None] = lambda: None,
) -> Run:
    """Train a model into a folder; with `resume`, go on where the run there stopped, or begin if there is none.

    `patience` is how many seconds to wait where another process has the folder; `on_save` is called after every save.
    """
    recipe.check()
    if tensorboard:
        _summary_writer()
    run = Run(Path(out))
    with joined(device) as ranks, ExitStack() as stack:
        if recipe.training.batch_size < ranks.size:
            raise InputError(f"a batch of {recipe.training.batch_size} cannot be shared by {ranks.size} processes.")
        ranks.settle(lambda: _claim(run, recipe, resume or restarted(), patience, stack))
        session = Session(recipe, run, ranks.device, tensorboard, ranks, on_save)
        with _stopping() as stopped:
            session.work(observer if ranks.first else None, stopped)
        if stopped.is_set():
            raise KeyboardInterrupt
    return run


def _claim(run: Run, recipe: Recipe, resume: bool, patience: float, stack: ExitStack) -> None:
    """Keep the folder for this run, as long as the stack stands; refuse where it holds another."""
    stack.enter_context(run.claimed(patience))
    if run.exists:
        if not resume:
            raise InputError(f"{str(run.folder)!r} holds a run already: resume it, or give another folder.")
        if different := run.recipe.differences(recipe):
            raise InputError(f"{str(run.folder)!r} holds a run by another recipe: its {different[0]}.")


class Session:
    """One process at work on a run: from wherever it stands to the end, or until it is stopped."""

    def __init__(
        self,
        recipe: Recipe,
        run: Run,
        device: torch.device,
        tensorboard: bool,
        ranks: Ranks = ALONE,
        on_save: Callable[[], None] = lambda: None,
    ) -> None:
        self.recipe, self.run, self.ranks, self._on_save = recipe, run, ranks, on_save
        self.model = Solver.new(recipe.task, recipe.encoding, recipe.model, seed=recipe.seed).to(device)
        self.model.train()
        self.optimizer = make_optimizer(self.model.transformer, recipe.training)
        self.sums = torch.zeros(2, dtype=torch.float64, device=device)  # of losses and of steps, since the last note
        self.metrics: list[Record] = []
        self.timing: list[Record] = []
        self.step = 0
        ranks.settle(self._restore)
        self._spread()
        folder = str(run.folder / "tensorboard")
        board = tensorboard and ranks.first
        self._board = _summary_writer()(folder, purge_step=self.step + 1) if board else None

    def work(self, observer: Observer | None, stopped: threading.Event) -> None:
        """Train until the last step is done or `stopped` is set."""
        first_time, finished = self.ranks.any(
            self.ranks.first and not self.run.exists,
            self.ranks.first and self.run.exists and self.run.step >= self.recipe.training.steps,
        )
        if finished:
            if self.ranks.first:
                self.run.drop_state()
            return
        if first_time:
            self._save()
        if observer is not None:
            observer.begin(self.recipe, self.run, self.model, self.step)
        first, begun = self.step, time.monotonic()
        try:
            self._work(observer, stopped)
        finally:
            if self._board is not None:
                self._board.close()
            if observer is not None:
                observer.end(self.step, time.monotonic() - begun if self.step > first else 0.0)

    def _work(self, observer: Observer | None, stopped: threading.Event) -> None:
        training, watch = self.recipe.training, self.recipe.watch
        feed = Feed(self.recipe, self.model, self.ranks)
        long = self.model.device.type == "cuda" and training.steps >= LONG_RUN
        if long if training.compile is None else training.compile:
            self.model.transformer.compile(dynamic=True)
        forward = self._shared(feed)
        tokens = 0
        begun = saved = noted = time.monotonic()
        halt = stopped.is_set() and self.ranks.size == 1
        while self.step < training.steps and not halt:
            parts = feed.at(self.step)
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate(training, self.step)
            loss, right = learn(
                self.model, self.optimizer, training, parts, forward=forward, targets=feed.targets(self.step)
            )
            self.sums += torch.stack([loss.double(), torch.ones_like(loss, dtype=torch.float64)])
            self.step += 1
            tokens += sum(part.tokens.shape[0] for part in parts)
            last = self.step == training.steps
            if self.step % watch.log_every == 0 or last:
                self._note(self._training_record(parts, right), observer)
                speed = {"step": self.step, "seconds": round(time.monotonic() - noted, 3)}
                a_second = round(self.ranks.size * tokens / (time.monotonic() - begun))
                self.timing.append({**speed, "tokens_per_second": a_second})
                noted = time.monotonic()
            if watch.validate_every and (self.step % watch.validate_every == 0 or last) and self.ranks.first:
                self._note(self._validation_record(), observer)
            if not last and self._agreed(time.monotonic() - saved > watch.save_seconds and self.ranks.first):
                self._save()
                saved = time.monotonic()
            if observer is not None:
                observer.advance(self.step, self.ranks.size * tokens / (time.monotonic() - begun))
            halt = self._agreed(stopped.is_set())
        self._save()
        if halt:
            stopped.set()  # for everyone, whichever process was asked
        if self.step == training.steps and self.ranks.first:
            self.run.drop_state()

    def _agreed(self, wanted: bool) -> bool:
        """Whether anyone wants to save or to stop. Processes that share a run ask each other every few steps only."""
        if self.ranks.size > 1 and self.step % AGREE_EVERY:
            return False
        return self.ranks.any(wanted)[0]

    def _shared(self, feed: Feed) -> torch.nn.Module:
        """The model, or what shares its gradients with the other processes."""
        transformer, ranks = self.model.transformer, self.ranks
        if ranks.size == 1:
            return transformer
        # Weights that a batch never reaches must be known beforehand: others would be waited for.
        for part in feed.at(self.step)[:1]:
            with autocast(self.model.device, self.recipe.training.precision):
                logits = transformer(
                    part.tokens, part.position_ids, part.boundaries, wanted=part.wanted, known=part.known
                )
            torch.autograd.backward(logits.float().sum())
        (unused,) = ranks.any(any(weight.grad is None for weight in transformer.parameters()))
        self.optimizer.zero_grad()
        return DistributedDataParallel(
            transformer,
            device_ids=[ranks.device] if ranks.device.type == "cuda" else None,
            find_unused_parameters=unused,
            gradient_as_bucket_view=True,
        )

    def _training_record(self, parts: list[Examples], right: list[Tensor]) -> Record:
        """The mean loss since the last note, and how right this step's batch was."""
        self._pool()
        mean = float(self.sums[0] / self.sums[1]) if self.ranks.first else 0.0
        self.sums.zero_()
        pages = [
            torch.bincount(part.sample[~marks], minlength=len(part)) == 0
            for part, marks in zip(parts, right, strict=True)
        ]
        marked, whole = torch.cat(right), torch.cat(pages)
        counts = [*torch.stack([marked.sum(), whole.sum()]).tolist(), len(marked), len(whole)]
        right_tokens, right_pages, tokens, asked = self.ranks.sum(torch.tensor(counts)).tolist()
        return {
            "step": self.step,
            "loss": mean,
            "token_accuracy": right_tokens / tokens,
            "exact_match": right_pages / asked,
            "learning_rate": learning_rate(self.recipe.training, self.step - 1),
        }

    @torch.no_grad()
    def _validation_record(self) -> Record:
        """Fresh problems of the training sizes, and of longer ones."""
        recipe, watch, data, model = self.recipe, self.recipe.watch, self.recipe.data, self.model
        precision = recipe.training.precision
        seed = derive(recipe.seed, "validation")
        problems = model.task.sample_problems(
            watch.validation_samples, length=data.length, count=data.count, seed=seed, device=model.device
        )
        offsets_seed = seed if data.random_offsets else None
        loss = targets = pages = 0.0
        model.eval()
        for marked in mark(model, problems, offsets_seed=offsets_seed, precision=precision):
            loss += float(marked.losses.double().sum())
            targets += len(marked.losses)
            pages += int(marked.per_page().sum())
        record: Record = {
            "step": self.step,
            "validation_loss": loss / targets,
            "validation_exact_match": pages / len(problems),
        }
        if watch.cells:
            record["cells"] = {}
        for cell in watch.cells:
            length, count = parse_cell(cell)
            right, _, asked = measure_cell(
                model, length, count, samples=watch.cell_samples, seed=recipe.seed, precision=precision
            )
            record["cells"][cell] = right / asked
        model.train()
        return record

    def _note(self, record: Record, observer: Observer | None) -> None:
        if not all(math.isfinite(record[name]) for name in ("loss", "validation_loss") if name in record):
            raise InputError(f"the loss is no number after step {self.step}: lower the learning rate.")
        self.metrics.append(record)
        if self._board is not None:
            _show(self._board, record)
        if observer is not None:
            observer.note(record)

    # Stopping and going on.

    def _pool(self) -> None:
        """The sums of all processes go to the first; the others begin anew."""
        if self.ranks.size > 1:
            steps = self.sums[1].clone()
            total = self.ranks.sum(self.sums)
            self.sums.copy_(total if self.ranks.first else torch.zeros_like(total))
            self.sums[1] = steps if self.ranks.first else 0.0

    def _spread(self) -> None:
        """Everyone begins where the first does."""
        ranks = self.ranks
        if ranks.size == 1:
            return
        step = torch.tensor(self.step)
        ranks.spread(step)
        self.step = int(step)
        for weight in self.model.transformer.parameters():
            ranks.spread(weight)
            (known,) = ranks.any(bool(self.optimizer.state.get(weight)))
            if known and not ranks.first:
                moments = {name: torch.zeros_like(weight) for name in ("exp_avg", "exp_avg_sq")}
                self.optimizer.state[weight] = {"step": torch.zeros((), device=weight.device), **moments}
            for tensor in self.optimizer.state[weight].values() if known else ():
                ranks.spread(tensor)

    def _save(self) -> None:
        """Everything as of this step. Metrics come first: a state never stands without what led to it."""
        self._pool()
        if not self.ranks.first:
            return
        if not bool(torch.stack([weight.isfinite().all() for weight in self.model.parameters()]).all()):
            raise InputError(f"weights are no numbers after step {self.step}: lower the learning rate.")
        try:
            self.run.folder.mkdir(parents=True, exist_ok=True)
            self.run.save_lines(METRICS, self.metrics)
            self.run.save_lines(TIMING, self.timing)
            self.run.save_state(self._state(), self.step)
            self.run.save_model(self.recipe, self.model, self.step)
        except OSError as error:
            raise InputError(
                f"step {self.step} cannot be saved in {str(self.run.folder)!r}: {error.strerror or error}; "
                "the last state saved is whole and can be resumed."
            ) from error
        self._on_save()

    def _state(self) -> dict[str, Tensor]:
        tensors: dict[str, Tensor] = {"sums": self.sums}
        for name, weight in self.model.transformer.named_parameters():
            tensors |= {f"{key}.{name}": value for key, value in self.optimizer.state[weight].items()}
            tensors[f"weight.{name}"] = weight
        return tensors

    def _restore(self) -> None:
        if not self.run.exists:
            return
        self.timing = self.run.timing
        where, found = str(self.run.folder), self.run.load_state()
        if found is None:
            if self.run.step < self.recipe.training.steps:
                raise InputError(
                    f"{where!r} has no {STATE}, so it cannot be resumed: bring it back from a copy, "
                    "or train anew into another folder."
                )
            self.step, self.metrics = self.run.step, self.run.metrics
            return
        tensors, self.step = found
        self.metrics = [record for record in self.run.metrics if record["step"] <= self.step]
        foreign = InputError(f"the state in {where!r} does not belong to this run: it cannot be resumed.")

        def take(name: str, like: Tensor) -> Tensor:
            tensor = tensors.pop(name)
            if tensor.shape != like.shape or tensor.dtype != like.dtype:
                raise KeyError(name)
            return tensor.to(like.device)

        try:
            self.sums.copy_(take("sums", self.sums))
            for name, weight in self.model.transformer.named_parameters():
                weight.data.copy_(take(f"weight.{name}", weight))
                if f"step.{name}" in tensors:  # Adam keeps nothing of a weight that never had a gradient
                    steps = tensors.pop(f"step.{name}").to(weight.device)
                    averages = {key: take(f"{key}.{name}", weight) for key in ("exp_avg", "exp_avg_sq")}
                    self.optimizer.state[weight] = {"step": steps, **averages}
        except KeyError as error:
            raise foreign from error
        if tensors:
            raise foreign


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Turn Ctrl-C and a polite kill into a request to stop after the step; a second Ctrl-C stops at once."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def ask(number: int, frame: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _summary_writer() -> Any:
    """What writes for TensorBoard: an extra, absent in most installations."""
    try:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415
    except ImportError as error:
        raise InputError("TensorBoard is not installed: pip install 'lengthwise[track]'.") from error
    return SummaryWriter


def _show(board: Any, record: Mapping[str, Any]) -> None:
    flat = {key: value for key, value in record.items() if key not in ("step", "cells")}
    flat |= {f"cells/{cell}": value for cell, value in record.get("cells", {}).items()}
    for name, value in flat.items():
        board.add_scalar(name, value, record["step"])
