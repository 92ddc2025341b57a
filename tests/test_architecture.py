"""The import direction that docs/architecture.md draws, and what else holds for the house as a whole."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "lengthwise"

GROUND = {"errors", "randomness", "discovery", "files", "settings", "version", "device", "tables", "ranks"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "randomness": set(),
    "discovery": {"errors"},
    "files": set(),
    "settings": {"errors"},
    "version": set(),
    "device": {"errors", "version"},
    "ranks": {"errors", "device"},
    "integers": set(),
    "tables": set(),
    "positions": GROUND,
    "tasks": GROUND | {"positions"},
    "model": GROUND | {"positions"},
    "checkpoint": GROUND | {"positions", "tasks", "model"},
    "models": GROUND | {"checkpoint"},
    "solver": GROUND | {"positions", "tasks", "model", "checkpoint", "models"},
    "inside": GROUND | {"tasks", "model", "solver"},
    "verdict": GROUND | {"tasks", "integers"},
    "interop": GROUND | {"positions", "tasks", "model", "checkpoint", "solver"},
    "construction": GROUND | {"positions", "tasks", "model", "solver"},
    "recipe": GROUND | {"positions", "tasks", "model"},
    "presets": GROUND | {"positions", "tasks", "model", "recipe"},
    "results": GROUND,
    "pages": GROUND | {"tasks", "model", "solver"},
    "marking": GROUND | {"tasks", "solver", "pages"},
    "data": GROUND | {"tasks", "solver", "recipe", "pages"},
    "evaluate": GROUND | {"tasks", "checkpoint", "solver", "recipe", "results", "pages", "marking"},
    "runs": GROUND | {"checkpoint", "solver", "recipe"},
    "boxing": GROUND | {"tasks", "checkpoint", "models", "solver", "recipe", "presets", "results", "runs", "evaluate"},
    "mistakes": GROUND | {"tasks", "solver", "pages", "marking", "evaluate", "results"},
    "looking": GROUND | {"solver", "evaluate", "results"},
    "progress": {"solver", "recipe", "results", "evaluate", "runs", "jobs"},
    "learning": GROUND | {"solver", "recipe", "pages"},
    "session": GROUND | {"solver", "recipe", "pages", "learning", "marking", "evaluate", "runs"},
    "train": GROUND | {"solver", "recipe", "pages", "data", "learning", "runs", "session"},
    "together": GROUND | {"model", "solver", "recipe", "data", "learning", "runs", "session", "train"},
    "focus": GROUND | {"tasks", "results"},
    "figures": {"errors", "files", "tasks", "results", "focus"},
    "experiments": GROUND | {"tasks", "recipe", "presets", "results", "focus", "figures", "measurements"},
    "measurements": set(),
    "processes": GROUND,
    "cluster": GROUND | {"processes"},
    "storage": GROUND,
    "jobs": GROUND
    | {
        "checkpoint",
        "solver",
        "recipe",
        "results",
        "evaluate",
        "looking",
        "focus",
        "session",
        "train",
        "together",
        "runs",
    }
    | {"measurements", "processes", "storage"},
    "engines": GROUND | {"jobs", "processes", "cluster", "session"},
    "sweep": GROUND
    | {"recipe", "presets", "results", "figures", "measurements", "processes", "storage", "jobs", "engines", "session"},
    "reproduce": GROUND | {"results", "figures", "experiments", "jobs", "engines", "processes", "session"},
    "web": GROUND
    | {"positions", "tasks", "checkpoint", "models", "solver", "inside", "verdict", "construction", "results"},
}
FREE = {"__init__", "__main__", "cli"}
"""The public API and the command stand above all rooms."""


def room_of(module: Path) -> str:
    return module.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(module: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "lengthwise":
                rooms.add(name.split(".")[1] if "." in name else "__init__")
    return rooms


@pytest.mark.parametrize("module", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(module: Path) -> None:
    room = room_of(module)
    if room in FREE:
        return
    assert room in MAY_IMPORT, f"say in this test what {room} may import"
    beyond = imported_rooms(module) - MAY_IMPORT[room] - {room}
    assert not beyond, f"{module.name} in {room} must not import {sorted(beyond)}"


def test_the_direction_is_one() -> None:
    """No two rooms may import each other, not even by way of others."""
    order: list[str] = []
    remaining = dict(MAY_IMPORT)
    while remaining:
        free = [room for room, needs in remaining.items() if needs <= set(order)]
        assert free, f"these rooms import each other: {sorted(remaining)}"
        order.extend(free)
        for room in free:
            del remaining[room]
