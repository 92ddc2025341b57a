"""What cannot be done is said in a sentence, where one looks, and nowhere else."""

import re

from browser.conftest import OpenTab
from browser.tab import ANSWER, SUM, Tab, expect

PROBLEMS = {
    "1+x": ("'x' is not a whole number",),
    "12+": (),
    "1*2*3": (),
    "hello": (),
    "<b>1</b>+1": ("<b>",),
    "9" * 9999 + "+1": ("10,001 characters", "up to 8,000 are taken here"),
    "9" * 300 + "+1": ("300 digits", "up to 200 are taken here"),
    "+".join(["1"] * 200): ("200 numbers", "up to 100 are taken here"),
}


def test_a_problem_that_is_none(tab: Tab) -> None:
    tab.refused("/api/solve/stream")
    tab.solve(SUM)
    for problem, words in PROBLEMS.items():
        tab.type(problem)
        tab.press("Enter")
        tab.expect_sentence("#status", *words)
        expect(tab.find("#stop")).to_be_hidden()
        expect(tab.find("#problem")).to_have_value(problem)
        expect(tab.find("#sheet")).to_be_hidden()  # what stood there was of another problem
        tab.type("2+3")
        tab.press("Enter")
        expect(tab.answer).to_have_text("5")
        expect(tab.find("#sheet")).to_be_visible()


def test_no_problem(tab: Tab) -> None:
    tab.solve(SUM)
    for nothing in ("", "  \n "):
        tab.type(nothing)
        tab.page.get_by_role("button", name="Solve").click()
        tab.expect_sentence("#status", "There is no problem yet: type a sum, a product or bits.")
        expect(tab.find("#problem")).to_be_focused()


def test_a_model_that_is_not_here(tab: Tab) -> None:
    tab.open(f"/?model=no-such-model&problem={SUM}")
    expect(tab.find("#toast")).to_have_text(re.compile(r"^There is no model ‘no-such-model’ here: another is asked\.$"))
    expect(tab.find("#toast")).to_be_visible()
    expect(tab.answer).to_have_text(ANSWER)
    expect(tab.find("#model")).to_have_value("adder-tiny")


def expect_no_note(tab: Tab) -> None:
    expect(tab.find("#toast")).to_have_text("")
    expect(tab.find("#toast-close")).to_be_hidden()
    box = tab.find(".toast").bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (0, 0)


def test_a_note_of_something_missing_stays_until_it_is_dismissed(open_tab: OpenTab) -> None:
    """By its button or by Escape, which then does nothing else; wherever one is."""
    tab = open_tab()
    tab.page.clock.install()
    words = "There is no model ‘no-such-model’ here: another is asked."
    for how in ("button", "button by key", "Escape at a token", "Escape on the page", "Escape in the box"):
        tab.open(f"/?model=no-such-model&problem={SUM}&at=22")
        expect(tab.find(".heads")).to_be_visible()
        tab.page.clock.run_for(60_000)
        expect(tab.find("#toast")).to_have_text(words)
        expect(tab.find("#toast")).to_be_visible()
        close = tab.page.get_by_role("button", name="Dismiss")
        if how == "button":
            close.click()
        elif how == "button by key":
            close.focus()
            tab.press("Enter")
            expect(tab.find("#content")).to_be_focused()
        else:
            if how == "Escape at a token":
                tab.token(22).focus()
            elif how == "Escape in the box":
                tab.find("#problem").focus()
            tab.press("Escape")
        expect_no_note(tab)
        expect(tab.token(22)).to_have_class(re.compile(r"\bchosen\b"))
    tab.press("Escape")
    expect(tab.token(22)).not_to_have_class(re.compile(r"\bchosen\b"))


def test_a_note_is_replaced_by_the_next_and_one_in_passing_goes_by_itself(open_tab: OpenTab) -> None:
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"])
    tab.page.clock.install()
    tab.open(f"/?model=no-such-model&problem={SUM}")
    tab.expect_verdict()
    expect(tab.find("#toast-close")).to_be_visible()
    tab.page.get_by_role("button", name="Copy link").click()
    expect(tab.find("#toast")).to_have_text("The link is copied.")
    expect(tab.find("#toast-close")).to_be_hidden()
    tab.page.clock.run_for(3_000)
    expect_no_note(tab)
    tab.page.get_by_role("button", name="Copy link").click()
    expect(tab.find("#toast")).to_have_text("The link is copied.")
    tab.open(f"/?model=no-such&problem={SUM}")
    expect(tab.find("#toast")).to_have_text("There is no model ‘no-such’ here: another is asked.")


def test_a_browser_that_does_not_let_the_page_copy_is_told_of_until_it_is_dismissed(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.page.clock.install()
    tab.solve(SUM)
    tab.evaluate("""() => {
        navigator.clipboard.writeText = () => Promise.reject(new Error());
        document.execCommand = () => false;
    }""")
    tab.page.get_by_role("button", name="Copy link").click()
    expect(tab.find("#toast")).to_have_text("The browser does not let this page copy.")
    tab.page.clock.run_for(60_000)
    expect(tab.find("#toast")).to_be_visible()
    tab.press("Escape")
    expect_no_note(tab)


def test_notes_are_read_aloud(tab: Tab) -> None:
    """Their place is there before they are, as a region whose changes are told; the button is no part of it."""
    tab.solve(SUM)
    place = tab.find("#toast")
    expect(place).to_have_text("")
    expect(place).to_have_attribute("aria-live", "polite")
    assert tab.style("#toast", "display") == "block"
    assert tab.style(".toast", "display") == "flex"
    assert place.evaluate("(place) => place.closest('[hidden], [aria-hidden]') === null")
    assert tab.find("#toast button").count() == 0


ADDRESSES = (
    "/?%E0%A4%A",
    "/?problem=%E0%A4%A",
    "/?view=nowhere&layout=round&when=never&levels=none,such&at=-1&layer=x&head=99&tour=x",
    f"/?problem={SUM}&at=999999&head=77&layer=12&levels=,,",
    "/?toString=1&__proto__=2&constructor=3&hasOwnProperty=4",
    "/?=====&view&model&problem",
    "/?problem==&&&=;;%00",
)


def test_an_address_that_says_nothing_sensible(tab: Tab) -> None:
    tab.refused("/api/solve/stream")
    for address in ADDRESSES:
        tab.open(address)
        if "problem==" in address:
            tab.expect_sentence("#status")
        else:
            expect(tab.answer).to_have_text(ANSWER)
        tab.type("2+3")
        tab.press("Enter")
        expect(tab.answer).to_have_text("5")


def test_a_grid_that_is_not_here(tab: Tab) -> None:
    tab.open("/?view=grids&grid=no-such&beside=../../etc")
    expect(tab.find(".cell").first).to_be_visible()
    expect(tab.find("#grid")).to_have_value("adder-coupling")
    expect(tab.find(".map")).to_have_count(1)


def test_a_problem_that_a_model_has_no_ids_for(tab: Tab) -> None:
    tab.refused("/api/solve/stream")
    tab.open(f"/?model=adder-coupling&problem={'7' * 60}+1")
    tab.expect_sentence("#status", "column ids")
    expect(tab.find("#stop")).to_be_hidden()
