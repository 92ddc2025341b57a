"""What a model does at one token of a page it has written: where every head looks, and what it would write next.

    page = model.task.write([57, 48, 96])
    solution = model.solve([57, 48, 96])
    written = as_written(model, page, solution.response)     # its own tokens, right or wrong, with the ids they got
    glance(model, written, at=20).weights                    # layers × heads × 21 keys

`model.attention(page)` says the same of all tokens at once, and needs memory for the square of the page.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.model.cache import Cache
from lengthwise.solver import Solver
from lengthwise.tasks import Page


@dataclass(frozen=True, kw_only=True)
class Glance:
    """What a model does at one token of a page."""

    weights: Float[Tensor, "layers heads keys"]
    """Where every head looks from there."""
    probabilities: dict[str, float]
    """How likely each token of the vocabulary is to follow."""


@torch.no_grad()
def glance(model: Solver, page: Page, at: int) -> Glance:
    """Look at one token, which may be any of the page, counted from 0."""
    if not 0 <= at < len(page.tokens):
        raise InputError(f"the page has the tokens 0 to {len(page.tokens) - 1}, not {at}.")
    tokens, ids = model.packed(page, at + 1)
    transformer, captured = model.transformer, list[Tensor]()
    if at == 0:
        logits = transformer(tokens, ids, torch.tensor([0, 1], device=model.device), captured=captured)
        weights = [layer[0, :, 0] for layer in captured]
    else:
        cache, before = Cache(transformer.config.layers, at + 1), torch.tensor([0, at], device=model.device)
        transformer(tokens[:-1], ids[:, :-1], before, wanted=before[1:] - 1, cache=cache)
        logits = transformer.step(tokens[-1:], ids[:, -1:], cache, captured)
        weights = [layer[0] for layer in captured]
    return Glance(weights=torch.stack(weights), probabilities=model.likely(logits[0]))


def as_written(model: Solver, page: Page, response: Sequence[str]) -> Page:
    """A page with what a model wrote in the place of the right response, and the ids that its tokens got.

    The cells are those of the right page; tokens beyond its end stand where the end does.
    """
    prompt, length = page.prompt, len(page.prompt) + len(response)
    written = _ids_given(page, len(response)) if model.task.ids_given else _ids_told(model, page, response)
    beyond = [page.cells[-1]] * (length - len(page.cells))
    return replace(
        page,
        tokens=[*prompt, *response],
        position_ids=[level[: len(prompt)] + more for level, more in zip(page.position_ids, written, strict=True)],
        targets=[False] * len(prompt) + [True] * len(response),
        cells=[*page.cells, *beyond][:length],
    )


def _ids_given(page: Page, count: int) -> list[list[int]]:
    last = len(page.tokens) - 1
    places = [min(len(page.prompt) + step, last) for step in range(count)]
    return [[level[place] for place in places] for level in page.position_ids]


def _ids_told(model: Solver, page: Page, response: Sequence[str]) -> list[list[int]]:
    prompt = len(page.prompt)
    if page.response[: len(response)] == list(response):  # along a right page the rule gives the page's own ids
        return [level[prompt : prompt + len(response)] for level in page.position_ids]
    maxima = model.transformer.encoding.max_ids(model.transformer.shape)
    writer = model.task.id_writer(model.task.parse(page.operands), None, maxima)
    in_task = model.task_numbers.cpu()
    pen, ids = writer.begin(), [list[int]() for _ in page.levels]
    for token in response:
        pen, own = writer.step(pen, in_task[model.number(token)][None])
        for level, number in zip(ids, own[:, 0].tolist(), strict=True):
            level.append(number)
    return ids
