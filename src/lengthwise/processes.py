"""Many pieces of work, one after the other or several processes at a time: a failure stops none of the others.

Stopping stops all; each process is asked once,
politely, and has time to save what it can go on from. Who works may `tell` how it goes, and who waits may `hear` it.

>>> [(piece, words) for piece, words, well in one_by_one([1, 2], str)]
[(1, '1'), (2, '2')]
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

import torch

from lengthwise.errors import InputError

Piece = TypeVar("Piece")
Said = TypeVar("Said")
Outcome = tuple[Piece, Said | str, bool]
"""A piece, what came of it or why nothing did, and whether it went well."""
Hear = Callable[[Piece, Any], None]
"""Told how a piece of work goes, whenever it says so."""
SECONDS_TO_SAVE = 60

_listener: ContextVar[Callable[[Any], None]] = ContextVar("listener", default=lambda news: None)


def tell(news: Any) -> None:
    """Say how the piece of work at hand goes, to whoever hears; to nobody where nobody does."""
    _listener.get()(news)


@contextmanager
def heard_by(listener: Callable[[Any], None]) -> Iterator[None]:
    """Within, `tell` speaks to this listener."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def one_by_one(
    pieces: Sequence[Piece], work: Callable[[Piece], Said], hear: Hear[Piece] | None = None
) -> Iterator[Outcome[Piece, Said]]:
    """All pieces, in this process."""
    for piece in pieces:

        def listen(news: Any, piece: Piece = piece) -> None:
            if hear is not None:
                hear(piece, news)

        with heard_by(listen):
            outcome = attempt(work, piece)
        yield piece, *outcome


def side_by_side(
    pieces: Sequence[Piece],
    work: Callable[[Piece], Said],
    workers: int,
    hear: Hear[Piece] | None = None,
    gpus: Sequence[str] = (),
) -> Iterator[Outcome[Piece, Said]]:
    """A process for every piece, so many at a time, with one thread each; on these GPUs in turn, if any are named."""
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    waiting = list(pieces)
    running: dict[Any, tuple[Piece, BaseProcess, int]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                piece = waiting.pop(0)
                slot = min(set(range(workers)) - {taken for _, _, taken in running.values()})
                gpu = gpus[slot % len(gpus)] if gpus else None
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_in_process, args=(work, piece, theirs, gpu), daemon=True)
                process.start()
                theirs.close()
                running[ours] = piece, process, slot
            ready: Any
            for ready in wait(list(running)):
                piece, ended, _ = running[ready]
                try:
                    news, outcome = ready.recv()
                except EOFError:
                    news, outcome = None, ("its process ended without a word", False)
                if outcome is None:
                    if hear is not None:
                        hear(piece, news)
                    continue
                del running[ready]
                ended.join()
                yield piece, *outcome
    finally:
        with _deaf():
            for _, left, _ in running.values():
                left.terminate()
            for _, left, _ in running.values():
                left.join(SECONDS_TO_SAVE)


def attempt(work: Callable[[Piece], Said], piece: Piece) -> tuple[Said | str, bool]:
    """Work on a piece: what came of it, and whether it went well."""
    try:
        return work(piece), True
    except InputError as error:
        return str(error), False
    except Exception as error:  # whatever it is, the others go on
        return f"{type(error).__name__}: {error}", False


def _in_process(work: Callable[[Piece], object], piece: Piece, pipe: Connection, gpu: str | None) -> None:
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu  # before CUDA is first used, this is all there is
    torch.set_num_threads(1)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the parent passes Ctrl-C on, once
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # training takes it as a wish to stop, and saves

    def listen(news: Any) -> None:
        with suppress(BrokenPipeError):
            pipe.send((news, None))

    outcome: tuple[object, bool]
    try:
        with heard_by(listen):
            outcome = attempt(work, piece)
    except KeyboardInterrupt:
        outcome = "stopped", False
    with suppress(BrokenPipeError):  # nobody is listening any more
        pipe.send((None, outcome))


@contextmanager
def polite() -> Iterator[None]:
    """Take a polite kill as Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _deaf() -> Iterator[None]:
    """Signals wait: a second Ctrl-C must not break off what the first has begun to save."""
    numbers = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        for number in numbers & signal.sigpending():
            signal.sigwait([number])
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
