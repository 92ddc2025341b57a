"""Many people at the web page at once: python benchmarks/clients.py [--clients 50] [--seconds 60] [--out FILE]

A server of its own, and clients that do what people do: watch sums, products and bit strings of many sizes being
written, leave before the end, look where heads look, ask for random problems, fetch the page. Every answer is checked.
Printed are how often each was done and how long it took, how long people waited for their first token, and the server's
memory. Anything that goes wrong is listed, and the exit code is 1. All clients have the address of this machine, so the
server is told with --per-address to take that many from one.
"""

import contextlib
import http.client
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import tyro
from rich.console import Console
from rich.table import Table
from tyro.conf import arg

PATIENCE = 120.0
"""Seconds after which an answer that has not come never will."""
PAUSE = 1.0
"""The longest that people do nothing."""


@dataclass(frozen=True)
class Options:
    clients: int = 50
    """How many people there are."""
    seconds: float = 60.0
    """How long they stay."""
    seed: int = 0
    """What they do follows from this; in what order it happens does not."""
    out: Annotated[Path | None, arg(help="also write the numbers to this JSON file")] = None


class UnexpectedError(Exception):
    """Something that should not come back from a server."""


@dataclass
class Log:
    """What all clients have seen."""

    requests: int = 0
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """How long each thing took that people did."""
    waited: list[float] = field(default_factory=list)
    """How long it took to the first token."""
    errors: list[str] = field(default_factory=list)
    adding: threading.Lock = field(default_factory=threading.Lock)

    def took(self, what: str, began: float) -> None:
        with self.adding:
            self.seconds[what].append(time.monotonic() - began)

    def first_token(self, began: float) -> None:
        with self.adding:
            self.waited.append(time.monotonic() - began)

    def failed(self, what: str) -> None:
        with self.adding:
            self.errors.append(what)


class Server:
    """`lengthwise serve` in a process of its own, for so many clients."""

    def __init__(self, clients: int) -> None:
        share = 2 * clients  # whoever leaves and asks again has two places for a moment: until the next token
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lengthwise", "serve", "--port", "0", "--no-open", "--per-address", str(share)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        found = re.search(r":(\d+)/", said)
        if found is None:
            raise SystemExit(f"The server does not start: {said}{self.process.communicate()[1]}")
        self.port = int(found[1])

    def memory(self) -> float:
        """What it holds in memory, in MiB."""
        told = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self.process.pid)], capture_output=True, text=True, check=True
        )
        return int(told.stdout) / 1024

    def end(self, log: Log) -> None:
        """Tell it to end; that it does, and without a word of trouble, is part of the test."""
        self.process.send_signal(signal.SIGINT)
        try:
            _, err = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            log.failed("the server does not end")
            return
        if self.process.returncode != 0 or err:
            log.failed(f"the server ends with {self.process.returncode} and says: {err}")


class Person:
    """One client, with something to do."""

    def __init__(self, port: int, number: int, options: Options, log: Log) -> None:
        self._port, self._log = port, log
        self._random = random.Random(f"{options.seed}/{number}")
        self._seen: tuple[str, str, list[str], int] | None = None
        self._habits = {self.watch: 9, self.leave: 3, self.look: 3, self.ask_for_a_problem: 3, self.fetch_the_page: 2}

    def live(self, until: float) -> None:
        """Do this and that until it is time to go."""
        while time.monotonic() < until:
            (habit,) = self._random.choices(list(self._habits), list(self._habits.values()))
            try:
                habit()
            except (UnexpectedError, OSError, http.client.HTTPException, ValueError, KeyError) as error:
                self._log.failed(f"{habit.__name__}: {type(error).__name__} {error}")
            time.sleep(self._random.uniform(0, PAUSE))

    def watch(self) -> None:
        """Watch a model write to the end; the verdict must be about what was written."""
        problem, began = self._problem(), time.monotonic()
        page: dict[str, Any] = {}
        written: list[str] = []
        with self._stream(problem) as events:
            for name, data in events:
                if name == "page":
                    page = data
                elif name == "tokens":
                    if not written:
                        self._log.first_token(began)
                    written += data["tokens"]
                elif name == "verdict":
                    _require(data["response"] == written, f"the verdict on {problem} is about another response")
                    _require(data["right_answer"] == page["answer"], f"the answer to {problem} is not right")
                    self._seen = page["model"], problem, written, page["prompt"]
                    self._log.took("watch to the end", began)
                    return
                elif name != "line":
                    raise UnexpectedError(f"{name} {data} for {problem}")
        raise UnexpectedError(f"no verdict on {problem}")

    def leave(self) -> None:
        """Watch for a moment and go: in line, or while the model writes."""
        began, patience = time.monotonic(), self._random.randint(1, 6)
        with self._stream(self._problem(most=20)) as events:
            for number, (name, data) in enumerate(events, start=1):
                _require(name != "error", f"error {data}")
                if number == patience:
                    break
        self._log.took("leave before the end", began)

    def look(self) -> None:
        """Look where the heads look, on the page that was seen last."""
        if self._seen is None:
            return
        model, problem, response, prompt = self._seen
        body: dict[str, Any] = {"model": model, "problem": problem, "response": response}
        began, tokens = time.monotonic(), prompt + len(response)
        if tokens < 800 and self._random.random() < 0.25:
            matrix = self._ask("POST", "/api/attention/head", body | {"layer": 0, "head": 0})
            _require(len(matrix["rows"]) == tokens, "a matrix of another page")
            self._log.took("the matrix of a head", began)
            return
        at = self._random.randrange(tokens)
        looked = self._ask("POST", "/api/attention", body | {"at": at})
        _require(looked["at"] == at and len(looked["heads"]) >= 1, "another token")
        self._log.took("look from a token", began)

    def ask_for_a_problem(self) -> None:
        began, length, count = time.monotonic(), self._random.randint(1, 20), self._random.randint(2, 20)
        seed = self._random.randrange(10**6)
        found = self._ask("GET", f"/api/problem?model=adder-tiny&length={length}&count={count}&seed={seed}")
        sizes = [len(number) for number in found["problem"].split("+")]
        _require(sizes == [length] * count, f"{found['problem']} for {count} numbers of {length} digits")
        self._log.took("a random problem", began)

    def fetch_the_page(self) -> None:
        began = time.monotonic()
        for path in ("/", *_static_files(), "/api/models", "/api/grids", "/api/health", "/openapi.json"):
            self._ask("GET", path)
        self._log.took("the page with its files", began)

    # Details.

    def _problem(self, most: int = 12) -> str:
        """Mostly small ones, of every kind."""
        kind = self._random.random()
        if kind < 0.7:
            sizes = [self._random.randint(1, most) for _ in range(self._random.randint(2, most))]
            return "+".join(map(self._number, sizes))
        if kind < 0.85:
            return f"{self._number(self._random.randint(1, 6))}*{self._number(self._random.randint(1, 6))}"
        return "".join(self._random.choice("01") for _ in range(self._random.randint(1, 60)))

    def _number(self, digits: int) -> str:
        return str(self._random.randrange(10 ** (digits - 1), 10**digits))

    @contextlib.contextmanager
    def _response(self, method: str, path: str, body: Any = None) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        with self._log.adding:
            self._log.requests += 1
        try:
            sent = None if body is None else json.dumps(body).encode()
            connection.request(method, path, sent, {} if body is None else {"Content-Type": "application/json"})
            with connection.getresponse() as response:
                if response.status != 200:
                    raise UnexpectedError(f"{method} {path[:100]} {response.status} {response.read()[:200]!r}")
                yield response
        finally:
            connection.close()

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        with self._response(method, path, body) as response:
            content = response.read()
            return json.loads(content) if response.headers["Content-Type"] == "application/json" else content

    @contextlib.contextmanager
    def _stream(self, problem: str) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
        with self._response("GET", f"/api/solve/stream?problem={quote(problem)}") as response:
            yield _events(response)


