"""The line: who is called when, how many are ahead of those who wait, and what happens when someone leaves."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.web.line import FullError, Line, Ticket

LONG = 60.0


def run(steps: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(steps, 10))


def called(*tickets: Ticket) -> list[bool]:
    return [ticket.called for ticket in tickets]


def test_the_first_work_at_once_and_the_others_wait_in_order() -> None:
    line = Line(2, 10)
    tickets = [line.join() for _ in range(5)]
    assert called(*tickets) == [True, True, False, False, False]
    assert (line.working, line.waiting) == (2, 3)
    assert [line.ahead(ticket) for ticket in tickets] == [0, 0, 0, 1, 2]


def test_whoever_is_done_makes_room_for_the_first_in_line() -> None:
    line = Line(2, 10)
    first, second, third, fourth, fifth = (line.join() for _ in range(5))
    second.leave()
    assert called(third, fourth, fifth) == [True, False, False]
    assert [line.ahead(ticket) for ticket in (fourth, fifth)] == [0, 1]
    first.leave()
    third.leave()
    assert called(fourth, fifth) == [True, True]
    assert (line.working, line.waiting) == (2, 0)


def test_whoever_leaves_the_line_is_never_called() -> None:
    line = Line(1, 10)
    first, second, third = (line.join() for _ in range(3))
    second.leave()
    assert (line.working, line.waiting) == (1, 1)
    assert line.ahead(third) == 0
    first.leave()
    assert called(second, third) == [False, True]
    assert (line.working, line.waiting) == (1, 0)


def test_leaving_twice_frees_one_place() -> None:
    line = Line(1, 10)
    first, second, third = (line.join() for _ in range(3))
    for _ in range(3):
        first.leave()
    assert called(second, third) == [True, False]
    third.leave()
    third.leave()
    assert (line.working, line.waiting) == (1, 0)


def test_a_full_line_takes_nobody_until_someone_leaves() -> None:
    line = Line(1, 1)
    working, waiting = line.join(), line.join()
    with pytest.raises(FullError):
        line.join()
    waiting.leave()
    again = line.join()
    assert not again.called
    with pytest.raises(FullError):
        line.join()
    working.leave()
    assert again.called
    assert not line.join().called


def test_a_line_in_which_nobody_may_wait() -> None:
    line = Line(2, 0)
    first, second = line.join(), line.join()
    assert called(first, second) == [True, True]
    with pytest.raises(FullError):
        line.join()
    first.leave()
    assert line.join().called


def test_those_who_wait_hear_how_many_are_ahead_until_it_is_their_turn() -> None:
    async def steps() -> None:
        line = Line(1, 10)
        tickets = [line.join() for _ in range(4)]
        heard: list[int] = []

        async def wait() -> None:
            async for ahead in tickets[3].wait(LONG):
                heard.append(ahead)

        waiting = asyncio.create_task(wait())
        for leaves, so_far in ((None, [2]), (1, [2, 1]), (0, [2, 1, 0]), (2, [2, 1, 0])):
            if leaves is not None:
                tickets[leaves].leave()
            for _ in range(5):
                await asyncio.sleep(0)
            assert heard == so_far
        await waiting
        assert heard == [2, 1, 0]

    run(steps())


def test_whoever_is_called_at_once_hears_nothing() -> None:
    async def steps() -> None:
        assert [ahead async for ahead in Line(1, 0).join().wait(LONG)] == []

    run(steps())


def test_those_who_wait_hear_something_now_and_then() -> None:
    async def steps() -> None:
        line = Line(1, 10)
        first, second = line.join(), line.join()
        heard = []
        async for ahead in second.wait(0.001):
            heard.append(ahead)
            if len(heard) == 4:
                first.leave()
        assert heard == [0, 0, 0, 0]

    run(steps())


def test_what_happens_while_one_is_busy_is_not_missed() -> None:
    """The turn comes, or the line moves, after a number was handed out and before one waits for the next."""

    async def steps() -> None:
        line = Line(1, 10)
        first, second, third = (line.join() for _ in range(3))
        heard = []
        async for ahead in third.wait(LONG):
            heard.append(ahead)
            (first if len(heard) == 1 else second).leave()
        assert heard == [1, 0]

    run(steps())


def test_those_behind_are_told_and_those_ahead_are_left_alone() -> None:
    async def steps() -> None:
        line = Line(1, 10)
        tickets = [line.join() for _ in range(4)]
        waits = [ticket.wait(LONG) for ticket in tickets]
        assert [await anext(wait) for wait in waits[1:]] == [0, 1, 2]
        coming = [asyncio.ensure_future(anext(wait)) for wait in waits[1:]]
        tickets[2].leave()
        await asyncio.sleep(0)
        assert await coming[2] == 1
        for task in coming[:2]:
            task.cancel()
        await asyncio.gather(*coming, return_exceptions=True)

    run(steps())


def test_a_line_that_closes_lets_nobody_wait() -> None:
    async def steps() -> None:
        line = Line(1, 10)
        first, second, third = (line.join() for _ in range(3))
        waits = [asyncio.ensure_future(_all(ticket)) for ticket in (second, third)]
        await asyncio.sleep(0)
        line.close()
        assert await asyncio.gather(*waits) == [[0], [1]]
        assert (line.working, line.waiting) == (1, 0)
        for ticket in (second, third):
            ticket.leave()  # they have no place any more
        assert line.working == 1
        first.leave()
        assert line.working == 0

    async def _all(ticket: Ticket) -> list[int]:
        return [ahead async for ahead in ticket.wait(LONG)]

    run(steps())


@given(at_once=st.integers(1, 4), most=st.integers(0, 5), steps=st.lists(st.integers(-1, 12), max_size=60))
def test_as_a_plain_list_of_people(at_once: int, most: int, steps: list[int]) -> None:
    """Everybody in the order of joining: the first so many work, the others wait. -1 joins, others leave by number."""
    line = Line(at_once, most)
    everybody: list[Ticket] = []
    gone: list[Ticket] = []
    for step in steps:
        if step >= 0:
            known = everybody + gone
            if step < len(known):
                known[step].leave()
                if step < len(everybody):
                    gone.append(everybody.pop(step))
        elif len(everybody) < at_once + most:
            everybody.append(line.join())
        else:
            with pytest.raises(FullError):
                line.join()
        working, waiting = everybody[:at_once], everybody[at_once:]
        assert called(*everybody) == [True] * len(working) + [False] * len(waiting)
        assert (line.working, line.waiting) == (len(working), len(waiting))
        assert [line.ahead(ticket) for ticket in waiting] == list(range(len(waiting)))
