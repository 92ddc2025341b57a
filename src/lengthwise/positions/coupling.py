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
"""

from dataclasses import dataclass

import torch
from jaxtyping import Int32, Int64
from torch import Tensor

from lengthwise.errors import InputError


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

    def offsets(
        self, reach: Int32[Tensor, "levels samples"], draws: Int64[Tensor, "levels samples"]
    ) -> Int32[Tensor, "levels samples"]:
        """Training offsets: each uniform in 1 … highest, made from `draws`, large uniform integers."""
        return (1 + draws % self.highest_offsets(reach)).to(torch.int32)

    def _raised(self, level: str, needed: int) -> tuple[int | None, ...]:
        return tuple(needed if name == level else m for name, m in zip(self.levels, self.max_ids, strict=True))
