"""Attention in linear time: each query sees a few keys, found by their ids, and no other key is touched.

An encoding with a `reach` shows a query only keys whose ids differ little. Sorted by sequence and ids, such keys lie in
a few runs, which binary search finds: the cost grows with the number of tokens, not with its square. Padded to the
longest list of neighbours, attention is gathers, small sums, and a softmax over that list.

    ids of a query (column 7, row 3), reach 1    →    columns 6 … 8 of row 2, of row 3, of row 4, and uncoupled keys

The weights are exactly those of attention over all keys, since every other key has none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

Packed = Float[Tensor, "tokens heads head_dim"]
PRODUCTS_AT_ONCE = {"cpu": 2**22, "cuda": 2**28}
"""How many numbers of gathered keys are in memory at a time, where no gradient is asked for."""
MIX = (0x9E3779B97F4A7C1, 0x2545F4914F6CDD1D, 0x5851F42D4C957F2D)
"""Large odd numbers, to mix bits by."""
CODES = 2**62
"""Combinations of ids are numbered; more than this do not fit an integer."""


@dataclass(frozen=True)
class Neighbours:
    """The keys each query sees, itself among them."""

    key: Int[Tensor, "queries slots"]
    """Which token; the query itself in an empty slot."""
    real: Bool[Tensor, "queries slots"]
    """Whether there is a key in the slot."""

    def __getitem__(self, chosen: slice | Tensor) -> "Neighbours":
        """Of some of the queries."""
        return Neighbours(self.key[chosen], self.real[chosen])

    def __add__(self, tokens: int) -> "Neighbours":
        """The same, of tokens that many places further on."""
        return Neighbours(self.key + tokens, self.real)

    @cached_property
    def back(self) -> tuple[Int[Tensor, " edges"], Int[Tensor, " edges"]]:
        """All slots in the order of their keys, and the key of each."""
        ordered, order = self.key.flatten().to(torch.int32).sort(stable=True)
        return order, ordered


def find(
    ids: Int[Tensor, "levels tokens"],
    sequence: Int[Tensor, " tokens"],
    reach: int,
    queries: Int[Tensor, " queries"] | None = None,
) -> Neighbours | None:
    """The neighbours of the given tokens, or of all; None where ids are too large to be told apart this way.

    A key is visible to a later query, or to itself, if on every level where both have an id these differ by at most
    `reach`, and there is such a level; a key without any id is visible to all that follow it.
    """
    rows = torch.arange(ids.shape[1], device=ids.device) if queries is None else queries.long()
    if not len(rows):
        return Neighbours(rows[:, None], torch.zeros_like(rows, dtype=torch.bool)[:, None])
    alike = Alike.of(ids, sequence, rows)
    if alike is not None:
        found = _find(ids[:, alike.tokens], sequence[alike.tokens], reach, alike.queries)
        return None if found is None else alike.spread(found)
    return _find(ids, sequence, reach, rows)


def _find(
    ids: Int[Tensor, "levels tokens"], sequence: Int[Tensor, " tokens"], reach: int, rows: Int[Tensor, " queries"]
) -> Neighbours | None:
    index = Index.of(ids, sequence, reach)
    return None if index is None else index.search(ids[:, rows], sequence[rows], rows)


@dataclass(frozen=True)
class Alike:
    """Sequences with the same ids throughout, as pages of one size are: one of them stands for all."""

    tokens: Int[Tensor, " fewer"]
    """Those of the sequences that stand for others, and for themselves."""
    queries: Int[Tensor, " fewer_queries"]
    """Which of these are queries."""
    among: Int[Tensor, " queries"]
    """For every query, which of the fewer queries stands for it."""
    shift: Int[Tensor, " queries"]
    """How much further on its own sequence is."""

    @classmethod
    def of(
        cls, ids: Int[Tensor, "levels tokens"], sequence: Int[Tensor, " tokens"], queries: Int[Tensor, " queries"]
    ) -> "Alike | None":
        """Which sequences are alike; None where that would save little."""
        asked = torch.zeros_like(sequence, dtype=torch.bool).index_fill_(0, queries, True)
        first, place = _places(sequence)
        # A sum over all tokens, wrapped around, tells sequences apart; that those of the same sum are alike is checked.
        level = torch.arange(len(ids) + 1, device=ids.device)[:, None]
        parts = torch.cat([ids.long(), asked[None].long()]) * MIX[0] ^ (level * MIX[2])
        mixed = (parts ^ (place + 1) * MIX[1]) * MIX[2]
        mixed = (mixed ^ (mixed >> 29)) * MIX[1]
        sums = torch.zeros_like(first).index_add_(0, sequence, mixed.sum(0))
        kinds, kind = torch.unique(sums, return_inverse=True)
        if 2 * len(kinds) > len(sums):
            return None
        every = torch.arange(len(sums), device=ids.device)
        chosen = torch.full_like(kinds, len(sums)).scatter_reduce_(0, kind, every, "amin")
        stands = chosen[kind]
        theirs = (first[stands][sequence] + place).clamp(max=len(sequence) - 1)
        same = (ids == ids[:, theirs]).all(0) & (asked == asked[theirs]) & (sequence[theirs] == stands[sequence])
        if not bool(same.all()) or not bool((queries.diff() > 0).all()):
            return None
        kept = (stands == every)[sequence]
        tokens = kept.nonzero()[:, 0]
        number = kept.cumsum(0) - 1  # of a kept token among the kept
        fewer = queries[kept[queries]]
        rank = torch.zeros_like(sequence, dtype=torch.int64).index_copy_(
            0, fewer, torch.arange(len(fewer), device=ids.device)
        )
        shift = queries - number[theirs[queries]]
        return cls(tokens, number[fewer], rank[theirs[queries]], shift)

    def spread(self, found: Neighbours) -> Neighbours:
        """The neighbours of all queries, from those of a few."""
        return Neighbours(found.key[self.among] + self.shift[:, None], found.real[self.among])


def _places(sequence: Int[Tensor, " tokens"]) -> tuple[Int[Tensor, " sequences"], Int[Tensor, " tokens"]]:
    """The first token of each sequence, and where each token stands in its own."""
    sizes = torch.bincount(sequence)
    first = sizes.cumsum(0) - sizes
    return first, torch.arange(len(sequence), device=sequence.device) - first[sequence]


@dataclass(frozen=True)
class Index:
    """Tokens sorted so that keys can be looked up by ids."""

    ids: Int[Tensor, "levels tokens"]
    sequence: Int[Tensor, " tokens"]
    reach: int
    low: tuple[int, ...]
    """The smallest id of each level."""
    spans: tuple[int, ...]
    """How many ids a level has, and a margin of `reach` on both sides."""
    pattern: Int[Tensor, " tokens"]
    """On which levels a token has an id, a bit for each."""
    patterns: tuple[int, ...]
    """Those that occur."""

    @classmethod
    def of(cls, ids: Int[Tensor, "levels tokens"], sequence: Int[Tensor, " tokens"], reach: int) -> "Index | None":
        """Get to know some tokens."""
        pattern = _pattern(ids)
        bounds = torch.cat([ids.amin(1), ids.amax(1), sequence[-1:]]).tolist()
        low, high = bounds[: len(ids)], bounds[len(ids) : -1]
        spans = tuple(most - least + 1 + 2 * reach for least, most in zip(low, high, strict=True))
        if (bounds[-1] + 1) * prod(spans) > CODES:
            return None
        return cls(ids, sequence, reach, tuple(low), spans, pattern, tuple(torch.unique(pattern).tolist()))

    @cached_property
    def _sorted(self) -> dict[tuple[int, int], tuple[Tensor, Tensor]]:
        return {}

    def keys(self, pattern: int, shared: int) -> tuple[Int[Tensor, " keys"], Int[Tensor, " keys"]]:
        """The tokens with ids on these levels, in the order of sequences and ids on shared levels, and their codes."""
        if (pattern, shared) not in self._sorted:
            tokens = (self.pattern == pattern).nonzero()[:, 0]
            codes, order = self._codes(self.ids[:, tokens], self.sequence[tokens], shared).sort(stable=True)
            self._sorted[pattern, shared] = tokens[order], codes
        return self._sorted[pattern, shared]

    def search(
        self, ids: Int[Tensor, "levels queries"], sequence: Int[Tensor, " queries"], latest: Int[Tensor, " queries"]
    ) -> Neighbours:
        """The visible keys of queries with these ids, none of them after the latest token each may see."""
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        patterns = _pattern(ids)
        for pattern in torch.unique(patterns).tolist():
            rows = (patterns == pattern).nonzero()[:, 0]
            runs = [run for keys in self.patterns for run in self._runs(pattern, keys, ids[:, rows], sequence[rows])]
            found.append((rows, *_gather(runs, latest[rows])))
        slots = max(key.shape[1] for _, key, _ in found)
        if len(found) == 1:
            return Neighbours(found[0][1], found[0][2])
        key, real = latest[:, None].repeat(1, slots), torch.zeros(len(latest), slots, dtype=torch.bool).to(ids.device)
        for rows, some, there in found:
            key[rows, : some.shape[1]], real[rows, : some.shape[1]] = some, there
        return Neighbours(key, real)

    def _runs(
        self, of_query: int, of_key: int, ids: Int[Tensor, "levels queries"], sequence: Int[Tensor, " queries"]
    ) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Where, in an order of keys, those lie that a query may see: tokens in order, first place, and how many."""
        shared = of_query & of_key
        if not shared and of_key:
            return []
        tokens, codes = self.keys(of_key, shared)
        here = self._codes(ids, sequence, shared)
        levels = [level for level in range(len(self.spans)) if shared >> level & 1]
        steps = [prod(self.spans[other] for other in levels if other > level) for level in levels]
        near = range(-self.reach, self.reach + 1)
        wide = self.reach if shared else 0  # along the last level, ids within reach have neighbouring codes
        runs = []
        for shifts in product(near, repeat=max(0, len(levels) - 1)):
            there = here + sum(shift * step for shift, step in zip(shifts, steps, strict=False))
            first = torch.searchsorted(codes, there - wide)
            runs.append((tokens, first, torch.searchsorted(codes, there + wide, right=True) - first))
        return runs

    def _codes(
        self, ids: Int[Tensor, "levels some"], sequence: Int[Tensor, " some"], shared: int
    ) -> Int[Tensor, " some"]:
        codes = sequence.long()
        for level, (low, span) in enumerate(zip(self.low, self.spans, strict=True)):
            if shared >> level & 1:
                codes = codes * span + (ids[level] - low + self.reach)
        return codes


