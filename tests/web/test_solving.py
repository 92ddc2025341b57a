"""A model writes for those who watch: what they are told, and what happens when they leave or have to wait."""

import asyncio
import http.client
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from models import solver
from serving import PATIENCE, Client, Endless, endless, eventually, offer, running, serving, target

import lengthwise as lw
from calculator import at, calculator
from lengthwise.solver import Step
from lengthwise.web import Catalogue, Limits, create_app, solving
from lengthwise.web.asking import Desk, RefusedError
from lengthwise.web.openapi import describe
from lengthwise.web.solving import BUSY, CLOSING, Workshop
from lengthwise.web.stream import EventStream

LIMITS = Limits(at_once=2, waiting=3)
ELSEWHERE = "127.0.0.2"
"""Another address of this machine."""


class Failing(lw.Solver):
    """Writes a token and fails."""

    def steps(self, problem: Any) -> Iterator[Step]:
        yield next(super().steps(problem))
        raise ZeroDivisionError


class Stuck(lw.Solver):
    """Takes as long for a token as it is let."""

    going_on: threading.Event

    def steps(self, problem: Any) -> Iterator[Step]:
        yield next(super().steps(problem))
        self.going_on.wait(PATIENCE)
        yield next(super().steps(problem))


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model in a folder."""
    folder = tmp_path_factory.mktemp("models") / "untrained"
    solver("learned", seed=3).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def held() -> Endless:
    return endless()


@pytest.fixture(scope="module")
def client(wrong: Path, held: Endless) -> Iterator[Client]:
    found = Catalogue.of([wrong])
    failing = solver("none")
    made = [
        offer("endless", held),
        offer("slips", calculator(at(2, 1))),
        offer("never-ends", calculator(at(3, 3))),
        offer("fails", Failing(failing.transformer, failing.task).eval()),
    ]
    with serving(Catalogue([*found.offers.values(), *made], found.grids.values()), LIMITS) as client:
        yield client


@pytest.fixture(autouse=True)
def nobody_is_left(client: Client) -> Iterator[None]:
    yield
    eventually(lambda: client.health() == (0, 0))


def watch_all(client: Client, **query: object) -> list[tuple[str, dict[str, Any]]]:
    with client.watch(**query) as watching:
        assert watching.status == 200
        assert watching.headers["content-type"].startswith("text/event-stream")
        assert watching.headers["cache-control"] == "no-store"
        return list(watching)


def tokens(events: list[tuple[str, dict[str, Any]]], name: str = "tokens") -> list[Any]:
    return [token for event, data in events if event == "tokens" for token in data[name]]


def plainly_wrong(page: lw.Page, response: list[str]) -> int | None:
    """The first place of the page where something else was written."""
    written = page.prompt + response
    return next((at for at, token in enumerate(page.tokens) if written[at : at + 1] != [token]), None)


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("adder-tiny", "57+48+96"),
        ("adder-tiny", "0+0"),
        ("adder-coupling", "123+45678"),
        ("multiplier", "37*925"),
        ("parity-tiny", "0110101"),
        ("theorem", "99999+1+99999"),
        ("untrained", "57+48+96"),
        ("untrained", "1234+5"),
        ("slips", "57+48+96"),
        ("never-ends", "57+48+96"),
    ],
)
def test_events_are_what_the_model_writes(client: Client, wrong: Path, model: str, problem: str) -> None:
    """The page, tokens in order with their ids, and a verdict: all as `Solver.solve` has them."""
    events = watch_all(client, model=model, problem=problem)
    names = [name for name, _ in events]
    assert names == ["page", *["tokens"] * (len(names) - 2), "verdict"]
    slips = {"slips": at(2, 1), "never-ends": at(3, 3)}
    own = calculator(slips[model]) if model in slips else lw.load(wrong) if model == "untrained" else None
    own = own or Catalogue.of().load(model)
    solution = own.solve(problem)
    page = client.get("/api/page", model=model, problem=problem).json()
    assert events[0][1] == page
    assert page["tokens"] == solution.page.tokens
    assert tokens(events) == solution.response
    place = 0
    for _, data in events[1:-1]:
        assert data["from"] == place
        place += len(data["tokens"])
        assert len(data["tokens"]) == len(data["probabilities"]) >= 1
        assert [len(level) for level in data["ids"]] == [len(data["tokens"])] * len(page["levels"])
    steps = list(own.steps(problem))
    for level in range(len(page["levels"])):
        own_ids = [number for name, data in events if name == "tokens" for number in data["ids"][level]]
        assert own_ids == [step.ids[level] for step in steps]
    likely = [step.probabilities[step.token] for step in steps]
    assert tokens(events, "probabilities") == pytest.approx(likely, abs=1e-3)
    verdict = events[-1][1]
    assert verdict["response"] == solution.response
    assert verdict["answer"] == solution.answer
    assert verdict["right_answer"] == solution.page.answer
    assert verdict["correct"] == solution.correct
    assert verdict["ended"] == solution.ended
    assert verdict["first_mistake"] == plainly_wrong(solution.page, solution.response)
    assert (verdict["mistake"] is None) == solution.correct == (model not in ("untrained", *slips))
    assert verdict["checked_by"] == "Python's integers"
    assert f"written by {model}: {'right' if verdict['answer_correct'] else 'wrong'}" in verdict["sentence"]
    whole = client.get("/api/solve", model=model, problem=problem).json()
    said = {"model": model, "task": solution.page.task, "problem": solution.page.operands}
    assert whole.items() >= (verdict | said | {"problem": page["problem"]} | {"seconds": whole["seconds"]}).items()


def test_the_first_wrong_token_is_marked(client: Client) -> None:
    """$057+048+096=000>750>511>112$ for …>501>102$: the tens of the second sum, token 22 of the page."""
    events = watch_all(client, model="slips", problem="57+48+96")
    assert "".join(tokens(events)) == "000>750>511>112$"
    verdict = events[-1][1]
    assert verdict["first_mistake"] == 22
    assert (verdict["answer"], verdict["right_answer"], verdict["ended"]) == ("211", "201", True)
    assert (verdict["correct"], verdict["answer_correct"]) == (False, False)
    assert verdict["mistake"] == (
        "the response has '1' at the tens digit of partial sum 2 (with a carry into it), where '0' belongs"
    )


def test_a_model_that_does_not_end(client: Client) -> None:
    events = watch_all(client, model="never-ends", problem="57+48+96")
    verdict = events[-1][1]
    assert "".join(tokens(events)).startswith("000>750>501>1021")
    assert verdict["first_mistake"] == 28
    assert verdict["mistake"].endswith("at the end, where '$' belongs")


def test_a_problem_beyond_the_models_ids(client: Client) -> None:
    """Refused with the question, before anything waits or is written."""
    long = f"{'9' * 60}+1"
    answer = client.get("/api/solve", model="adder-coupling", problem=long)
    assert answer.status == 400
    assert answer.refusal.startswith("This needs column ids up to 62, but those of adder-coupling go up to 40")
    for path in ("/api/page", "/api/solve", "/api/solve/stream"):
        refused = client.get(path, model="theorem", problem=f"{'9' * 63}+1")
        assert refused.status == 400
        assert "needs column ids up to 65, but those of theorem go up to 64" in refused.refusal


def test_what_fails_is_said_and_noted(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    events = watch_all(client, model="fails", problem="57+48")
    assert [name for name, _ in events][-1] == "error"
    assert events[-1][1] == {"error": "Something went wrong here; it is noted in the log of the server."}
    (record,) = caplog.records
    assert record.name == "lengthwise.web"
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError
    assert client.get("/api/solve", model="fails", problem="57+48").status == 400


def test_whoever_leaves_while_a_model_writes_frees_the_place(client: Client, held: Endless) -> None:
    with client.watch(model="endless", problem="57+48") as watching:
        watching.until("tokens")
        assert client.health() == (1, 0)
        assert held.hand.at_work == 1
    eventually(lambda: client.health() == (0, 0), 2)
    eventually(lambda: held.hand.at_work == 0, 2)
    written = held.hand.written
    time.sleep(0.05)
    assert held.hand.written == written  # nothing goes on behind the curtain


def test_whoever_leaves_a_whole_solution_frees_the_place(client: Client, held: Endless) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=PATIENCE)
    connection.request("GET", "/api/solve?model=endless&problem=57+48")
    eventually(lambda: held.hand.at_work == 1)
    connection.close()
    eventually(lambda: client.health() == (0, 0), 2)
    eventually(lambda: held.hand.at_work == 0, 2)


def test_those_in_line_see_it_move(client: Client, held: Endless) -> None:
    """Two write, three wait; one of those at work leaves, then one of those who wait, then all the others in turn."""
    with ExitStack() as stack:
        people = [stack.enter_context(client.watch(model="endless", problem="57+48")) for _ in range(5)]
        for worker in people[:2]:
            worker.until("tokens")
        for place, waiting in enumerate(people[2:]):
            assert waiting.next() == ("line", {"ahead": place})
        assert client.health() == (2, 3)
        people[0].leave()
        assert people[2].until("page")["problem"] == "57+48"
        assert [person.next() for person in people[3:]] == [("line", {"ahead": 0}), ("line", {"ahead": 1})]
        eventually(lambda: client.health() == (2, 2))
        people[3].leave()  # from the line
        assert people[4].next() == ("line", {"ahead": 0})
        eventually(lambda: client.health() == (2, 1))
        people[1].leave()
        people[4].until("tokens")
        eventually(lambda: client.health() == (2, 0))
        assert held.hand.at_work == 2
    assert held.hand.most_at_work <= 2


def test_a_full_line_sends_people_away(client: Client) -> None:
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(client.watch(model="endless", problem="57+48"))
        eventually(lambda: client.health() == (2, 3))
        for path in ("/api/solve", "/api/solve/stream"):
            answer = client.get(path, problem="57+48")
            assert (answer.status, answer.refusal) == (503, BUSY)
            assert int(answer.headers["retry-after"]) > 0
        assert client.get("/api/page", problem="57+48").status == 200  # which nobody waits for
        assert client.health() == (2, 3)


def test_an_address_with_its_share_is_sent_away_and_others_are_not(held: Endless) -> None:
    """Whatever it says in headers of where it comes from; and when one of its problems is done, it may ask again."""
    sentence = (
        "From your address 2 problems are waiting or being worked on already, as many as are taken here: "
        "try again when one is done."
    )
    limits = Limits(at_once=1, waiting=10, per_address=2)
    with serving(Catalogue([offer("endless", held)], []), limits) as here, ExitStack() as stack:
        people = [stack.enter_context(here.watch(model="endless", problem="57+48")) for _ in range(2)]
        eventually(lambda: here.health() == (1, 1))
        for path in ("/api/solve", "/api/solve/stream"):
            asked = target(path, model="endless", problem="57+48")
            for headers in ({}, {"X-Forwarded-For": "192.0.2.7"}, {"Forwarded": "for=192.0.2.7"}):
                answer = here.ask("GET", asked, headers=headers)
                assert (answer.status, answer.refusal) == (429, sentence)
                assert int(answer.headers["retry-after"]) > 0
                assert str(answer.status) in describe()["paths"][path]["get"]["responses"]
        assert here.get("/api/page", problem="57+48", model="endless").status == 200  # which nobody waits for
        people.append(stack.enter_context(elsewhere(here).watch(model="endless", problem="57+48")))
        assert people[2].next() == ("line", {"ahead": 1})
        assert here.health() == (1, 2)
        people[1].leave()
        assert people[2].next() == ("line", {"ahead": 0})
        with here.watch(model="endless", problem="57+48") as again:
            assert again.next() == ("line", {"ahead": 1})
        eventually(lambda: here.health() == (1, 1))


def test_a_share_of_one() -> None:
    limits = Limits(per_address=1)
    workshop = Workshop(Catalogue([], []), limits)
    workshop.join("here")
    workshop.join("there")
    with pytest.raises(RefusedError, match=r"^From your address one problem is waiting or being worked on already, "):
        workshop.join("here")
    workshop.close()


def test_a_row_from_one_address_does_not_hold_up_another(held: Endless) -> None:
    """It is served next but one: after one problem of each address."""
    limits = Limits(at_once=1, waiting=10)
    with serving(Catalogue([offer("endless", held)], []), limits) as here, ExitStack() as stack:
        row = [stack.enter_context(here.watch(model="endless", problem="57+48")) for _ in range(5)]
        row[0].until("tokens")
        eventually(lambda: here.health() == (1, 4))
        other = stack.enter_context(elsewhere(here).watch(model="endless", problem="57+48"))
        assert other.next() == ("line", {"ahead": 1})
        assert [row[place].next()[1]["ahead"] for place in (1, 2, 3, 4)] == [0, 1, 2, 3]
        assert [row[place].next()[1]["ahead"] for place in (2, 3, 4)] == [2, 3, 4]  # overtaken, and told
        row[0].leave()
        row[1].until("tokens")
        assert other.next() == ("line", {"ahead": 0})
        row[1].leave()
        other.until("tokens")
        assert here.health() == (1, 3)


def elsewhere(client: Client) -> Client:
    try:
        socket.create_server((ELSEWHERE, 0)).close()
    except OSError:
        pytest.skip("this machine has one address only")
    return replace(client, source=ELSEWHERE)


def test_refused_questions_take_no_place(client: Client) -> None:
    for problem in ("", "57+", "1" * 9_000):
        assert client.get("/api/solve/stream", problem=problem).status in (400, 413)
    assert client.health() == (0, 0)


def test_those_who_wait_hear_from_us(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "HEARTBEAT_SECONDS", 0.02)
    with ExitStack() as stack:
        people = [stack.enter_context(client.watch(model="endless", problem="57+48")) for _ in range(3)]
        assert [people[2].next() for _ in range(3)] == [("line", {"ahead": 0})] * 3


def test_whoever_leaves_the_line_before_hearing_anything(client: Client) -> None:
    for _ in range(10):
        with ExitStack() as stack:
            for _ in range(4):
                stack.enter_context(client.watch(model="endless", problem="57+48"))
        eventually(lambda: client.health() == (0, 0), 3)


@pytest.mark.parametrize("sent_before", [0, 1, 2])
def test_whoever_leaves_while_an_answer_cannot_be_sent_frees_the_place(held: Endless, sent_before: int) -> None:
    """Because nobody reads and all buffers are full: before the first word of the answer, or in the middle of it."""

    async def steps() -> None:
        everything = Catalogue([offer("endless", held)], [])
        workshop, question = Workshop(everything, LIMITS), Desk(everything, LIMITS).question("endless", "57+48")
        stream = EventStream(workshop.solve(question, workshop.join("here")))
        stuck, sent = asyncio.Event(), list[object]()

        async def send(message: object) -> None:
            sent.append(message)
            if len(sent) > sent_before:
                stuck.set()
                await asyncio.Event().wait()

        async def receive() -> dict[str, str]:
            await stuck.wait()
            return {"type": "http.disconnect"}

        await stream({"type": "http"}, receive, send)
        if sent_before < 2:
            assert workshop.line.working == 0  # it had not begun to write
        while workshop.line.working:
            await asyncio.sleep(0.01)
        workshop.close()
        workshop.wait_closed()

    asyncio.run(asyncio.wait_for(steps(), PATIENCE))
    assert held.hand.at_work == 0


def test_whoever_does_not_read_does_not_hold_up_the_model(client: Client) -> None:
    """It writes to the end, and the place is free, though nothing of it has been read."""
    with client.watch(problem="57+48+96") as watching:
        eventually(lambda: client.health() == (0, 0))
        assert list(watching)[-1][0] == "verdict"


def test_time_is_up(held: Endless) -> None:
    with serving(Catalogue([offer("endless", held)], []), Limits(seconds=0.1)) as client:
        sentence = "This takes longer than 0.1 seconds, the limit here."
        events = watch_all(client, model="endless", problem="57+48")
        assert [name for name, _ in events][-1] == "error"
        assert "tokens" in [name for name, _ in events]
        assert events[-1][1] == {"error": sentence}
        answer = client.get("/api/solve", model="endless", problem="57+48")
        assert (answer.status, answer.refusal) == (400, sentence)
        eventually(lambda: client.health() == (0, 0))
    assert held.hand.at_work == 0


def test_the_page_closes_while_people_watch_and_wait(held: Endless, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    app = create_app(Catalogue([offer("endless", held)], []), LIMITS)
    with ExitStack() as stack:
        client, server = stack.enter_context(running(app))
        people = [stack.enter_context(client.watch(model="endless", problem="57+48")) for _ in range(4)]
        whole: list[Any] = []
        thread = threading.Thread(
            target=lambda: whole.append(client.get("/api/solve", model="endless", problem="57+48"))
        )
        thread.start()
        people[1].until("tokens")
        eventually(lambda: client.health() == (2, 3))
        began = time.monotonic()
        server.should_exit = True
        assert [list(person)[-1] for person in people] == [("error", {"error": CLOSING})] * 4
        thread.join()
        assert (whole[0].status, whole[0].refusal) == (503, CLOSING)
        stack.pop_all().close()
        assert time.monotonic() - began < 5
    assert held.hand.at_work == 0
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_nobody_is_let_in_while_the_page_closes(held: Endless) -> None:
    """Requests that were on their way: a question that was asked, and a place that was given, before it closed."""

    async def steps() -> None:
        everything = Catalogue([offer("endless", held)], [])
        workshop, question = Workshop(everything, LIMITS), Desk(everything, LIMITS).question("endless", "57+48")
        ticket = workshop.join("here")
        events = workshop.solve(question, ticket)
        assert (await anext(events))[0] == "page"
        workshop.close()
        assert [event async for event in events] == [("error", {"error": CLOSING})]
        assert workshop.line.working == 0
        with pytest.raises(RefusedError, match=CLOSING) as refusal:
            workshop.join("here")
        assert refusal.value.status == 503
        workshop.wait_closed()

    asyncio.run(steps())
    assert held.hand.at_work == 0


def test_nobody_waits_for_a_slow_token_while_the_page_closes() -> None:
    """Not who watches it, and not who is in line behind; only the thread itself is waited for."""

    async def steps(model: Stuck) -> None:
        everything, limits = Catalogue([offer("stuck", model)], []), Limits(at_once=1)
        workshop, question = Workshop(everything, limits), Desk(everything, limits).question("stuck", "57+48")
        watched, waiting = (workshop.solve(question, workshop.join("here")) for _ in range(2))
        assert [(await anext(watched))[0] for _ in range(2)] == ["page", "tokens"]
        assert await anext(waiting) == ("line", {"ahead": 0})
        workshop.close()
        for events in (watched, waiting):
            assert [event async for event in events] == [("error", {"error": CLOSING})]
        assert workshop.line.working == 1  # the thread has not come to its next token
        model.going_on.set()
        await asyncio.to_thread(workshop.wait_closed)
        while workshop.line.working:
            await asyncio.sleep(0.01)

    slow = solver("none")
    model = Stuck(slow.transformer, slow.task)
    model.going_on = threading.Event()
    asyncio.run(asyncio.wait_for(steps(model.eval()), PATIENCE / 2))


def test_many_at_once_get_their_own_answers(client: Client) -> None:
    problems = [f"{number}+{number * 7}" for number in range(5)]
    found: dict[str, str] = {}

    def ask(problem: str) -> None:
        found[problem] = watch_all(client, problem=problem)[-1][1]["answer"]

    threads = [threading.Thread(target=ask, args=(problem,)) for problem in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert found == {problem: str(sum(map(int, problem.split("+")))) for problem in problems}


def test_weights_that_are_no_numbers() -> None:
    """Of a run that came to nothing, in a sentence: what such a model gives is no JSON."""
    model = solver("learned")
    with torch.no_grad():
        model.transformer.embedding[3, 4] = torch.nan
    sentence = "The weights of 'nan' are not all numbers: its training has come to nothing."
    with serving(Catalogue([offer("nan", model)], [])) as client:
        events = watch_all(client, model="nan", problem="57+48")
        assert events[1:] == [("error", {"error": sentence})]
        asked = {"model": "nan", "problem": "57+48", "response": ["0"]}
        for answer in (
            client.get("/api/solve", model="nan", problem="57+48"),
            client.post("/api/attention", asked | {"at": 3}),
            client.post("/api/attention/head", asked | {"layer": 0, "head": 0}),
        ):
            assert (answer.status, answer.refusal) == (400, sentence)
