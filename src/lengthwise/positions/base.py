"""What a position encoding is: three hooks into the Transformer, which never asks which encoding it has.

    embed    adds to a token's embedding                         learned tables, sinusoids
    rotate   turns queries and keys                              rotary
    bias     adds to the score of a query for a key              ALiBi, T5, FIRE, windowed coupling

An encoding is one file: its settings, a frozen dataclass on `Encoding`, and its `Hooks`, a module that `build` returns.
It is found by walking the package; adding one edits no other file. It sees ids, whatever coordinates they come from:
learned tables over `("column", "row")` are Position Coupling, over `("column",)` Abacus, over `("index",)` plain
positions.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.settings import check_types


@dataclass(frozen=True)
class Place:
    """Where tokens stand: their ids, and how many tokens of their sequence come before them."""

    ids: Int[Tensor, "levels *shape"]
    index: Int[Tensor, "*shape"]
    highest: tuple[int, ...] | None = None
    """The largest id of each level, where that is known without reading it back from the device."""
    plain: bool | None = None
    """Whether ids are the index in every sequence; None where that is not known."""

    @cached_property
    def is_plain(self) -> bool:
        """Whether ids are the index in every sequence: read back if need be."""
        return bool((self.ids == self.index).all()) if self.plain is None else self.plain

    @property
    def highest_ids(self) -> tuple[int, ...]:
        """The largest id of each level, read back if need be."""
        return self.highest or tuple(self.ids.flatten(1).amax(1).tolist())


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What an encoding must know of the Transformer it is built for."""

    levels: int
    width: int
    layers: int
    heads: int
    head_dim: int


class Hooks(nn.Module):
    """The three hooks. Each does nothing unless an encoding defines it."""

    has_bias: bool = False
    """Whether `bias` gives anything: known beforehand, because attention without it is computed another way."""
    reach: int | None = None
    """How far ids of visible keys may differ, where the bias hides all others: attention is then linear in time.

    It must be −∞ for keys further away on a level where query and key both have an id, and for keys with ids of which
    the query has none on the same level.
    """

    def embed(self, place: Place) -> Float[Tensor, "*shape width"] | None:
        """What is added to the embeddings of tokens."""
        return None

    def rotate(self, vectors: Float[Tensor, "*shape heads head_dim"], place: Place) -> Float[Tensor, "..."]:
        """Queries or keys, turned."""
        return vectors

    def bias(self, layer: int, query: Place, key: Place) -> Float[Tensor, "*batch heads queries keys"] | None:
        """What is added to the scores in one layer, for places of shape `*batch queries` and `*batch keys`."""
        return None

    def factors(
        self, layer: int, place: Place
    ) -> tuple[Float[Tensor, "tokens heads rank"], Float[Tensor, "tokens rank"]] | None:
        """The same bias as an inner product of a vector of the query and one of the key, where that is of low rank.

        Attention without a bias is much faster, so an encoding that can should offer this beside `bias`.
        """
        return None

    def focus(self, query: Place) -> Float[Tensor, "*shape"] | None:
        """What all scores of a query are multiplied by, bias included."""
        return None

    def reset(self, generator: torch.Generator) -> None:
        """Draw the initial weights."""


@dataclass(frozen=True, kw_only=True)
class Encoding(ABC):
    """The settings of a position encoding."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What it is, in a line."""

    def __post_init__(self) -> None:
        check_types(self)

    @abstractmethod
    def build(self, shape: Shape) -> Hooks:
        """The hooks for a Transformer of this shape."""

    def max_ids(self, shape: Shape) -> tuple[int | None, ...]:
        """The largest id this encoding knows on each level; None where it takes any."""
        return (None,) * shape.levels

    def require_one_level(self, shape: Shape) -> None:
        """For encodings that are defined over one sequence of positions."""
        if shape.levels != 1:
            raise InputError(
                f"{self.name} encodes one level of ids, not {shape.levels}: "
                "give the task one coordinate, such as coupling=('index',)."
            )


def distances(query: Place, key: Place) -> Int[Tensor, "levels *batch queries keys"]:
    """How far each query's id lies above each key's, on every level."""
    return query.ids[..., :, None] - key.ids[..., None, :]