def _pattern(ids: Int[Tensor, "levels tokens"]) -> Int[Tensor, " tokens"]:
    bits = torch.tensor([[1 << level] for level in range(len(ids))], device=ids.device)
    return ((ids != 0) * bits).sum(0)


def _gather(
    runs: Sequence[tuple[Tensor, Tensor, Tensor]], latest: Int[Tensor, " queries"]
) -> tuple[Int[Tensor, "queries slots"], Bool[Tensor, "queries slots"]]:
    """The keys of all runs side by side, up to the latest one allowed, and what is not a key at the end."""
    if not runs or not any(bool(many.any()) for _, _, many in runs):  # only a token on file can be without itself
        return latest[:, None], torch.zeros_like(latest, dtype=torch.bool)[:, None]
    ends = torch.stack([many for _, _, many in runs]).cumsum(0)
    slot = torch.arange(int(ends[-1].amax()), device=latest.device)
    key = latest[:, None].expand(-1, len(slot))
    for (tokens, first, many), end in zip(runs, ends, strict=True):
        within = slot - (end - many)[:, None]
        inside = (within >= 0) & (within < many[:, None])
        key = torch.where(inside, tokens[(first[:, None] + within).clamp(0, len(tokens) - 1)], key)
    real = (slot < ends[-1][:, None]) & (key <= latest[:, None])
    place = real.cumsum(1) - 1
    slots = int(place[:, -1].amax()) + 1
    # Keys move up to the first free slot; all others go to one slot more, which is cut off.
    kept = torch.zeros(len(latest), slots + 1, dtype=key.dtype, device=key.device)
    kept = kept.scatter_(1, torch.where(real, place, slots), key)[:, :slots]
    there = torch.arange(slots, device=key.device) <= place[:, -1:]
    return torch.where(there, kept, latest[:, None]), there


