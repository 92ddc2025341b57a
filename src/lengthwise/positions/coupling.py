"""Position coupling: which coordinates of a token become its position ids, and from where they count.

A task gives every token named coordinates that count from 0: in `57+48+96` the digit 8 of the second number has
`column` 1 (symbols are column 0, units 1, tens 2 …) and `row` 1 (the second number). A coupling names the coordinates
that become id levels; the id is the coordinate plus the level's offset. Tokens that share a coordinate share an id.

    levels            what it is
    ("column", "row") the paper's bi-level coupling of addition
    ("column",)       single-level coupling
    ("index",)        plain positions: the place in the sequence, on any task

Id 0 means "uncoupled on this level" and is never shifted. At test time every offset is 1. In training each sample
draws its own offset per level, as far up as the level's maximum id allows, so that short problems train all ids.
The other policy, randomised positions, draws ascending random ids instead of consecutive ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int32, Int64, Integer
from torch import Tensor

from lengthwise.errors import InputError


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbering:
    """How the coordinates of many pages become ids: counted from an offset, or looked up in a table."""

    offsets: Int32[Tensor, "levels samples"]
    """Where the ids of each level and page start counting."""
    tables: tuple[Int32[Tensor, "samples _"], ...] | None = None
    """With randomised positions, which id each coordinate has; the offsets are then 1."""

    def look_up(
        self, level: int, sample: Integer[Tensor, " tokens"], ids: Int32[Tensor, " tokens"]
    ) -> Int32[Tensor, " tokens"]:
        """Ids that were counted from the offset, replaced by those of the table if there is one."""
        if self.tables is None:
            return ids
        table = self.tables[level]
        column = (ids - 1).clamp(min=0, max=table.shape[1] - 1).long()
        return torch.where(ids > 0, table[sample.long(), column], ids)

    def __getitem__(self, pages: slice | Int64[Tensor, " chosen"]) -> "Numbering":
        """That of some pages."""
        tables = None if self.tables is None else tuple(table[pages] for table in self.tables)
        return Numbering(offsets=self.offsets[:, pages], tables=tables)

    @staticmethod
    def join(parts: Sequence["Numbering"]) -> "Numbering":
        """The numberings of several batches, in order."""
        tables = [part.tables for part in parts if part.tables is not None]
        return Numbering(
            offsets=torch.cat([part.offsets for part in parts], dim=1),
            tables=tuple(torch.cat(level) for level in zip(*tables, strict=True)) or None,
        )


@dataclass(frozen=True, kw_only=True)
class Coupling:
    """The id levels of a task, in order, with the largest id of each.

    >>> coupling = Coupling(levels=("column", "row"), max_ids=(40, 40))
    >>> reach = torch.tensor([[11], [10]], dtype=torch.int32)     # columns 0 … 11, rows 0 … 10
    >>> coupling.highest_offsets(reach).tolist()
    [[29], [30]]
    """

    levels: tuple[str, ...]
    """Names of the coordinates that become ids, level 1 first."""
    max_ids: tuple[int | None, ...]
    """The largest id each level may use; None where there is no limit."""

    def require_room(self, reach: Int32[Tensor, "levels samples"], subject: str) -> None:
        """Refuse pages whose largest coordinates, counted from offset 1, go beyond a maximum id."""
        for level, max_id, largest in zip(self.levels, self.max_ids, reach.amax(1).tolist(), strict=True):
            if max_id is not None and largest + 1 > max_id:
                raise InputError(
                    f"{subject} needs {level} ids up to {largest + 1}, but the maximum id of {level!r} is {max_id}: "
                    f"raise it to {largest + 1} or more (max_ids={self._raised(level, largest + 1)})."
                )

    def highest_offsets(self, reach: Int32[Tensor, "levels samples"]) -> Int32[Tensor, "levels samples"]:
        """The last offset that keeps all ids of a page within the maximum; 1 where there is no maximum."""
        maxima = torch.tensor([[max_id or 0] for max_id in self.max_ids], dtype=torch.int32, device=reach.device)
        return torch.where(maxima > 0, maxima - reach, 1)

    def shifted(self, reach: Int32[Tensor, "levels samples"], draws: Int64[Tensor, "levels samples"]) -> Numbering:
        """Training offsets: each uniform in 1 … highest, made from `draws`, large uniform integers."""
        return Numbering(offsets=(1 + draws % self.highest_offsets(reach)).to(torch.int32))

    def randomised(self, reach: Int32[Tensor, "levels samples"], generator: torch.Generator) -> Numbering:
        """Randomised positions: ascending random ids for the coordinates 0 … reach of each page.

        Beyond a page's reach its table repeats the maximum, for models that write on and on.
        """
        tables = []
        for max_id, needed in zip(self.max_ids, reach + 1, strict=True):
            assert max_id is not None, "randomised positions need maximum ids"
            samples = needed.shape[0]
            noise = torch.rand(samples, max_id, generator=generator, device=reach.device)
            chosen = noise.argsort(1).argsort(1) < needed[:, None]
            column = torch.where(chosen, chosen.cumsum(1) - 1, max_id)
            ids = torch.arange(1, max_id + 1, dtype=torch.int32, device=reach.device).expand(samples, max_id)
            table = torch.full((samples, max_id + 1), max_id, dtype=torch.int32, device=reach.device)
            tables.append(table.scatter_(1, column, ids)[:, :-1])
        return Numbering(offsets=torch.ones_like(reach), tables=tuple(tables))

    def _raised(self, level: str, needed: int) -> tuple[int | None, ...]:
        return tuple(needed if name == level else m for name, m in zip(self.levels, self.max_ids, strict=True))
