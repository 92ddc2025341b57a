"""What is saved: pictures and drawings of the page, of grids and of a matrix."""

import struct
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from browser.tab import SUM, Tab, expect

SVG = "{http://www.w3.org/2000/svg}"


def saved(tab: Tab, selector: str) -> tuple[str, bytes]:
    """What a button saves: the name of the file, and what is in it."""
    with tab.page.expect_download() as download:
        tab.find(selector).click()
    file: Path = download.value.path()
    return download.value.suggested_filename, file.read_bytes()


def png_size(content: bytes) -> tuple[int, int]:
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert content[12:16] == b"IHDR"
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def words_of(drawing: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in drawing.iter(f"{SVG}text")]


def test_the_page_as_a_drawing_and_as_a_picture(tab: Tab) -> None:
    tab.solve(SUM)
    tab.token(22).click()
    expect(tab.find(".heads")).to_be_visible()
    name, content = saved(tab, "#save-svg")
    assert name == "adder-tiny-57-48-96.svg"
    drawing = ElementTree.fromstring(content)
    assert drawing.tag == f"{SVG}svg"
    words = words_of(drawing)
    assert Counter(tab.written) <= Counter(words)
    assert words[-1] == "57+48+96 = 201 (right), written by adder-tiny with lengthwise"
    assert {"given: the numbers", "written: partial sums"} <= set(words)
    assert len(list(drawing.iter(f"{SVG}path"))) == tab.find(".arcs path").count() > 0
    # Every glyph stands where it is seen.
    texts = [text for text in drawing.iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    squares, sheet = tab.squares(), tab.find("#sheet").bounding_box()
    assert sheet is not None
    drawn = {(text.text, round(float(text.get("x", 0)))) for text in texts}
    assert {(square.glyph, round(square.middle[0] - sheet["x"])) for square in squares} <= drawn
    name, content = saved(tab, "#save-png")
    assert name == "adder-tiny-57-48-96.png"
    width, height = (int(drawing.get(side, 0)) for side in ("width", "height"))
    assert png_size(content) == (2 * width, 2 * height)
    assert len(content) > 10_000


def test_a_page_with_mistakes_is_saved_with_them(tab: Tab) -> None:
    tab.open(f"/?model=untrained&problem={SUM}&layout=flat")
    tab.expect_verdict(right=False)
    name, content = saved(tab, "#save-svg")
    assert name == "untrained-57-48-96.svg"
    words = words_of(ElementTree.fromstring(content))
    assert Counter(tab.written) <= Counter(words)
    assert words[-1] == "57+48+96 = ? (wrong), written by untrained with lengthwise"


def test_a_picture_is_of_the_theme_one_sees(tab: Tab) -> None:
    tab.solve(SUM)
    grounds = []
    for _ in range(2):
        _, content = saved(tab, "#save-svg")
        ground = ElementTree.fromstring(content).find(f"{SVG}rect")
        assert ground is not None
        assert ground.get("fill") == tab.style("body", "background-color")
        grounds.append(ground.get("fill"))
        tab.find("#theme").click()
    assert len(set(grounds)) == 2


def test_grids_as_a_drawing_and_as_a_picture(tab: Tab) -> None:
    tab.open("/?view=grids&grid=my-run-near&beside=loose")
    expect(tab.find(".map")).to_have_count(2)
    name, content = saved(tab, "#grid-svg")
    assert name == "grids.svg"
    drawing = ElementTree.fromstring(content)
    words = words_of(drawing)
    assert {"my-run: near", "loose", "65", "35", "90", "40", "150", "digits of each number", "numbers"} <= set(words)
    fills = [rect.get("fill") for rect in drawing.iter(f"{SVG}rect")]
    for cell in tab.find(".cell:not(.unmeasured)").all():
        assert cell.evaluate("(cell) => getComputedStyle(cell).backgroundColor") in fills
    name, content = saved(tab, "#grid-png")
    assert name == "grids.png"
    width, height = (int(drawing.get(side, 0)) for side in ("width", "height"))
    assert png_size(content) == (2 * width, 2 * height)


def test_a_matrix_as_a_picture(tab: Tab) -> None:
    tab.solve(SUM)
    tab.press("m")
    expect(tab.find("#matrix")).to_contain_text("29 tokens")
    name, content = saved(tab, "#matrix button >> text=Save PNG")
    assert name == "adder-tiny-layer1-head1.png"
    size = tab.find("#matrix canvas").evaluate("(canvas) => [canvas.width, canvas.height]")
    assert png_size(content) == tuple(size)
