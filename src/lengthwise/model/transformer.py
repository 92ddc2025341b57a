"""The Transformer: decoder-only, on packed tokens, without biases; it knows no task and no encoding by name.

    embedding (+ the encoding's vector) → blocks of attention and feed-forward → norm → output head

The paper's block norms before each part and after each residual sum:

    x = norm(x + attention(norm(x)));   x = norm(x + feedforward(norm(x)))
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.model.attention import Context, Known, Sequences, attend
from lengthwise.model.cache import Cache
from lengthwise.model.config import ModelConfig
from lengthwise.model.neighbours import Neighbours
from lengthwise.positions.base import Encoding, Hooks, Place, Shape
from lengthwise.randomness import generator
from lengthwise.tables import look_up

Tokens = Float[Tensor, "_ width"]
Wanted = Int[Tensor, " wanted"] | None
"""Which tokens are worked out to the end; the others serve as keys and values only."""
Mix = Callable[[Tensor | None, Tensor | None, Tensor], Tensor]
"""Attention: queries and keys, where scores depend on them, and values to mixed values, of the wanted tokens."""

MOST_VERSIONS = 64
"""How often a part may be compiled in one process: for other widths, for training and for measuring."""


class Part(nn.Module):
    """A part of a model that does much of its work, and may be compiled; a copy of it is not."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[no-untyped-call]
        state.pop("forward", None)
        return state


class RMSNorm(Part):
    """Scale to unit root mean square. The small constant stands outside the root, as in the authors' models."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Float[Tensor, "*shape width"]) -> Float[Tensor, "*shape width"]:
        exact = x.to(torch.promote_types(x.dtype, torch.float32))  # half precision is not enough for a sum of squares
        size = torch.linalg.vector_norm(exact, dim=-1, keepdim=True) * x.shape[-1] ** -0.5 + 1e-6
        scaled: Tensor = (x / size.to(x.dtype)) * self.weight.to(x.dtype)
        return scaled


class Attention(nn.Module):
    """Multi-head attention, whose heads × head_dim may differ from the width."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        inner = config.heads * config.dim_per_head
        self.split = (config.heads, config.dim_per_head)
        self.query = nn.Linear(config.width, inner, bias=False) if config.content_scores else None
        self.key = nn.Linear(config.width, inner, bias=False) if config.content_scores else None
        self.value = nn.Linear(config.width, inner, bias=False)
        self.output = nn.Linear(inner, config.width, bias=False)

    def ask(self, x: Tokens) -> tuple[Tensor | None, Tensor | None, Tensor]:
        """Queries and keys, where scores depend on them, and values."""
        query, key = (None if part is None else part(x).unflatten(-1, self.split) for part in (self.query, self.key))
        return query, key, self.value(x).unflatten(-1, self.split)

    def forward(self, mixed: Float[Tensor, "_ heads head_dim"]) -> Tokens:
        """What is made of the mixed values."""
        out: Tensor = self.output(mixed.flatten(-2))
        return out


class FeedForward(nn.Module):
    """Two layers, the first one gated or not."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.into = nn.Linear(config.width, config.feedforward, bias=False)
        self.gate = nn.Linear(config.width, config.feedforward, bias=False) if config.gated else None
        self.out = nn.Linear(config.feedforward, config.width, bias=False)
        self.relu = config.activation == "relu"

    def forward(self, x: Tokens) -> Tokens:
        hidden = self.into(x)
        hidden = hidden.relu() if self.relu else functional.gelu(hidden, approximate="tanh")
        if self.gate is not None:
            hidden = hidden * self.gate(x)
        out: Tensor = self.out(hidden)
        return out


class Block(Part):
    """Attention, then feed-forward, each with a residual sum and the norms around it."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        before, after = config.norm in ("pre_post", "pre"), config.norm in ("pre_post", "post")
        self.attention, self.feedforward = Attention(config), FeedForward(config)
        self.attention_before, self.feedforward_before = (_norm(config, before) for _ in range(2))
        self.attention_after, self.feedforward_after = (_norm(config, after) for _ in range(2))

    def forward(self, x: Tokens, mix: Mix, wanted: Wanted = None) -> Tokens:
        mixed = mix(*self.attention.ask(self.attention_before(x)))  # called here: a compiled block is cut here alone
        x = self.attention_after(_only(wanted, x) + self.attention(mixed))
        out: Tensor = self.feedforward_after(x + self.feedforward(self.feedforward_before(x)))
        return out


