"""Options become settings, and complaints one sentence."""

import io

import pytest

import lengthwise as lw
from lengthwise.cli.parsing import console_for_people, numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", [5]),
        ("1:4", [1, 2, 3, 4]),
        ("5:20:5", [5, 10, 15, 20]),
        ("5:19:5", [5, 10, 15]),
        ("2,3,10", [2, 3, 10]),
        ("10, 1:3 ,2", [1, 2, 3, 10]),
    ],
)
def test_sizes_as_people_write_them(text: str, expected: list[int]) -> None:
    assert numbers(text, "--lengths") == expected


@pytest.mark.parametrize(
    "text", ["", "a", "1:", ":5", "5:1", "1:5:0", "0", "0:3", "-1", "1.5", "1-3", "1,,2", "1:2:3:4", "1:9999999", "１"]
)
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(lw.InputError, match="write 1:30, 5:30:5 or 2,3,10") as error:
        numbers(text, "--counts")
    assert str(error.value).startswith(f"--counts cannot be {text!r}: ")


def test_a_terminal_without_width_gets_80_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    for columns, width in (("0", 80), ("7", 80), ("100", 100)):
        monkeypatch.setenv("COLUMNS", columns)
        assert console_for_people().width == width
