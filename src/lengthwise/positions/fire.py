"""FIRE: a learned function of the distance, progressively interpolated.

    bias(i, j) = MLP( log(c·(i−j) + 1) / log(c·norm + 1) ),   norm = max(i, L)

c and L are learned; the small network has two hidden layers and no biases. So a distance counts relative to how far the
query has come, but not before it has come L tokens far.

Paper: the authors' code of the arithmetic paper has `min(i, L)` there, and uses the first block's bias in every block.
`norm="min"` and `shared=True` give that variant. It is made for plain positions: a query whose id is 0 measures
distances against nothing, which is harmless only for the first token of all.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.positions.base import Encoding, Hooks, Place, Shape, distances

HIDDEN = 32
TINY = 1e-6


@dataclass(frozen=True, kw_only=True)
class Fire(Encoding):
    """A learned function of the relative distance."""

    name: ClassVar[str] = "fire"
    summary: ClassVar[str] = "a learned function of the distance relative to the query's position (FIRE)"

    norm: Literal["max", "min"] = "max"
    """What a distance is measured against: max(i, L) as FIRE's paper has it, or the authors' min(i, L)."""
    shared: bool = False
    """One function for all layers, instead of one each."""
    initial_c: float = 0.1
    """Where c starts."""
    initial_length: float = 256.0
    """Where L starts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.initial_c <= 0 or self.initial_length <= 0:
            raise InputError(
                f"initial_c and initial_length must start above 0, not at {self.initial_c} and {self.initial_length}."
            )

    def build(self, shape: Shape) -> Hooks:
        self.require_one_level(shape)
        return FireBias(self, shape)


class FireFunction(nn.Module):
    """One layer's function."""

    def __init__(self, settings: Fire, heads: int) -> None:
        super().__init__()
        self.settings = settings
        self.c = nn.Parameter(torch.tensor(settings.initial_c))
        self.root_length = nn.Parameter(torch.tensor(settings.initial_length**0.5))  # squared, so that L stays positive
        self.first = nn.Parameter(torch.empty(HIDDEN, 1))
        self.second = nn.Parameter(torch.empty(HIDDEN, HIDDEN))
        self.third = nn.Parameter(torch.empty(heads, HIDDEN))

    def forward(self, query: Place, key: Place) -> Float[Tensor, "*batch heads queries keys"]:
        c, length = self.c.float(), self.root_length.float() ** 2  # positions need more digits than half precision has
        position = query.ids[0].float()
        beyond = position > length
        norm = torch.where(beyond == (self.settings.norm == "max"), position, length)
        distance = torch.log((c * distances(query, key)[0]).abs() + 1)
        share = distance / (torch.log((c * norm).abs() + 1) + TINY)[..., None]
        hidden = nn.functional.linear(share[..., None].to(self.first.dtype), self.first).relu()
        hidden = nn.functional.linear(hidden, self.second).relu()
        return nn.functional.linear(hidden, self.third).movedim(-1, -3)


class FireBias(Hooks):
    """A function per layer, or one for all."""

    has_bias = True

    def __init__(self, settings: Fire, shape: Shape) -> None:
        super().__init__()
        self.settings = settings
        count = 1 if settings.shared else shape.layers
        self.functions = nn.ModuleList(FireFunction(settings, shape.heads) for _ in range(count))

    def bias(self, layer: int, query: Place, key: Place) -> Float[Tensor, "*batch heads queries keys"]:
        bias: Tensor = self.functions[0 if self.settings.shared else layer](query, key)
        return bias

    def reset(self, generator: torch.Generator) -> None:
        for function in self.functions:
            assert isinstance(function, FireFunction)
            nn.init.normal_(function.first, std=1.0, generator=generator)
            nn.init.normal_(function.second, std=HIDDEN**-0.5, generator=generator)
            nn.init.normal_(function.third, std=HIDDEN**-0.5, generator=generator)
