"""Position ids and, built on them, position encodings. One file an encoding."""

import sys
from functools import cache
from typing import Any

from lengthwise.discovery import discover, make
from lengthwise.positions.base import Encoding, Hooks, Place, Shape
from lengthwise.positions.coupling import Coupling

__all__ = ["Coupling", "Encoding", "Hooks", "Place", "Shape", "encoding", "encodings"]


@cache
def encodings() -> dict[str, type[Encoding]]:
    """Every position encoding, by name."""
    return discover(sys.modules[__name__], Encoding)  # type: ignore[type-abstract]


def encoding(name: str, **settings: Any) -> Encoding:
    """An encoding with its settings: `encoding("windowed", window=2, hard=False)`."""
    return make(encodings(), "encoding", name, settings)
