"""Pictures of pages."""

import pytest

import lengthwise as lw
from lengthwise.figures.page import draw_page
from lengthwise.figures.palette import ID_COLOURS, id_colour


def texts(page: lw.Page) -> list[str]:
    return [text.get_text() for text in draw_page(page).axes[0].texts]


def test_every_token_and_id_is_drawn() -> None:
    page = lw.task("addition").write([57, 48, 96])
    drawn = texts(page)
    assert [text for text in drawn if text in ("tokens", "column", "row")] == ["tokens", "column", "row"]
    assert sorted(drawn[3:]) == sorted(page.tokens + [str(i) for ids in page.position_ids for i in ids])


def test_long_pages_are_broken_between_lines() -> None:
    page = lw.task("addition").write(["1234567", "98765432", "55555"])
    assert [page.tokens[start] for start, _ in page.breaks(48)] == ["$", ">"]
    assert texts(page).count("tokens") == 2


def test_coupled_tokens_share_a_colour() -> None:
    assert id_colour(0) is None
    assert id_colour(3) == id_colour(3 + len(ID_COLOURS))
    assert len({id_colour(identifier) for identifier in range(1, 9)}) == 8


def test_what_does_not_fit_a_picture_is_refused() -> None:
    with pytest.raises(lw.InputError, match="does not fit a picture"):
        draw_page(lw.task("addition").write(["9" * 500] * 5))
