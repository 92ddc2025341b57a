"""For everyone: keys alone, small screens, light and dark, readable colours, names for every control."""

import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from browser.conftest import OpenTab
from browser.tab import PHONE, SUM, Tab, eventually, expect

NUMBERS = "+".join(str(10**29 + 7**number) for number in range(30))
"""Thirty numbers of thirty digits."""
VIEWS = {
    "a sum": f"/?problem={SUM}",
    "a token": f"/?problem={SUM}&at=22",
    "in sequence": f"/?problem={SUM}&layout=flat&at=22",
    "a product": "/?problem=123456789*987654321",
    "bits": f"/?problem={'0110' * 60}",
    "mistakes": f"/?model=untrained&problem={SUM}",
    "a grid": "/?view=grids",
    "two grids": "/?view=grids&grid=adder-tiny&beside=multiplier",
    "the tour": "/?tour=2",
    "the API": "/api",
}


def expect_ready(tab: Tab, view: str) -> None:
    """All of a view is there."""
    if view == "the API":
        expect(tab.page.get_by_role("heading", level=1)).to_be_visible()
    elif "grid" in view:
        expect(tab.find(".cell").first).to_be_visible()
    else:
        tab.expect_verdict(right=view != "mistakes")
        if view in ("a token", "in sequence", "the tour"):
            expect(tab.find(".heads")).to_be_visible()


# Keys.


def tab_to(tab: Tab, selector: str, *, most: int = 40) -> None:
    """Press Tab until something has the focus; wherever the focus is on the way, it is seen."""
    for _ in range(most):
        tab.press("Tab")
        expect_focus_seen(tab)
        if tab.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


def expect_focus_seen(tab: Tab) -> None:
    seen = tab.evaluate("""() => {
        const here = document.activeElement;
        if (here === document.body) return true; // between the page and the browser's own buttons
        const ringed = (element) => {
            const style = getComputedStyle(element);
            return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
        };
        const box = here.getBoundingClientRect();
        const onScreen = box.width > 0 && box.bottom > 0 && box.right > 0;
        return here.matches(':focus-visible') && onScreen && (ringed(here) || ringed(here.closest('label') ?? here));
    }""")
    assert seen, tab.evaluate("document.activeElement.outerHTML")


def test_keys_alone_from_opening_to_looking_inside(tab: Tab) -> None:
    tab.open()
    tab.expect_verdict()
    tab_to(tab, "#problem")
    tab.press("ControlOrMeta+a")
    tab.page.keyboard.type("99+1+5")
    tab.press("Enter")
    expect(tab.answer).to_have_text("105")
    tab_to(tab, ".token")
    expect(tab.token(0)).to_be_focused()
    tab.press("ArrowRight", "ArrowRight")
    expect(tab.token(2)).to_be_focused()
    expect_focus_seen(tab)
    expect(tab.find("#inside h2")).to_have_text("9tens digit of operand 1")
    expect(tab.find(".head")).to_have_count(4)
    tab_to(tab, "[data-key='head-1']")
    tab.press("Enter")
    expect(tab.find(".head-0")).to_have_attribute("data-chosen", "false")
    expect(tab.find("[data-key='head-1']")).to_be_focused()
    tab.press("Shift+Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab")
    expect(tab.token(2)).to_be_focused()  # the sheet is one stop, at the token one was at


def test_every_control_is_reached_by_tab_and_its_focus_is_seen(tab: Tab) -> None:
    tab.open(VIEWS["a token"])
    expect_ready(tab, "a token")
    reached = set()
    for _ in range(60):
        tab.press("Tab")
        expect_focus_seen(tab)
        reached.add(tab.evaluate("document.activeElement.id || document.activeElement.dataset.key || ''"))
        if tab.evaluate("document.activeElement === document.body"):
            break
    wanted = {"keys-open", "theme", "problem", "go", "model", "copy-text", "copy-link", "save-png", "save-svg"}
    wanted |= {"writing", "reading", "all", *(f"{what}-{head}" for what in ("head", "matrix") for head in range(4))}
    assert wanted <= reached


