"""A model writes for someone who watches: events, in the order they happen.

The model works in a thread of its own and leaves what it writes in a queue of the event loop, some tokens at a time.
The thread stops at the next token when nobody watches any more, or when its time is up; only then its place in the line
is free for the next.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lengthwise.errors import InputError
from lengthwise.solver import Solver, Step
from lengthwise.tasks.page import EDGE
from lengthwise.verdict import Verdict
from lengthwise.web.asking import Question, RefusedError
from lengthwise.web.catalogue import Catalogue
from lengthwise.web.limits import Limits
from lengthwise.web.line import FullError, Line, ShareError, Ticket

FRAME_SECONDS = 1 / 30
"""Tokens are handed on at most so often."""
HEARTBEAT_SECONDS = 5.0
"""Those who wait hear from us at least so often."""
BUSY = "Too many are waiting already: try again in a minute."
CLOSING = "The page is being closed."
log = logging.getLogger("lengthwise.web")

Event = tuple[str, dict[str, Any]]
"""Its name and what it says: `line`, `page`, `tokens`, `verdict`, `error`."""


class Workshop:
    """Where models write, so many at once."""

    def __init__(self, catalogue: Catalogue, limits: Limits) -> None:
        self._catalogue, self._limits = catalogue, limits
        self.line = Line(limits.at_once, limits.waiting, limits.per_address)
        self._threads = ThreadPoolExecutor(limits.at_once, thread_name_prefix="solving")
        self._watched = set[asyncio.Queue[Event | None]]()
        self._closing = threading.Event()

    def close(self) -> None:
        """Send everyone away, at once, and stop all work at the next token."""
        self._closing.set()
        self.line.close()
        for events in self._watched:
            events.put_nowait(("error", {"error": CLOSING}))
            events.put_nowait(None)

    def wait_closed(self) -> None:
        """Wait until no thread works any more, for which one must not be on the event loop."""
        self._threads.shutdown()

    def join(self, address: str) -> Ticket:
        """A place in the line for someone at this address."""
        if self._closing.is_set():
            raise RefusedError(CLOSING, 503)
        try:
            return self.line.join(address)
        except ShareError:
            raise RefusedError(
                f"From your address {_problems(self._limits.per_address)} waiting or being worked on already, as many "
                "as are taken here: try again when one is done.",
                429,
            ) from None
        except FullError:
            raise RefusedError(BUSY, 503) from None

    async def solve(self, question: Question, ticket: Ticket) -> AsyncGenerator[Event, None]:
        """Everything that happens from joining the line to the verdict. Closing the iterator frees the place."""
        stop, started = threading.Event(), False
        loop, events = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

        def tell(event: Event | None) -> None:
            with contextlib.suppress(RuntimeError):  # the event loop has ended, and with it everyone who watched
                loop.call_soon_threadsafe(events.put_nowait, event)

        try:
            async for ahead in ticket.wait(HEARTBEAT_SECONDS):
                yield "line", {"ahead": ahead}
            if not self._closing.is_set():
                yield "page", question.to_json()
            if self._closing.is_set():
                yield "error", {"error": CLOSING}
                return
            self._watched.add(events)
            work = loop.run_in_executor(self._threads, self._write, question, tell, stop)
            work.add_done_callback(lambda done: _end(done, ticket))  # on the event loop
            started = True
            while (event := await events.get()) is not None:
                yield event
        finally:
            stop.set()
            self._watched.discard(events)
            if not started:
                ticket.leave()

    def _write(self, question: Question, tell: Any, stop: threading.Event) -> None:
        """In the thread: write, and tell."""
        try:
            self._write_out(question, tell, stop)
        except (InputError, RefusedError) as error:
            tell(("error", {"error": str(error)}))
        except Exception:
            log.exception("solving failed")
            tell(("error", {"error": "Something went wrong here; it is noted in the log of the server."}))
        finally:
            tell(None)

    def _write_out(self, question: Question, tell: Any, stop: threading.Event) -> None:
        began = time.monotonic()
        model = self._catalogue.load(question.offer.name)
        frame, shown, written = list[Step](), float("-inf"), list[str]()
        for step in model.steps(question.operands):
            now = time.monotonic()
            if stop.is_set() or self._closing.is_set():
                return
            if now - began > self._limits.seconds:
                raise RefusedError(f"This takes longer than {self._limits.seconds:g} seconds, the limit here.")
            frame.append(step)
            written.append(step.token)
            if now - shown >= FRAME_SECONDS:
                tell(_tokens(frame, len(written)))
                frame, shown = [], now
        if frame:
            tell(_tokens(frame, len(written)))
        tell(("verdict", _verdict(question, model, written, time.monotonic() - began)))


def _problems(number: int) -> str:
    return "one problem is" if number == 1 else f"{number:,} problems are"


def _end(done: "asyncio.Future[None]", ticket: Ticket) -> None:
    ticket.leave()
    if not done.cancelled():
        done.exception()  # looked at, so that nothing is reported twice


def _tokens(frame: list[Step], written: int) -> Event:
    return "tokens", {
        "from": written - len(frame),
        "tokens": [step.token for step in frame],
        "ids": [list(level) for level in zip(*(step.ids for step in frame), strict=True)],
        "probabilities": [round(step.probabilities[step.token], 4) for step in frame],
    }


def _verdict(question: Question, model: Solver, written: list[str], seconds: float) -> dict[str, Any]:
    reading = model.task.read(question.operands, written)
    verdict, mistake = Verdict.on(question.page, reading), reading.mistake
    return {
        **verdict.to_json(),
        "checked_by": verdict.checked_by,
        "sentence": verdict.sentence(question.offer.name),
        "first_mistake": None if mistake is None else mistake.index + len(question.page.prompt),
        "ended": written[-1:] == [EDGE],
        "response": written,
        "seconds": round(seconds, 3),
    }
