"""Position ids and, built on them, position encodings. One file an encoding."""

import sys
from functools import cache

from lengthwise.discovery import discover
from lengthwise.positions.coupling import Coupling
from lengthwise.positions.encoding import Encoding, Hooks, Place, Shape

__all__ = ["Coupling", "Encoding", "Hooks", "Place", "Shape", "encodings"]


@cache
def encodings() -> dict[str, type[Encoding]]:
    """Every position encoding, by name."""
    return discover(sys.modules[__name__], Encoding)  # type: ignore[type-abstract]
