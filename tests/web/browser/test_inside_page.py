"""Look inside: where the heads looked to write a token, which tokens share its ids, and what was held likely."""

import re
from typing import Any, NamedTuple

import pytest

from browser.tab import RIGHT, SUM, Route, Tab, expect

GIVEN = len(RIGHT.prompt)
TENS = RIGHT.tokens.index("0", RIGHT.tokens.index("5", GIVEN + 7))
"""The tens digit of 105, which takes a carry."""
PRODUCT = "37*925"


def looks(tab: Tab, at: int, *, model: str = "adder-tiny", problem: str = SUM) -> Any:
    """What the API says of a token of the page as it is written."""
    given = tab.ask_api(f"/api/page?model={model}&problem={problem}")["prompt"]
    body = {"model": model, "problem": problem, "response": list(tab.written[given:]), "at": at}
    return tab.ask_api("/api/attention", body)


def percents(tab: Tab, selector: str) -> list[float]:
    """Percentages as they are read; what is below the last digit is 0."""
    return [
        0.0 if words.startswith("<") else float(words.removesuffix("%"))
        for words in tab.find(selector).all_inner_texts()
    ]


def expect_heads(tab: Tab, heads: Any) -> None:
    """Every head with its strongest keys and their weights."""
    names = tab.find(".token").evaluate_all(
        """(tokens) => Object.fromEntries(tokens.map((token) => [token.dataset.index,
            [token.querySelector('b').textContent, token.getAttribute('aria-label').split(', ')[1]]]))"""
    )
    expect(tab.find(".head")).to_have_count(len(heads))
    for number, head in enumerate(heads):
        row = f".head-{number} li:not(.faint)"
        strongest = list(zip(head["keys"], head["weights"], strict=True))[:3]
        assert percents(tab, f"{row} .number") == pytest.approx([100 * weight for _, weight in strongest], abs=0.06)
        seen = list(
            zip(
                tab.find(f"{row} b").all_inner_texts(),
                tab.find(f"{row} span:last-child").all_inner_texts(),
                strict=True,
            )
        )
        assert seen == [tuple(names[str(key)]) for key, _ in strongest]
        rest, others = sum(head["weights"][3:]), f".head-{number} li.faint"
        assert percents(tab, f"{others} .number") == pytest.approx([100 * rest] if rest > 0.005 else [], abs=0.06)


class Arc(NamedTuple):
    """One that is drawn."""

    colour: str
    start: tuple[float, float]
    end: tuple[float, float]


def arcs(tab: Tab) -> list[Arc]:
    found = tab.evaluate("""() => {
        const home = document.getElementById('sheet').getBoundingClientRect();
        return [...document.querySelectorAll('.arcs path')].map((path) => {
            const [start, end] = [path.getPointAtLength(0), path.getPointAtLength(path.getTotalLength())];
            return [getComputedStyle(path).stroke,
                    ...[start, end].map((point) => [point.x + home.x + scrollX, point.y + home.y + scrollY])];
        });
    }""")
    return [Arc(colour, (start[0], start[1]), (end[0], end[1])) for colour, start, end in found]


def expect_arcs(tab: Tab, at: int, heads: dict[int, Any]) -> None:
    """An arc in the head's colour from the token to every key that a head looked at, if but a little."""
    squares = tab.squares()
    wanted = []
    for number, head in heads.items():
        colour = tab.style(f".head-{number}", "border-left-color")
        for key, weight in zip(head["keys"], head["weights"], strict=True):
            if weight >= 0.03:
                wanted.append((colour, key))
    expect(tab.find(".arcs path")).to_have_count(len(wanted))
    for drawn, (colour, key) in zip(arcs(tab), wanted, strict=True):
        assert drawn.colour == colour
        assert squares[at].holds(drawn.start)
        assert squares[key].holds(drawn.end)