def test_keys_with_a_meaning(tab: Tab) -> None:
    tab.solve(SUM)
    tab.press("l")
    expect(tab.find("#sheet")).to_have_class(re.compile(r"\bflat\b"))
    expect(tab.page.get_by_role("radio", name="In sequence")).to_be_checked()
    tab.press("l")
    expect(tab.find("#sheet")).to_have_class(re.compile(r"\bpaper\b"))
    tab.press("?")
    keys = tab.page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_visible()
    tab.press("l", "m", "/")  # nothing behind the window moves
    expect(tab.find("#sheet")).to_have_class(re.compile(r"\bpaper\b"))
    tab.press("Escape")
    expect(keys).to_be_hidden()
    tab.page.get_by_role("button", name="Keys").click()
    expect(keys).to_be_visible()
    keys.get_by_role("button", name="Close").click()
    expect(keys).to_be_hidden()
    tab.press("/")
    expect(tab.find("#problem")).to_be_focused()
    tab.page.keyboard.type("1+?l/m")  # in the box, keys are letters
    expect(tab.find("#problem")).to_have_value("1+?l/m")
    expect(keys).to_be_hidden()
    tab.page.get_by_role("link", name="Grids").click()
    expect(tab.find("#grids")).to_be_visible()
    tab.press("/")
    expect(tab.find("#problem")).to_be_focused()
    expect(tab.find("#grids")).to_be_hidden()


def test_the_first_stop_skips_to_the_content(tab: Tab) -> None:
    tab.solve(SUM)
    tab.press("Tab")
    skip = tab.page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    tab.press("Enter", "Tab")
    expect(tab.find("#problem")).to_be_focused()
    expect(tab.answer).to_have_text("201")
    assert sum("/api/solve/stream" in address for address in tab.requested) == 1  # it is not solved again


# Small screens.


def test_every_view_on_a_phone(open_tab: OpenTab) -> None:
    """Nothing is wider than it, and everything has a name."""
    tab = open_tab(viewport=PHONE, is_mobile=True, has_touch=True)
    for view, address in {**VIEWS, "thirty by thirty": f"/?problem={NUMBERS}"}.items():
        tab.open(address)
        expect_ready(tab, view)
        wide, room = tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert room == PHONE["width"], view
        assert wide <= room, view
        hidden = tab.evaluate("""() => [...document.querySelectorAll('button, select, textarea, h1, nav a')]
            .filter((one) => one.offsetParent && one.getBoundingClientRect().right > innerWidth + 1)
            .map((one) => one.outerHTML)""")
        assert hidden == [], view
        if view in ("a sum", "a token", "a product", "bits"):  # larger ones are moved under their frame
            assert tab.find(".sheet-frame").evaluate("(frame) => frame.scrollWidth <= frame.clientWidth"), view
        if view != "thirty by thirty":
            expect_names(tab, view)
    # All of it came from this server: the check at the end has seen each address.
    paths = {address.removeprefix(tab.address).partition("?")[0] for address in tab.requested}
    assert {"/", "/api", "/static/main.js", "/static/style.css", "/api/models", "/api/solve/stream"} <= paths


def uncovered(tab: Tab, index: int) -> bool:
    """Whether a token can be seen, from its head to its foot."""
    seen: bool = tab.token(index).evaluate("""(token) => {
        const box = token.getBoundingClientRect();
        return [box.top + 2, box.bottom - 2].every((y) =>
            token.contains(document.elementFromPoint(box.x + box.width / 2, y)));
    }""")
    return seen


@pytest.mark.parametrize("moving", [False, True])
def test_a_link_to_a_token_shows_it_on_a_phone(open_tab: OpenTab, moving: bool) -> None:
    """What goes on inside stands below it, the status line above."""
    tab = open_tab(viewport=PHONE, is_mobile=True, has_touch=True, moving=moving)
    twelve = "+".join(["123456789012"] * 12)
    for problem, layout, at in (
        (SUM, "paper", 22),
        (twelve, "paper", 3),
        (twelve, "paper", 310),
        (twelve, "flat", 310),
    ):
        tab.open(f"/?problem={problem}&layout={layout}&at={at}")
        expect(tab.find(".heads")).to_be_visible()
        assert tab.style("#inside", "position") == "sticky"
        assert uncovered(tab, at), (problem, layout, at)
        expect(tab.find("#inside h2")).to_be_in_viewport()


def test_whoever_has_moved_the_page_meanwhile_is_left_there(open_tab: OpenTab) -> None:
    tab = open_tab(viewport={"width": 390, "height": 1_100}, moving=True)
    for touched in (False, True):
        tab.open(f"/?problem={SUM}&at=22")
        expect(tab.status).to_contain_text(" writes: ")
        if touched:
            tab.press("Shift")  # any key counts, as a finger or a wheel does
        expect(tab.find(".heads")).to_be_visible()
        assert (tab.evaluate("scrollY") == 0) is touched


