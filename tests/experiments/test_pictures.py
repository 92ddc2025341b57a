"""How figures are drawn of whatever has been measured so far: frames stay empty, and what has nothing is left out."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from synthetic import Measured, flat, parted, plan

from lengthwise.experiments import addition_embedding_dim as embedding_dim
from lengthwise.experiments import kinds, methods, parity

HALF = flat(0.5)


def measure(name: str, out: Path, *titles: str) -> Measured:
    """A figure of which these cases have been measured."""
    measured = Measured(name, out)
    for title in titles:
        for number, asked in enumerate(measured.found.case(title).measurements):
            if asked.kind == "attention":
                measured.put_focus(title, (0.5, 2.0))
            else:
                measured.put(title, HALF, number=number)
    return measured


def drawn(measured: Measured) -> dict[str, Figure]:
    return measured.experiment.draw(measured.found)


def texts(figure: Figure) -> list[str]:
    """What is written on a picture, titles of panels first, on one line each."""
    return [" ".join(text.get_text().split()) for text in figure.texts]


@pytest.mark.parametrize("name", kinds())
def test_of_nothing_no_picture_is_drawn(name: str, tmp_path: Path) -> None:
    assert drawn(Measured(name, tmp_path)) == {}


@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
@pytest.mark.parametrize("name", kinds())
def test_of_one_case_a_picture_is_drawn(name: str, which: int, tmp_path: Path) -> None:
    """The paper's most telling one, or the last of ours: the others are empty frames, or not there."""
    case = plan(name, "small")[which]
    pictures = drawn(measure(name, tmp_path, case.title))
    assert pictures
    for picture in pictures.values():
        picture.draw_without_rendering()


def test_a_grid_in_the_making_is_not_drawn(tmp_path: Path) -> None:
    for name in ("addition-zero-padding", "parity"):
        title = plan(name, "small")[0].title
        measured = measure(name, tmp_path, title)
        for number, asked in enumerate(measured.found.case(title).measurements):
            (file,) = measured.found.files(measured.found.case(title), asked)
            (grid,) = measured.found.grids(title, number)
            grid.correct[0][0] = grid.answers[0][0] = grid.total[0][0] = None
            grid.save(file)
        assert drawn(measured) == {}


def test_each_picture_of_two_is_drawn_when_it_has_something(tmp_path: Path) -> None:
    paper, ours = ("2 layers, 4 heads", "windowed (ours), 2 layers, 4 heads")
    assert list(drawn(measure("addition-architecture", tmp_path / "paper", paper))) == ["addition-architecture"]
    assert list(drawn(measure("addition-architecture", tmp_path / "ours", ours))) == ["addition-architecture-windowed"]
    both = drawn(measure("addition-architecture", tmp_path / "both", paper, ours))
    assert list(both) == ["addition-architecture", "addition-architecture-windowed"]
    for picture, title in zip(both.values(), (paper, ours), strict=True):
        assert title in texts(picture)
        assert sum(" layer" in text for text in texts(picture)) == 12, "the others are there, too, as empty frames"


def test_methods_stand_in_the_papers_two_rows(tmp_path: Path) -> None:
    """Without scratchpad above, with it below; what is not in the paper comes last."""
    for name in ("addition-methods", "multiplication-methods"):
        (picture,) = drawn(measure(name, tmp_path, methods.COUPLED)).values()
        titles = [text for text in texts(picture) if "scratchpad" in text]
        rows = [[methods.titled(method, pad) for method in ("nope", "fire", "coupling")] for pad in (False, True)]
        assert titles[:6] == [*rows[0], *rows[1]]
        assert titles[6:] == [
            methods.titled("fire-authors", False),
            methods.titled("fire-authors", True),
            methods.WINDOWED,
        ]


def test_widths_are_drawn_at_one_rate_and_at_their_best_beside_all_that_were_tried(tmp_path: Path) -> None:
    measured = Measured("addition-embedding-dim", tmp_path)
    for factor, beyond in zip(embedding_dim.FACTORS, (0.1, 0.6, 0.3, 0.0), strict=True):
        measured.put(embedding_dim.titled(64, factor), parted(1.0, beyond))
    measured.put(embedding_dim.titled(128), HALF)
    pictures = drawn(measured)
    assert list(pictures) == ["addition-embedding-dim", "addition-embedding-dim-rates"]
    titles = [text for text in texts(pictures["addition-embedding-dim"]) if text.startswith(("width", "windowed"))]
    assert titles == [
        *(f"width {width}, rate 0.0001" for width in (64, 128, 256, 512)),
        "width 64, its best rate 0.0003",
        "width 128, its best rate 0.0001",
        *(f"width {width}, its best rate" for width in (256, 512)),
        *(f"windowed (ours), width {width}" for width in (64, 128, 256, 512)),
    ]


def test_parity_is_drawn_as_it_was_measured(tmp_path: Path) -> None:
    """One panel for each way of asking, if there is anything in it."""
    measured = Measured("parity", tmp_path)
    measured.put(parity.COUPLED, HALF, number=1)
    (picture,) = drawn(measured).values()
    assert [axes.get_title() for axes in picture.axes if axes.get_title()] == [parity.DECODED]
    measured.put(parity.COUPLED, HALF)
    (picture,) = drawn(measured).values()
    assert [axes.get_title() for axes in picture.axes if axes.get_title()] == [parity.GIVEN, parity.DECODED]


def test_windowed_coupling_is_drawn_task_by_task(tmp_path: Path) -> None:
    assert list(drawn(measure("windowed", tmp_path, "addition"))) == ["windowed-addition"]
    assert list(drawn(measure("windowed", tmp_path, parity.WINDOWED))) == ["windowed-addition", "windowed-parity"]


def test_where_heads_look_is_drawn_without_maps_where_only_scores_were_kept(tmp_path: Path) -> None:
    measured = measure("attention-patterns", tmp_path, methods.COUPLED)
    assert list(drawn(measured)) == ["attention-focus"]
