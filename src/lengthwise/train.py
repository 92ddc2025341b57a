"""Training: one visible loop, whose every step follows from the recipe and the step before it.

    run = lw.train(lw.presets.get("adder-tiny"), out="runs/adder")
    run.model.solve("57+48+96").answer

A run can be stopped anywhere, by Ctrl-C or by force, and goes on with `resume=True`: weights and metrics come out bit
for bit as if it had never stopped, on the same kind of machine.

Under torchrun several processes share a run: each works on its part of every batch, gradients are averaged, and the
first process alone writes. The batch is the same as for one process, and so is the run, up to rounding.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from lengthwise.data import Feed
from lengthwise.device import autocast
from lengthwise.errors import InputError
from lengthwise.learning import learn, learning_rate
from lengthwise.pages import Examples
from lengthwise.ranks import joined, restarted
from lengthwise.recipe import Recipe
from lengthwise.runs import Run
from lengthwise.session import Observer, Session, summary_writer
from lengthwise.solver import Solver

LONG_RUN = 2_000
"""From how many steps on it pays to compile a model on a GPU …"""
LARGE_STEP = 4e12
"""… if a step of the largest pages is so many operations: smaller models wait for the CPU, and longer if compiled."""


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
        summary_writer()
    run = Run(Path(out))
    with joined(device) as ranks, ExitStack() as stack:
        if recipe.training.batch_size < ranks.size:
            raise InputError(f"a batch of {recipe.training.batch_size} cannot be shared by {ranks.size} processes.")
        ranks.settle(lambda: claim(run, recipe, resume or restarted(), patience, stack))
        session = Session(
            recipe, run, ranks.device, tensorboard=tensorboard, ranks=ranks, observer=observer, on_save=on_save
        )
        with stopping() as stopped:
            if session.start():
                try:
                    _work(session, stopped)
                finally:
                    session.close()
        if stopped.is_set():
            raise KeyboardInterrupt
    return run


def claim(run: Run, recipe: Recipe, resume: bool, patience: float, stack: ExitStack) -> None:
    """Keep the folder for this run, as long as the stack stands; refuse where it holds another."""
    stack.enter_context(run.claimed(patience))
    if run.exists:
        if not resume:
            raise InputError(f"{str(run.folder)!r} holds a run already: resume it, or give another folder.")
        if different := run.recipe.differences(recipe):
            raise InputError(f"{str(run.folder)!r} holds a run by another recipe: its {different[0]}.")


def is_compiled(recipe: Recipe, model: Solver) -> bool:
    """Whether a run compiles its model: as it is told, or where that pays."""
    training, data = recipe.training, recipe.data
    if training.compile is not None:
        return training.compile
    if model.device.type != "cuda" or training.steps < LONG_RUN:
        return False
    weights = sum(weight.numel() for weight in model.transformer.blocks.parameters())
    step = 6 * weights * training.batch_size * model.task.page_tokens(data.length, data.count)
    return step >= LARGE_STEP


def _work(session: Session, stopped: threading.Event) -> None:
    """Train until the last step is done or `stopped` is set."""
    training, ranks, model = session.recipe.training, session.ranks, session.model
    feed = Feed(session.recipe, model, ranks)
    if is_compiled(session.recipe, model):
        model.transformer.compile()
    forward = _shared(session, feed)
    halt = stopped.is_set() and ranks.size == 1
    while session.step < training.steps and not halt:
        parts, targets = feed.at(session.step), feed.targets(session.step)
        for group in session.optimizer.param_groups:
            group["lr"] = learning_rate(training, session.step)
        loss, right = learn(model, session.optimizer, training, parts, forward=forward, targets=targets)
        session.sums += torch.stack([loss.double(), torch.ones_like(loss, dtype=torch.float64)])
        session.took(partial(_marks, parts, right), sum(part.tokens.shape[0] for part in parts))
        halt = session.agreed(stopped.is_set())
    session.finish()
    if halt:
        stopped.set()  # for everyone, whichever process was asked


def _marks(parts: list[Examples], right: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Which targets of a batch are right, and which pages."""
    pages = [
        torch.bincount(part.sample[~marks], minlength=len(part)) == 0 for part, marks in zip(parts, right, strict=True)
    ]
    return torch.cat(right), torch.cat(pages)


def _shared(session: Session, feed: Feed) -> torch.nn.Module:
    """The model, or what shares its gradients with the other processes."""
    transformer, ranks = session.model.transformer, session.ranks
    if ranks.size == 1:
        return transformer
    # Weights that a batch never reaches must be known beforehand: others would be waited for.
    for part in feed.at(session.step)[:1]:
        with autocast(session.model.device, session.recipe.training.precision):
            logits = transformer(part.tokens, part.position_ids, part.boundaries, wanted=part.wanted, known=part.known)
        torch.autograd.backward(logits.float().sum())
    (unused,) = ranks.any(any(weight.grad is None for weight in transformer.parameters()))
    session.optimizer.zero_grad()
    return DistributedDataParallel(
        transformer,
        device_ids=[ranks.device] if ranks.device.type == "cuda" else None,
        find_unused_parameters=unused,
        gradient_as_bucket_view=True,
    )


@contextmanager
def stopping() -> Iterator[threading.Event]:
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
