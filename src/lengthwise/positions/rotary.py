"""Rotary positions (RoPE): pairs of dimensions of queries and keys are turned by angles in proportion to the id.

Over `("index",)` this is RoPE as usual. Over coupled ids each level turns an equal share of the head, so that a score
depends on the difference of ids on every level.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.positions.base import Encoding, Hooks, Place, Shape
from lengthwise.positions.sinusoidal import frequencies


@dataclass(frozen=True, kw_only=True)
class Rotary(Encoding):
    """Queries and keys turned by their ids."""

    name: ClassVar[str] = "rotary"
    summary: ClassVar[str] = "queries and keys turned by the id (RoPE), one share of the head per level"

    base: float = 10_000.0
    """The longest wavelength is 2π times this."""
    dims: int | None = None
    """How many dimensions of each head are turned, the first ones; by default all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base <= 1:
            raise InputError(f"base must be above 1, not {self.base}.")

    def build(self, shape: Shape) -> Hooks:
        dims = shape.head_dim if self.dims is None else self.dims
        if dims > shape.head_dim or dims < 1 or dims % (2 * shape.levels):
            raise InputError(
                f"rotary positions of {shape.levels} levels turn a multiple of {2 * shape.levels} dimensions, "
                f"at most the {shape.head_dim} of a head, not {dims}."
            )
        return Rotation(self, shape, dims)


class Rotation(Hooks):
    """Neighbouring dimensions form a pair: (0, 1), (2, 3), …"""

    def __init__(self, settings: Rotary, shape: Shape, dims: int) -> None:
        super().__init__()
        self.dims = dims
        self.rates = frequencies(dims // shape.levels, settings.base)  # no buffer: stays float32 in half precision

    def rotate(self, vectors: Float[Tensor, "*shape heads head_dim"], place: Place) -> Float[Tensor, "..."]:
        self.rates = self.rates.to(vectors.device)  # kept there: a copy from the host waits for the device
        angles = torch.cat(list(place.ids[..., None] * self.rates), dim=-1)[..., None, :]  # *shape 1 pairs
        turned, rest = vectors[..., : self.dims], vectors[..., self.dims :]
        even, odd = turned[..., 0::2].float(), turned[..., 1::2].float()
        cos, sin = angles.cos(), angles.sin()
        pairs = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)
        return torch.cat([pairs.to(vectors.dtype), rest], dim=-1)
