"""Many pieces of work, one after the other or several processes at a time: a failure stops none of the others.

Each outcome is the piece, what is said of it, and whether it went well. Stopping stops all; each process is asked once,
politely, and has time to save what it can go on from.

>>> [(piece, words) for piece, words, well in one_by_one([1, 2], str)]
[(1, '1'), (2, '2')]
"""

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

import torch

from lengthwise.errors import InputError

Piece = TypeVar("Piece")
SECONDS_TO_SAVE = 60


def one_by_one(pieces: Sequence[Piece], work: Callable[[Piece], str]) -> Iterator[tuple[Piece, str, bool]]:
    """All pieces, in this process."""
    for piece in pieces:
        yield piece, *_attempt(work, piece)


def side_by_side(
    pieces: Sequence[Piece], work: Callable[[Piece], str], workers: int
) -> Iterator[tuple[Piece, str, bool]]:
    """A process for every piece, so many at a time, with one thread each."""
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    waiting = list(pieces)
    running: dict[Any, tuple[Piece, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                piece = waiting.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_in_process, args=(work, piece, theirs), daemon=True)
                process.start()
                theirs.close()
                running[ours] = piece, process
            ready: Any
            for ready in wait(list(running)):
                piece, ended = running.pop(ready)
                try:
                    words, well = ready.recv()
                except EOFError:
                    words, well = "its process ended without a word", False
                ended.join()
                yield piece, words, well
    finally:
        with _deaf():
            for _, left in running.values():
                left.terminate()
            for _, left in running.values():
                left.join(SECONDS_TO_SAVE)


def _attempt(work: Callable[[Piece], str], piece: Piece) -> tuple[str, bool]:
    try:
        return work(piece), True
    except InputError as error:
        return str(error), False
    except Exception as error:  # whatever it is, the others go on
        return f"{type(error).__name__}: {error}", False


def _in_process(work: Callable[[Piece], str], piece: Piece, pipe: Connection) -> None:
    torch.set_num_threads(1)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the parent passes Ctrl-C on, once
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # training takes it as a wish to stop, and saves
    try:
        outcome = _attempt(work, piece)
    except KeyboardInterrupt:
        outcome = "stopped", False
    with suppress(BrokenPipeError):  # nobody is listening any more
        pipe.send(outcome)


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