@pytest.mark.parametrize("layout", ["paper", "flat"])
def test_pointing_at_a_token_shows_where_every_head_looked(tab: Tab, layout: str) -> None:
    tab.open(f"/?problem={SUM}&layout={layout}")
    tab.expect_verdict()
    expect(tab.find("#inside h2")).to_have_text("Look inside")
    tab.token(TENS).hover()
    expect(tab.find("#inside h2")).to_have_text("0tens digit of partial sum 2")
    expect(tab.find(".heads")).to_be_visible()
    (heads,) = looks(tab, TENS - 1)["heads"]  # the token before it looks, to write it
    assert len(heads) == 4
    expect_heads(tab, heads)
    expect_arcs(tab, TENS, dict(enumerate(heads)))
    looked = {key for head in heads for key in head["keys"]}
    assert {
        int(at) for at in tab.find(".looked").evaluate_all("(all) => all.map((one) => one.dataset.index)")
    } == looked
    tab.token(3).hover()
    expect(tab.find("#inside h2")).to_have_text("7ones digit of operand 1")
    expect(tab.find(".heads")).to_be_visible()
    (heads,) = looks(tab, 3)["heads"]  # a given token looks itself
    expect_heads(tab, heads)


def test_tokens_with_its_ids_are_kin(tab: Tab) -> None:
    tab.solve(SUM)
    tab.token(TENS).hover()
    expect(tab.token(TENS)).to_have_class(re.compile(r"\bchosen\b"))
    for levels in ({"column", "row"}, {"column"}, {"row"}, set[str]()):
        for level, name in enumerate(RIGHT.levels):
            tab.page.get_by_role("checkbox", name=name).set_checked(name in levels)
            ids = RIGHT.position_ids[level]
            kin = {at for at, id_ in enumerate(ids) if id_ == ids[TENS]} if name in levels else set()
            marked = tab.find(f".kin-{level}").evaluate_all("(all) => all.map((one) => Number(one.dataset.index))")
            assert set(marked) == kin
    expect(tab.find(".chip")).to_have_text(
        [f"{name} {RIGHT.position_ids[at][TENS]}" for at, name in enumerate(RIGHT.levels)]
    )
    tab.token(0).hover()
    expect(tab.find(".kin")).to_have_count(0)
    expect(tab.find(".chip")).to_have_text(["column uncoupled", "row uncoupled"])


def test_kin_are_seen(tab: Tab) -> None:
    tab.solve(SUM)

    def looks_of(at: int) -> list[str]:
        return [tab.style(f".token[data-index='{at}']", name) for name in ("box-shadow", "outline-style")]

    ones, tens = RIGHT.tokens.index("7"), RIGHT.tokens.index("5")
    before = looks_of(ones), looks_of(tens)
    tab.token(TENS).hover()
    expect(tab.find(".kin-0").first).to_be_visible()
    assert looks_of(ones) == before[0]
    assert looks_of(tens) != before[1]


def test_what_was_held_likely(tab: Tab) -> None:
    tab.open(f"/?model=untrained&problem={SUM}")
    tab.expect_verdict(right=False)
    tab.token(TENS).hover()
    expect(tab.find(".likely li")).to_have_count(4)
    expect(tab.page.get_by_text("How likely, here")).to_be_visible()
    likely = looks(tab, TENS - 1, model="untrained")["next"]
    assert tab.find(".likely b").all_inner_texts() == [each["token"] for each in likely[:4]]
    wanted = [100 * each["probability"] for each in likely[:4]]
    assert percents(tab, ".likely .number") == pytest.approx(wanted, abs=0.06)
    wide = tab.find(".bar").evaluate_all(
        "(bars) => bars.map((bar) => bar.firstChild.getBoundingClientRect().width / bar.getBoundingClientRect().width)"
    )
    assert [100 * part for part in wide] == pytest.approx(wanted, abs=1)
    assert tab.find(".likely b").first.inner_text() == tab.written[TENS]


