"""A tab of the browser: what one does in it, what one sees in it, and what must not happen in it."""

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

import lengthwise as lw

try:
    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Route, WebError, expect
except ImportError:
    pytest.skip("there is no playwright to drive a browser: pip install -e '.[dev]'", allow_module_level=True)

PATIENCE = 15_000
"""Milliseconds after which something that should have happened has not."""
expect.set_options(timeout=PATIENCE)

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SUM, ANSWER = "57+48+96", "201"
RIGHT = lw.task("addition").write([57, 48, 96])
LONG = f"{'7' * 60}*{'8' * 60}"
"""A product of some thousand tokens: they take a model here many seconds."""

__all__ = ["ANSWER", "LONG", "PHONE", "RIGHT", "SUM", "Route", "Square", "Tab", "eventually", "expect"]


@dataclass(frozen=True)
class Square:
    """A token as it is seen: what it says, and where it stands."""

    index: int
    glyph: str
    panel: int
    """Which of the sheets' parts it stands on, from left to right."""
    left: float
    top: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.left + self.width / 2, self.top + self.height / 2

    def holds(self, point: tuple[float, float]) -> bool:
        """Whether a point lies on it."""
        return 0 <= point[0] - self.left <= self.width and 0 <= point[1] - self.top <= self.height


class Tab:
    """A tab with the page in it, in a window of its own: nothing is remembered from another."""

    def __init__(self, browser: Browser, address: str, *, moving: bool = False, **options: Any) -> None:
        options = {"viewport": DESKTOP, **options}
        motion: Any = "no-preference" if moving else "reduce"
        self.address = address.rstrip("/")
        self.context = browser.new_context(base_url=self.address, reduced_motion=motion, **options)
        self.context.set_default_timeout(PATIENCE)
        self.requested: list[str] = []
        self.said: list[str] = []
        self.unreachable = False
        """Whether the server has gone, which the browser notes on the console."""
        self._refused: set[str] = set()
        self.context.on("request", lambda request: self.requested.append(request.url))
        self.context.on("console", self._hear)
        self.context.on("weberror", self._fail)
        self.page: Page = self.context.new_page()

    # What must not happen.

    def refused(self, *paths: str) -> None:
        """These addresses are going to refuse: then the browser notes their status on the console, the page nothing."""
        self._refused.update(paths)

    def _hear(self, message: ConsoleMessage) -> None:
        path = urlsplit(message.location["url"]).path
        status, gone = (
            message.text.startswith(f"Failed to load resource: {how}")
            for how in ("the server responded with a status of 4", "net::ERR_CONNECTION_REFUSED")
        )
        if not ((status and path in self._refused) or (gone and self.unreachable)):
            self.said.append(f"{message.type}: {message.text} ({message.location['url']})")

    def _fail(self, error: WebError) -> None:
        self.said.append(f"uncaught: {error.error}")

    def check(self) -> None:
        """Nothing was asked of another machine, and nothing was said on the console: no error, no warning, no note."""
        own = urlsplit(self.address)
        for address in self.requested:
            parts = urlsplit(address)
            inside = parts.scheme in ("data", "blob") or (parts.scheme, parts.netloc) == (
                own.scheme,
                own.netloc,
            )
            assert inside, f"{address} was asked"
        assert self.said == []

    def close(self) -> None:
        self.context.close()

    def leave(self) -> None:
        """Check what has been going on here, and forget it; whoever comes next opens the page anew."""
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.mouse.move(0, 0)
        if self.page.url.startswith(self.address):
            self.evaluate("localStorage.clear()")
        try:
            self.check()
        finally:
            self.requested.clear()
            self.said.clear()
            self._refused.clear()

    # What one does.

    def open(self, address: str = "/") -> None:
        self.page.goto(address)

    def solve(self, problem: str, *, model: str | None = None) -> None:
        """A problem by its address, until its solution stands there."""
        chosen = "" if model is None else f"model={model}&"
        self.open(f"/?{chosen}problem={problem}")
        self.expect_verdict()

    def type(self, problem: str) -> None:
        self.find("#problem").fill(problem)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def ask_api(self, path: str, body: object = None) -> Any:
        """What the API says of the same."""
        request = self.context.request
        answer = request.get(path) if body is None else request.post(path, data=body)
        assert answer.ok, answer.text()
        return answer.json()

    # What one sees.

    def find(self, selector: str) -> Locator:
        return self.page.locator(selector)

    @property
    def status(self) -> Locator:
        return self.find("#status")

    @property
    def answer(self) -> Locator:
        return self.find("#status .answer")

    def expect_verdict(self, *, right: bool = True) -> None:
        expect(self.find(f"#status.{'good' if right else 'bad'} .answer")).to_be_visible()
        expect(self.find("#stop")).to_be_hidden()

    def expect_sentence(self, place: str, *words: str) -> None:
        """A refusal, said in a sentence."""
        expect(self.find(f"{place}.bad")).to_contain_text(words[0] if words else re.compile(r"\.$"))
        said = self.find(place).inner_text()
        assert all(word in said for word in words), said
        assert said.endswith("."), said

    def token(self, index: int) -> Locator:
        return self.find(f".token[data-index='{index}']")

    def evaluate(self, script: str, given: object = None) -> Any:
        return self.page.evaluate(script, given)

    @property
    def written(self) -> str:
        """All tokens in the order of the sequence."""
        return "".join(square.glyph for square in self.squares())

    def squares(self) -> list[Square]:
        """All tokens in the order of the sequence, where they are seen."""
        found = self.evaluate("""() => [...document.querySelectorAll('.token')].map((token) => {
            const box = token.getBoundingClientRect();
            const panels = [...document.querySelectorAll('.panel')];
            return {index: Number(token.dataset.index), glyph: token.querySelector('b').textContent,
                    panel: panels.indexOf(token.closest('.panel')),
                    left: box.x + scrollX, top: box.y + scrollY, width: box.width, height: box.height};
        })""")
        squares = sorted((Square(**square) for square in found), key=lambda square: square.index)
        assert [square.index for square in squares] == list(range(len(squares)))
        return squares

    def read_paper(self) -> list[list[str]]:
        """The parts of the sheet as the eye reads them: rows of text, a character wherever a square stands."""
        squares = self.squares()
        return [
            _rows(square for square in squares if square.panel == panel)
            for panel in sorted({square.panel for square in squares})
        ]

    def style(self, selector: str, name: str, *, pseudo: str | None = None) -> str:
        """What the browser makes of a style."""
        given = [selector, name, pseudo]
        script = "([at, name, part]) => getComputedStyle(document.querySelector(at), part).getPropertyValue(name)"
        return str(self.evaluate(script, given))

    @property
    def here(self) -> str:
        """The address without its origin."""
        return self.page.url.removeprefix(self.address)

    @property
    def focused(self) -> Locator:
        return self.find("*:focus")


def _rows(squares: Iterable[Square]) -> list[str]:
    placed: dict[tuple[int, int], str] = {}
    some = list(squares)
    left, top = min(square.left for square in some), min(square.top for square in some)
    pitch = some[0].width + 1  # a line of one pixel lies between squares
    for square in some:
        across, down = (square.left - left) / pitch, (square.top - top) / pitch
        at = round(across), round(down)
        assert max(abs(across - at[0]), abs(down - at[1])) < 0.05, f"{square} is off the lines"
        assert at not in placed, f"{square} covers another"
        placed[at] = square.glyph
    wide, high = (1 + max(at[axis] for at in placed) for axis in (0, 1))
    return ["".join(placed.get((x, y), " ") for x in range(wide)) for y in range(high)]


def eventually(holds: Callable[[], bool], seconds: float = PATIENCE / 1000) -> None:
    """Wait until something holds that no locator can tell."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.05)
