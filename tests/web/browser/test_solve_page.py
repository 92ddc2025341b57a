"""Solve: a problem is typed, a model writes, and one sees whether it is right."""

import math
import re
from collections.abc import Callable

import lengthwise as lw
from browser.conftest import OpenTab
from browser.tab import ANSWER, LONG, SUM, Tab, eventually, expect
from browser.tab import RIGHT as RIGHT_PAGE

BITS = "0110100110010110111"
RIGHT = "".join(RIGHT_PAGE.tokens)


def test_a_typed_problem_is_solved(tab: Tab) -> None:
    tab.open()
    expect(tab.answer).to_have_text(ANSWER)  # there is one to begin with
    assert tab.written == RIGHT
    for problem, answer, model, by in (
        ("1+2", 1 + 2, "adder-tiny", "Enter"),
        ("98765432109876+1+23456789012345678", 98765432109876 + 1 + 23456789012345678, "adder-tiny", "button"),
        ("70368*9007", 70368 * 9007, "multiplier", "Enter"),
        (BITS, BITS.count("1") % 2, "parity-tiny", "button"),
        (" 57 + 48\n+ 96 ", 57 + 48 + 96, "adder-tiny", "Enter"),
    ):
        tab.type(problem)
        if by == "Enter":
            tab.press("Enter")
        else:
            tab.page.get_by_role("button", name="Solve").click()
        bare = re.sub(r"\s", "", problem)
        expect(tab.page).to_have_url(f"{tab.address}/?model={model}&problem={bare}")
        expect(tab.answer).to_have_text(str(answer))
        expect(tab.status).to_contain_text("right, every token of it. Checked by Python's integers")
        expect(tab.find("#stop")).to_be_hidden()
        expect(tab.find("#model")).to_have_value(model)
        assert tab.written == "".join(lw.load(model).task.write(re.split(r"[+*]", bare)).tokens)


def test_tokens_appear_little_by_little(open_tab: OpenTab) -> None:
    tab = open_tab(moving=True)
    tab.page.add_init_script("""
        window.seen = [];
        new MutationObserver(() => {
            const now = document.querySelectorAll('.token.written').length;
            if (now && now !== seen.at(-1)?.[0]) seen.push([now, document.getElementById('status').textContent]);
        }).observe(document, {childList: true, subtree: true});
    """)
    tab.solve(SUM)
    counts, words = zip(*tab.evaluate("seen"), strict=True)
    assert list(counts) == sorted(counts)
    assert counts[-1] == len(RIGHT) - len("$057+048+096=")
    assert len(counts) >= 4
    assert any(re.fullmatch(r"adder-tiny writes: \d+ of 16 tokens", said) for said in words)


def test_writing_is_stopped_by_the_button_and_by_escape(tab: Tab) -> None:
    tab.open("/?problem=1+1")
    tab.expect_verdict()
    ways: tuple[Callable[[], None], ...] = (lambda: tab.find("#stop").click(), lambda: tab.press("Escape"))
    for stop in ways:
        tab.type(LONG)
        tab.press("Enter")
        expect(tab.status).to_contain_text(re.compile(r"multiplier writes: [\d,]+ of [\d,]+ tokens"))
        expect(tab.find("#sheet")).to_have_attribute("aria-busy", "true")
        stop()
        expect(tab.status).to_have_text("Stopped.")
        expect(tab.find("#problem")).to_be_focused()
        expect(tab.find("#stop")).to_be_hidden()
        expect(tab.find("#sheet")).to_have_attribute("aria-busy", "false")
        eventually(lambda: tab.ask_api("/api/health")["working"] == 0)
        tab.type(SUM)
        tab.press("Enter")
        expect(tab.answer).to_have_text(ANSWER)
        assert tab.written == RIGHT


def test_another_problem_takes_the_place_of_the_one_being_written(tab: Tab) -> None:
    tab.open(f"/?problem={LONG}")
    expect(tab.status).to_contain_text("writes")
    tab.type(SUM)
    tab.press("Enter")
    expect(tab.answer).to_have_text(ANSWER)
    assert tab.written == RIGHT


# On paper and in sequence.