def test_to_write_a_token_and_having_read_it(tab: Tab) -> None:
    tab.solve(SUM)
    tab.token(TENS).click()
    writing, reading = (tab.page.get_by_role("button", name=name) for name in ("to write it", "having read it"))
    expect(writing).to_have_attribute("aria-pressed", "true")
    expect(tab.find(".heads")).to_be_visible()
    reading.click()
    expect(reading).to_have_attribute("aria-pressed", "true")
    expect(tab.page.get_by_text("How likely to come next")).to_be_visible()
    here = looks(tab, TENS)
    expect_heads(tab, here["heads"][0])
    expect_arcs(tab, TENS, dict(enumerate(here["heads"][0])))
    assert tab.find(".likely b").first.inner_text() == here["next"][0]["token"] == tab.written[TENS + 1]
    assert "&when=reading" in tab.here
    writing.click()
    expect(tab.page.get_by_text("How likely, here")).to_be_visible()
    expect_heads(tab, looks(tab, TENS - 1)["heads"][0])
    assert "when" not in tab.here


def test_one_head_or_all_by_buttons_and_by_digits(tab: Tab) -> None:
    tab.solve(SUM)
    tab.token(TENS).click()
    expect(tab.find(".heads")).to_be_visible()
    (heads,) = looks(tab, TENS - 1)["heads"]

    def expect_shown(chosen: int | None) -> None:
        shown = [str(chosen in (None, number)).lower() for number in range(4)]
        for number, yes in enumerate(shown):
            expect(tab.find(f".head-{number}")).to_have_attribute("data-chosen", yes)
        expect_arcs(tab, TENS, dict(enumerate(heads)) if chosen is None else {chosen: heads[chosen]})
        assert tab.here.endswith(f"&at={TENS}" if chosen is None else f"&at={TENS}&head={chosen}")

    expect_shown(None)
    tab.page.get_by_role("button", name="head 2").click()
    expect_shown(1)
    tab.page.get_by_role("button", name="head 2").click()
    expect_shown(None)
    tab.token(TENS).press("3")
    expect_shown(2)
    tab.press("7")
    expect_shown(2)  # there is no seventh
    tab.press("0")
    expect_shown(None)
    tab.press("1")
    tab.page.get_by_role("button", name="all heads").click()
    expect_shown(None)


def test_every_layer_has_its_heads(tab: Tab) -> None:
    tab.solve(PRODUCT)
    at = tab.written.index("=") + 3
    tab.token(at).click()
    layer = tab.page.get_by_role("combobox", name="Layer")
    expect(layer).to_have_value("0")
    assert layer.locator("option").all_inner_texts() == ["layer 1", "layer 2"]
    layers = looks(tab, at - 1, model="multiplier", problem=PRODUCT)["heads"]
    assert layers[0] != layers[1]
    expect_heads(tab, layers[0])
    layer.focus()
    tab.press("ArrowDown")
    expect(tab.page).to_have_url(re.compile("&layer=1$"))
    expect_heads(tab, layers[1])
    expect_arcs(tab, at, dict(enumerate(layers[1])))
    expect(layer).to_be_focused()


def test_a_press_holds_a_token_and_another_lets_go(tab: Tab) -> None:
    tab.solve(SUM)
    tab.token(TENS).click()
    tab.token(2).hover()
    expect(tab.token(TENS)).to_have_class(re.compile(r"\bchosen\b"))
    assert f"&at={TENS}" in tab.here
    tab.token(TENS).click()
    tab.token(2).hover()
    expect(tab.token(2)).to_have_class(re.compile(r"\bchosen\b"))
    assert "at=" not in tab.here  # what is only pointed at is not kept
    tab.press("Escape")
    expect(tab.find(".chosen")).to_have_count(0)
    expect(tab.find(".arcs path")).to_have_count(0)
    expect(tab.find("#inside h2")).to_have_text("Look inside")
    assert "at=" not in tab.here


