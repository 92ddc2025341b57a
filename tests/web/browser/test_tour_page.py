"""The tour: five steps, forward and back, each with its own address."""

import re

import pytest

from browser.tab import SUM, Route, Tab, expect

TITLES = (
    "A scratchpad",
    "Position coupling",
    "What the heads do",
    "Beyond the training lengths",
    "The theorem",
)


def expect_step(tab: Tab, number: int) -> None:
    expect(tab.find("#tour")).to_be_visible()
    expect(tab.find("#tour-step")).to_have_text(f"Step {number} of 5")
    expect(tab.find("#tour-title")).to_have_text(TITLES[number - 1])
    expect(tab.page).to_have_url(re.compile(rf"[?&]tour={number}$"))
    expect(tab.find("nav [aria-current]")).to_have_text("Learn")


def expect_prepared(tab: Tab, number: int) -> None:
    """What is to be seen at a step."""
    model = {5: "theorem"}.get(number, "adder-tiny")
    if number == 4:
        expect(tab.find("#problem")).to_have_value(re.compile(r"^[1-9]\d{19}(\+[1-9]\d{19}){19}$"))
    else:
        expect(tab.find("#problem")).to_have_value(SUM)
    tab.expect_verdict()
    expect(tab.find("#model")).to_have_value(model)
    chosen = {2, 3, 5}
    expect(tab.find(".chosen")).to_have_count(1 if number in chosen else 0)
    if number in chosen:
        expect(tab.find("#inside h2")).to_have_text("0tens digit of partial sum 2")
        expect(tab.find(".head")).to_have_count(4)
        expect(tab.find(".arcs path").first).to_be_attached()
    kin = {2, 5}
    coloured = {2, 4, 5}
    assert (tab.find(".kin").count() > 0) == (number in kin)
    assert (tab.find("#levels input:checked").count() == 2) == (number in coloured)


def test_five_steps_forward_and_back(tab: Tab) -> None:
    tab.solve("1+1")
    tab.page.get_by_role("link", name="Learn").click()
    back, forward = tab.find("#tour-back"), tab.find("#tour-next")
    for number in range(1, 6):
        expect_step(tab, number)
        expect_prepared(tab, number)
        expect(tab.find("#tour-title")).to_be_focused()
        if number < 5:
            forward.click()
    expect(forward).to_have_text("Done")
    for number in (4, 3, 2, 1):
        back.click()
        expect_step(tab, number)
        if number in (3, 1):
            expect_prepared(tab, number)
    expect(back).to_be_disabled()


@pytest.mark.parametrize(("address", "number"), [("/?tour=3", 3), ("/?tour=99", 5)])
def test_a_step_has_an_address(tab: Tab, address: str, number: int) -> None:
    tab.open(address)
    expect_step(tab, number)
    expect_prepared(tab, number)


def test_the_tour_is_left(tab: Tab) -> None:
    for way in ("Escape", "Escape elsewhere", "End the tour", "Done", "Solve"):
        tab.open("/?tour=5")
        expect_step(tab, 5)
        expect_prepared(tab, 5)
        if way == "Escape":
            tab.press("Escape")
        elif way == "Escape elsewhere":
            tab.find("#copy-link").focus()
            tab.press("Escape")
            expect(tab.find(".chosen")).to_have_count(0)  # first the token
            tab.press("Escape")
        elif way == "Solve":
            tab.page.get_by_role("link", name="Solve").click()
        else:
            tab.page.get_by_role("button", name=way).click()
        expect(tab.find("#tour")).to_be_hidden()
        expect(tab.find("#solve h1")).to_be_visible()
        expect(tab.find("nav [aria-current]")).to_have_text("Solve")
        assert "tour" not in tab.here
        assert f"problem={SUM}" in tab.here
        if way != "Solve":
            expect(tab.find("#problem")).to_be_focused()
    tab.page.reload()
    tab.expect_verdict()
    expect(tab.find("#tour")).to_be_hidden()


def test_the_browser_goes_back_out_of_the_tour(tab: Tab) -> None:
    tab.solve("1+1")
    tab.page.get_by_role("link", name="Learn").click()
    expect_prepared(tab, 1)
    tab.find("#tour-next").click()
    expect_step(tab, 2)
    expect_prepared(tab, 2)
    tab.page.go_back()
    expect_step(tab, 1)
    expect_prepared(tab, 1)
    tab.page.go_back()
    expect(tab.find("#tour")).to_be_hidden()
    expect(tab.find("#problem")).to_have_value("1+1")
    tab.expect_verdict()
    expect(tab.answer).to_have_text("2")


def test_a_model_slips_beyond_its_training(tab: Tab) -> None:
    tab.open("/?tour=4")
    expect_prepared(tab, 4)
    tab.page.get_by_role("button", name="Watch adder-coupling slip").click()
    tab.expect_verdict(right=False)
    expect(tab.find("#model")).to_have_value("adder-coupling")
    expect(tab.find(".wrong.first")).to_have_count(1)


def test_the_tour_leads_to_the_grids(tab: Tab) -> None:
    tab.open("/?tour=4")
    tab.page.get_by_role("button", name="See the grids").click()
    expect(tab.find(".map h3")).to_have_text(["adder-coupling", "adder-tiny"])
    expect(tab.find("#grids h1")).to_be_visible()
    expect(tab.find("#solve")).to_be_hidden()
    tab.find(".map:nth-child(2) .cell[data-length='10'][data-count='10']").click()
    expect(tab.find("#tour")).to_be_hidden()
    expect(tab.find("nav [aria-current]")).to_have_text("Solve")
    expect(tab.find("#problem")).to_have_value(re.compile(r"^\d{10}(\+\d{10}){9}$"))
    expect(tab.find("#model")).to_have_value("adder-tiny")
    tab.expect_verdict()


def test_who_goes_on_quickly_is_not_fetched_back(tab: Tab) -> None:
    tab.open("/?tour=3")
    expect_prepared(tab, 3)
    held: list[Route] = []
    tab.page.route("**/api/problem?*", lambda route: held.append(route))
    tab.find("#tour-next").click()
    expect_step(tab, 4)
    tab.find("#tour-next").click()
    expect_step(tab, 5)
    expect_prepared(tab, 5)
    with tab.page.expect_response("**/api/problem?*"):
        held[0].continue_()
    tab.page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 100))")
    expect_step(tab, 5)
    expect_prepared(tab, 5)


def test_who_goes_back_quickly_is_not_pointed_at_anything(tab: Tab) -> None:
    tab.open("/?tour=1")
    expect_prepared(tab, 1)
    held: list[Route] = []
    tab.page.route("**/api/solve/stream?*", lambda route: route.continue_() if held else held.append(route))
    tab.find("#tour-next").click()
    expect_step(tab, 2)
    expect(tab.status).to_have_text("Asking adder-tiny …")
    tab.find("#tour-back").click()
    expect_step(tab, 1)
    expect_prepared(tab, 1)
    tab.press("Escape")
    expect(tab.find("#tour")).to_be_hidden()
    assert "at=" not in tab.here