def _events(response: http.client.HTTPResponse) -> Iterator[tuple[str, dict[str, Any]]]:
    while (name := response.readline()) != b"":
        data, _ = response.readline(), response.readline()
        yield name.decode().removeprefix("event: ").strip(), json.loads(data.removeprefix(b"data: "))


def _static_files() -> list[str]:
    folder = Path(str(files("lengthwise.web") / "static"))
    return [f"/static/{file.relative_to(folder).as_posix()}" for file in sorted(folder.rglob("*")) if file.is_file()]


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise UnexpectedError(otherwise)


def measure(options: Options) -> tuple[Log, list[float]]:
    """Everything that was seen, and the server's memory at the start, half way, and at the end."""
    server, log = Server(options.clients), Log()
    try:
        Person(server.port, -1, options, log).watch()  # what is loaded once
        memory = [server.memory()]
        until = time.monotonic() + options.seconds
        people = [Person(server.port, number, options, log) for number in range(options.clients)]
        threads = [threading.Thread(target=person.live, args=(until,)) for person in people]
        for thread in threads:
            thread.start()
        time.sleep(options.seconds / 2)
        memory.append(server.memory())
        for thread in threads:
            thread.join()
        _wait_until_idle(server.port, log)
        memory.append(server.memory())
    finally:
        server.end(log)
    return log, memory


def _wait_until_idle(port: int, log: Log) -> None:
    """Everybody has left: a moment later nobody is at work, and nobody waits."""
    person, end = Person(port, -2, Options(), log), time.monotonic() + 5
    while (health := person._ask("GET", "/api/health")) != {"ok": True, "working": 0, "waiting": 0}:
        if time.monotonic() > end:
            log.failed(f"everybody has left, and the server says {health}")
            return
        time.sleep(0.05)


def _spread(seconds: Sequence[float]) -> tuple[float, float]:
    """The median, and what 95 % stay below."""
    ordered = sorted(seconds)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


def main() -> None:
    options = tyro.cli(Options)
    log, memory = measure(options)
    console, requests = Console(), log.requests
    table = Table(title=f"{options.clients} clients, {options.seconds:g} s, {os.cpu_count()} cores")
    for heading in ("", "how often", "median", "95 %"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    rows = {**dict(sorted(log.seconds.items())), "waiting for the first token": log.waited}
    for what, seconds in rows.items():
        if seconds:
            median, most = _spread(seconds)
            table.add_row(what, str(len(seconds)), f"{1_000 * median:,.0f} ms", f"{1_000 * most:,.0f} ms")
    console.print(table)
    console.print(f"{requests} requests in all, {requests / options.seconds:.1f} a second; {len(log.errors)} errors")
    console.print("memory at the start, half way and at the end: " + ", ".join(f"{size:.0f} MiB" for size in memory))
    for error in log.errors[:20]:
        console.print(f"  {error}", markup=False)
    if options.out is not None:
        spreads = {what: [len(seconds), *_spread(seconds)] for what, seconds in rows.items() if seconds}
        found = {"requests": requests, "errors": log.errors, "seconds": spreads, "memory_mib": memory}
        options.out.write_text(json.dumps(found, indent=2) + "\n")
    sys.exit(1 if log.errors else 0)


if __name__ == "__main__":
    main()