def test_arrows_go_where_the_eye_goes_and_commas_along_the_sequence(tab: Tab) -> None:
    tab.solve(SUM)
    tab.token(TENS).click()
    # $057+    000
    #  048+    057>
    #  096=    105>
    #         $201>
    for key, glyph, index in [
        ("ArrowRight", "5", TENS - 1),
        ("ArrowRight", ">", TENS - 2),
        ("ArrowUp", ">", TENS - 6),
        ("ArrowLeft", "7", TENS - 5),
        ("ArrowDown", "5", TENS - 1),
        (".", "0", TENS),
        (",", "5", TENS - 1),
        ("Home", "$", 0),
        ("ArrowDown", "0", 5),
        ("End", "$", len(RIGHT.tokens) - 1),
    ]:
        tab.press(key)
        expect(tab.token(index)).to_be_focused()
        expect(tab.find("#inside .glyph")).to_have_text(glyph)
        expect(tab.find(".chosen")).to_have_attribute("data-index", str(index))


# The matrix.


def matrix_of(tab: Tab, head: int, *, layer: int = 0, model: str = "adder-tiny", problem: str = SUM) -> Any:
    given = tab.ask_api(f"/api/page?model={model}&problem={problem}")["prompt"]
    body = {"model": model, "problem": problem, "response": list(tab.written[given:]), "layer": layer, "head": head}
    return tab.ask_api("/api/attention/head", body)


def expect_told(tab: Tab, matrix: Any) -> tuple[int, int]:
    """The matrix's words are right about a cell; its row and column."""
    words = tab.find("#matrix .status").inner_text()
    told = re.fullmatch(r"From (.+) \((.)\) to (.+) \((.)\): (.+)\.", words)
    assert told, words
    row, column = matrix["names"].index(told[1]), matrix["names"].index(told[3])
    assert (told[2], told[4]) == (matrix["tokens"][row], matrix["tokens"][column])
    found = dict(zip(matrix["rows"][row]["keys"], matrix["rows"][row]["weights"], strict=True))
    if column > row:
        assert told[5] == "not yet written"
    elif column in found:
        assert float(told[5].removesuffix("%")) == pytest.approx(100 * found[column], abs=0.06)
    else:
        assert told[5] == "below 1.0%"
    return row, column


def test_the_matrix_opens_by_m_and_its_cells_are_told_by_the_arrows(tab: Tab) -> None:
    tab.solve(SUM)
    tab.token(TENS).click()
    tab.press("3", "m")
    expect(tab.page.get_by_role("dialog", name="adder-tiny: layer 1, head 3")).to_be_visible()
    picture = tab.page.get_by_role("img", name=f"Attention of head 3: {len(RIGHT.tokens)} rows and columns")
    expect(picture).to_be_focused()
    matrix = matrix_of(tab, 2)
    tab.press("ArrowLeft")
    row, column = expect_told(tab, matrix)
    keys, weights = matrix["rows"][TENS - 1]["keys"], matrix["rows"][TENS - 1]["weights"]
    strongest = keys[weights.index(max(weights))]
    assert (row, column + 1) == (TENS - 1, strongest)  # from where the chosen token was written
    for key, down, across in [("ArrowDown", 1, 0), ("ArrowRight", 0, 1), ("ArrowUp", -1, 0), ("ArrowLeft", 0, -1)]:
        tab.press(key)
        assert expect_told(tab, matrix) == (row + down, column + across)
        row, column = row + down, column + across
    tab.press(*["ArrowRight"] * 40)
    assert expect_told(tab, matrix) == (row, len(RIGHT.tokens) - 1)
    tab.press(*["ArrowUp"] * 3)
    tab.press("Enter")
    expect(tab.find("#matrix")).to_be_hidden()
    expect(tab.token(row - 3)).to_be_focused()
    expect(tab.find(".chosen")).to_have_attribute("data-index", str(row - 3))
    expect(tab.page.get_by_role("button", name="having read it")).to_have_attribute("aria-pressed", "true")
    expect(tab.find(".head")).to_have_count(4)
    expect_heads(tab, looks(tab, row - 3)["heads"][0])  # the same row


