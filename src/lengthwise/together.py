"""Many models of one shape, trained as one: every weight has a first axis for them, and so has every batch.

A small model leaves a GPU waiting for its next instruction. Several of them that differ in their seed alone take the
same instructions, so that they cost hardly more time than one. Each sees its own batches, and its numbers are those of
a run of its own, up to rounding.

    outcomes = train_together(recipes, folders)      # what became of each: None, or why it failed

It is meant for models that see a few neighbours of each token (an encoding with a reach), as small ones do here: all of
their work is then the same for every seed, whatever the lengths of its pages. Runs are ordinary run folders, and each
can be taken up again by itself or with others.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional

from lengthwise.data import STEPS_AT_ONCE, Feed
from lengthwise.device import autocast, pick_device
from lengthwise.errors import InputError
from lengthwise.learning import learning_rate, make_optimizer
from lengthwise.model.attention import neighbours_of
from lengthwise.model.neighbours import Neighbours, find
from lengthwise.model.transformer import Transformer
from lengthwise.recipe import Recipe, Training
from lengthwise.runs import Run
from lengthwise.session import Observer, Session
from lengthwise.solver import Solver
from lengthwise.train import claim, stopping

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

    pages: int
    """How many pages."""

    def marks(self, model: int, right: Bool[Tensor, "models targets"]) -> tuple[Tensor, Tensor]:
        """Which targets of one model are right, and which pages."""
        own, page = right[model, : self.targets[model]], self.page[model, : self.targets[model]]
        return own, torch.bincount(page[~own], minlength=self.pages) == 0


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
        self._model.require_ids(ids)
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
                pages=pages,
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
    if reason := why_not(one):
        raise InputError(reason)


def why_not(recipe: Recipe) -> str | None:
    """What keeps models by a recipe from being trained as one; None if nothing does."""
    if recipe.encoding.build(recipe.shape).reach is None:
        return (
            f"only models that see a few neighbours of each token are trained as one, and {recipe.encoding.name!r} "
            "shows them all: train these seeds one by one."
        )
    if recipe.training.compile:
        return "models that are trained as one are not compiled: leave compile out, or train these seeds one by one."
    if recipe.training.accumulate > 1:
        return "models that are trained as one take a batch at once: set accumulate to 1."
    return None


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

    def take_over(self, optimizer: torch.optim.Optimizer, theirs: Sequence[torch.optim.Optimizer]) -> None:
        """Let the optimizer of all go on from where each one's stands."""
        for stacked, *own in self._beside(theirs):
            states = [optimizer.state.get(weight) for optimizer, weight in own]
            if all(states):
                moments = {
                    name: torch.stack([state[name] for state in states if state]) for name in ("exp_avg", "exp_avg_sq")
                }
                optimizer.state[stacked] = {"step": own[0][0].state[own[0][1]]["step"].clone(), **moments}
        self.hand_back(optimizer, theirs)

    def hand_back(self, optimizer: torch.optim.Optimizer, theirs: Sequence[torch.optim.Optimizer]) -> None:
        """Give each optimizer its part of the state of all, as views, which follow it."""
        for stacked, *own in self._beside(theirs):
            state = optimizer.state.get(stacked, {})
            for place, (single, weight) in enumerate(own if state else ()):
                moments = {name: state[name][place] for name in ("exp_avg", "exp_avg_sq")}
                single.state[weight] = {"step": state["step"], **moments}

    def _beside(self, theirs: Sequence[torch.optim.Optimizer]) -> Iterator[Any]:
        """Every stacked weight, and after it each model's own with its optimizer."""
        groups = [optimizer.param_groups[0]["params"] for optimizer in theirs]
        for stacked, *own in zip(self.weights, *groups, strict=True):
            yield stacked, *zip(theirs, own, strict=True)

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


# Runs.


def train_together(
    recipes: Sequence[Recipe],
    folders: Sequence[str | Path],
    *,
    device: str | torch.device | None = None,
    observers: Sequence[Observer | None] | None = None,
    on_save: Sequence[Callable[[], None]] | None = None,
    patience: float = 0.0,
) -> list[str | None]:
    """Train runs that differ in their seeds alone, each into its folder, from wherever it stands.

    What went wrong with a run is said in its place, and stops no other; None where it is finished.
    """
    if not recipes:
        return []
    require_alike(recipes)
    for recipe in recipes:
        recipe.check()
    chosen = pick_device(device)
    failed: list[str | None] = [None] * len(recipes)
    told = observers or [None] * len(recipes)
    saved = on_save or [lambda: None] * len(recipes)
    with ExitStack() as stack, stopping() as stopped:
        sessions: dict[int, Session] = {}
        for place, (recipe, folder) in enumerate(zip(recipes, folders, strict=True)):
            try:
                run = Run(Path(folder))
                claim(run, recipe, True, patience, stack)
                session = Session(recipe, run, chosen, observer=told[place], on_save=saved[place])
                if session.start():
                    sessions[place] = session
            except InputError as error:
                failed[place] = str(error)
        # Runs that were stopped at different steps are taken up apart.
        for step in sorted({session.step for session in sessions.values()}):
            team = {place: session for place, session in sessions.items() if session.step == step}
            try:
                for place, reason in _work(team, stopped).items():
                    failed[place] = reason
            except InputError as error:  # something that is the same for all of them
                for place in team:
                    failed[place] = failed[place] or str(error)
    if stopped.is_set():
        raise KeyboardInterrupt
    return failed


def _work(sessions: dict[int, Session], stopped: threading.Event) -> dict[int, str]:
    """Train until the last step is done or `stopped` is set: what went wrong, where something did."""
    if not sessions:
        return {}
    every = list(sessions.values())
    recipe = every[0].recipe
    step = first = every[0].step
    training = recipe.training
    stack = Stack([session.model.transformer for session in every])
    optimizer = make_optimizer(stack, training)
    stack.take_over(optimizer, [session.optimizer for session in every])
    sums = torch.stack([session.sums for session in every])
    for session, own in zip(every, sums, strict=True):
        session.sums = own  # a view, as weights are
    feeds = Feeds([session.recipe for session in every], [session.model for session in every])
    failed: dict[int, str] = {}

    def attempt(place: int, work: Callable[[], None]) -> None:
        if place not in failed:
            try:
                work()
            except InputError as error:
                failed[place] = str(error)

    try:
        while step < training.steps and not stopped.is_set() and len(failed) < len(every):
            batches = feeds.at(step)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(training, step)
            losses, right = learn_together(stack, optimizer, training, batches)
            if step == first:  # a new optimizer has its state from its first step on
                stack.hand_back(optimizer, [session.optimizer for session in every])
            sums += torch.stack([losses.double(), torch.ones_like(losses, dtype=torch.float64)], dim=1)
            step += 1
            for number, (place, session) in enumerate(sessions.items()):
                marks = partial(batches.marks, number, right)
                attempt(place, partial(session.took, marks, batches.sizes[number]))
        for place, session in sessions.items():
            attempt(place, session.finish)
    finally:
        for session in every:
            session.close()
    return failed
