"""Pictures as files."""

import os
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import lengthwise as lw
from lengthwise.figures.saving import save_figure


def a_figure() -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.text(0.5, 0.5, "a picture")
    return figure


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("A.PNG", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_the_ending_says_the_format(name: str, start: bytes, tmp_path: Path) -> None:
    save_figure(a_figure(), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [name]


def test_a_picture_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.png"
    save_figure(a_figure(), file)
    before = file.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(lw.InputError, match=r"'a\.png' cannot be written: No space left on device\."):
        save_figure(Figure(), file)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.png"]


@pytest.mark.parametrize(
    ("figure", "name", "sentence"),
    [
        (a_figure(), "a.gif", "save as .png, .svg, .pdf"),
        (a_figure(), "png", "save as .png, .svg, .pdf"),
        (a_figure(), "nowhere/a.png", "no folder"),
        (a_figure(), "folder.png", "cannot be written"),
        (Figure(figsize=(2, 400)), "a.png", "draw fewer panels"),
    ],
)
def test_what_cannot_be_saved_is_refused(figure: Figure, name: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(lw.InputError, match=sentence):
        save_figure(figure, tmp_path / name)
    assert os.listdir(tmp_path) == ["folder.png"]
