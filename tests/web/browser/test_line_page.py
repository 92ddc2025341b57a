"""Where only one is served at once, others wait in line; and where the server ends, the page says so."""

import re
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from browser.conftest import OpenTab, serving
from browser.tab import LONG, SUM, expect


@pytest.fixture
def narrow() -> Iterator[str]:
    """A page where one is served at once."""
    with serving("--at-once", 1) as address:
        yield address


def test_those_in_line_know_their_place_and_come_to_their_turn(open_tab: OpenTab, narrow: str) -> None:
    second, third = open_tab(narrow), open_tab(narrow)
    with urlopen(f"{narrow}api/solve/stream?problem={LONG}") as first:
        assert first.readline() == b"event: page\n"
        second.open(f"/?problem={SUM}")
        expect(second.status).to_have_text("Waiting in line: next …")
        expect(second.find("#stop")).to_be_visible()
        third.open("/?problem=1+1")
        expect(third.status).to_have_text("Waiting in line: 1 ahead …")
        assert second.ask_api("/api/health") == {"ok": True, "working": 1, "waiting": 2}
        second.find("#stop").click()
        expect(second.status).to_have_text("Stopped.")
        expect(third.status).to_have_text("Waiting in line: next …")
    expect(third.answer).to_have_text("2")
    second.find("#go").click()
    expect(second.answer).to_have_text("201")


def test_whoever_has_a_share_in_line_already_is_told_so(open_tab: OpenTab) -> None:
    with serving("--at-once", 1, "--per-address", 1) as address:
        tab = open_tab(address)
        tab.refused("/api/solve/stream")
        with urlopen(f"{address}api/solve/stream?problem={LONG}") as first:
            assert first.readline() == b"event: page\n"
            tab.open(f"/?problem={SUM}")
            tab.expect_sentence("#status", "From your address one problem is waiting or being worked on already")
            expect(tab.find("#stop")).to_be_hidden()
        expect(tab.find("#go")).to_be_enabled()


def test_the_page_says_that_the_server_has_ended(open_tab: OpenTab) -> None:
    with serving() as address:
        tab = open_tab(address)
        tab.open(f"/?problem={LONG}")
        expect(tab.status).to_contain_text("multiplier writes: ")
    tab.expect_sentence("#status", "The page is being closed.")
    tab.unreachable = True
    tab.token(3).hover()
    expect(tab.find("#inside .refusal")).to_contain_text("The server cannot be reached")
    tab.type(SUM)
    tab.press("Enter")
    expect(tab.status).to_have_text("The server cannot be reached: is lengthwise serve still running?")
    expect(tab.status).to_have_class(re.compile(r"\bbad\b"))
