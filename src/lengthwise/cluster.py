"""Many pieces of work on a Ray cluster, which schedules them and begins them again where a machine has died.

The same shape as `processes.side_by_side`: outcomes as they come, news on the way. The package must be installed on all
machines of the cluster, in the same version; Ray itself comes with the extra [cluster].
"""

import importlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lengthwise.errors import InputError
from lengthwise.processes import Hear, Outcome, Said, attempt, heard_by

Piece = TypeVar("Piece")

RETRIES = 8
"""How often a piece of work is begun again whose machine has died."""
POLL_SECONDS = 0.3
SECONDS_TO_SAVE = 30.0


def on_cluster(
    pieces: Sequence[Piece],
    work: Callable[[Piece], Said],
    *,
    address: str | None = None,
    per_gpu: int = 1,
    hear: Hear[Piece] | None = None,
) -> Iterator[Outcome[Piece, Said]]:
    """All pieces, as many at a time as the cluster has room for: a core each, and a share of a GPU where there are any.

    Without an address, that of the environment (RAY_ADDRESS) or of a cluster on this machine; else one is started here.
    """
    ray = _ray()
    begun = not ray.is_initialized()
    if begun:
        _require_answer(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(
                f"the Ray cluster at {address!r} cannot be reached: {error}. If it asks for a token, "
                "copy ~/.ray/auth_token from its head to here."
            ) from error
    try:
        yield from _all(ray, pieces, work, per_gpu, hear)
    finally:
        if begun:
            ray.shutdown()


def _ray() -> Any:
    # A cluster asks for a token where its machine has one. Ray gives that token only if it is told to, and a cluster
    # that asks for none takes it, too.
    kept = os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token"
    if os.environ.get("RAY_AUTH_TOKEN") or Path(kept).is_file():
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise InputError("Ray is not installed: install lengthwise with its extra [cluster].") from error


def _require_answer(address: str | None) -> None:
    """Refuse an address where nobody answers: Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # `auto`, or the environment's: Ray knows where that is
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the Ray cluster at {address!r} cannot be reached: {reason}.") from error


class _Board:
    """Where pieces of work tell how they go; it lives beside whoever waits."""

    def __init__(self) -> None:
        self._news: list[tuple[int, Any]] = []

    def put(self, number: int, news: Any) -> None:
        self._news.append((number, news))

    def take(self) -> list[tuple[int, Any]]:
        news, self._news = self._news, []
        return news


def _do(work: Callable[[Piece], Said], piece: Piece, number: int, board: Any) -> tuple[Said | str, bool]:
    """On some machine of the cluster: one piece of work. A cancellation is a wish to stop, and it may save."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    with heard_by(lambda news: board.put.remote(number, news)):
        return attempt(work, piece)


def _all(
    ray: Any, pieces: Sequence[Piece], work: Callable[[Piece], Said], per_gpu: int, hear: Hear[Piece] | None
) -> Iterator[Outcome[Piece, Said]]:
    gpus = ray.cluster_resources().get("GPU", 0)
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=True
    )
    board = ray.remote(_Board).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here).remote()
    task = ray.remote(_do).options(num_cpus=1, num_gpus=1 / per_gpu if gpus else 0, max_retries=RETRIES)
    running = {task.remote(work, piece, number, board): number for number, piece in enumerate(pieces)}
    try:
        while running:
            ended, _ = ray.wait(list(running), num_returns=1, timeout=POLL_SECONDS)
            for number, news in _news(ray, board):
                if hear is not None:
                    hear(pieces[number], news)
            for reference in ended:
                number = running.pop(reference)
                yield pieces[number], *_outcome(ray, reference)
    finally:
        for reference in running:
            ray.cancel(reference, force=False)
        if running:
            ray.wait(list(running), num_returns=len(running), timeout=SECONDS_TO_SAVE)


def _news(ray: Any, board: Any) -> list[tuple[int, Any]]:
    try:
        found: list[tuple[int, Any]] = ray.get(board.take.remote(), timeout=5)
    except ray.exceptions.RayError:  # the board's own machine has died, and it will be back elsewhere
        return []
    return found


def _outcome(ray: Any, reference: Any) -> tuple[Any, bool]:
    try:
        words, well = ray.get(reference)
    except ray.exceptions.TaskCancelledError:
        return "stopped", False
    except ray.exceptions.RayError as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error).strip() else ''}", False
    return words, well
