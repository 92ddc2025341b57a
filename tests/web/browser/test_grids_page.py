"""Grids: heatmaps of what was measured, whose squares are problems to watch."""

import re

import pytest

from browser.tab import Tab, eventually, expect
from lengthwise.results import wilson

NEAR, FAR = "my-run-near", "my-run-far"


def cell(tab: Tab, length: int, count: int | None, *, number: int = 0) -> str:
    return f".map:nth-child({number + 1}) .cell[data-length='{length}'][data-count='{count or ''}']"


def words(title: str, size: str, correct: int, total: int) -> str:
    """What is told of a square."""
    rates = [correct / total, *wilson(correct, total)]
    rate, low, high = (
        "100%" if rate == 1 else "0%" if rate == 0 else f"{100 * rate:.{2 if rate < 0.01 else 1}f}%" for rate in rates
    )
    return f"{title}, {size}: {correct} of {total} right ({rate}, 95% interval {low} to {high})"


def numbers_of(problem: str) -> tuple[int, int]:
    """How many digits the numbers of a sum have, and how many there are."""
    (length,) = {len(number) for number in problem.split("+")}
    return length, problem.count("+") + 1


def test_squares_say_their_counts_and_intervals(tab: Tab) -> None:
    tab.open(f"/?view=grids&grid={NEAR}")
    expect(tab.find(".cell")).to_have_count(6)
    expect(tab.page.get_by_role("grid")).to_have_accessible_name(
        "my-run: near: accuracy by digits of each number and numbers"
    )
    for (length, count), correct in {
        (2, 2): 20,
        (2, 3): 20,
        (2, 5): 13,
        (4, 2): 20,
        (4, 3): 7,
        (4, 5): 0,
    }.items():
        square = tab.find(cell(tab, length, count))
        expect(square).to_have_accessible_name(
            words("my-run: near", f"{count} numbers of {length} digits", correct, 20)
        )
        expect(square).to_have_text(str(5 * correct))
    # Lengths go upward, counts rightward, and all that is below or left of the edge was trained on.
    assert tab.find(".cell").evaluate_all("(all) => all.map((one) => [one.dataset.length, one.dataset.count])") == [
        [length, count] for length in ("4", "2") for count in ("2", "3", "5")
    ]
    assert tab.find(".cell.edge-top").evaluate_all("(all) => all.map((one) => one.dataset.count)") == ["2", "3"]
    assert tab.find(".cell.edge-right").evaluate_all("(all) => all.map((one) => one.dataset.count)") == ["3"]
    assert tab.find(".trained").count() == 2
    red = tab.style(".edge-right", "border-right-color")
    assert red == "rgb(227, 23, 45)"
    expect(tab.find(".map figcaption")).to_contain_text("trained up to 2 × 3 · 20 random problems a square")


def test_the_colour_is_the_rate(tab: Tab) -> None:
    tab.open(f"/?view=grids&grid={NEAR}")
    expect(tab.find(".cell")).to_have_count(6)
    colours = [tab.style(cell(tab, *size), "background-color") for size in ((4, 5), (4, 3), (2, 5), (2, 2))]
    assert (colours[0], colours[3]) == ("rgb(68, 1, 84)", "rgb(253, 231, 37)")  # the ends of viridis
    lightness = [sum(map(int, re.findall(r"\d+", colour))) for colour in colours]
    assert lightness == sorted(lightness)
    assert len(set(lightness)) == 4


def test_what_was_not_measured_says_so(tab: Tab) -> None:
    tab.open("/?view=grids&grid=loose")
    expect(tab.find(".map figcaption")).to_contain_text("its model is not here")
    square = tab.find(cell(tab, 150, 90))
    expect(square).to_have_accessible_name("loose, 90 numbers of 150 digits: not measured")
    expect(square).to_have_text("")
    assert "repeating-linear-gradient" in tab.style(cell(tab, 150, 90), "background-image")
    assert tab.style(cell(tab, 3, 2), "background-image") == "none"


def test_grids_with_lengths_only_go_rightward(tab: Tab) -> None:
    tab.open("/?view=grids&grid=parity-tiny")
    expect(tab.find(".cell").first).to_be_visible()
    lengths = tab.ask_api("/api/grids/parity-tiny")["axes"]["length"]
    assert tab.find(".cell").evaluate_all("(all) => all.map((one) => Number(one.dataset.length))") == lengths
    expect(tab.find(cell(tab, lengths[0], None))).to_have_accessible_name(
        words("parity-tiny", f"{lengths[0]} bits", 100, 100)
    )
    tops = tab.find(".cell").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().top)")
    assert len(set(tops)) == 1


