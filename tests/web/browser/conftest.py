"""One server and one browser for all tests of this folder; every tab is looked over at the end of its test."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lengthwise as lw
from lengthwise.results import Grid

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from browser.tab import Tab

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
OpenTab = Callable[..., "Tab"]


@pytest.fixture(scope="package")
def browser() -> "Iterator[Browser]":
    """The browser. It is closed when other tests follow: while it is open, a loop of asyncio is running."""
    from playwright.sync_api import sync_playwright

    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no Chromium to show the page in: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=OPTIONS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a user might have: an untrained model, a run with two grids, and a grid of no model."""
    home = tmp_path_factory.mktemp("page")
    shape = lw.ModelConfig(layers=2, heads=2, width=32, head_dim=8, feedforward=48)
    lw.Solver.new(lw.task("addition"), lw.encoding("learned", sizes=(40, 40)), shape, seed=3).save_pretrained(
        home / "untrained"
    )
    lw.load("adder-tiny").save_pretrained(home / "my-run")
    task = {"name": "addition"}
    trained = {"trained_on": {"length": 2, "count": 3}}
    for name, correct in (("near", [[20, 20, 13], [20, 7, 0]]), ("far", [[20, 20, 20], [19, 18, 17]])):
        grid = Grid.blank(
            {"length": [2, 4], "count": [2, 3, 5]}, task=task, samples=20, seed=0, model={"name": "my-run", **trained}
        )
        grid.correct = grid.answers = [list(row) for row in correct]
        grid.total = [[20] * 3, [20] * 3]
        (home / "my-run" / "grids").mkdir(exist_ok=True)
        grid.save(home / "my-run" / "grids" / f"{name}.json")
    loose = Grid.blank({"length": [3, 150], "count": [2, 90]}, task=task, samples=10, seed=0)
    loose.correct, loose.answers, loose.total = [[9, 4], [0, None]], [[10, 4], [0, None]], [[10, 10], [10, None]]
    loose.save(home / "loose.json")
    return home


@contextlib.contextmanager
def serving(*arguments: object) -> Iterator[str]:
    """`lengthwise serve` at a free port; its address."""
    command = [sys.executable, "-m", "lengthwise", "serve", "--port", "0", "--no-open", *map(str, arguments)]
    own = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True, env=own) as process,
    ):
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert "the page is at http://127.0.0.1:" in said
            yield said.split()[5]
        finally:
            process.send_signal(signal.SIGINT)
            ended = process.wait(20)
            complaints.seek(0)
            assert (ended, complaints.read()) == (0, "")


@pytest.fixture(scope="session")
def server(folders: Path) -> Iterator[str]:
    """The address of the page."""
    with serving(folders, "--matrix", 200) as address:
        yield address


@pytest.fixture
def open_tab(browser: "Browser", server: str) -> Iterator[OpenTab]:
    """Opens tabs. However a test ends up using them, nothing may leave the machine or be said on the console."""
    from browser.tab import Tab

    tabs: list[Tab] = []

    def opened(address: str = server, **options: Any) -> Tab:
        tabs.append(Tab(browser, address, **options))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.close()
    for tab in tabs:
        tab.check()


@pytest.fixture(scope="package")
def kept_tab(browser: "Browser", server: str) -> "Iterator[Tab]":
    from browser.tab import Tab

    kept = Tab(browser, server)
    yield kept
    kept.close()


@pytest.fixture
def tab(kept_tab: "Tab") -> "Iterator[Tab]":
    """A tab of a desktop, nothing moving. It is kept from test to test: opening one takes longer than most tests."""
    yield kept_tab
    kept_tab.leave()
