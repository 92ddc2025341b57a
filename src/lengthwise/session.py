"""A run at work: its model and optimizer, what is noted of it, saved and taken up again. Loops are in `train.py`."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.evaluate import measure_cell
from lengthwise.learning import learning_rate, make_optimizer
from lengthwise.marking import mark
from lengthwise.pages import Pages
from lengthwise.randomness import derive
from lengthwise.ranks import ALONE, Ranks
from lengthwise.recipe import Recipe, parse_cell
from lengthwise.runs import METRICS, STATE, TIMING, Record, Run
from lengthwise.solver import Solver

AGREE_EVERY = 16
"""After how many steps processes that share a run agree whether to save or to stop."""

Marks = Callable[[], tuple[Tensor, Tensor]]
"""Which targets of the last batch were right, and which pages."""


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


class Session:
    """One process at work on a run: from wherever it stands to the end, or until it is stopped."""

    def __init__(
        self,
        recipe: Recipe,
        run: Run,
        device: torch.device,
        *,
        tensorboard: bool = False,
        ranks: Ranks = ALONE,
        observer: Observer | None = None,
        on_save: Callable[[], None] = lambda: None,
    ) -> None:
        self.recipe, self.run, self.ranks = recipe, run, ranks
        self._observer, self._on_save = observer if ranks.first else None, on_save
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
        self._board = summary_writer()(folder, purge_step=self.step + 1) if board else None

    def start(self) -> bool:
        """Whether there is anything to do. A new run is saved before its first step."""
        first_time, finished = self.ranks.any(
            self.ranks.first and not self.run.exists,
            self.ranks.first and self.run.exists and self.run.step >= self.recipe.training.steps,
        )
        if finished:
            if self.ranks.first:
                self.run.drop_state()
            return False
        if first_time:
            self._save()
        if self._observer is not None:
            self._observer.begin(self.recipe, self.run, self.model, self.step)
        self._first, self._tokens = self.step, 0
        self._begun = self._saved = self._noted = time.monotonic()
        return True

    def took(self, marks: Marks, tokens: int) -> None:
        """A step has been taken, on so many tokens: it is noted, looked at and saved where that is due."""
        training, watch = self.recipe.training, self.recipe.watch
        self.step += 1
        self._tokens += tokens
        last = self.step == training.steps
        if self.step % watch.log_every == 0 or last:
            self._note(self._training_record(marks))
            seconds = round(time.monotonic() - self._noted, 3)
            self.timing.append({"step": self.step, "seconds": seconds, "tokens_per_second": round(self._speed)})
            self._noted = time.monotonic()
        if watch.validate_every and (self.step % watch.validate_every == 0 or last) and self.ranks.first:
            self._note(self._validation_record())
        if not last and self.agreed(time.monotonic() - self._saved > watch.save_seconds and self.ranks.first):
            self._save()
            self._saved = time.monotonic()
        if self._observer is not None:
            self._observer.advance(self.step, self._speed)

    def finish(self) -> None:
        """The last step is done, or training is to stop."""
        self._save()
        if self.step == self.recipe.training.steps and self.ranks.first:
            self.run.drop_state()

    def close(self) -> None:
        """However it ended: nobody is told anything any more."""
        if self._board is not None:
            self._board.close()
        if self._observer is not None:
            self._observer.end(self.step, time.monotonic() - self._begun if self.step > self._first else 0.0)

    def agreed(self, wanted: bool) -> bool:
        """Whether anyone wants to save or to stop. Processes that share a run ask each other every few steps only."""
        if self.ranks.size > 1 and self.step % AGREE_EVERY:
            return False
        return self.ranks.any(wanted)[0]

    @property
    def _speed(self) -> float:
        return self.ranks.size * self._tokens / max(1e-9, time.monotonic() - self._begun)

    # What is noted.

    def _training_record(self, marks: Marks) -> Record:
        """The mean loss since the last note, and how right this step's batch was."""
        self._pool()
        mean = float(self.sums[0] / self.sums[1]) if self.ranks.first else 0.0
        self.sums.zero_()
        marked, whole = marks()
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
        pages = Pages(model, model.task.write_all(problems, offsets_seed=seed if data.random_offsets else None))
        loss = targets = right_pages = 0.0
        model.eval()
        for marked in mark(model, pages, precision):
            loss += float(marked.losses.double().sum())
            targets += len(marked.right)
            right_pages += int(marked.per_page().sum())
        record: Record = {
            "step": self.step,
            "validation_loss": loss / targets,
            "validation_exact_match": right_pages / len(problems),
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

    def _note(self, record: Record) -> None:
        if not all(math.isfinite(record[name]) for name in ("loss", "validation_loss") if name in record):
            raise InputError(f"the loss is no number after step {self.step}: lower the learning rate.")
        self.metrics.append(record)
        if self._board is not None:
            _show(self._board, record)
        if self._observer is not None:
            self._observer.note(record)

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


def summary_writer() -> Any:
    """What writes for TensorBoard: an extra, absent in most installations."""
    try:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415
    except ImportError as error:
        raise InputError("TensorBoard is not installed: install lengthwise with its extra [track].") from error
    return SummaryWriter


def _show(board: Any, record: Mapping[str, Any]) -> None:
    flat = {key: value for key, value in record.items() if key not in ("step", "cells")}
    flat |= {f"cells/{cell}": value for cell, value in record.get("cells", {}).items()}
    for name, value in flat.items():
        board.add_scalar(name, value, record["step"])