def test_two_grids_side_by_side_are_told_together(tab: Tab) -> None:
    tab.open(f"/?view=grids&grid={NEAR}")
    expect(tab.find(".map")).to_have_count(1)
    tab.page.get_by_label("beside").select_option(FAR)
    expect(tab.find(".map h3")).to_have_text(["my-run: near", "my-run: far"])
    lefts = tab.find(".map").evaluate_all("(all) => all.map((one) => [one.offsetLeft, one.offsetTop])")
    assert lefts[0][0] < lefts[1][0]
    assert lefts[0][1] == lefts[1][1]
    assert tab.here == f"/?view=grids&grid={NEAR}&beside={FAR}"
    tab.find(cell(tab, 4, 3)).hover()
    both = "; ".join(words(f"my-run: {name}", "3 numbers of 4 digits", n, 20) for name, n in (("near", 7), ("far", 18)))
    expect(tab.find("#cell-about")).to_have_text(f"{both}.")
    expect(tab.find(f"{cell(tab, 4, 3, number=1)}.twin")).to_be_visible()
    expect(tab.find(".twin")).to_have_count(2)
    tab.page.get_by_role("combobox", name="Grid").select_option("adder-tiny")
    expect(tab.find(".map h3")).to_have_text(["adder-tiny", "my-run: far"])
    tab.find(cell(tab, 2, 5, number=1)).hover()
    expect(tab.find("#cell-about")).to_have_text(
        f"adder-tiny, 5 numbers of 2 digits: not measured; {words('my-run: far', '5 numbers of 2 digits', 20, 20)}."
    )
    tab.page.get_by_label("beside").select_option("nothing")
    expect(tab.find(".map h3")).to_have_text(["adder-tiny"])


@pytest.mark.parametrize(
    ("grid", "length", "count", "model"),
    [
        (NEAR, 4, 5, "my-run"),
        ("adder-tiny", 10, 10, "adder-tiny"),
        ("loose", 3, 2, "adder-tiny"),  # whose model is not here: the first choice for sums
    ],
)
def test_a_square_pressed_is_a_problem_of_its_size(tab: Tab, grid: str, length: int, count: int, model: str) -> None:
    tab.open(f"/?view=grids&grid={grid}")
    tab.find(cell(tab, length, count)).click()
    tab.expect_verdict()
    problem = tab.find("#problem").input_value()
    assert numbers_of(problem) == (length, count)
    expect(tab.find("#model")).to_have_value(model)
    if grid == "loose":
        expect(tab.find("#toast")).to_have_text("The model of this grid is not here: adder-tiny is asked instead.")
        expect(tab.find("#toast-close")).to_be_visible()  # so it stays
    expect(tab.answer).to_have_text(str(sum(map(int, problem.split("+")))))
    assert tab.here.startswith(f"/?model={model}&problem={problem}")
    tab.page.go_back()
    expect(tab.find(cell(tab, length, count))).to_be_visible()
    tab.find(cell(tab, length, count)).click()
    eventually(lambda: tab.find("#problem").input_value() != problem)  # another one each time
    tab.expect_verdict()


def test_products_and_bits_have_their_sizes(tab: Tab) -> None:
    tab.open("/?view=grids&grid=multiplier")
    expect(tab.find(cell(tab, 20, 10))).to_have_accessible_name(words("multiplier", "20 × 10 digits", 200, 200))
    tab.find(cell(tab, 20, 10)).click()
    expect(tab.find("#problem")).to_have_value(re.compile(r"^[1-9]\d{19}\*[1-9]\d{9}$"))
    tab.find("#stop").click()
    tab.open("/?view=grids&grid=parity-tiny")
    tab.find(cell(tab, 20, None)).click()
    expect(tab.find("#problem")).to_have_value(re.compile(r"^[01]{20}$"))
    tab.expect_verdict()


def test_squares_by_keys(tab: Tab) -> None:
    tab.open(f"/?view=grids&grid={NEAR}")
    square = tab.find(cell(tab, 4, 2))
    expect(square).to_be_visible()
    tab.page.get_by_role("button", name="SVG").press("Tab")
    expect(square).to_be_focused()  # one stop for the whole grid
    for key, length, count, correct in [
        ("ArrowRight", 4, 3, 7),
        ("ArrowRight", 4, 5, 0),
        ("ArrowRight", 4, 5, 0),
        ("ArrowDown", 2, 5, 13),
        ("ArrowDown", 2, 5, 13),
        ("ArrowLeft", 2, 3, 20),
        ("ArrowUp", 4, 3, 7),
    ]:
        tab.press(key)
        expect(tab.find(cell(tab, length, count))).to_be_focused()
        expect(tab.find("#cell-about")).to_have_text(
            f"{words('my-run: near', f'{count} numbers of {length} digits', correct, 20)}."
        )
    tab.press("Enter")
    tab.expect_verdict()
    assert numbers_of(tab.find("#problem").input_value()) == (4, 3)


def test_a_square_too_large_says_so_and_stays(tab: Tab) -> None:
    tab.refused("/api/problem")
    tab.open("/?view=grids&grid=loose")
    tab.find(cell(tab, 150, 90)).click()
    tab.expect_sentence("#cell-about", "This page would take about", "tokens: up to 12,000 are taken here")
    expect(tab.find("#grids")).to_be_visible()
    expect(tab.find("#solve")).to_be_hidden()
    assert tab.here == "/?view=grids&grid=loose"
    tab.find(cell(tab, 3, 2)).hover()
    expect(tab.find("#cell-about")).to_have_text(f"{words('loose', '2 numbers of 3 digits', 9, 10)}.")
    expect(tab.find("#cell-about")).not_to_have_class(re.compile("bad"))


def test_grids_are_offered_by_where_they_come_from(tab: Tab) -> None:
    tab.open("/?view=grids")
    expect(tab.find("#grid")).to_have_value("adder-coupling")
    groups = tab.find("#grid optgroup").evaluate_all(
        "(groups) => groups.map((group) => [group.label, [...group.children].map((option) => option.value)])"
    )
    boxed = ["adder-coupling", "adder-tiny", "multiplier", "parity-tiny"]
    assert groups == [["In the box", boxed], ["Measured", ["loose", FAR, NEAR]]]
