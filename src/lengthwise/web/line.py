"""The line: so many at work at once, the others wait their turn and know their place.

Turns go round by address: each that has somebody in line has one turn, then each the next. Whoever comes by another
address waits for one of every address that was there before, however many those have in line:

    in line   a1 a2 a3 a4, then b1 b2, then c1
    called    a1 b1 c1, a2 b2, a3, a4

Everything here happens on the event loop, so nothing is locked. Whoever leaves, at work or waiting, frees the place.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from itertools import zip_longest


class FullError(Exception):
    """Nobody more may wait."""


class ShareError(Exception):
    """One address has as many places as it may have."""


class Ticket:
    """One who waits or works."""

    def __init__(self, line: "Line", address: str) -> None:
        self._line = line
        self.address = address
        self.called = False
        self._moved = asyncio.Event()

    async def wait(self, seconds: float) -> AsyncIterator[int]:
        """How many are ahead: now, whenever that changes, and again after so many seconds; it ends with one's turn."""
        while not self.called:
            self._moved.clear()
            yield self._line.ahead(self)
            if not self.called:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):  # wait_for loses a cancellation that comes with the move
                        await self._moved.wait()

    def move(self) -> None:
        """Say that something has changed."""
        self._moved.set()

    def leave(self) -> None:
        """Free the place; leaving twice does nothing."""
        self._line.leave(self)


class Line:
    """Those who wait, and those at work."""

    def __init__(self, at_once: int, most_waiting: int, most_each: int) -> None:
        self._at_once, self._most_waiting, self._most_each = at_once, most_waiting, most_each
        self._rows: dict[str, list[Ticket]] = {}
        """Those who wait, by address; the address whose turn it is comes first."""
        self._working: set[Ticket] = set()

    @property
    def working(self) -> int:
        """How many are at work."""
        return len(self._working)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(map(len, self._rows.values()))

    def join(self, address: str) -> Ticket:
        """A place in the line, or at work at once."""
        own = len(self._rows.get(address, ())) + sum(ticket.address == address for ticket in self._working)
        if own >= self._most_each:
            raise ShareError
        if self.working >= self._at_once and self.waiting >= self._most_waiting:
            raise FullError
        ticket = Ticket(self, address)
        self._rows.setdefault(address, []).append(ticket)
        self._call()
        for behind in self._order()[self.ahead(ticket) + 1 :]:
            behind.move()
        return ticket

    def ahead(self, ticket: Ticket) -> int:
        """How many are to be served before, as things are."""
        order = self._order()
        return order.index(ticket) if ticket in order else 0

    def leave(self, ticket: Ticket) -> None:
        """Take one out, wherever it is."""
        row = self._rows.get(ticket.address, [])
        if ticket in self._working:
            self._working.remove(ticket)
        elif ticket in row:
            row.remove(ticket)
            if not row:
                del self._rows[ticket.address]
        else:
            return
        self._call()
        for other in self._order():
            other.move()

    def close(self) -> None:
        """Let nobody wait any longer: the wait of each ends, and the place of each is taken from the line."""
        everybody = self._order()
        self._rows.clear()
        for ticket in everybody:
            ticket.called = True
            ticket.move()

    def _call(self) -> None:
        while self._rows and self.working < self._at_once:
            address = next(iter(self._rows))
            ticket, *others = self._rows.pop(address)
            if others:
                self._rows[address] = others  # at the end
            self._working.add(ticket)
            ticket.called = True
            ticket.move()

    def _order(self) -> list[Ticket]:
        """Those who wait in the order in which they are called: the first of each address, then the second …"""
        rounds = zip_longest(*self._rows.values())
        return [ticket for turns in rounds for ticket in turns if ticket is not None]
