"""Many models of one shape, trained as one: every weight has a first axis for them, and so has every batch.

A small model leaves a GPU waiting for its next instruction. Several of them that differ in their seed alone take the
same instructions, so that they cost hardly more time than one. Each sees its own batches, and its numbers are those of
a run of its own, up to rounding.

It is meant for models that see a few neighbours of each token (an encoding with a reach), as small ones do here: all of
their work is then the same for every seed, whatever the lengths of its pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional

from lengthwise.data import STEPS_AT_ONCE, Feed
from lengthwise.device import autocast
from lengthwise.errors import InputError
from lengthwise.model.attention import neighbours_of
from lengthwise.model.neighbours import Neighbours, find
from lengthwise.model.transformer import Transformer
from lengthwise.recipe import Recipe, Training
from lengthwise.solver import Solver

NONE = -100
"""Stands where there is no target."""


@dataclass(frozen=True, kw_only=True)
class Batches:
    """What every model sees in one step, padded to the most that any of them has."""

    tokens: Integer[Tensor, "models tokens"]
    position_ids: Int[Tensor, "models levels tokens"]
    index: Int[Tensor, "models tokens"]
    """Where each token stands in its page."""
    wanted: Int[Tensor, "models targets"]
    expected: Int[Tensor, "models targets"]
    page: Int[Tensor, "models targets"]
    """Which page of the model's batch a target is on."""
    near: Int[Tensor, "models queries slots"]
    """The neighbours of each query, as tokens of the same model."""
    real: Bool[Tensor, "models queries slots"]
    targets: tuple[int, ...]
    """How many targets each model really has."""
    sizes: tuple[int, ...]
    """How many tokens."""

    def of(self, model: int) -> tuple[Int[Tensor, " targets"], Int[Tensor, " targets"]]:
        """The targets of one model, and their pages."""
        return self.expected[model, : self.targets[model]], self.page[model, : self.targets[model]]


class Feeds:
    """The batches of many runs that differ in nothing but their seeds, step by step."""

    def __init__(self, recipes: Sequence[Recipe], models: Sequence[Solver]) -> None:
        require_alike(recipes)
        self._feeds = [Feed(recipe, model) for recipe, model in zip(recipes, models, strict=True)]
        self._recipe, self._model = recipes[0], models[0]
        self._chunk: tuple[int, list[Batches]] | None = None

    def at(self, step: int) -> Batches:
        """The batches of a step."""
        number, place = divmod(step, STEPS_AT_ONCE)
        if self._chunk is None or self._chunk[0] != number:
            self._chunk = number, self._write(number)
        return self._chunk[1][place]

    def _write(self, number: int) -> list[Batches]:
        written = [feed.pages(number) for feed in self._feeds]
        models, pages = len(written), self._recipe.training.batch_size
        tokens = self._model.numbers(torch.cat([batch.tokens for batch in written]))
        ids = torch.cat([batch.position_ids for batch in written], dim=1)
        sizes = torch.cat([batch.boundaries.diff() for batch in written]).long()
        device = sizes.device
        page = torch.repeat_interleave(torch.arange(len(sizes), device=device), sizes, output_size=len(tokens))
        targets = torch.cat([batch.targets for batch in written]).nonzero()[:, 0]
        own = page[targets]
        # Tokens and targets of every model and step: where they begin, and how many there are.
        many = sizes.view(models, STEPS_AT_ONCE, pages).sum(2)
        asked = torch.bincount(own, minlength=len(sizes)).view(models, STEPS_AT_ONCE, pages).sum(2)
        first, begin = (each.flatten().cumsum(0).view_as(each) - each for each in (many, asked))
        counts = torch.stack([many, asked]).transpose(1, 2).tolist()  # the device is waited for
        most, longest = max(map(max, counts[0])), max(map(max, counts[1]))
        reach = self._model.transformer.hooks.reach
        assert reach is not None
        seeing = neighbours_of(self._recipe.model.layers, targets - 1)
        near = find(ids, page, reach, seeing)
        if near is None:
            raise InputError("ids are too large to be told apart: train these seeds one by one.")

        def rows(start: Tensor, of: Tensor, width: int) -> Int[Tensor, "steps models width"]:
            """Padding is the last one again."""
            place = torch.arange(width, device=device).minimum(of.T[..., None] - 1)
            found: Tensor = start.T[..., None] + place
            return found

        token, target = rows(first, many, most), rows(begin, asked, longest)
        shift = first.T[..., None]
        expected = tokens[targets[target]].long()
        beyond = torch.arange(longest, device=device) >= asked.T[..., None]
        query = target if seeing is not None else token
        starts = (sizes.cumsum(0) - sizes)[page]
        index = torch.arange(len(tokens), device=device) - starts
        whole = {
            "tokens": tokens[token],
            "position_ids": ids[:, token].permute(1, 2, 0, 3),
            "index": index[token],
            "wanted": targets[target] - 1 - shift,
            "expected": expected.masked_fill(beyond, NONE),
            "page": own[target] % pages,
            "near": near.key[query] - shift[..., None],
            "real": near.real[query],
        }
        return [
            Batches(
                **{name: tensor[step] for name, tensor in whole.items()},
                targets=tuple(counts[1][step]),
                sizes=tuple(counts[0][step]),
            )
            for step in range(STEPS_AT_ONCE)
        ]


