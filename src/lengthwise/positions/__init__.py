"""Position ids and, built on them, position encodings."""

from lengthwise.positions.coupling import Coupling

__all__ = ["Coupling"]
