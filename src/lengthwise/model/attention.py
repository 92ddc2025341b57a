"""Attention over packed sequences, four ways that give the same numbers up to rounding.

    neighbours   a few keys a query, found by ids, in linear time: where the encoding hides all others
    flash        variable-length flash attention: CUDA, half precision, no bias
    padded       sequences side by side, padded: everywhere else, and wherever there is a bias
    explicit     the same with every weight in memory: when attention is to be looked at

A fifth way, one new query a sequence against the keys so far, is in `cache.py`. Only in these two files does the model
know that its tokens form sequences. Padding stands at the end of sequences and attention is
causal, so no token ever sees it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from lengthwise.model.neighbours import PRODUCTS_AT_ONCE, Neighbours, find, mix
from lengthwise.positions.base import Hooks, Place

MAX_FLASH_DIM = 256


class _Move(torch.autograd.Function):
    """Rows taken by index, where the way back is known: both directions are plain gathers, which CPUs are fast at."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, there: Tensor, back: Tensor, real: Tensor | None) -> Tensor:
        ctx.save_for_backward(back, real)
        return rows.index_select(0, there)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        back, real = ctx.saved_tensors
        gradient = gradients[0].index_select(0, back)
        return gradient if real is None else gradient * real[:, None, None], None, None, None


