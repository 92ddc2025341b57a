"""No position encoding (NoPE): the causal mask alone tells positions apart."""

from dataclasses import dataclass
from typing import ClassVar

from lengthwise.positions.base import Encoding, Hooks, Shape


@dataclass(frozen=True, kw_only=True)
class NoPositions(Encoding):
    """Nothing is added anywhere."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "no position encoding (NoPE)"

    def build(self, shape: Shape) -> Hooks:
        return Hooks()