def require_alike(recipes: Sequence[Recipe]) -> None:
    """Refuse what cannot be trained as one."""
    one = recipes[0]
    for other in recipes[1:]:
        different = [words for words in one.differences(other) if not words.startswith("seed ")]
        if different:
            raise InputError(f"runs that are trained as one differ in their seeds alone, but {different[0]}.")
    if one.encoding.build(one.shape).reach is None:
        raise InputError(
            f"only models that see a few neighbours of each token are trained as one, and {one.encoding.name!r} shows "
            "them all: train these seeds one by one."
        )
    if one.training.accumulate > 1:
        raise InputError("models that are trained as one take a batch at once: set accumulate to 1.")


class Stack(nn.Module):
    """Many Transformers as one. Their own weights become views of the stacked ones, and follow them."""

    def __init__(self, models: Sequence[Transformer]) -> None:
        super().__init__()
        self._shape = [models[0]]  # in a list: what is trained are the stacked weights
        self.names = [name for name, _ in models[0].named_parameters()]
        own = [dict(model.named_parameters()) for model in models]
        self.weights = nn.ParameterList(torch.stack([each[name].detach() for each in own]) for name in self.names)
        for name, stacked in zip(self.names, self.weights, strict=True):
            for each, part in zip(own, stacked.data, strict=True):
                each[name].data = part

    def forward(self, batches: Batches) -> Float[Tensor, "models targets vocabulary"]:
        """Logits after every token that a target follows."""
        model = self._shape[0]

        def one(weights: dict[str, Tensor], *batch: Tensor) -> Tensor:
            logits: Tensor = functional_call(_Near(model), weights, batch)
            return logits

        weights = {f"model.{name}": weight for name, weight in zip(self.names, self.weights, strict=True)}
        parts = (batches.tokens, batches.position_ids, batches.index, batches.wanted, batches.near, batches.real)
        logits: Tensor = vmap(one)(weights, *parts)
        return logits


class _Near(nn.Module):
    """A Transformer that is given the neighbours of its tokens, and need not know which of them form a sequence."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, ids: Tensor, index: Tensor, wanted: Tensor, near: Tensor, real: Tensor) -> Tensor:
        return self.model.near(tokens, ids, index, Neighbours(near, real), wanted)


def learn_together(
    stack: Stack, optimizer: torch.optim.Optimizer, training: Training, batches: Batches
) -> tuple[Float[Tensor, " models"], Bool[Tensor, "models targets"]]:
    """One step of all: each one's loss, and which of its targets were right. Nothing here waits for the device."""
    device = batches.tokens.device
    with autocast(device, training.precision):
        logits = stack(batches)
    counts = torch.tensor(batches.targets)
    counts = counts.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else counts
    losses = functional.cross_entropy(
        logits.float().flatten(0, 1), batches.expected.flatten(), reduction="none", ignore_index=NONE
    )
    losses = losses.view(len(counts), -1).sum(1) / counts
    torch.autograd.backward(losses.sum())
    if training.clip is not None:
        gradients = [weight.grad for weight in stack.weights if weight.grad is not None]
        norms = torch.stack([gradient.flatten(1).norm(dim=1) for gradient in gradients]).norm(dim=0)
        factor = (training.clip / (norms + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.view(-1, *[1] * (gradient.dim() - 1)))
    optimizer.step()
    optimizer.zero_grad()
    return losses.detach(), logits.detach().argmax(-1) == batches.expected