def test_the_matrix_opens_by_its_button_and_its_cells_are_told_by_pointing(tab: Tab) -> None:
    tab.solve(PRODUCT)
    tab.token(12).click()
    tab.page.get_by_role("button", name="matrix").nth(1).click()
    dialog = tab.find("#matrix")
    expect(tab.page.get_by_role("dialog", name="multiplier: layer 1, head 2")).to_be_visible()
    expect(dialog).to_contain_text("tokens; weights below 1.0% are left out.")
    dialog.get_by_role("combobox", name="layer").select_option("layer 2")
    dialog.get_by_role("combobox", name="head").select_option("head 4")
    expect(tab.find("#matrix-title")).to_have_text("multiplier: layer 2, head 4")
    expect(dialog).to_contain_text("tokens; weights below")
    matrix = matrix_of(tab, 3, layer=1, model="multiplier", problem=PRODUCT)
    box = tab.find("#matrix canvas").bounding_box()
    assert box is not None
    told = set()
    for part in (0.3, 0.5, 0.7, 0.9):
        tab.page.mouse.move(box["x"] + 0.35 * box["width"], box["y"] + part * box["height"])
        expect(dialog).to_contain_text("From")
        told.add(expect_told(tab, matrix))
    assert len({row for row, _ in told}) == 4
    assert len({column for _, column in told}) == 1
    tab.press("Escape")
    expect(dialog).to_be_hidden()
    expect(tab.find(".chosen")).to_have_attribute("data-index", "12")


def test_a_matrix_that_comes_too_late_is_not_shown(tab: Tab) -> None:
    tab.solve(SUM)
    tab.press("m")
    expect(tab.find("#matrix")).to_contain_text("29 tokens; weights below")
    held: list[Route] = []
    tab.page.route(
        "**/api/attention/head",
        lambda route: held.append(route) if route.request.post_data_json["head"] == 1 else route.continue_(),
    )
    heads = tab.page.get_by_role("combobox", name="head")
    heads.select_option("head 2")
    heads.select_option("head 4")
    expect(tab.find("#matrix")).to_contain_text("29 tokens; weights below")
    with tab.page.expect_response("**/api/attention/head"):
        held[0].continue_()
    matrix = matrix_of(tab, 3)
    assert matrix["rows"] != matrix_of(tab, 1)["rows"]
    tab.find("#matrix canvas").focus()
    for _ in range(12):
        tab.press("ArrowRight")
        expect_told(tab, matrix)


def test_the_matrix_is_drawn_with_its_weights(tab: Tab) -> None:
    tab.solve(SUM)
    tab.press("m")
    expect(tab.find("#matrix")).to_contain_text("29 tokens; weights below 1.0% are left out.")
    shades = tab.find("#matrix canvas").evaluate("""(canvas) => {
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const pixels = new Map();
        for (let at = 0; at < data.length; at += 4) {
            const colour = `${data[at]},${data[at + 1]},${data[at + 2]}`;
            pixels.set(colour, (pixels.get(colour) ?? 0) + 1);
        }
        return [...pixels.values()].filter((many) => many > 150).length; // squares, not the edges of letters
    }""")
    weights = {weight for row in matrix_of(tab, 0)["rows"] for weight in row["weights"]}
    assert shades > 10
    assert shades == pytest.approx(len(weights), rel=0.3)


def test_a_page_too_long_for_a_matrix_says_so(tab: Tab) -> None:
    tab.refused("/api/attention/head")
    numbers = "+".join(["12345678"] * 12)
    tab.solve(numbers)
    tab.token(100).click()
    expect(tab.find(".heads")).to_be_visible()
    tab.press("m")
    expect(tab.find("#matrix .status")).to_have_text(
        re.compile(r"^The matrix of \d+ tokens is too large: up to 200 are drawn here\.$")
    )
    tab.page.get_by_role("button", name="Close").click()
    expect(tab.find("#matrix")).to_be_hidden()