def test_a_phone_looks_inside_by_touch(open_tab: OpenTab) -> None:
    tab = open_tab(viewport=PHONE, is_mobile=True, has_touch=True)
    tab.solve(SUM)
    tab.token(22).tap()
    expect(tab.find("#inside h2")).to_have_text("0tens digit of partial sum 2")
    expect(tab.find(".heads")).to_be_visible()
    expect(tab.token(22)).to_be_in_viewport()
    expect(tab.find("#inside h2")).to_be_in_viewport()
    assert uncovered(tab, 22)  # by what it shows
    sizes = [(square.width, square.height) for square in tab.squares()]
    assert min(min(size) for size in sizes) >= 24  # wide enough for a finger


# Light and dark.


def palette(tab: Tab) -> dict[str, str]:
    """All colours that have a name in the style sheet, as they are now."""
    found = tab.evaluate("""() => {
        const rules = [...document.styleSheets[0].cssRules].filter((rule) => rule.selectorText === ':root');
        const names = rules.flatMap((rule) => [...rule.style]).filter((name) => name.startsWith('--'));
        const style = getComputedStyle(document.documentElement);
        return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(name)]));
    }""")
    own = {"body": tab.style("body", "background-color"), "words": tab.style("body", "color")}
    return {str(name): str(colour) for name, colour in found.items() if "#" in colour} | own