def test_a_sum_is_written_units_under_units(tab: Tab) -> None:
    tab.solve(SUM)
    given, written = tab.read_paper()
    assert given == ["$057+", " 048+", " 096="]
    assert written == [" 000 ", " 057>", " 105>", "$201>"]
    places = tab.ask_api(f"/api/page?problem={SUM}")["places"]
    lefts: dict[tuple[int, int], set[float]] = {}
    for square in tab.squares():
        if places[square.index] is not None:
            lefts.setdefault((square.panel, places[square.index]), set()).add(square.left)
    assert sorted(lefts) == [(panel, place) for panel in range(2) for place in range(3)]
    assert all(len(found) == 1 for found in lefts.values())


def test_partial_products_are_shifted(tab: Tab) -> None:
    tab.solve("37*925")
    assert tab.read_paper() == [
        ["$37*", "925="],
        ["  185", " 074+", "333+ "],
        ["   185=", "  0925>", "$34225>"],
    ]


def test_running_parities_stand_under_their_bits_line_after_line(tab: Tab) -> None:
    bits = "01101" * 20
    tab.solve(bits)
    ((*lines,),) = tab.read_paper()
    parities = "".join(str(bits[: end + 1].count("1") % 2) for end in range(len(bits)))
    assert len(lines) > 2
    assert "".join(lines[0::3]).rstrip() == f"${bits}="
    assert "".join(lines[1::3]).rstrip() == f" {parities}$"
    assert all(line.strip() == "" for line in lines[2::3])


def test_in_sequence_and_back_on_paper(tab: Tab) -> None:
    tab.solve(SUM)
    before = tab.squares()
    tab.page.get_by_role("radio", name="In sequence").check()
    expect(tab.find(".panel")).to_have_count(0)
    squares = tab.squares()
    assert squares == sorted(squares, key=lambda square: (square.top, square.left))
    assert "".join(square.glyph for square in squares) == RIGHT
    assert tab.here.endswith("&layout=flat")
    tab.page.get_by_role("radio", name="On paper").check()
    expect(tab.find(".panel")).to_have_count(2)
    assert tab.squares() == before
    assert "layout" not in tab.here


# Ids and their colours.


def colours(tab: Tab, part: str = "") -> list[str]:
    """The background of every token, or of a part of it, along the sequence."""
    script = """(part) => [...document.querySelectorAll('.token')]
        .sort((a, b) => a.dataset.index - b.dataset.index)
        .map((token) => getComputedStyle(part ? token.querySelector(part) : token).backgroundColor)"""
    return [str(colour) for colour in tab.evaluate(script, part)]


def ids(tab: Tab) -> list[list[str]]:
    """The ids that stand on every token."""
    found = tab.evaluate("""() => [...document.querySelectorAll('.token')]
        .sort((a, b) => a.dataset.index - b.dataset.index)
        .map((token) => [...token.querySelectorAll('i')].map((id) => id.textContent))""")
    return [[str(id_) for id_ in token] for token in found]


def expect_colours_for(given: list[int], seen: list[str]) -> None:
    """Equal ids have one colour, different ones different colours, and tokens without an id none."""
    pairs = set(zip(given, seen, strict=True))
    assert (0, "rgba(0, 0, 0, 0)") in pairs
    assert len(pairs) == len(set(given)) == len(set(seen))


def test_levels_are_switched_on_and_off(tab: Tab) -> None:
    tab.solve(SUM)
    column, row = tab.ask_api(f"/api/page?problem={SUM}")["ids"]
    columns, rows = (tab.page.get_by_role("checkbox", name=name) for name in ("column", "row"))
    expect(columns).to_be_checked()
    expect(rows).to_be_checked()
    expect_colours_for(column, colours(tab))
    expect_colours_for(row, colours(tab, "i:last-child"))
    assert ids(tab) == [[str(id_ or "") for id_ in both] for both in zip(column, row, strict=True)]
    columns.uncheck()
    expect_colours_for(row, colours(tab))
    assert ids(tab) == [[str(id_ or "")] for id_ in row]
    assert tab.here.endswith("&levels=row")
    rows.uncheck()
    assert set(colours(tab)) == {"rgba(0, 0, 0, 0)"}
    assert ids(tab) == [[]] * len(column)
    assert tab.here.endswith("&levels=")
    columns.check()
    expect_colours_for(column, colours(tab))
    rows.check()
    assert "levels" not in tab.here


