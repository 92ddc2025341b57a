"""Keys and values of all that was written so far, for decoding one token at a time.

New tokens are compared with every key so far, or, where the encoding has a reach and pages are long, with a few: those
found by ids among the tokens on file, and the latest ones, which are filed from time to time.
"""

from dataclasses import dataclass
from math import isqrt

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from lengthwise.model.attention import Context, Packed, Sequences, masked_bias
from lengthwise.model.neighbours import Index
from lengthwise.positions.base import Hooks, Place

SHORT = 1024
"""Up to how many tokens a sequence, every key is compared."""
UNFILED = 256
"""How many of the latest tokens are not on file, at least, before they are filed."""


@dataclass(frozen=True)
class Seen:
    """The keys that the newest tokens meet."""

    new: Place
    """Where the newest tokens stand."""
    keys: Place
    """Where the keys stand."""
    visible: Bool[Tensor, "sequences keys"]
    """Whether there is a key."""
    chosen: Int[Tensor, "sequences keys"] | None
    """Where in its sequence each key is kept; None for all of them, in order."""


class Cache:
    """Keys, values and places of everything written so far."""

    def __init__(self, layers: int, room: int, reach: int | None = None) -> None:
        self._room = room
        self._reach = reach if room > SHORT else None
        self.keys: list[Tensor] = [torch.empty(0)] * layers
        self.values: list[Tensor] = [torch.empty(0)] * layers
        self.ids = torch.empty(0)
        self.lengths = torch.empty(0)
        self._file: File | None = None
        self._longest = 0

    def begin(self, context: Context) -> None:
        """Take note of the prompts' places."""
        (place,) = context.sequences.together.places(context.place)
        self.lengths = context.sequences.boundaries.diff()
        self._longest = place.ids.shape[2]
        self.ids = place.ids.new_zeros(place.ids.shape[0], len(self.lengths), self._room)
        self.ids[:, :, : self._longest] = place.ids

    def fill(self, layer: int, key: Packed, value: Packed, sequences: Sequences) -> None:
        """Take the keys and values of the prompts."""
        for store, packed in ((self.keys, key), (self.values, value)):
            (side_by_side,) = sequences.together.pad(packed)
            count, heads, longest, head_dim = side_by_side.shape
            store[layer] = packed.new_zeros(count, self._room, heads, head_dim)
            store[layer][:, :longest] = side_by_side.transpose(1, 2)

    def advance(self, ids: Int[Tensor, "levels sequences"]) -> Seen:
        """Make room for one token more in every sequence, and see which keys the new tokens meet."""
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        self.ids[:, rows, self.lengths] = ids.to(self.ids.dtype)
        new = Place(ids[..., None], self.lengths[:, None])
        self.lengths = self.lengths + 1
        self._longest += 1
        if self._reach is None:
            steps = torch.arange(self._longest, device=rows.device).expand(len(rows), -1)
            return Seen(new, Place(self.ids[:, :, : self._longest], steps), steps < self.lengths[:, None], None)
        if self._file is None or self._longest - self._file.longest > max(UNFILED, isqrt(2 * self._longest)):
            self._file = File(self.ids, self.lengths - 1, self._longest - 1, self._reach)
        on_file, there = self._file.look_up(ids)
        latest = torch.arange(self._longest - self._file.longest, device=rows.device) + self._file.lengths[:, None]
        chosen = torch.cat([on_file, latest], dim=1)
        visible = torch.cat([there, latest < self.lengths[:, None]], dim=1)
        return Seen(new, Place(self.ids[:, rows[:, None], chosen], chosen), visible, chosen)

    def attend(
        self,
        query: Float[Tensor, "sequences heads head_dim"] | None,
        key: Float[Tensor, "sequences heads head_dim"] | None,
        value: Float[Tensor, "sequences heads head_dim"],
        layer: int,
        hooks: Hooks,
        seen: Seen,
        scale: float,
        captured: list[Float[Tensor, "sequences heads keys"]] | None = None,
    ) -> Float[Tensor, "sequences heads head_dim"]:
        """Mix values for the new tokens, whose keys and values are kept; `captured` takes the weights of the keys."""
        query, key = (torch.zeros_like(value) if part is None else part for part in (query, key))
        flat = Place(seen.new.ids[..., 0], seen.new.index[..., 0])
        query, key = hooks.rotate(query, flat), hooks.rotate(key, flat)
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        self.keys[layer][rows, self.lengths - 1] = key
        self.values[layer][rows, self.lengths - 1] = value
        focus = hooks.focus(flat)
        if focus is not None:
            query = query * focus[:, None, None].to(query.dtype)
        mask: Tensor = seen.visible[:, None, None]
        if hooks.has_bias:
            mask = masked_bias(hooks, layer, seen.new, seen.keys, mask).to(query.dtype)
        keys, values = (
            store[:, : self._longest] if seen.chosen is None else store[rows[:, None], seen.chosen]
            for store in (self.keys[layer], self.values[layer])
        )
        if captured is not None:
            exact = torch.promote_types(query.dtype, torch.float32)
            scores = (query[:, :, None] @ keys.transpose(1, 2).mT).to(exact) * scale
            scores = scores + mask if hooks.has_bias else scores.masked_fill(~mask, -torch.inf)
            captured.append(scores.softmax(-1)[:, :, 0])
        mixed = functional.scaled_dot_product_attention(
            query[:, :, None], keys.transpose(1, 2), values.transpose(1, 2), attn_mask=mask, scale=scale
        )
        return mixed[:, :, 0]


class File:
    """The first tokens of every sequence, sorted by ids."""

    def __init__(
        self, ids: Int[Tensor, "levels sequences room"], lengths: Int[Tensor, " sequences"], longest: int, reach: int
    ) -> None:
        self.lengths, self.longest = lengths, longest
        sequences = torch.arange(ids.shape[1], device=ids.device)
        filed = torch.arange(longest, device=ids.device) < lengths[:, None]
        self._sequences = sequences
        self._first = lengths.cumsum(0) - lengths
        self._index = Index.of(ids[:, :, :longest][:, filed], sequences.repeat_interleave(lengths), reach)

    def look_up(
        self, ids: Int[Tensor, "levels sequences"]
    ) -> tuple[Int[Tensor, "sequences slots"], Bool[Tensor, "sequences slots"]]:
        """Where the keys near these ids stand, in each sequence, and which of these slots hold one."""
        latest = self._first + self.lengths - 1
        if self._index is None:  # ids too large to be sorted by: every key, then
            every = torch.arange(self.longest, device=ids.device).expand(len(self.lengths), -1)
            return every, every < self.lengths[:, None]
        found = self._index.search(ids, self._sequences, latest)
        return found.key - self._first[:, None], found.real
