"""ALiBi: scores fall linearly with the distance, at a fixed slope per head; of several levels, with their sum."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.positions.base import Encoding, Hooks, Place, Shape, distances


@dataclass(frozen=True, kw_only=True)
class Alibi(Encoding):
    """A linear penalty on distance."""

    name: ClassVar[str] = "alibi"
    summary: ClassVar[str] = "a fixed linear penalty on distance per head (ALiBi)"

    steepest: float = 8.0
    """The slope of head h of H is 2^(−steepest · h / H), h from 1."""

    def build(self, shape: Shape) -> Hooks:
        return LinearPenalty(self, shape)


class LinearPenalty(Hooks):
    """Nothing to learn."""

    has_bias = True

    def __init__(self, settings: Alibi, shape: Shape) -> None:
        super().__init__()
        heads = torch.arange(1, shape.heads + 1, dtype=torch.float32)
        self.slopes = 2 ** (-settings.steepest * heads / shape.heads)

    def bias(self, layer: int, query: Place, key: Place) -> Float[Tensor, "*batch heads queries keys"]:
        distance = distances(query, key).abs().sum(0)
        self.slopes = self.slopes.to(distance.device)  # kept there: a copy from the host waits for the device
        return -distance[..., None, :, :] * self.slopes[:, None, None]