def test_ids_stand_under_their_tokens_in_sequence(tab: Tab) -> None:
    tab.open("/?problem=37*925&layout=flat")
    tab.expect_verdict()
    given = tab.ask_api("/api/page?problem=37*925")["ids"]
    assert len(given) == 3
    assert ids(tab) == [[str(id_) for id_ in levels] for levels in zip(*given, strict=True)]
    expect_colours_for(given[1], colours(tab, "i:nth-child(2)"))


# Who is asked.


def test_models_are_offered_by_where_they_come_from(tab: Tab) -> None:
    tab.solve(SUM)
    groups = tab.find("#model optgroup").evaluate_all(
        "(groups) => groups.map((group) => [group.label, [...group.children].map((option) => option.value)])"
    )
    assert groups == [
        ["In the box", list(lw.models.names())],
        ["The theorem", ["theorem"]],
        ["Your folders", ["my-run", "untrained"]],
    ]


def test_another_model_writes_the_same_problem(tab: Tab) -> None:
    tab.solve("99+1+20")
    for model, about in {
        "theorem": "weights written down after the proof, none trained",
        "my-run": "addition, windowed positions, 1 layer of 4 heads, 9,296 parameters",
        "adder-coupling": "learned positions",
    }.items():
        tab.find("#model").select_option(model)
        expect(tab.find("#model-about")).to_contain_text(about)
        expect(tab.page).to_have_url(re.compile(rf"model={model}&problem=99\+1\+20$"))
        tab.expect_verdict()
        expect(tab.answer).to_have_text("120")
        assert tab.written == "".join(lw.task("addition").write([99, 1, 20]).tokens)


def test_a_model_of_another_task_brings_a_problem_of_its_own(tab: Tab) -> None:
    tab.solve(SUM)
    tab.find("#model").select_option("multiplier")
    expect(tab.find("#problem")).not_to_have_value(SUM)
    first, second = tab.find("#problem").input_value().split("*")
    expect(tab.answer).to_have_text(str(int(first) * int(second)))


def answer_to(problem: str) -> int:
    """By Python's integers."""
    if problem.isdigit():
        return problem.count("1") % 2
    return sum(map(int, problem.split("+"))) if "+" in problem else math.prod(map(int, problem.split("*")))


def test_surprise_me(tab: Tab) -> None:
    tab.solve(SUM)
    tab.page.get_by_text("Surprise me").click()
    drawn = set()
    for model, length, count, shape in (
        ("adder-tiny", 7, 4, r"[1-9]\d{6}(\+[1-9]\d{6}){3}"),
        ("adder-tiny", 7, 4, r"[1-9]\d{6}(\+[1-9]\d{6}){3}"),
        ("multiplier", 4, 2, r"[1-9]\d{3}\*[1-9]\d"),
        ("parity-tiny", 33, None, r"[01]{33}"),
    ):
        tab.find("#model").select_option(model)
        tab.expect_verdict()
        tab.page.get_by_role("slider", name="digits" if count else "bits").first.fill(str(length))
        expect(tab.find("#length-shown")).to_have_text(str(length))
        if count is None:
            expect(tab.page.get_by_role("slider")).to_have_count(1)
        else:
            tab.page.get_by_role("slider").nth(1).fill(str(count))
            expect(tab.find("#count-shown")).to_have_text(str(count))
        before = tab.find("#problem").input_value()
        tab.page.get_by_role("button", name="Draw a problem").click()
        expect(tab.find("#problem")).not_to_have_value(before)
        problem = tab.find("#problem").input_value()
        assert re.fullmatch(shape, problem)
        expect(tab.answer).to_have_text(str(answer_to(problem)))
        expect(tab.find("#model")).to_have_value(model)
        drawn.add(problem)
    assert len(drawn) == 4


