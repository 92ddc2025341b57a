"""Greedy decoding, batched, with a key-value cache: the most likely token, again and again; all at once or as a stream.

Ids of new tokens come from a rule that knows the query and what was written (`Rule`); the model never sees an answer.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor

from lengthwise.model.cache import Cache
from lengthwise.model.transformer import Transformer

Rule = Callable[[Any, Tensor], tuple[Any, Tensor]]
"""The state so far and the tokens just written, one a sequence, give the next state and the tokens' ids."""


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """What was written after each prompt."""

    tokens: Int[Tensor, "sequences steps"]
    """Side by side; meaningless beyond a sequence's length."""
    lengths: Int[Tensor, " sequences"]
    """How many tokens each wrote, its end included."""
    ended: Bool[Tensor, " sequences"]
    """Whether it ended within the limit."""

    def response(self, sequence: int) -> list[int]:
        """The tokens one sequence wrote."""
        written: list[int] = self.tokens[sequence, : int(self.lengths[sequence])].tolist()
        return written


@dataclass(frozen=True, kw_only=True)
class Written:
    """One more token in every sequence."""

    tokens: Int[Tensor, " sequences"]
    """What was written; the end again, in sequences that have ended."""
    alive: Bool[Tensor, " sequences"]
    """Which sequences this token belongs to: the others had ended before."""
    logits: Float[Tensor, "sequences vocabulary"]
    """What it was chosen by."""
    ids: Int[Tensor, "levels sequences"]
    """The ids it got."""


def decode(
    model: Transformer,
    tokens: Integer[Tensor, " tokens"],
    position_ids: Int[Tensor, "levels tokens"],
    boundaries: Int[Tensor, " sequences_and_one"],
    *,
    rule: Rule,
    state: object,
    end: int,
    limits: Int[Tensor, " sequences"],
) -> Decoded:
    """Continue every prompt until it writes `end` or reaches its limit of new tokens."""
    lengths, written = torch.zeros_like(limits), []
    ended = torch.zeros_like(limits, dtype=torch.bool)
    for step in stream(model, tokens, position_ids, boundaries, rule=rule, state=state, end=end, limits=limits):
        written.append(step.tokens)
        lengths = lengths + step.alive.to(lengths.dtype)
        ended = ended | (step.alive & (step.tokens == end))
    return Decoded(tokens=torch.stack(written, dim=1), lengths=lengths, ended=ended)


@torch.no_grad()
def stream(
    model: Transformer,
    tokens: Integer[Tensor, " tokens"],
    position_ids: Int[Tensor, "levels tokens"],
    boundaries: Int[Tensor, " sequences_and_one"],
    *,
    rule: Rule,
    state: object,
    end: int,
    limits: Int[Tensor, " sequences"],
) -> Iterator[Written]:
    """The tokens of `decode` as they are written, one a sequence and step."""
    longest = max(1, int(limits.max()))
    prompts = int(boundaries.diff().max())
    cache = Cache(model.config.layers, prompts + longest, model.hooks.reach)
    logits = model(tokens, position_ids, boundaries, wanted=boundaries[1:] - 1, cache=cache)
    alive = limits > 0
    for step in range(1, longest + 1):
        chosen = torch.where(alive, logits.argmax(-1), end)
        state, ids = rule(state, chosen)
        yield Written(tokens=chosen, alive=alive, logits=logits, ids=ids)
        alive = alive & (chosen != end) & (step < limits)
        if step == longest or not bool(alive.any()):
            return
        logits = model.step(chosen, ids, cache)
