"""Sinusoidal positions: sines and cosines of the id at geometrically spaced wavelengths, added to the embedding.

With several levels each has an equal share of the width, so that no two levels are confused.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.positions.base import Encoding, Hooks, Place, Shape


def frequencies(dims: int, base: float) -> Float[Tensor, " half"]:
    """`base ** (-2i / dims)` for each pair of dimensions."""
    return base ** (-torch.arange(0, dims, 2, dtype=torch.float32) / dims)


@dataclass(frozen=True, kw_only=True)
class Sinusoidal(Encoding):
    """Fixed sines and cosines of the ids."""

    name: ClassVar[str] = "sinusoidal"
    summary: ClassVar[str] = "sines and cosines of the id, added to the embedding"

    base: float = 10_000.0
    """The longest wavelength is 2π times this."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base <= 1:
            raise InputError(f"base must be above 1, not {self.base}.")

    def build(self, shape: Shape) -> Hooks:
        if shape.width % (2 * shape.levels):
            raise InputError(
                f"sinusoidal positions of {shape.levels} levels need a width that is a multiple of {2 * shape.levels}, "
                f"not {shape.width}."
            )
        return Sinusoids(self, shape)


class Sinusoids(Hooks):
    """Computed on the fly. The rates are no buffer: they stay float32 when the model is cast to less."""

    def __init__(self, settings: Sinusoidal, shape: Shape) -> None:
        super().__init__()
        self.rates = frequencies(shape.width // shape.levels, settings.base)

    def embed(self, place: Place) -> Float[Tensor, "*shape width"]:
        self.rates = self.rates.to(place.ids.device)  # kept there: a copy from the host waits for the device
        angles = place.ids[..., None] * self.rates  # levels *shape half
        waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
        return torch.cat(list(waves), dim=-1)