def test_sliders_go_as_far_as_the_model_can_take_and_no_further(tab: Tab) -> None:
    """Where both together are too much, the one that was not moved gives way; and what they say is drawn."""
    tab.solve(SUM, model="adder-coupling")
    tab.page.get_by_text("Surprise me").click()
    length, count = tab.page.get_by_role("slider", name="digits each"), tab.page.get_by_role("slider", name="numbers")

    def expect_size(digits: int, numbers: int) -> None:
        expect(tab.find("#length-shown")).to_have_text(str(digits))
        expect(tab.find("#count-shown")).to_have_text(str(numbers))
        expect(length).to_have_value(str(digits))
        expect(count).to_have_value(str(numbers))

    length.press("End")
    expect_size(38, 6)
    count.press("End")
    expect_size(37, 39)
    length.press("End")
    expect_size(38, 10)
    tab.page.get_by_role("button", name="Draw a problem").click()
    expect(tab.find("#problem")).to_have_value(re.compile(r"^\d{38}(\+\d{38}){9}$"))
    expect(tab.answer).to_be_visible()
    for model, digits, numbers in (("adder-tiny", 56, 100), ("theorem", 61, 31), ("untrained", 37, 39)):
        tab.find("#model").select_option(model)
        length.press("End")
        count.press("End")
        expect_size(digits, numbers)
    tab.find("#model").select_option("parity-tiny")
    tab.page.get_by_role("slider", name="bits").press("End")
    expect(tab.find("#length-shown")).to_have_text("200")
    tab.find("#model").select_option("adder-coupling")
    expect_size(37, 39)  # of the numbers as many as before


# Mistakes.


def test_wrong_tokens_are_marked_with_what_belongs_there(tab: Tab) -> None:
    tab.open(f"/?model=untrained&problem={SUM}")
    tab.expect_verdict(right=False)
    solved = tab.ask_api(f"/api/solve?model=untrained&problem={SUM}")
    assert solved["correct"] is False
    expect(tab.status).to_contain_text("No answer: the response has")
    expect(tab.status).to_contain_text("Python's integers, which say 201")
    written, given = solved["response"], RIGHT.index("=") + 1
    assert tab.written == RIGHT[:given] + "".join(written)
    assert given + len(written) > len(RIGHT)
    for place, token in enumerate(written):
        index = given + place
        square = tab.token(index)
        belongs = RIGHT[index] if index < len(RIGHT) else None
        if token == belongs:
            continue
        expect(square).to_have_class(re.compile(r"\bwrong\b"))
        expect(square).to_have_attribute("data-right", belongs or "∅")
        words = f"{re.escape(belongs)} belongs here" if belongs else "the page should have ended"
        expect(square).to_have_attribute("aria-label", re.compile(f"^{re.escape(token)}, .*, wrong: {words}$"))
    wrong = [given + place for place, token in enumerate(written) if token != RIGHT[given + place : given + place + 1]]
    assert tab.find(".wrong").count() == len(wrong)
    assert solved["first_mistake"] == wrong[0]
    assert tab.find(".first").evaluate_all("(all) => all.map((each) => Number(each.dataset.index))") == wrong[:1]
    assert tab.style(".first", "content", pseudo="::before") == f'"{RIGHT[wrong[0]]}"'
    assert tab.style(".first", "background-color") != tab.style(
        ".token:not(.wrong)[data-index='1']", "background-color"
    )
    expect(tab.find(".panel.beyond h3")).to_have_text("written beyond the end")
    assert tab.find(".panel.beyond .token").count() == given + len(written) - len(RIGHT)


def test_one_goes_to_the_first_mistake(tab: Tab) -> None:
    tab.open(f"/?model=untrained&problem={SUM}")
    tab.page.get_by_role("button", name="Go to the first mistake").click()
    first = tab.ask_api(f"/api/solve?model=untrained&problem={SUM}")["first_mistake"]
    expect(tab.token(first)).to_be_focused()
    expect(tab.token(first)).to_be_in_viewport()
    expect(tab.find("#inside .refusal")).to_have_text(f"Wrong: {RIGHT[first]} belongs here.")
    assert f"&at={first}" in tab.here


def test_a_page_without_mistakes_has_no_marks(tab: Tab) -> None:
    tab.solve(SUM)
    expect(tab.find(".wrong")).to_have_count(0)
    expect(tab.find(".panel.beyond")).to_have_count(0)
    expect(tab.page.get_by_role("button", name="Go to the first mistake")).to_have_count(0)
