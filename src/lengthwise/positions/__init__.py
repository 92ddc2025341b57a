"""Position ids and, built on them, position encodings. One file an encoding."""

import sys
from dataclasses import fields
from functools import cache
from typing import Any

from lengthwise.discovery import discover
from lengthwise.errors import InputError, instead
from lengthwise.positions.base import Encoding, Hooks, Place, Shape
from lengthwise.positions.coupling import Coupling

__all__ = ["Coupling", "Encoding", "Hooks", "Place", "Shape", "encoding", "encodings"]


@cache
def encodings() -> dict[str, type[Encoding]]:
    """Every position encoding, by name."""
    return discover(sys.modules[__name__], Encoding)  # type: ignore[type-abstract]


def encoding(name: str, **settings: Any) -> Encoding:
    """An encoding with its settings: `encoding("windowed", window=2, hard=False)`."""
    if name not in encodings():
        raise InputError(f"There is no encoding {name!r}: {instead(name, encodings())}")
    kind = encodings()[name]
    known = [field.name for field in fields(kind)]
    for setting in settings:
        if setting not in known:
            raise InputError(f"{name} has no setting {setting!r}: {instead(setting, known)}")
    return kind(**settings)
