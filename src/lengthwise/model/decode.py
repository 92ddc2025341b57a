"""Greedy decoding, batched, with a key-value cache: the most likely token, again and again.

Ids of new tokens come from a rule that knows the query and what was written (`Rule`); the model never sees an answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int, Integer
from torch import Tensor

from lengthwise.model.attention import Cache
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


@torch.no_grad()
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
    longest = max(1, int(limits.max()))
    prompts = int(boundaries.diff().max())
    cache = Cache(model.config.layers, prompts + longest)
    logits = model(tokens, position_ids, boundaries, wanted=boundaries[1:] - 1, cache=cache)
    written = torch.full((len(limits), longest), end, dtype=torch.int64, device=tokens.device)
    lengths = torch.zeros_like(limits)
    alive = limits > 0
    ended = torch.zeros_like(alive)
    for step in range(longest):
        chosen = logits.argmax(-1)
        written[:, step] = torch.where(alive, chosen, end)
        lengths = lengths + alive.to(lengths.dtype)
        ended = ended | (alive & (chosen == end))
        alive = alive & (chosen != end) & (lengths < limits)
        if step + 1 == longest or not bool(alive.any()):
            break
        state, ids = rule(state, written[:, step])
        logits = model.step(written[:, step], ids, cache)
    return Decoded(tokens=written[:, : step + 1], lengths=lengths, ended=ended)
