"""Windowed coupling: attention sees how ids differ, within a small window, and nothing else of positions.

On every level, for a query with id p and a key with id q:

    bias = T[p − q]      both coupled (nonzero), |p − q| ≤ W        2W + 1 learned numbers
         = far           both coupled, further apart                soft: a learned number · hard: −∞
         = null          one or both uncoupled                      three learned numbers

summed over levels, with numbers of their own for every layer, level and head. It is relative, so it needs no random
offset and no maximum id. In the hard form keys that share no level with a query are invisible as well, unless they have
no id at all: a query sees a bounded set of keys, however long the sequence, and attention takes linear time.

In the soft form the many far keys of a long sequence dilute the softmax; `train_length` sharpens it again beyond the
longest sequence of training: scores are multiplied by log(tokens so far) / log(train_length), where that is above 1.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.positions.base import Encoding, Hooks, Place, Shape, distances
from lengthwise.tables import look_up

MAX_WINDOW = 1000
MAX_RANK = 128
"""Up to how many ids, of all levels together, the bias is computed as an inner product."""


@dataclass(frozen=True, kw_only=True)
class Windowed(Encoding):
    """Learned numbers for id differences within a window."""

    name: ClassVar[str] = "windowed"
    summary: ClassVar[str] = "learned numbers for small id differences per level and head (windowed coupling)"

    window: int = 1
    """How far ids may differ: W."""
    hard: bool = True
    """Whether keys beyond the window are invisible, or get one learned number."""
    initial_std: float = 0.75
    """The spread of the initial numbers; the presets for sums and products have 2."""
    gain: float = 4.0
    """What the stored numbers are multiplied by: it lets them move that much faster than other weights."""
    train_length: int | None = None
    """The longest sequence of training, for the soft window: sharpens attention in longer ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.window <= MAX_WINDOW:
            raise InputError(f"the window must be 0 or wider, up to {MAX_WINDOW}, not {self.window}.")
        if self.initial_std < 0 or self.gain <= 0:
            raise InputError(
                f"initial_std must not be below 0 and gain must be above 0, not {self.initial_std} and {self.gain}."
            )
        if self.train_length is not None and self.hard:
            raise InputError("train_length belongs to the soft window: leave it out, or set hard=False.")
        if self.train_length is not None and self.train_length < 2:
            raise InputError(f"train_length must be 2 or more, not {self.train_length}.")

    def build(self, shape: Shape) -> Hooks:
        return WindowBias(self, shape)


class WindowBias(Hooks):
    """All numbers of a layer and level in one table: differences −W … W, far, null query, null key, both null."""

    has_bias = True

    def __init__(self, settings: Windowed, shape: Shape) -> None:
        super().__init__()
        self.settings = settings
        self.reach = settings.window if settings.hard else None
        self.near = 2 * settings.window + 1
        learned = self.near + (0 if settings.hard else 1) + 3
        self.numbers = nn.Parameter(torch.empty(shape.layers, shape.levels, learned, shape.heads))

    def factors(
        self, layer: int, place: Place
    ) -> tuple[Float[Tensor, "tokens heads rank"], Float[Tensor, "tokens rank"]] | None:
        """A key is the one-hot of its id, a query the row of biases that its id has for every other id."""
        highest = place.highest_ids
        if self.settings.hard or sum(highest) + len(highest) > MAX_RANK:
            return None
        of_query, of_key = [], []
        for ids, largest, table in zip(place.ids, highest, self.tables(layer), strict=True):
            every = torch.arange(largest + 1, device=ids.device)[None]
            kinds = self.kinds(Place(every, every[0]), Place(every, every[0]))[0]
            rows = look_up(kinds, table)
            of_query.append(rows.mT.index_select(0, ids))
            of_key.append(nn.functional.one_hot(ids.long(), largest + 1))
        return torch.cat(of_query, dim=2), torch.cat(of_key, dim=1).to(self.numbers.dtype)

    def bias(self, layer: int, query: Place, key: Place) -> Float[Tensor, "*batch heads queries keys"]:
        total: Tensor | None = None
        for level, table in zip(self.kinds(query, key), self.tables(layer), strict=True):
            part = look_up(level, table)
            total = part if total is None else total + part
        assert total is not None
        if self.settings.hard:
            strangers = ~((query.ids != 0)[..., :, None] & (key.ids != 0)[..., None, :]).any(0)
            strangers = strangers & (key.ids != 0).any(0)[..., None, :]
            total = total.masked_fill(strangers[..., None], -torch.inf)
        return total.movedim(-1, -3)

    def kinds(self, query: Place, key: Place) -> Int[Tensor, "levels *batch queries keys"]:
        """Which number of the table each pair of ids has."""
        near, window = self.near, self.settings.window
        difference = distances(query, key)
        null_query, null_key = (query.ids == 0)[..., :, None], (key.ids == 0)[..., None, :]
        kind = torch.where(difference.abs() <= window, difference + window, near)
        kind = torch.where(null_query & ~null_key, near + 1, kind)
        kind = torch.where(~null_query & null_key, near + 2, kind)
        return torch.where(null_query & null_key, near + 3, kind)

    def tables(self, layer: int) -> Float[Tensor, "levels kinds heads"]:
        """The numbers of a layer, with −∞ for far keys where the window is hard."""
        numbers = self.numbers[layer] * self.settings.gain
        if not self.settings.hard:
            return numbers
        far = numbers.new_full((numbers.shape[0], 1, numbers.shape[2]), -torch.inf)
        return torch.cat([numbers[:, : self.near], far, numbers[:, self.near :]], dim=1)

    def focus(self, query: Place) -> Float[Tensor, "*shape"] | None:
        if self.settings.train_length is None:
            return None
        longest = torch.tensor(float(self.settings.train_length), device=query.index.device)
        return (torch.log(query.index + 1.0) / torch.log(longest)).clamp(min=1.0)

    def reset(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.numbers, std=self.settings.initial_std / self.settings.gain, generator=generator)