def _norm(config: ModelConfig, present: bool) -> nn.Module:
    return RMSNorm(config.width) if present else nn.Identity()


def _only(wanted: Wanted, x: Tokens) -> Tokens:
    return x if wanted is None else x.index_select(0, wanted)


class Transformer(nn.Module):
    """A decoder-only Transformer with a position encoding.

    >>> from lengthwise.positions.none import NoPositions
    >>> model = Transformer(ModelConfig(), NoPositions(), vocabulary_size=14, levels=2)
    >>> logits = model(torch.tensor([1, 2, 3, 4]), torch.zeros(2, 4, dtype=torch.int32), torch.tensor([0, 3, 4]))
    >>> logits.shape
    torch.Size([4, 14])
    """

    def __init__(
        self, config: ModelConfig, encoding: Encoding, *, vocabulary_size: int, levels: int, seed: int = 0
    ) -> None:
        super().__init__()
        self.config, self.encoding = config, encoding
        rows = vocabulary_size + config.reserved_tokens
        self.shape = Shape(
            levels=levels, width=config.width, layers=config.layers, heads=config.heads, head_dim=config.dim_per_head
        )
        self.embedding = nn.Parameter(torch.empty(rows, config.width))
        self.hooks: Hooks = encoding.build(self.shape)
        if not config.content_scores and not self.hooks.has_bias:
            raise InputError(
                f"without scores of content a head looks where the position encoding says, but {encoding.name!r} says "
                "nothing of scores: set content_scores=True, or take windowed, alibi, t5 or fire."
            )
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        finals: dict[str, Callable[[int], nn.Module]] = {
            "rms": RMSNorm,
            "layer": partial(nn.LayerNorm, eps=1e-6),
            "none": nn.Identity,
        }
        self.final_norm = finals[config.final_norm](config.width)
        self.head = None if config.tied_head else nn.Parameter(torch.empty(rows, config.width))
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Draw all initial weights anew, from a seed."""
        config, source = self.config, generator(seed, "weights")
        inner = config.heads * config.dim_per_head
        query_std = config.width**-0.5 * (1.0 if config.scale_scores else config.dim_per_head**-0.5)
        nn.init.normal_(self.embedding, generator=source)
        self.hooks.reset(source)
        for block in self.blocks:
            assert isinstance(block, Block)
            stds = [(block.attention.query, query_std), (block.attention.output, inner**-0.5)]
            stds += [(block.attention.key, config.width**-0.5), (block.attention.value, config.width**-0.5)]
            stds += [(block.feedforward.into, config.width**-0.5), (block.feedforward.out, config.feedforward**-0.5)]
            stds += [(block.feedforward.gate, config.width**-0.5)]
            for linear, std in stds:
                if linear is not None:
                    nn.init.normal_(linear.weight, std=std, generator=source)
        if self.head is not None:
            nn.init.normal_(self.head, std=config.width**-0.5, generator=source)

    def compile(self, **options: Any) -> None:
        """Compile what does the work: the blocks, which share what is compiled, and the last norm if it is ours.

        What is around them handles lists of lengths, for which every batch would be compiled anew.
        """
        torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, MOST_VERSIONS)
        for part in self._parts:
            vars(part)["forward"] = torch.compile(type(part).forward.__get__(part), **{"dynamic": True, **options})

    def uncompile(self) -> None:
        """Undo that."""
        for part in self._parts:
            vars(part).pop("forward", None)

    @property
    def is_compiled(self) -> bool:
        """Whether that has been done."""
        return "forward" in vars(self.blocks[0])

    @property
    def _parts(self) -> list[Part]:
        return [part for part in (*self.blocks, self.final_norm) if isinstance(part, Part)]

    @property
    def score_scale(self) -> float:
        """What scores are multiplied by."""
        return self.config.dim_per_head**-0.5 if self.config.scale_scores else 1.0

    def forward(
        self,
        tokens: Integer[Tensor, " tokens"],
        position_ids: Int[Tensor, "levels tokens"],
        boundaries: Int[Tensor, " sequences_and_one"],
        *,
        wanted: Wanted = None,
        known: Known | None = None,
        captured: list[Tensor] | None = None,
        states: list[Tensor] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "outputs vocabulary"]:
        """Logits after every token, or after the wanted ones only, none of them twice.

        `known` is what the caller can say of the batch, so that nothing must be read back from the device.
        `captured` collects every layer's attention weights, `states` the residual stream before the first block and
        after each; both are slower. `cache` keeps keys and values for `step`.
        """
        sequences = Sequences(boundaries, tokens.shape[0], known.sizes if known else None)
        place = Place(position_ids, sequences.index, known.highest if known else None, known.plain if known else None)
        context = Context(
            self.hooks, sequences, place, self.score_scale, captured, wanted=wanted, layers=len(self.blocks)
        )
        context.look_around(known.neighbours if known else None)
        if cache is not None:
            cache.begin(context)
            context.keep = cache.fill
        return self._through(tokens, context, states)

    def near(
        self,
        tokens: Integer[Tensor, " tokens"],
        position_ids: Int[Tensor, "levels tokens"],
        index: Int[Tensor, " tokens"],
        neighbours: Neighbours,
        wanted: Wanted = None,
    ) -> Float[Tensor, "outputs vocabulary"]:
        """The same, where all neighbours are known, and with them all there is to know of sequences."""
        place = Place(position_ids, index)
        layers = len(self.blocks)
        context = Context(self.hooks, None, place, self.score_scale, wanted=wanted, layers=layers)
        context.look_around(neighbours)
        return self._through(tokens, context)

    def _through(
        self, tokens: Integer[Tensor, " tokens"], context: Context, states: list[Tensor] | None = None
    ) -> Float[Tensor, "outputs vocabulary"]:
        x = self._embed(tokens, context.place)
        if states is not None:
            states.append(x)
        for layer, block in enumerate(self.blocks):
            last = layer + 1 == len(self.blocks)
            mix = partial(attend, context=context, layer=layer)
            x = block(x, mix, context.wanted if last else None)
            if states is not None:
                states.append(x)
        return self._read(x)

    def step(
        self,
        tokens: Integer[Tensor, " sequences"],
        ids: Int[Tensor, "levels sequences"],
        cache: Cache,
        captured: list[Tensor] | None = None,
    ) -> Float[Tensor, "sequences vocabulary"]:
        """Logits after one more token in every sequence. `captured` collects the new tokens' attention weights."""
        seen = cache.advance(ids)
        x = self._embed(tokens, Place(ids, seen.new.index[..., 0]))
        for layer, block in enumerate(self.blocks):
            x = block(
                x,
                lambda query, key, value, layer=layer: cache.attend(
                    query, key, value, layer, self.hooks, seen, self.score_scale, captured
                ),
            )
        return self._read(x)

    def _embed(self, tokens: Integer[Tensor, " tokens"], place: Place) -> Tokens:
        x = look_up(tokens.long(), self.embedding)
        vector = self.hooks.embed(place)
        return x if vector is None else x + vector.to(x.dtype)

    def _read(self, x: Tokens) -> Float[Tensor, "tokens vocabulary"]:
        x = self.final_norm(x)
        if self.head is None:
            return functional.linear(x * self.config.width**-0.5, self.embedding)
        return functional.linear(x, self.head)
