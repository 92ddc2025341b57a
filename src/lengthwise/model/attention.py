"""Attention over packed sequences, four ways that give the same numbers.

    flash      variable-length flash attention: CUDA, half precision, no bias
    padded     sequences side by side, padded: everywhere else, and wherever there is a bias
    explicit   the same with every weight in memory: when attention is to be looked at
    cached     one new query a sequence against the keys so far: when decoding

Only here does the model know that its tokens form sequences. Padding stands at the end of sequences and attention is
causal, so no token ever sees it.
"""

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import varlen

from lengthwise.positions.base import Hooks, Place

FLASH_HEAD_DIMS = range(8, 257, 8)


@dataclass(frozen=True)
class Sequences:
    """Which tokens of a packed batch form a sequence."""

    boundaries: Int[Tensor, " sequences_and_one"]
    longest: int
    slots: Int[Tensor, "sequences longest"]
    """Which token stands where when sequences lie side by side; beyond a sequence's end, any token."""
    spots: Int[Tensor, " tokens"]
    """Where each token went, counted through `slots` row by row."""
    index: Int[Tensor, " tokens"]
    """How many tokens of its sequence come before each."""

    @staticmethod
    def of(boundaries: Int[Tensor, " sequences_and_one"], tokens: int) -> "Sequences":
        sizes = boundaries.diff()
        longest = int(sizes.max())
        steps = torch.arange(longest, device=boundaries.device)
        row = torch.repeat_interleave(torch.arange(len(sizes), device=boundaries.device), sizes, output_size=tokens)
        index = torch.arange(tokens, device=boundaries.device) - boundaries[:-1][row]
        return Sequences(
            boundaries=boundaries,
            longest=longest,
            slots=(boundaries[:-1, None] + steps).clamp(max=tokens - 1),
            spots=row * longest + index,
            index=index,
        )

    def pad(self, packed: Float[Tensor, "tokens heads head_dim"]) -> Float[Tensor, "sequences heads longest head_dim"]:
        return packed[self.slots].transpose(1, 2)

    def unpad(
        self, padded: Float[Tensor, "sequences heads longest head_dim"]
    ) -> Float[Tensor, "tokens heads head_dim"]:
        return padded.transpose(1, 2).flatten(0, 1)[self.spots]


@dataclass
class Context:
    """What attention needs besides queries, keys and values, the same in every layer of one forward pass."""

    hooks: Hooks
    sequences: Sequences
    place: Place
    scale: float
    captured: list[Float[Tensor, "sequences heads longest longest"]] | None = None
    """Attention weights of every layer, collected here if asked for."""
    cache: "Cache | None" = None
    """Where keys and values are left for decoding, if asked for."""
    _padded_place: Place | None = field(default=None, init=False)

    @property
    def padded_place(self) -> Place:
        """The places of tokens side by side."""
        if self._padded_place is None:
            slots = self.sequences.slots
            steps = torch.arange(self.sequences.longest, device=slots.device)
            self._padded_place = Place(self.place.ids[:, slots], steps.expand(slots.shape))
        return self._padded_place

    def bias(self, layer: int) -> Float[Tensor, "sequences heads longest longest"] | None:
        """The encoding's bias with the causal mask, or None where there is no bias."""
        if not self.hooks.has_bias:
            return None
        bias = self.hooks.bias(layer, self.padded_place, self.padded_place)
        assert bias is not None
        focus = self.hooks.focus(self.padded_place)
        if focus is not None:
            bias = bias * focus[:, None, :, None]
        return bias.masked_fill(~causal(self.sequences.longest, bias.device), -torch.inf)