def test_light_and_dark_follow_the_system_and_the_button(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.solve(SUM)
    by_day = palette(tab)
    tab.page.emulate_media(color_scheme="dark")
    by_night = palette(tab)
    assert brightness(by_day["body"]) > brightness(by_day["words"])
    assert brightness(by_night["body"]) < brightness(by_night["words"])
    assert {"--ink", "--id-0", "--id-7", "--head-0", "--head-7", "--bad"} <= set(by_day)
    assert not set(by_day.items()) & set(by_night.items())
    button = tab.page.get_by_role("button", name="Light or dark")
    for own, other in ((by_night, by_day), (by_day, by_night)):
        assert palette(tab) == own
        button.click()
        assert palette(tab) == other
        tab.page.reload()
        tab.expect_verdict()
        assert palette(tab) == other  # remembered
        tab.page.emulate_media(color_scheme="light")
        assert palette(tab) == other  # whatever the system does
        button.click()
        assert palette(tab) == own
        tab.evaluate("localStorage.clear()")
        tab.page.reload()
        tab.expect_verdict()


def rgb(colour: str) -> tuple[float, float, float, float]:
    """Red, green, blue from 0 to 1, and how opaque."""
    numbers = [float(number) for number in re.findall(r"[\d.]+", colour)]
    red, green, blue, *opaque = numbers
    return red / 255, green / 255, blue / 255, (opaque or [1.0])[0]


def brightness(colour: str) -> float:
    """Relative luminance as in WCAG."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb(colour)[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(ink: str, paper: str) -> float:
    bright, dark = sorted((brightness(ink), brightness(paper)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
INKS = """(selector) => [...document.querySelectorAll(selector)].map((element) => {
    let [paper, opaque] = [element, 1];
    while (paper && getComputedStyle(paper).backgroundColor === 'rgba(0, 0, 0, 0)') {
        opaque *= getComputedStyle(paper).opacity;
        paper = paper.parentElement;
    }
    const numbers = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const [ink, ground] = [element, paper ?? document.body].map((one, at) =>
        numbers(at ? getComputedStyle(one).backgroundColor : getComputedStyle(one).color));
    const seen = ink.map((part, channel) => opaque * part + (1 - opaque) * ground[channel]);
    return [element.textContent.trim().slice(0, 30), `rgb(${seen.join(' ')})`, `rgb(${ground.join(' ')})`];
})"""


def expect_readable(tab: Tab, selector: str, *, papers: int = 1) -> None:
    """Everything there is to be read, on so many different colours or more."""
    found = tab.evaluate(INKS, selector)
    assert len({paper for _, _, paper in found}) >= papers
    for words, ink, paper in found:
        assert contrast(ink, paper) >= 4.5, (words, ink, paper, contrast(ink, paper))


def test_glyphs_can_be_read_on_every_colour(open_tab: OpenTab) -> None:
    tab = open_tab()

    def expect_readable_by_day_and_night(*selectors: str, papers: int = 1) -> None:
        for scheme in SCHEMES:
            tab.page.emulate_media(color_scheme=scheme)
            for selector in selectors:
                expect_readable(tab, selector, papers=papers)

    for levels, layout, papers in (("row", "paper", 9), ("column", "paper", 2), ("column,row", "flat", 1)):
        tab.open(f"/?problem=1+2+3+4+5+6+7+8+9&levels={levels}&layout={layout}")
        tab.expect_verdict()
        expect_readable_by_day_and_night(".token b", papers=papers)
        expect_readable_by_day_and_night(".token i:not(:empty)", papers=min(papers, 2))
    tab.open("/?problem=1234567890+1&levels=column")
    tab.expect_verdict()
    expect_readable_by_day_and_night(".token b", papers=9)
    tab.open(f"/?model=untrained&problem={SUM}&at=18")
    tab.expect_verdict(right=False)
    expect(tab.find(".heads")).to_be_visible()
    expect_readable_by_day_and_night(
        *(".token b", ".token i:not(:empty)", ".chip", ".status span", ".status button", ".refusal", ".faint"),
        *(".number", "#inside b", "h1", "h2", "h3", "nav a", "#problem", "#go", "#model", ".tools button"),
        *(".choice span", ".choice button", ".head-line button"),
    )
    for scheme in SCHEMES:
        tab.page.emulate_media(color_scheme=scheme)
        mark = [tab.style(".wrong", name, pseudo="::before") for name in ("color", "background-color")]
        assert contrast(*mark) >= 4.5
    tab.open("/?view=grids&grid=adder-coupling&beside=loose")
    expect(tab.find(".cell").first).to_be_visible()
    expect_readable_by_day_and_night(".cell:not(:empty)", papers=8)
    expect_readable_by_day_and_night(".tick:not(:empty)", ".upward", ".rightward", ".lead", ".faint")


# The address.


def test_an_address_brings_all_of_it_back(open_tab: OpenTab) -> None:
    first = open_tab(permissions=["clipboard-read", "clipboard-write"])
    first.solve("37*925")
    first.page.get_by_role("checkbox", name="row").uncheck()
    first.page.get_by_role("radio", name="In sequence").check()
    first.token(12).click()
    first.page.get_by_role("button", name="having read it").click()
    first.page.get_by_role("combobox", name="Layer").select_option("layer 2")
    first.page.get_by_role("button", name="head 3").click()
    first.page.get_by_role("button", name="Copy link").click()
    expect(first.find("#toast")).to_have_text("The link is copied.")
    link = first.evaluate("navigator.clipboard.readText()")
    assert link == first.page.url
    assert first.here == (
        "/?model=multiplier&problem=37*925&layout=flat&levels=multiplicand,column&at=12&when=reading&layer=1&head=2"
    )
    second = open_tab()
    second.open(link)
    second.expect_verdict()
    expect(second.find("#model")).to_have_value("multiplier")
    expect(second.find("#problem")).to_have_value("37*925")
    expect(second.page.get_by_role("radio", name="In sequence")).to_be_checked()
    expect(second.page.get_by_role("checkbox", name="row")).not_to_be_checked()
    expect(second.page.get_by_role("checkbox", name="column")).to_be_checked()
    expect(second.page.get_by_role("button", name="having read it")).to_have_attribute("aria-pressed", "true")
    expect(second.page.get_by_role("combobox", name="Layer")).to_have_value("1")
    expect(second.find(".head-2")).to_have_attribute("data-chosen", "true")
    expect(second.find(".head-1")).to_have_attribute("data-chosen", "false")
    for what in ("#sheet", "#inside"):
        assert second.find(what).inner_text() == first.find(what).inner_text()
    assert second.page.url == link


def test_the_back_button_goes_from_problem_to_problem_and_from_view_to_view(tab: Tab) -> None:
    tab.solve("3+4")
    tab.type("1+2")
    tab.press("Enter")
    expect(tab.answer).to_have_text("3")
    tab.page.go_back()
    expect(tab.find("#problem")).to_have_value("3+4")
    expect(tab.answer).to_have_text("7")
    tab.page.go_forward()
    expect(tab.find("#problem")).to_have_value("1+2")
    expect(tab.answer).to_have_text("3")
    tab.page.get_by_role("link", name="Grids").click()
    tab.find("#grid").select_option("my-run-near")
    expect(tab.find(".map h3")).to_have_text("my-run: near")
    tab.page.get_by_role("link", name="API").click()
    expect(tab.page.get_by_role("heading", name="The API behind the page")).to_be_visible()
    tab.page.go_back()
    expect(tab.find(".map h3")).to_have_text("my-run: near")
    tab.page.go_back()
    expect(tab.find("#problem")).to_have_value("1+2")
    expect(tab.answer).to_have_text("3")
    expect(tab.find("nav [aria-current]")).to_have_text("Solve")
    tab.page.go_forward()
    expect(tab.find(".map h3")).to_have_text("my-run: near")
    expect(tab.find("nav [aria-current]")).to_have_text("Grids")


def test_the_page_is_copied_as_text(open_tab: OpenTab) -> None:
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"])
    tab.solve(SUM)
    tab.page.get_by_role("button", name="Copy text").click()
    expect(tab.find("#toast")).to_have_text("The page is copied as text.")
    assert tab.evaluate("navigator.clipboard.readText()").splitlines() == [
        "57+48+96 = 201 (right), written by adder-tiny with lengthwise",
        "",
        "given: the numbers:",
        "$057+",
        " 048+",
        " 096=",
        "",
        "written: partial sums:",
        " 000",
        " 057>",
        " 105>",
        "$201>",
        "",
        tab.page.url,
    ]


# Names.

CONTROLS = {
    *("button", "link", "combobox", "textbox", "checkbox", "radio", "slider", "grid", "gridcell", "img", "image"),
    *("dialog", "radiogroup", "toolbar", "navigation", "region", "complementary"),
}


def named(tab: Tab) -> Iterator[tuple[str, str, Any]]:
    """Role, name and description of all that the browser tells those who do not see it."""
    session = tab.context.new_cdp_session(tab.page)
    for node in session.send("Accessibility.getFullAXTree")["nodes"]:
        if not node["ignored"]:
            yield node["role"]["value"], node.get("name", {}).get("value", ""), node
    session.detach()


def expect_names(tab: Tab, view: str) -> None:
    """Every control has a name, and there is one title."""
    nodes = list(named(tab))
    assert {"link", "heading"} <= {role for role, _, _ in nodes}
    assert [node for role, name, node in nodes if role in CONTROLS and not name.strip()] == [], view
    titles = tab.find("h1").evaluate_all("(all) => all.filter((one) => one.offsetParent).length")
    assert titles == 1, view
    assert tab.find("img:not([alt])").count() == 0
    ids = tab.find("[id]").evaluate_all("(all) => all.map((one) => one.id)")
    assert len(ids) == len(set(ids))


def test_every_control_has_a_name_and_every_view_one_title(tab: Tab) -> None:
    for view in ("a token", "two grids", "the tour"):
        tab.open(VIEWS[view])
        expect_ready(tab, view)
        if view == "a token":
            tab.page.get_by_text("Surprise me").click()
            expect(tab.page.get_by_role("slider", name="digits each")).to_be_visible()
        expect_names(tab, view)
    for key in ("m", "?"):
        tab.press(key)
        expect(tab.page.get_by_role("dialog")).to_be_visible()
        if key == "m":
            expect(tab.find("#matrix")).to_contain_text("tokens; weights")
        nodes = list(named(tab))
        assert "dialog" in {role for role, _, _ in nodes}
        assert [node for role, name, node in nodes if role in CONTROLS and not name.strip()] == []
        tab.press("Escape")


# Nothing else.


def test_the_check_at_the_end_of_every_test_notices(tab: Tab) -> None:
    tab.open()
    tab.expect_verdict()
    tab.check()
    for script, words in {
        "fetch('https://example.com/x.js').catch(() => {})": "example.com",
        "console.warn('careful')": "warning: careful",
        "setTimeout(() => { throw new Error('oh') })": "oh",
        "Promise.reject(new Error('alas'))": "alas",
        "document.body.append(Object.assign(document.createElement('script'), {textContent: '1'}))": "Content Security",
        "new Image().src = '/no-such-picture.png'": "404",
    }.items():
        tab.evaluate(f"() => {{ {script}; }}")
        eventually(lambda: tab.evaluate("1") and len(tab.said) > 0)
        with pytest.raises(AssertionError, match=words):
            tab.check()
        tab.requested.clear()
        tab.said.clear()
