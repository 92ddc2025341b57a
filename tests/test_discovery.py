"""Adding a task is adding a file."""

import sys
from pathlib import Path

import pytest

import lengthwise as lw
from lengthwise.discovery import discover


def test_the_tasks_are_found() -> None:
    assert list(lw.tasks.kinds()) == ["addition", "multiplication", "parity"]


def test_a_new_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "fruit"
    package.mkdir()
    (package / "__init__.py").write_text("class Fruit:\n    pass\n")
    (package / "apple.py").write_text("from fruit import Fruit\nclass Apple(Fruit):\n    name = 'apple'\n")
    (package / "core.py").write_text("from fruit.apple import Apple\nclass Stone:\n    name = 'stone'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import fruit  # type: ignore[import-not-found]

    try:
        assert list(discover(fruit, fruit.Fruit)) == ["apple"]
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "fruit"]:
            del sys.modules[name]