def causal(length: int, device: torch.device) -> Bool[Tensor, "length length"]:
    """Which keys each query may see: itself and what came before."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


Packed = Float[Tensor, "tokens heads head_dim"]


def attend(query: Packed, key: Packed, value: Packed, context: Context, layer: int) -> Packed:
    """Mix the values of each sequence, by the one of the ways that fits."""
    query, key = context.hooks.rotate(query, context.place), context.hooks.rotate(key, context.place)
    focus = context.hooks.focus(context.place)
    if focus is not None:
        query = query * focus[:, None, None].to(query.dtype)
    if context.cache is not None:
        context.cache.fill(layer, key, value, context.sequences)
    if context.captured is not None:
        mixed, weights = explicit(query, key, value, context, layer)
        context.captured.append(weights)
        return mixed
    half = query.dtype in (torch.float16, torch.bfloat16)
    if query.is_cuda and half and not context.hooks.has_bias and query.shape[2] in FLASH_HEAD_DIMS:
        return flash(query, key, value, context)
    return padded(query, key, value, context, layer)


def flash(query: Packed, key: Packed, value: Packed, context: Context) -> Packed:
    """Variable-length flash attention on the packed tokens themselves."""
    boundaries, longest = context.sequences.boundaries.to(torch.int32), context.sequences.longest
    mixed = varlen.varlen_attn(
        query, key, value, boundaries, boundaries, longest, longest, scale=context.scale, window_size=(-1, 0)
    )
    assert isinstance(mixed, Tensor)
    return mixed


def padded(query: Packed, key: Packed, value: Packed, context: Context, layer: int) -> Packed:
    """Sequences side by side."""
    sequences, bias = context.sequences, context.bias(layer)
    mixed = functional.scaled_dot_product_attention(
        sequences.pad(query),
        sequences.pad(key),
        sequences.pad(value),
        attn_mask=None if bias is None else bias.to(query.dtype),
        is_causal=bias is None,
        scale=context.scale,
    )
    return sequences.unpad(mixed)


def explicit(
    query: Packed, key: Packed, value: Packed, context: Context, layer: int
) -> tuple[Packed, Float[Tensor, "sequences heads longest longest"]]:
    """The textbook formula, with the weights."""
    sequences, bias = context.sequences, context.bias(layer)
    padded_query, padded_key, padded_value = (sequences.pad(vectors) for vectors in (query, key, value))
    scores = (padded_query @ padded_key.mT).float() * context.scale
    if bias is None:
        scores = scores.masked_fill(~causal(sequences.longest, scores.device), -torch.inf)
    else:
        scores = scores + bias
    weights = scores.softmax(-1)
    return sequences.unpad(weights.to(padded_value.dtype) @ padded_value), weights


class Cache:
    """Keys, values and places of everything written so far, for decoding one token at a time."""

    def __init__(self, layers: int, room: int) -> None:
        self._room = room
        self.keys: list[Tensor] = [torch.empty(0)] * layers
        self.values: list[Tensor] = [torch.empty(0)] * layers
        self.ids = torch.empty(0)
        self.lengths = torch.empty(0)

    def begin(self, context: Context) -> None:
        """Take note of the prompts' places."""
        sequences = context.sequences
        self.lengths = sequences.boundaries.diff()
        ids = context.place.ids
        self.ids = ids.new_zeros(ids.shape[0], len(self.lengths), self._room)
        self.ids[:, :, : sequences.longest] = ids[:, sequences.slots]

    def fill(self, layer: int, key: Packed, value: Packed, sequences: Sequences) -> None:
        """Take the keys and values of the prompts."""
        for store, packed in ((self.keys, key), (self.values, value)):
            side_by_side = sequences.pad(packed)
            count, heads, longest, head_dim = side_by_side.shape
            store[layer] = packed.new_zeros(count, heads, self._room, head_dim)
            store[layer][:, :, :longest] = side_by_side

    def advance(self, ids: Int[Tensor, "levels sequences"]) -> tuple[Place, Place]:
        """Make room for one token more in every sequence; the places of the new tokens and of all keys."""
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        self.ids[:, rows, self.lengths] = ids.to(self.ids.dtype)
        steps = torch.arange(self._room, device=self.lengths.device)
        new = Place(ids[..., None], self.lengths[:, None])
        self.lengths = self.lengths + 1
        return new, Place(self.ids, steps.expand(self.ids.shape[1:]))

    def attend(
        self,
        query: Float[Tensor, "sequences heads head_dim"],
        key: Float[Tensor, "sequences heads head_dim"],
        value: Float[Tensor, "sequences heads head_dim"],
        layer: int,
        hooks: Hooks,
        places: tuple[Place, Place],
        scale: float,
    ) -> Float[Tensor, "sequences heads head_dim"]:
        """Mix values for the new tokens, whose keys and values are kept."""
        new, written = places
        flat = Place(new.ids[..., 0], new.index[..., 0])
        query, key = hooks.rotate(query, flat), hooks.rotate(key, flat)
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        self.keys[layer][rows, :, self.lengths - 1] = key
        self.values[layer][rows, :, self.lengths - 1] = value
        visible = (written.index < self.lengths[:, None])[:, None, None, :]
        focus = hooks.focus(flat)
        if focus is not None:
            query = query * focus[:, None, None].to(query.dtype)
        mask: Tensor = visible
        if hooks.has_bias:
            bias = hooks.bias(layer, new, written)
            assert bias is not None
            if focus is not None:
                bias = bias * focus[:, None, None, None]
            mask = bias.masked_fill(~visible, -torch.inf).to(query.dtype)
        mixed = functional.scaled_dot_product_attention(
            query[:, :, None], self.keys[layer], self.values[layer], attn_mask=mask, scale=scale
        )
        return mixed[:, :, 0]
