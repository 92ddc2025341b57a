"""The line: so many at work at once, the others wait their turn and know their place.

Everything here happens on the event loop, so nothing is locked. Whoever leaves, at work or waiting, frees the place.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator


class FullError(Exception):
    """Nobody more may wait."""


class Ticket:
    """One who waits or works."""

    def __init__(self, line: "Line") -> None:
        self._line = line
        self.called = False
        self._moved = asyncio.Event()

    async def wait(self, seconds: float) -> AsyncIterator[int]:
        """How many are ahead: now, whenever that changes, and again after so many seconds; it ends with one's turn."""
        while not self.called:
            self._moved.clear()
            yield self._line.ahead(self)
            if not self.called:
                try:
                    await asyncio.wait_for(self._moved.wait(), seconds)
                except TimeoutError:
                    continue

    def move(self) -> None:
        """Say that something has changed."""
        self._moved.set()

    def leave(self) -> None:
        """Free the place; leaving twice does nothing."""
        self._line.leave(self)


class Line:
    """Those who wait, in order, and those at work."""

    def __init__(self, at_once: int, most_waiting: int) -> None:
        self._at_once, self._most_waiting = at_once, most_waiting
        self._waiting: deque[Ticket] = deque()
        self._working: set[Ticket] = set()

    @property
    def working(self) -> int:
        """How many are at work."""
        return len(self._working)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def join(self) -> Ticket:
        """A place at the end of the line, or at work at once."""
        if self.working >= self._at_once and self.waiting >= self._most_waiting:
            raise FullError
        ticket = Ticket(self)
        self._waiting.append(ticket)
        self._call()
        return ticket

    def ahead(self, ticket: Ticket) -> int:
        """How many are to be served before."""
        return self._waiting.index(ticket) if ticket in self._waiting else 0

    def leave(self, ticket: Ticket) -> None:
        """Take one out, wherever it is."""
        if ticket in self._working:
            self._working.remove(ticket)
        elif ticket in self._waiting:
            self._waiting.remove(ticket)
        else:
            return
        self._call()
        for other in self._waiting:
            other.move()

    def close(self) -> None:
        """Let nobody wait any longer: the wait of each ends, and the place of each is taken from the line."""
        while self._waiting:
            ticket = self._waiting.popleft()
            ticket.called = True
            ticket.move()

    def _call(self) -> None:
        while self._waiting and self.working < self._at_once:
            ticket = self._waiting.popleft()
            self._working.add(ticket)
            ticket.called = True
            ticket.move()
