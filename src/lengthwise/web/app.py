"""The application: addresses, headers, and how refusals are said. What happens behind an address is in other files.

GET  /                     the page
GET  /api/models           the models that may be asked
GET  /api/grids[/NAME]     measured grids
GET  /api/problem          a random problem of one size
GET  /api/page             a problem as a model sees it
GET  /api/solve            a model's solution, whole
GET  /api/solve/stream     the same as server-sent events, token by token
POST /api/attention        where the heads look from one token
POST /api/attention/head   the whole matrix of one head
GET  /api/health           how many are at work and how many wait
GET  /openapi.json         all of this for programs; /api for people
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from lengthwise.errors import InputError
from lengthwise.tasks.operands import shown
from lengthwise.web import inspecting
from lengthwise.web.asking import Desk, Question, RefusedError
from lengthwise.web.catalogue import Catalogue
from lengthwise.web.limits import Limits
from lengthwise.web.openapi import describe
from lengthwise.web.protection import Guard, client_address
from lengthwise.web.sizes import longest_by_count
from lengthwise.web.solving import CLOSING, Workshop
from lengthwise.web.stream import EventStream

STATIC = Path(str(files("lengthwise.web") / "static"))
GLANCES_AT_ONCE, GLANCES_WAITING = 2, 64
"""How many look inside a model at once, and how many may wait for that."""
PAUSES = {429: "10", 503: "30"}
"""After how many seconds one who was sent away may try again."""

Handler = Callable[[Request], Awaitable[Response]]


def create_app(catalogue: Catalogue, limits: Limits | None = None, *, hosts: frozenset[str] | None = None) -> Starlette:
    """The application; `hosts` are the names it answers to, any if None."""
    limits = limits or Limits()
    service = Service(catalogue, limits)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.close = service.workshop.close
        await service.offers()  # half a second now, which beside models at work would be several
        yield
        service.workshop.close()
        await run_in_threadpool(service.workshop.wait_closed)

    return Starlette(
        routes=[
            Route("/", _file("index.html")),
            Route("/api", _file("api.html")),
            Route("/openapi.json", service.openapi),
            Route("/api/models", service.models),
            Route("/api/grids", service.grids),
            Route("/api/grids/{name}", service.grid),
            Route("/api/problem", service.problem),
            Route("/api/page", service.page),
            Route("/api/solve", service.solve),
            Route("/api/solve/stream", service.stream),
            Route("/api/attention", service.attention, methods=["POST"]),
            Route("/api/attention/head", service.head, methods=["POST"]),
            Route("/api/health", service.health),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, most=limits.body, hosts=hosts)],
        exception_handlers={RefusedError: _refuse, HTTPException: _refuse_http, ClientDisconnect: _gone},
        lifespan=lifespan,
    )


class Service:
    """What is behind each address."""

    def __init__(self, catalogue: Catalogue, limits: Limits) -> None:
        self._catalogue, self._limits = catalogue, limits
        self._desk = Desk(catalogue, limits)
        self.workshop = Workshop(catalogue, limits)
        self._listing, self._offers = asyncio.Lock(), list[dict[str, Any]]()
        self._looking = asyncio.Semaphore(GLANCES_AT_ONCE)
        self._waiting_to_look = 0

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(describe())

    async def models(self, request: Request) -> Response:
        offers = await self.offers()
        limits = {name: getattr(self._limits, name) for name in ("characters", "digits", "bits", "numbers", "tokens")}
        return JSONResponse({"models": offers, "limits": limits | {"matrix": self._limits.matrix}})

    async def offers(self) -> list[dict[str, Any]]:
        """All models as the page lists them, worked out once."""
        async with self._listing:
            if not self._offers:
                self._offers = await run_in_threadpool(self._list_offers)
        return self._offers

    async def grids(self, request: Request) -> Response:
        return JSONResponse({"grids": [grid.to_json() for grid in self._catalogue.grids.values()]})

    async def grid(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._catalogue.grids:
            raise RefusedError(f"There is no grid {shown(name)} here: /api/grids lists them.", 404)
        measured = self._catalogue.grids[name]
        return JSONResponse(measured.to_json() | {"grid": measured.grid.to_json()})

    async def problem(self, request: Request) -> Response:
        asked = _query(request, ("model", "length", "count", "seed"))
        found = await run_in_threadpool(
            self._desk.surprise, asked["model"], asked["length"], asked["count"], asked["seed"]
        )
        return JSONResponse(found)

    async def page(self, request: Request) -> Response:
        return JSONResponse((await self._question(request)).to_json())

    async def solve(self, request: Request) -> Response:
        question = await self._question(request)
        events = self.workshop.solve(question, self.workshop.join(client_address(request)))
        said: dict[str, Any] = {"model": question.offer.name, "task": question.page.task, "problem": question.problem}
        try:
            async for name, data in _while_connected(request, events):
                if name == "error":
                    raise RefusedError(data["error"], 503 if data["error"] == CLOSING else 400)
                if name == "verdict":
                    said |= data
        finally:
            await events.aclose()
        return JSONResponse(said)

    async def stream(self, request: Request) -> Response:
        question = await self._question(request)
        return EventStream(self.workshop.solve(question, self.workshop.join(client_address(request))))

    async def attention(self, request: Request) -> Response:
        body = await _body(request, {"model": str, "problem": str, "response": list, "at": int})
        question = await self._asked(body)

        def look() -> dict[str, Any]:
            model, response = self._written(question, body)
            return inspecting.at_token(model, question.page, response, body["at"])

        return await self._look(look)

    async def head(self, request: Request) -> Response:
        body = await _body(request, {"model": str, "problem": str, "response": list, "layer": int, "head": int})
        question = await self._asked(body)
        offer, tokens = question.offer, len(question.page.prompt) + len(body["response"])
        if not (0 <= body["layer"] < offer.layers and 0 <= body["head"] < offer.heads):
            raise RefusedError(
                f"This model has the layers 0 to {offer.layers - 1} and the heads 0 to {offer.heads - 1}."
            )
        if tokens > self._limits.matrix:
            raise RefusedError(
                f"The matrix of {tokens:,} tokens is too large: up to {self._limits.matrix:,} are drawn here."
            )

        def look() -> dict[str, Any]:
            model, response = self._written(question, body)
            return inspecting.of_head(model, question.page, response, body["layer"], body["head"])

        return await self._look(look)

    async def health(self, request: Request) -> Response:
        line = self.workshop.line
        return JSONResponse({"ok": True, "working": line.working, "waiting": line.waiting})

    # Details.

    def _list_offers(self) -> list[dict[str, Any]]:
        return [
            offer.to_json() | {"longest_drawn": longest_by_count(offer.task, offer.max_ids, self._limits)}
            for offer in self._catalogue.offers.values()
        ]

    async def _question(self, request: Request) -> Question:
        asked = _query(request, ("model", "problem"))
        return await run_in_threadpool(self._desk.question, asked["model"], asked["problem"])

    async def _asked(self, body: dict[str, Any]) -> Question:
        return await run_in_threadpool(self._desk.question, body["model"], body["problem"])

    def _written(self, question: Question, body: dict[str, Any]) -> tuple[Any, list[str]]:
        model = self._catalogue.load(question.offer.name)
        return model, self._desk.response(body["response"], model)

    async def _look(self, look: Callable[[], dict[str, Any]]) -> Response:
        if self._waiting_to_look >= GLANCES_WAITING:
            raise RefusedError("Too many are looking inside models already: try again in a few seconds.", 503)
        self._waiting_to_look += 1
        try:
            async with self._looking:
                return JSONResponse(await run_in_threadpool(look))
        except InputError as error:
            raise RefusedError(str(error)) from error
        finally:
            self._waiting_to_look -= 1


def _file(name: str) -> Handler:
    async def serve(request: Request) -> Response:
        return FileResponse(STATIC / name, headers={"Cache-Control": "no-cache"})

    return serve


def _query(request: Request, known: tuple[str, ...]) -> dict[str, str | None]:
    """The named values of an address. A `+` is a plus here, as problems are full of them; a space is `%20`."""
    found: dict[str, str | None] = dict.fromkeys(known)
    try:
        for part in request.scope["query_string"].decode().split("&"):
            name, _, value = (unquote(text, errors="strict") for text in part.partition("="))
            if not part:
                continue
            if name not in known:
                raise RefusedError(f"There is nothing called {shown(name)} to give here: {', '.join(known)}.")
            found[name] = value
    except UnicodeDecodeError:
        raise RefusedError("The address is not written in UTF-8.") from None
    return found


async def _body(request: Request, wanted: dict[str, type]) -> dict[str, Any]:
    """The JSON object of a request, with exactly these entries."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedError("The body must be JSON, with the header Content-Type: application/json.", 415)
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise RefusedError("The body is not JSON that can be read.") from None
    if not isinstance(body, dict) or set(body) != set(wanted):
        raise RefusedError(f"The body must be an object with {', '.join(wanted)}.")
    for name, kind in wanted.items():
        if type(body[name]) is not kind:
            words = {str: "text", int: "a whole number", list: "a list"}
            raise RefusedError(f"{name} must be {words[kind]}.")
    return body


async def _while_connected(request: Request, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for event in events:
        if await request.is_disconnected():
            raise ClientDisconnect
        yield event


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    headers = {"Retry-After": PAUSES[error.status]} if error.status in PAUSES else None
    return JSONResponse({"error": error.sentence}, error.status, headers)


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {404: "There is nothing at this address: / is the page, /api the description.", 405: "Not this way."}
    return JSONResponse({"error": sentences.get(error.status_code, error.detail)}, error.status_code, error.headers)


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)
