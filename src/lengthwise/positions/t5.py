"""T5's relative bias: a learned number per head for every bucket of distances, shared by all layers.

Half of the buckets hold one distance each; the others grow logarithmically up to a largest distance, beyond which all
distances are alike. A key ahead of its query, which plain causal positions never give, counts as distance 0.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.positions.base import Encoding, Hooks, Place, Shape, distances


@dataclass(frozen=True, kw_only=True)
class T5(Encoding):
    """A learned number per bucket of distances and head."""

    name: ClassVar[str] = "t5"
    summary: ClassVar[str] = "a learned number per bucket of distances and head, shared by all layers (T5)"

    buckets: int = 32
    """How many buckets."""
    max_distance: int = 128
    """Where the last bucket begins, or nearly so."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.buckets < 2 or self.max_distance <= self.buckets // 2:
            raise InputError(
                "t5 needs 2 buckets or more and a max_distance beyond half of them, "
                f"not buckets={self.buckets} and max_distance={self.max_distance}."
            )

    def build(self, shape: Shape) -> Hooks:
        self.require_one_level(shape)
        return BucketBias(self, shape)


class BucketBias(Hooks):
    """The table of buckets."""

    has_bias = True

    def __init__(self, settings: T5, shape: Shape) -> None:
        super().__init__()
        self.settings = settings
        self.table = nn.Parameter(torch.empty(settings.buckets, shape.heads))

    def bucket(self, distance: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
        """Which bucket a distance falls into."""
        exact = self.settings.buckets // 2
        distance = distance.clamp(min=0)
        octave = torch.log(distance.clamp(min=1) / exact) / math.log(self.settings.max_distance / exact)
        far = exact + (octave * (self.settings.buckets - exact)).long()
        return torch.where(distance < exact, distance.long(), far.clamp(max=self.settings.buckets - 1))

    def bias(self, layer: int, query: Place, key: Place) -> Float[Tensor, "*batch heads queries keys"]:
        return nn.functional.embedding(self.bucket(distances(query, key)[0]), self.table).movedim(-1, -3)

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table, generator=generator)
