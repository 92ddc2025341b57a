"""Marking: which tokens of many pages does a model get right?

Whole-response exact match needs one teacher-forced pass: up to its first mistake a decoder has written what the page
says. Answers alone must be decoded, unless one means to give the model the right scratchpad.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from lengthwise.device import Precision, autocast
from lengthwise.errors import InputError
from lengthwise.pages import Examples, Pages
from lengthwise.solver import Solver
from lengthwise.tasks import Batch, Problems

Decoding = Literal["teacher-forced", "greedy"]
Outcome = TypeVar("Outcome")

TOKENS_AT_ONCE = {"cpu": 2**14, "cuda": 2**20}
"""How many tokens go through a model at a time, at most."""
NUMBERS_AT_ONCE = {"cpu": 2**28, "cuda": 2**28}
"""How many numbers the residual stream of these tokens may have."""
DECODED_AT_ONCE = {"cpu": 2**20, "cuda": 2**24}
"""How many tokens' keys and values are kept at a time, when decoding: a step costs about the same for few and many."""
PAIRS_AT_ONCE = {"cpu": 2**23, "cuda": 2**27}
"""How many pairs of tokens, where an encoding works out a number for each of them."""


@dataclass(frozen=True, kw_only=True)
class Marked:
    """Pages with a mark on every target."""

    examples: Examples
    problems: Problems
    """What these pages were written from."""
    among: slice
    """Which of the targets of all pages are on these."""
    logits: Float[Tensor, "targets vocabulary"]
    """What the model holds of every target, given all before it."""

    @cached_property
    def right(self) -> Bool[Tensor, " targets"]:
        """Whether the model writes it."""
        return self.logits.argmax(-1) == self.examples.expected

    @property
    def losses(self) -> Float[Tensor, " targets"]:
        """How surprised the model is by it, in nats."""
        return functional.cross_entropy(self.logits, self.examples.expected, reduction="none")

    def per_page(self, chosen: Bool[Tensor, " targets"] | None = None) -> Bool[Tensor, " samples"]:
        """On which pages all targets are right, or all chosen ones."""
        wrong = ~self.right if chosen is None else ~self.right & chosen
        mistakes = torch.zeros(len(self.examples), dtype=torch.int32, device=wrong.device)
        return mistakes.index_add_(0, self.examples.sample, wrong.to(torch.int32)) == 0


@torch.no_grad()
def mark(model: Solver, pages: Pages, precision: Precision = "auto") -> Iterator[Marked]:
    """Go over pages with one teacher-forced pass, as many at a time as the memory takes."""

    def go_over(first: int, last: int) -> Marked:
        part = pages.examples(first, last)
        with autocast(model.device, precision):
            logits = model.transformer(
                part.tokens, part.position_ids, part.boundaries, wanted=part.wanted, known=part.known
            ).float()
        among, problems = pages.targets_of(first, last), pages.batch.problems[first:last]
        return Marked(examples=part, problems=problems, among=among, logits=logits)

    yield from _in_parts(model, pages.batch, go_over, lambda page: pages_at_once(model, page))


@torch.no_grad()
def score(model: Solver, pages: Pages, precision: Precision = "auto") -> Int[Tensor, "2"]:
    """How many whole responses, and how many answers, a model gets right, by one pass.

    Nothing waits for the device, but where a model looks for neighbours of its tokens.
    """
    answers = model.task.answers(pages.batch)[pages.targets]
    counts = torch.zeros(2, dtype=torch.int64, device=model.device)
    for marked in mark(model, pages, precision):
        counts += torch.stack([marked.per_page().sum(), marked.per_page(answers[marked.among]).sum()])
    return counts


@torch.no_grad()
def score_decoded(model: Solver, batch: Batch, precision: Precision = "auto") -> tuple[int, int]:
    """The same where the model writes the responses itself, token by token."""

    def write(first: int, last: int) -> tuple[int, int]:
        part = batch[first:last]
        with autocast(model.device, precision):
            written = model.responses(part)
        right = [_response(part, sample) for sample in range(len(part))]
        same = sum(ours == theirs for ours, theirs in zip(written, right, strict=True))
        answer = model.task.answer
        return same, sum(answer(ours) == answer(theirs) for ours, theirs in zip(written, right, strict=True))

    found = list(_in_parts(model, batch, write, lambda page: DECODED_AT_ONCE[_kind(model)] // page))
    return sum(whole for whole, _ in found), sum(alone for _, alone in found)


def _response(batch: Batch, sample: int) -> list[str]:
    targets = batch.targets[batch.span(sample)].tolist()
    return [token for token, target in zip(batch.text(sample), targets, strict=True) if target]


def _kind(model: Solver) -> str:
    return model.device.type if model.device.type in TOKENS_AT_ONCE else "cuda"


def pages_at_once(model: Solver, page: int) -> int:
    """How many pages of so many tokens go through a model at a time."""
    kind, hooks = _kind(model), model.transformer.hooks
    most = min(TOKENS_AT_ONCE[kind], NUMBERS_AT_ONCE[kind] // model.transformer.config.width) // page
    if hooks.has_bias and hooks.reach is None:
        most = min(most, PAIRS_AT_ONCE[kind] // page**2)
    return max(1, most)


def _in_parts(
    model: Solver, batch: Batch, work: Callable[[int, int], Outcome], most: Callable[[int], int]
) -> Iterator[Outcome]:
    """Work on as many pages at a time as there should be by their size, or as the memory takes."""
    page = max(1, len(batch.tokens) // len(batch))
    at_once, first = max(1, most(page)), 0
    while first < len(batch):
        last = min(first + at_once, len(batch))
        try:
            done = work(first, last)
        except torch.OutOfMemoryError as error:
            if at_once == 1:
                raise InputError(f"a page of {page:,} tokens does not fit the memory of {model.device}.") from error
            at_once = at_once // 2
            torch.cuda.empty_cache()
            continue
        yield done
        first = last
