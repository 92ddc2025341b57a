"""The line: who is called when, how many are ahead of those who wait, and what happens when someone leaves."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.web.line import FullError, Line, ShareError, Ticket

LONG = 60.0
MANY = 1_000


def run(steps: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(steps, 10))


def called(*tickets: Ticket) -> list[bool]:
    return [ticket.called for ticket in tickets]


def test_the_first_work_at_once_and_the_others_wait_in_order() -> None:
    line = Line(2, 10, MANY)
    tickets = [line.join("a") for _ in range(5)]
    assert called(*tickets) == [True, True, False, False, False]
    assert (line.working, line.waiting) == (2, 3)
    assert [line.ahead(ticket) for ticket in tickets] == [0, 0, 0, 1, 2]


def test_whoever_is_done_makes_room_for_the_first_in_line() -> None:
    line = Line(2, 10, MANY)
    first, second, third, fourth, fifth = (line.join("a") for _ in range(5))
    second.leave()
    assert called(third, fourth, fifth) == [True, False, False]
    assert [line.ahead(ticket) for ticket in (fourth, fifth)] == [0, 1]
    first.leave()
    third.leave()
    assert called(fourth, fifth) == [True, True]
    assert (line.working, line.waiting) == (2, 0)


def test_whoever_leaves_the_line_is_never_called() -> None:
    line = Line(1, 10, MANY)
    first, second, third = (line.join("a") for _ in range(3))
    second.leave()
    assert (line.working, line.waiting) == (1, 1)
    assert line.ahead(third) == 0
    first.leave()
    assert called(second, third) == [False, True]
    assert (line.working, line.waiting) == (1, 0)


def test_leaving_twice_frees_one_place() -> None:
    line = Line(1, 10, MANY)
    first, second, third = (line.join("a") for _ in range(3))
    for _ in range(3):
        first.leave()
    assert called(second, third) == [True, False]
    third.leave()
    third.leave()
    assert (line.working, line.waiting) == (1, 0)


def test_a_full_line_takes_nobody_until_someone_leaves() -> None:
    line = Line(1, 1, MANY)
    working, waiting = line.join("a"), line.join("a")
    with pytest.raises(FullError):
        line.join("a")
    waiting.leave()
    again = line.join("a")
    assert not again.called
    with pytest.raises(FullError):
        line.join("a")
    working.leave()
    assert again.called
    assert not line.join("a").called


def test_a_line_in_which_nobody_may_wait() -> None:
    line = Line(2, 0, MANY)
    first, second = line.join("a"), line.join("a")
    assert called(first, second) == [True, True]
    with pytest.raises(FullError):
        line.join("a")
    first.leave()
    assert line.join("a").called


def test_those_who_wait_hear_how_many_are_ahead_until_it_is_their_turn() -> None:
    async def steps() -> None:
        line = Line(1, 10, MANY)
        tickets = [line.join("a") for _ in range(4)]
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
        assert [ahead async for ahead in Line(1, 0, MANY).join("a").wait(LONG)] == []

    run(steps())


def test_those_who_wait_hear_something_now_and_then() -> None:
    async def steps() -> None:
        line = Line(1, 10, MANY)
        first, second = line.join("a"), line.join("a")
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
        line = Line(1, 10, MANY)
        first, second, third = (line.join("a") for _ in range(3))
        heard = []
        async for ahead in third.wait(LONG):
            heard.append(ahead)
            (first if len(heard) == 1 else second).leave()
        assert heard == [1, 0]

    run(steps())


def test_those_behind_are_told_and_those_ahead_are_left_alone() -> None:
    async def steps() -> None:
        line = Line(1, 10, MANY)
        tickets = [line.join("a") for _ in range(4)]
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


# Several addresses.


def joined(line: Line, *names: str) -> dict[str, Ticket]:
    """Those of these names in line, whose first letter is their address."""
    return {name: line.join(name[0]) for name in names}


def served(line: Line, tickets: dict[str, Ticket]) -> list[str]:
    """In which order they come to work, where one works at a time; each knew how many would be before."""
    order: list[str] = []
    foretold = {name: line.ahead(ticket) for name, ticket in tickets.items() if not ticket.called}
    while len(order) < len(tickets):
        (name,) = (name for name, ticket in tickets.items() if ticket.called and name not in order)
        order.append(name)
        tickets[name].leave()
    waited = [name for name in order if name in foretold]
    assert [foretold[name] for name in waited] == list(range(len(waited)))
    return order


def test_turns_go_round_by_address() -> None:
    """As the module says it: a has four in line when b and c come."""
    line = Line(1, 10, MANY)
    busy = line.join("z")
    people = joined(line, "a1", "a2", "a3", "a4", "b1", "b2", "c1")
    busy.leave()
    assert served(line, people) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


def test_nobody_waits_for_more_than_one_of_a_busy_address() -> None:
    """However long its row is, and however often it asks again."""
    line = Line(2, 100, MANY)
    busy = [line.join("a") for _ in range(50)]
    late = line.join("b")
    assert line.ahead(late) == 1
    busy[0].leave()
    busy.append(line.join("a"))
    assert line.ahead(late) == 0
    busy[1].leave()
    assert late.called


def test_a_busy_address_has_its_turns_however_many_others_come() -> None:
    """Two new ones come, each from elsewhere, whenever one is served."""
    line = Line(1, MANY, MANY)
    working, waiting = line.join("a"), [line.join("a") for _ in range(4)]
    others: list[Ticket] = []
    for number in range(30):
        others += [line.join(f"other {2 * number + more}") for more in range(2)]
        working.leave()
        working = next(ticket for ticket in waiting + others if ticket.called and ticket is not working)
        (waiting if working in waiting else others).remove(working)
    assert len(waiting) <= 1


def test_whoever_gives_up_a_turn_leaves_it_to_the_next_of_the_address() -> None:
    line = Line(1, 10, MANY)
    busy = line.join("z")
    people = joined(line, "a1", "b1", "a2", "b2", "a3")
    people.pop("a1").leave()
    busy.leave()
    assert served(line, people) == ["a2", "b1", "a3", "b2"]


def test_those_who_are_overtaken_are_told() -> None:
    async def steps() -> None:
        line = Line(1, 10, MANY)
        joined(line, "z1", "a1", "a2")
        last = line.join("a")
        wait = last.wait(LONG)
        assert await anext(wait) == 2
        line.join("b")
        assert await anext(wait) == 3

    run(steps())


def test_an_address_has_its_share_at_work_and_waiting_and_no_more() -> None:
    line = Line(2, 10, 3)
    first, *_ = (line.join("a") for _ in range(3))
    assert (line.working, line.waiting) == (2, 1)
    with pytest.raises(ShareError):
        line.join("a")
    line.join("b")
    first.leave()
    assert not line.join("a").called
    with pytest.raises(ShareError):
        line.join("a")


def test_a_line_that_closes_lets_nobody_wait() -> None:
    async def steps() -> None:
        line = Line(1, 10, MANY)
        first, second, third = (line.join("a") for _ in range(3))
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
    line = Line(at_once, most, MANY)
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
            everybody.append(line.join("a"))
        else:
            with pytest.raises(FullError):
                line.join("a")
        working, waiting = everybody[:at_once], everybody[at_once:]
        assert called(*everybody) == [True] * len(working) + [False] * len(waiting)
        assert (line.working, line.waiting) == (len(working), len(waiting))
        assert [line.ahead(ticket) for ticket in waiting] == list(range(len(waiting)))


@given(at_once=st.integers(1, 3), steps=st.lists(st.integers(-4, 8), max_size=60))
def test_between_two_of_an_address_everybody_else_has_a_turn(at_once: int, steps: list[int]) -> None:
    """-1 to -4 join, from an address each; others leave by number, at work or waiting."""
    line = Line(at_once, MANY, MANY)
    there: list[Ticket] = []
    missed: dict[str, set[str]] = {}
    """Of each address that waits, those who were called since it was or since it came."""
    for step in steps:
        before = [ticket for ticket in there if not ticket.called]
        foretold = sorted(before, key=line.ahead)
        assert [line.ahead(ticket) for ticket in foretold] == list(range(len(foretold)))
        if step < 0:
            there.append(line.join("abcd"[step]))
            missed.setdefault(there[-1].address, set())
        elif step < len(there):
            gone = there.pop(step)
            gone.leave()
            foretold = [ticket for ticket in foretold if ticket is not gone]
        called = [ticket for ticket in foretold if ticket.called]
        assert called == foretold[: len(called)]  # as each was told
        waiting = {ticket.address for ticket in there if not ticket.called}
        missed = {address: others for address, others in missed.items() if address in waiting}
        for ticket in called:
            for address, others in missed.items():
                assert address == ticket.address or ticket.address not in others, "twice, and another not at all"
                others.add(ticket.address)
            if ticket.address in missed:
                missed[ticket.address] = set()
        assert line.working == min(at_once, len(there))


def test_whoever_leaves_in_the_moment_of_a_move_has_left() -> None:
    async def steps() -> None:
        line = Line(1, 5, 5)
        line.join("first")
        second = line.join("second")

        async def wait() -> None:
            async for _ in second.wait(60):
                pass

        waiting = asyncio.create_task(wait())
        for _ in range(3):
            await asyncio.sleep(0)
        second.move()
        await asyncio.sleep(0)  # the event is set, and the one who waits has not heard of it yet
        waiting.cancel()
        await asyncio.wait({waiting}, timeout=1)
        assert waiting.cancelled()

    asyncio.run(steps())