class Arrangement:
    """Sequences laid side by side, in groups, each padded to its longest; padding is any token, and never seen."""

    def __init__(
        self, boundaries: Int[Tensor, " sequences_and_one"], tokens: int, groups: list[tuple[list[int], int]]
    ) -> None:
        self.shapes = [(len(rows), longest) for rows, longest in groups]
        self._areas = [sequences * longest for sequences, longest in self.shapes]
        device = boundaries.device
        slots, real = [], []
        every = torch.tensor([row for rows, _ in groups for row in rows])
        if device.type == "cuda":  # a copy from pinned memory does not wait for the device
            every = every.pin_memory().to(device, non_blocking=True)
        for chosen, (_, longest) in zip(torch.split(every, [len(rows) for rows, _ in groups]), groups, strict=True):
            slot = boundaries[chosen, None] + torch.arange(longest, device=device)
            slots.append(slot.clamp(max=tokens - 1).flatten())
            real.append((slot < boundaries[chosen + 1, None]).flatten())
        self.slots, self.real = torch.cat(slots), torch.cat(real)  # which token stands where; and whether it belongs
        there = torch.where(self.real, self.slots, tokens)  # padding goes to a spot of its own
        spots = torch.empty(tokens + 1, dtype=torch.int64, device=device)
        self.spots = spots.scatter_(0, there, torch.arange(len(there), device=device))[:-1]

    def pad(self, packed: Float[Tensor, "tokens heads dim"]) -> list[Float[Tensor, "sequences heads longest dim"]]:
        """Every group, side by side."""
        rows: Tensor = _Move.apply(packed, self.slots, self.spots, None)  # type: ignore[no-untyped-call]
        parts = torch.split(rows, self._areas)
        return [
            part.view(*shape, *part.shape[1:]).transpose(1, 2) for part, shape in zip(parts, self.shapes, strict=True)
        ]

    def unpad(self, padded: Sequence[Float[Tensor, "_ heads _ dim"]]) -> Float[Tensor, "tokens heads dim"]:
        """Packed tokens again."""
        rows: Tensor = torch.cat([part.transpose(1, 2).flatten(0, 1) for part in padded])
        moved: Tensor = _Move.apply(rows, self.spots, self.slots, self.real)  # type: ignore[no-untyped-call]
        return moved

    def places(self, place: Place) -> list[Place]:
        """The places of the tokens of every group, side by side."""
        parts = torch.split(place.ids[:, self.slots], self._areas, dim=1)
        return [
            Place(ids.view(-1, *shape), torch.arange(shape[1], device=ids.device).expand(shape))
            for ids, shape in zip(parts, self.shapes, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of a batch without reading it back from the device: reading back waits for all work in progress."""

    sizes: tuple[int, ...]
    """How many tokens each sequence has."""
    highest: tuple[int, ...]
    """The largest id of each level."""
    plain: bool | None = None
    """Whether ids are the index in every sequence; None where that is not known."""
    neighbours: Neighbours | None = None
    """Of the tokens that `neighbours_of` names, where they were found beforehand."""


class Sequences:
    """Which tokens of a packed batch form a sequence."""

    def __init__(
        self, boundaries: Int[Tensor, " sequences_and_one"], tokens: int, sizes: Sequence[int] | None = None
    ) -> None:
        self.boundaries = boundaries
        self._tokens, self._sizes = tokens, sizes
        each = boundaries.diff()
        self.row = torch.repeat_interleave(torch.arange(len(each), device=boundaries.device), each, output_size=tokens)
        self.index = torch.arange(tokens, device=boundaries.device) - boundaries[:-1][self.row]

    @property
    def _spread(self) -> float:
        """How much longer than the shortest of its group a sequence may be.

        Attention costs the square of the padded length: on a CPU a group ends where its shortest would cost double. A
        GPU waits for the many small kernels of many groups longer than for a few large ones.
        """
        return 4.0 if self.boundaries.is_cuda else 2**0.5

    @property
    def _multiple(self) -> int:
        """What padded lengths are multiples of: GPU kernels with a bias want rows that are aligned."""
        return 16 if self.boundaries.is_cuda else 1

    @cached_property
    def sizes(self) -> Sequence[int]:
        """How many tokens each sequence has."""
        sizes: Sequence[int] = self.boundaries.diff().tolist() if self._sizes is None else self._sizes
        return sizes

    @cached_property
    def together(self) -> Arrangement:
        """All sequences side by side, in order, in one group."""
        return Arrangement(self.boundaries, self._tokens, [(list(range(len(self.sizes))), max(self.sizes))])

    @cached_property
    def apart(self) -> Arrangement:
        """Groups of sequences of about the same length, so that little is padding."""
        order = sorted(range(len(self.sizes)), key=self.sizes.__getitem__)
        groups, first = [], 0
        for place in range(1, len(order) + 1):
            if place == len(order) or self.sizes[order[place]] > self._spread * self.sizes[order[first]]:
                longest = self.sizes[order[place - 1]]
                groups.append((order[first:place], longest + -longest % self._multiple))
                first = place
        return Arrangement(self.boundaries, self._tokens, groups)


Keep = Callable[[int, Tensor, Tensor, Sequences], None]
"""Takes the keys and values of a layer."""


@dataclass
class Context:
    """What attention needs besides queries, keys and values, the same in every layer of one forward pass."""

    hooks: Hooks
    packed: Sequences | None
    """None where all neighbours are given: nobody asks then which tokens form a sequence."""
    place: Place
    scale: float
    captured: list[Float[Tensor, "sequences heads longest longest"]] | None = None
    """Attention weights of every layer, collected here if asked for."""
    keep: Keep | None = None
    """Where keys and values are left for decoding, if asked for."""
    wanted: Int[Tensor, " wanted"] | None = None
    """The tokens that the last layer mixes values for: all, unless given."""
    layers: int = 1
    neighbours: Neighbours | None = None
    """Of the tokens of the first layer, where the encoding has a reach."""

    @property
    def sequences(self) -> Sequences:
        """Which tokens form a sequence."""
        assert self.packed is not None
        return self.packed

    def look_around(self, found: Neighbours | None) -> None:
        """Find the neighbours of all tokens, or of the wanted ones where there is but one layer; or take them."""
        if self.hooks.reach is not None and self.captured is None:
            rows = neighbours_of(self.layers, self.wanted)
            self.neighbours = found or find(self.place.ids, self.sequences.row, self.hooks.reach, rows)

    def queries(self, layer: int) -> Int[Tensor, " queries"] | None:
        """The tokens whose values a layer mixes; None for all."""
        return self.wanted if layer + 1 == self.layers else None


def neighbours_of(layers: int, wanted: Int[Tensor, " wanted"] | None) -> Int[Tensor, " queries"] | None:
    """The tokens whose neighbours a forward pass needs: only the last layer leaves tokens out."""
    return wanted if layers == 1 else None


def masked_bias(
    hooks: Hooks, layer: int, query: Place, key: Place, visible: Bool[Tensor, "..."]
) -> Float[Tensor, "sequences heads queries keys"]:
    """The encoding's bias, sharpened with the scores if they are, and −∞ where a query must not look."""
    bias, focus = hooks.bias(layer, query, key), hooks.focus(query)
    assert bias is not None
    if focus is not None:
        bias = bias * focus[:, None, :, None]
    return bias.masked_fill(~visible, -torch.inf)


def causal(length: int, device: torch.device) -> Bool[Tensor, "length length"]:
    """Which keys each query may see: itself and what came before."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


Packed = Float[Tensor, "tokens heads head_dim"]
Mixed = Float[Tensor, "queries heads head_dim"]


def attend(query: Packed | None, key: Packed | None, value: Packed, context: Context, layer: int) -> Mixed:
    """Mix the values of each sequence, by the one of the ways that fits, for the tokens that the layer needs.

    Without queries and keys, scores are the encoding's bias alone. Never compiled, whoever compiles the model: it works
    with lists of lengths, for which every batch would be compiled anew.
    """
    if torch.compiler.is_dynamo_compiling():
        # Imported here: this loads the compiler, which takes a second and is there already where a model is compiled.
        from lengthwise.model.uncompiled import attend as uncompiled  # noqa: PLC0415

        return uncompiled(query, key, value, context, layer)
    if context.neighbours is not None:
        return nearby(query, key, value, context, layer)
    query, key = (torch.zeros_like(value) if part is None else part for part in (query, key))
    mixed: Tensor = _everywhere(query, key, value, context, layer)
    queries = context.queries(layer)
    return mixed if queries is None else mixed.index_select(0, queries)


def nearby(query: Packed | None, key: Packed | None, value: Packed, context: Context, layer: int) -> Mixed:
    """Each query against its neighbours, so many at a time that the memory stays small."""
    hooks, place, neighbours, queries = context.hooks, context.place, context.neighbours, context.queries(layer)
    assert neighbours is not None
    query, key = (None if part is None else hooks.rotate(part, place) for part in (query, key))
    if context.keep is not None:
        context.keep(layer, value if key is None else key, value, context.sequences)
    if queries is None:
        queries = torch.arange(len(value), device=value.device)
    elif context.layers > 1:
        neighbours = neighbours[queries]
    at_once = len(queries)
    if not torch.is_grad_enabled():
        slots = neighbours.key.shape[1] * value.shape[1] * value.shape[2]
        at_once = max(1, PRODUCTS_AT_ONCE.get(value.device.type, PRODUCTS_AT_ONCE["cuda"]) // slots)
    parts = []
    for chosen in torch.split(torch.arange(len(queries), device=value.device), at_once):
        some, near = queries[chosen], neighbours if len(chosen) == len(queries) else neighbours[chosen]
        own = Place(place.ids[:, some, None], place.index[some, None])
        theirs = Place(place.ids[:, near.key], place.index[near.key])
        bias, focus = hooks.bias(layer, own, theirs), hooks.focus(own)
        assert bias is not None
        asking = None if query is None else query.index_select(0, some)
        if focus is not None:
            bias = bias * focus[:, None, :, None]
            asking = None if asking is None else asking * focus[:, None].to(asking.dtype)
        bias = bias[:, :, 0].masked_fill(~near.real[:, None], -torch.inf)
        parts.append(mix(asking, key, value, bias, near, context.scale))
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _everywhere(query: Packed, key: Packed, value: Packed, context: Context, layer: int) -> Packed:
    hooks, place = context.hooks, context.place
    query, key = hooks.rotate(query, place), hooks.rotate(key, place)
    if context.keep is not None:
        context.keep(layer, key, value, context.sequences)
    focus = hooks.focus(place)
    if focus is not None:
        query = query * focus[:, None, None].to(query.dtype)
    if context.captured is not None:
        mixed, weights = explicit(query, key, value, context, layer)
        context.captured.append(weights)
        return mixed
    factors = hooks.factors(layer, place)
    if factors is not None:
        of_query, of_key = (factor.to(query.dtype) for factor in factors)
        if focus is not None:
            of_query = of_query * focus[:, None, None].to(query.dtype)
        return _without_bias(
            torch.cat([query, of_query / context.scale], dim=2),
            torch.cat([key, of_key[:, None].expand(-1, key.shape[1], -1)], dim=2),
            functional.pad(value, (0, of_key.shape[1])),  # the kernels want values as wide as keys
            context,
        )[..., : value.shape[2]]
    return padded(query, key, value, context, layer) if hooks.has_bias else _without_bias(query, key, value, context)


def _without_bias(query: Packed, key: Packed, value: Packed, context: Context) -> Packed:
    half = query.dtype in (torch.float16, torch.bfloat16)
    if query.is_cuda and half and query.shape[2] <= MAX_FLASH_DIM:
        return flash(query, key, value, context)
    return padded(query, key, value, context, None)


def flash(query: Packed, key: Packed, value: Packed, context: Context) -> Packed:
    """Variable-length flash attention on the packed tokens themselves."""
    from torch.nn.attention import varlen  # noqa: PLC0415  # it loads the compiler, which takes a second

    dim = query.shape[2]
    if dim % 8:  # asked first: padding by nothing would copy
        query, key, value = (functional.pad(part, (0, -dim % 8)) for part in (query, key, value))
    boundaries, longest = context.sequences.boundaries.to(torch.int32), max(context.sequences.sizes)
    mixed = varlen.varlen_attn(
        query, key, value, boundaries, boundaries, longest, longest, scale=context.scale, window_size=(-1, 0)
    )
    assert isinstance(mixed, Tensor)
    return mixed[..., :dim]


def padded(query: Packed, key: Packed, value: Packed, context: Context, layer: int | None) -> Packed:
    """Sequences side by side; with the encoding's bias in that layer, if one is given."""
    arranged = context.sequences.apart
    biases: list[Tensor | None] = [None] * len(arranged.shapes)
    if layer is not None and context.place.is_plain:  # one bias serves all sequences
        longest = max(length for _, length in arranged.shapes)
        index = torch.arange(longest, device=query.device)[None]
        plain = Place(index.expand(len(context.place.ids), -1, -1), index, plain=True)
        bias = masked_bias(context.hooks, layer, plain, plain, causal(longest, query.device)).to(query.dtype)
        biases = [bias[..., :length, :length] for _, length in arranged.shapes]
    elif layer is not None:
        biases = [
            masked_bias(context.hooks, layer, place, place, causal(place.index.shape[1], query.device))
            for place in arranged.places(context.place)
        ]
    mixed = [
        functional.scaled_dot_product_attention(
            wide_query,
            wide_key,
            wide_value,
            attn_mask=None if bias is None else bias.to(query.dtype),
            is_causal=bias is None,
            scale=context.scale,
        )
        for wide_query, wide_key, wide_value, bias in zip(
            arranged.pad(query), arranged.pad(key), arranged.pad(value), biases, strict=True
        )
    ]
    return arranged.unpad(mixed)


def explicit(
    query: Packed, key: Packed, value: Packed, context: Context, layer: int
) -> tuple[Packed, Float[Tensor, "sequences heads longest longest"]]:
    """The textbook formula, with the weights."""
    arranged = context.sequences.together
    (wide_query,), (wide_key,), (wide_value,) = (arranged.pad(part) for part in (query, key, value))
    exact = torch.promote_types(query.dtype, torch.float32)  # half precision is not enough for a softmax
    scores = (wide_query @ wide_key.mT).to(exact) * context.scale
    (place,), visible = arranged.places(context.place), causal(scores.shape[-1], scores.device)
    if context.hooks.has_bias:
        scores = scores + masked_bias(context.hooks, layer, place, place, visible)
    weights = scores.masked_fill(~visible, -torch.inf).softmax(-1)
    return arranged.unpad([weights.to(value.dtype) @ wide_value]), weights
