"""The application as its clients meet it: at a socket of this machine, or called directly."""

import asyncio
import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from models import solver
from starlette.applications import Starlette

import lengthwise as lw
from lengthwise.solver import Step
from lengthwise.web import Limits, create_app
from lengthwise.web.catalogue import Catalogue, Kind, Offer
from lengthwise.web.server import Server

LOCAL = frozenset({"127.0.0.1", "localhost"})
PATIENCE = 20.0
"""Seconds after which something that should have happened has not."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    """Their names in small letters."""
    body: bytes

    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)

    @property
    def refusal(self) -> str:
        """The sentence of an answer that is one, and nothing else."""
        assert 400 <= self.status < 600, self
        said = self.json()
        assert list(said) == ["error"]
        sentence: str = said["error"]
        assert sentence
        assert sentence[-1] in ".?"
        assert "\n" not in sentence
        assert "Traceback" not in sentence
        return sentence


class Watching:
    """A client that watches a model write. Leaving the `with` closes its connection, whatever is still to come."""

    def __init__(self, port: int, target: str, source: str = "127.0.0.1") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE, source_address=(source, 0))
        self._connection.request("GET", target)
        self._response = self._connection.getresponse()
        self.status = self._response.status
        self.headers = {name.lower(): value for name, value in self._response.getheaders()}

    def __enter__(self) -> "Watching":
        return self

    def __exit__(self, *error: object) -> None:
        self.leave()

    def leave(self) -> None:
        self._response.close()
        self._connection.close()

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        while (name := self._response.readline()) != b"":
            data, end = self._response.readline(), self._response.readline()
            assert name.startswith(b"event: ")
            assert data.startswith(b"data: ")
            assert end == b"\n"
            yield name[7:].decode().rstrip(), json.loads(data[6:])

    def next(self) -> tuple[str, dict[str, Any]]:
        return next(iter(self))

    def until(self, wanted: str) -> dict[str, Any]:
        """What the first event of this name says."""
        return next(data for name, data in self if name == wanted)


@dataclass(frozen=True)
class Client:
    """Asks at a port."""

    port: int
    source: str = "127.0.0.1"
    """The address that it has itself."""

    def ask(self, method: str, target: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=PATIENCE, source_address=(self.source, 0)
        )
        try:
            connection.request(method, target, body, headers or {})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def get(self, path: str, **query: object) -> Answer:
        return self.ask("GET", target(path, **query))

    def post(self, path: str, body: object) -> Answer:
        return self.ask("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def watch(self, **query: object) -> Watching:
        return Watching(self.port, target("/api/solve/stream", **query), self.source)

    def raw(self, sent: bytes, *, hang_up: bool = False) -> bytes:
        """What comes back for these very bytes until the server closes the connection, or is silent for a while."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as line:
            received = b""
            with contextlib.suppress(OSError):
                line.sendall(sent)
                if hang_up:
                    line.shutdown(socket.SHUT_WR)
                while more := line.recv(65_536):
                    received += more
            return received

    def health(self) -> tuple[int, int]:
        """How many are at work, and how many wait."""
        said = self.get("/api/health").json()
        assert said.pop("ok") is True
        return said["working"], said["waiting"]


def target(path: str, **query: object) -> str:
    """An address; everything but letters and digits is escaped."""
    return f"{path}?{urlencode(query, quote_via=quote)}" if query else path


def parse_answer(received: bytes) -> Answer:
    """The first answer of what came over a socket."""
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return Answer(int(first.split()[1]), headers, body)


@contextlib.contextmanager
def serving(
    catalogue: Catalogue, limits: Limits | None = None, hosts: frozenset[str] | None = LOCAL
) -> Iterator[Client]:
    """The application at a free port of this machine."""
    with running(create_app(catalogue, limits, hosts=hosts)) as (client, _):
        yield client


@contextlib.contextmanager
def running(app: Starlette) -> Iterator[tuple[Client, Server]]:
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    port = listening.getsockname()[1]
    server = Server(app)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        eventually(lambda: server.started)
        yield Client(port), server
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


def eventually(holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.005)


class Direct:
    """Calls the application without a server, so that anything at all can be put into a request."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self._runner = asyncio.Runner()

    def close(self) -> None:
        self._runner.close()

    def get(self, path: str, query: bytes = b"") -> Answer:
        return self.ask("GET", path, query)

    def post(self, path: str, body: bytes) -> Answer:
        return self.ask("POST", path, body=body, headers=[(b"content-type", b"application/json")])

    def ask(
        self,
        method: str,
        path: str,
        query: bytes = b"",
        *,
        body: bytes = b"",
        headers: list[tuple[bytes, bytes]] | None = None,
    ) -> Answer:
        given = [(b"host", b"localhost"), *(headers or [])]
        return self._runner.run(asyncio.wait_for(self._ask(method, path, query, body, given), PATIENCE))

    async def _ask(
        self, method: str, path: str, query: bytes, body: bytes, headers: list[tuple[bytes, bytes]]
    ) -> Answer:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(errors="replace"),
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
            "state": {},
        }
        sent: list[Any] = []
        received = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            for message in received:
                return message
            return await asyncio.Event().wait()  # nobody leaves

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start, *rest = sent
        found = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], found, b"".join(part.get("body", b"") for part in rest))


def offer(name: str, model: lw.Solver, kind: Kind = "folder") -> Offer:
    """A model that is there already."""
    config = model.transformer.config
    return Offer(
        name=name,
        kind=kind,
        task=model.task,
        encoding=model.transformer.encoding.name,
        parameters=sum(weight.numel() for weight in model.parameters()),
        layers=config.layers,
        heads=config.heads,
        width=config.width,
        trained_on={},
        max_ids=model.transformer.encoding.max_ids(model.transformer.shape),
        make=lambda: model,
    )


@dataclass
class Hand:
    """What the writing hand of an `Endless` model does."""

    at_work: int = 0
    written: int = 0
    most_at_work: int = 0
    changing: threading.Lock = field(default_factory=threading.Lock)


class Endless(lw.Solver):
    """A model that writes noughts, for ever if it is let."""

    hand: Hand

    def steps(self, problem: Any) -> Iterator[Step]:
        with self.hand.changing:
            self.hand.at_work += 1
            self.hand.most_at_work = max(self.hand.most_at_work, self.hand.at_work)
        try:
            while True:
                time.sleep(0.002)
                self.hand.written += 1
                yield Step(token="0", ids=[1] * len(self.task.levels), probabilities={"0": 1.0})
        finally:
            with self.hand.changing:
                self.hand.at_work -= 1


def endless() -> Endless:
    model = solver("none")
    held = Endless(model.transformer, model.task)
    held.hand = Hand()
    return held.eval()