class _Mix(torch.autograd.Function):
    """Softmax attention over neighbours. Going back, keys and values collect from the queries that saw them."""

    @staticmethod
    def forward(
        query: Tensor | None,
        key: Tensor | None,
        value: Tensor,
        bias: Tensor,
        near: Int[Tensor, "queries slots"],
        neighbours: Neighbours,
        scale: float,
    ) -> tuple[Tensor, Tensor]:
        rows = _rows(near, value.shape[1])
        scores = bias if query is None or key is None else _products(query, key, rows).mul_(scale).add_(bias)
        # Over so few numbers this is far faster than the softmax that torch has for CPUs.
        weights = (scores - scores.amax(-1, keepdim=True)).exp_()
        weights.div_(weights.sum(-1, keepdim=True))
        return _collect(value, rows, weights), weights

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        query, key, value, _, near, neighbours, scale = inputs
        _, weights = output
        ctx.mark_non_differentiable(weights)
        ctx.save_for_backward(query, key, value, weights, near)
        ctx.neighbours, ctx.scale = neighbours, scale

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        """Many models side by side, as one whose tokens are those of all."""
        models = info.batch_size

        def every(place: int) -> Tensor:
            one, dim = inputs[place], dims[place]
            wide: Tensor = one.expand(models, *one.shape) if dim is None else one.movedim(dim, 0)
            return wide

        tokens = every(2).shape[1]
        near = (every(4) + torch.arange(0, models * tokens, tokens, device=inputs[4].device)[:, None, None]).flatten(
            0, 1
        )
        packed = [None if inputs[place] is None else every(place).flatten(0, 1).contiguous() for place in range(4)]
        neighbours = Neighbours(near, torch.ones_like(near, dtype=torch.bool))
        mixed, weights = _Mix.apply(*packed, near, neighbours, inputs[6])  # type: ignore[no-untyped-call]
        apart = (models, -1)
        return (mixed.unflatten(0, apart), weights.unflatten(0, apart)), (0, 0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor, Tensor, None, None, None]:
        query, key, value, weights, near = ctx.saved_tensors
        rows = _rows(near, value.shape[1])
        gradient = gradients[0].contiguous()
        to_weights = _products(gradient, value, rows)
        to_scores = (to_weights - (to_weights * weights).sum(-1, keepdim=True)) * weights
        if query is None:
            (to_value,) = _collect_back(ctx.neighbours, len(value), (gradient, weights))
            return None, None, to_value, to_scores, None, None, None
        scaled = to_scores * ctx.scale
        to_key, to_value = _collect_back(ctx.neighbours, len(value), (query, scaled), (gradient, weights))
        return _collect(key, rows, scaled), to_key, to_value, to_scores, None, None, None


