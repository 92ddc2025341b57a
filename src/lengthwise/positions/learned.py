"""Learned tables: a vector for every id, added to the token's embedding, one table a level.

Over `("column", "row")` this is the paper's bi-level Position Coupling; over `("column",)` Abacus; over `("index",)`
plain learned positions. Row 0, for uncoupled tokens, is an ordinary learned row.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.positions.base import Encoding, Hooks, Place, Shape

MAX_SIZE = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Learned(Encoding):
    """A learned vector for every id."""

    name: ClassVar[str] = "learned"
    summary: ClassVar[str] = "a learned vector per id and level: Position Coupling, Abacus, plain learned positions"

    sizes: tuple[int, ...] = (40, 40)
    """The largest id of each level; each table has one row more, for uncoupled tokens."""
    shared: bool = False
    """One table for all levels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(1 <= size <= MAX_SIZE for size in self.sizes):
            raise InputError(f"sizes must be the largest ids, from 1 to {MAX_SIZE:,}, not {self.sizes}.")
        if self.shared and len(set(self.sizes)) > 1:
            raise InputError(f"a shared table has one size for all levels, not sizes={self.sizes}.")

    def build(self, shape: Shape) -> Hooks:
        if len(self.sizes) != shape.levels:
            raise InputError(f"sizes must give the largest id of every level, {shape.levels} in all, not {self.sizes}.")
        return LearnedTables(self, shape)

    def max_ids(self, shape: Shape) -> tuple[int | None, ...]:
        return self.sizes


class LearnedTables(Hooks):
    """The tables."""

    def __init__(self, settings: Learned, shape: Shape) -> None:
        super().__init__()
        tables = settings.sizes[:1] if settings.shared else settings.sizes
        self.tables = nn.ParameterList(torch.empty(size + 1, shape.width) for size in tables)
        self.levels = shape.levels

    def embed(self, place: Place) -> Float[Tensor, "*shape width"]:
        tables = list(self.tables) * (self.levels if len(self.tables) == 1 else 1)
        total = nn.functional.embedding(place.ids[0], tables[0])
        for ids, table in zip(place.ids[1:], tables[1:], strict=True):
            total = total + nn.functional.embedding(ids, table)
        return total

    def reset(self, generator: torch.Generator) -> None:
        for table in self.tables:
            nn.init.normal_(table, generator=generator)
