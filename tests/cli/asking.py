"""The command as its users meet it: what it prints, what it leaves, and how it refuses."""

import ast
import inspect
import re
import textwrap
import typing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import lengthwise as lw
from lengthwise import cli

TINY = [
    *("--model.layers", "1", "--model.heads", "2", "--model.width", "16", "--model.feedforward", "16"),
    *("--training.batch-size", "4", "--watch.validation-samples", "2", "--watch.cells", "2x2"),
]
"""Overrides of adder-tiny with which a step takes no time."""


def run(capsys: pytest.CaptureFixture[str], *arguments: object, expect: int = 0) -> tuple[str, str]:
    """What the command prints on stdout and stderr."""
    capsys.readouterr()
    try:
        cli.main([str(argument) for argument in arguments])
        code: int | str | None = 0
    except SystemExit as stop:
        code = stop.code or 0
    captured = capsys.readouterr()
    assert code == expect, captured
    return captured.out, captured.err


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The sentence with which the command refuses; nothing else is printed, and the exit code is 2."""
    out, err = run(capsys, *arguments, expect=2)
    assert out == ""
    assert err.startswith("lengthwise: ")
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err
    return err.removeprefix("lengthwise: ").strip()


def train_tiny(folder: Path, preset: str = "adder-tiny", steps: int = 2, **changes: Any) -> Path:
    """A run folder, made in no time."""
    recipe = lw.presets.get(preset)
    cells = ("2x2",) if recipe.data.count else ("2",)
    small = replace(
        recipe,
        model=lw.ModelConfig(layers=1, heads=2, width=16, feedforward=16),
        training=replace(recipe.training, steps=steps, batch_size=4),
        watch=replace(recipe.watch, validation_samples=2, cell_samples=2, cells=cells),
        **changes,
    )
    lw.train(small, folder, device="cpu")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder; locks apart, which may stay."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "lock" not in file.name
    }


def full_disk(file: Path, content: bytes) -> None:
    raise OSError(28, "No space left on device")


def explanations(form: type[Any]) -> dict[str, str]:
    """What each field of a form is said to be, by `arg(help=…)` or by the text under the field."""
    found: dict[str, str] = {}
    for kind in reversed(form.__mro__[:-1]):
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
        assert isinstance(body, ast.ClassDef)
        for field, after in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(field.target, ast.Name):
                found[field.target.id] = ast.literal_eval(after.value)
    for name, kind in typing.get_type_hints(form, include_extras=True).items():
        for note in getattr(kind, "__metadata__", ()):
            found[name] = getattr(note, "help", None) or found.get(name, "")
    return {field.name: found[field.name] for field in fields(form)}  # a field without one is a mistake


def plain(text: str) -> str:
    """A page of help as one line, without its frames."""
    return re.sub(r"[\s│]+", " ", text)


def check_help(capsys: pytest.CaptureFixture[str], command: str, *parts: tuple[str, type[Any]]) -> None:
    """The help of a command names and explains every field of its forms."""
    out, err = run(capsys, command, "--help")
    assert err == ""
    for prefix, form in parts:
        for name, text in explanations(form).items():
            option = f"--{prefix}{name.replace('_', '-')}"
            assert option in out or name.upper() in out or name == "files", option
            assert plain(text) in plain(out), f"{option} is not explained"