Slots = Float[Tensor, "queries heads slots"]


def _rows(near: Int[Tensor, "queries slots"], heads: int) -> Int[Tensor, "queries heads slots"]:
    """Where the keys of each head stand, when tokens and heads are one axis."""
    head = torch.arange(heads, device=near.device)[:, None]
    rows: Tensor = near[:, None] * heads + head
    return rows


def _products(
    one: Float[Tensor, "queries heads head_dim"], other: Packed, rows: Int[Tensor, "queries heads slots"]
) -> Slots:
    gathered = other.flatten(0, 1).index_select(0, rows.flatten()).view(*rows.shape, other.shape[-1])
    return (gathered @ one[..., None])[..., 0]


def _collect(
    packed: Packed, rows: Int[Tensor, "queries heads slots"], weights: Slots
) -> Float[Tensor, "queries heads head_dim"]:
    """For every query and head, a weighted sum over its slots."""
    summed = functional.embedding_bag(
        rows.flatten(0, 1), packed.flatten(0, 1), mode="sum", per_sample_weights=weights.flatten(0, 1)
    )
    return summed.view(*rows.shape[:2], packed.shape[-1])


def _collect_back(
    neighbours: Neighbours, tokens: int, *parts: tuple[Float[Tensor, "queries heads head_dim"], Slots]
) -> list[Packed]:
    """For every token and head, weighted sums over the queries that saw it."""
    order, keys = neighbours.back
    heads, slots = parts[0][1].shape[1:]
    head = torch.arange(heads, device=order.device)[:, None]
    rows = (order // slots * heads + head).flatten()
    first = torch.searchsorted(keys, torch.arange(tokens, dtype=keys.dtype, device=keys.device))
    bags = (first + head * len(order)).flatten()
    return [
        functional.embedding_bag(
            rows,
            packed.flatten(0, 1),
            bags,
            mode="sum",
            per_sample_weights=weights.transpose(0, 1).flatten(1).index_select(1, order).flatten(),
        )
        .view(heads, tokens, packed.shape[-1])
        .transpose(0, 1)
        for packed, weights in parts
    ]


def mix(
    query: Float[Tensor, "queries heads head_dim"] | None,
    key: Packed | None,
    value: Packed,
    bias: Float[Tensor, "queries heads slots"],
    neighbours: Neighbours,
    scale: float,
) -> Float[Tensor, "queries heads head_dim"]:
    """Mix the values of each query's neighbours, by scores with a bias, −∞ in empty slots; or by the bias alone."""
    exact = torch.promote_types(value.dtype, torch.float32)
    with torch.autocast(value.device.type, enabled=False):
        full = [None if part is None else part.to(exact).contiguous() for part in (query, key, value)]
        near = neighbours.key
        mixed: Tensor
        mixed, _ = _Mix.apply(*full, bias.to(exact).contiguous(), near, neighbours, scale)  # type: ignore[no-untyped-call]
    return mixed.to(value.dtype)
