"""A model that adds by hand: it stands in for a trained one where tests need to know every token it will write.

It reads the operands and its own last line, like a person with pencil and paper: given the right page it writes the
next token of that page, and a slip of its own is carried on into every line that follows. Slips are planted where a
test wants them. Beside it, two models that are right now and then.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

import lengthwise as lw
from lengthwise.model.cache import Cache
from lengthwise.positions.none import NoPositions

Slip = Callable[[list[int], int, int, str], str]
"""From operands, line, place (its digits units first, then the symbol after them) and right token: what it writes."""

SMALL = lw.ModelConfig(layers=1, heads=2, width=16, feedforward=16)


def no_slip(operands: list[int], line: int, place: int, token: str) -> str:
    return token


def at(line: int, place: int) -> Slip:
    """One wrong token, on every page: another digit, or a digit where a symbol belongs."""

    def slip(operands: list[int], at_line: int, at_place: int, token: str) -> str:
        if (at_line, at_place) != (line, place):
            return token
        return str((int(token) + 1) % 10) if token.isdigit() else "1"

    return slip


class Calculator(lw.Transformer):
    """Sums in the paper's format: padded, from zero, units first."""

    def __init__(self, task: lw.Task, slip: Slip = no_slip) -> None:
        super().__init__(SMALL, NoPositions(), vocabulary_size=len(task.vocabulary), levels=len(task.levels))
        self.names, self.slip = task.vocabulary, slip
        self.pages: list[list[str]] = []
        self.passes = 0

    def forward(  # type: ignore[override]
        self,
        tokens: Tensor,
        position_ids: Tensor,
        boundaries: Tensor,
        *,
        wanted: Tensor | None = None,
        known: object = None,
        cache: Cache | None = None,
    ) -> Tensor:
        self.passes += 1
        spans = boundaries.tolist()
        pages = [self.read(tokens[first:last]) for first, last in pairwise(spans)]
        if cache is not None:
            self.pages = pages
        logits = torch.cat([self.logits([page[: end + 1] for end in range(len(page))]) for page in pages])
        return logits if wanted is None else logits[wanted]

    def step(self, tokens: Tensor, ids: Tensor, cache: Cache, captured: list[Tensor] | None = None) -> Tensor:
        for page, token in zip(self.pages, self.read(tokens), strict=True):
            page.append(token)
        return self.logits(self.pages)

    def read(self, tokens: Tensor) -> list[str]:
        return [self.names[number] for number in tokens.tolist()]

    def logits(self, prefixes: Sequence[list[str]]) -> Tensor:
        logits = torch.zeros(len(prefixes), len(self.names))
        for row, prefix in zip(logits, prefixes, strict=True):
            row[self.names.index(self.next_token(prefix))] = 20
        return logits

    def next_token(self, prefix: list[str]) -> str:
        if "=" not in prefix:
            return "="  # never looked at: nothing in a query is a target
        split = prefix.index("=")
        written, query = prefix[split + 1 :], "".join(prefix[1:split]).split("+")
        width, operands = len(query[0]), [int(number) for number in query]
        line, place = divmod(len(written), width + 1)
        if line > len(operands):
            return "$"
        if place == width:
            return self.slip(operands, line, place, "$" if line == len(operands) else ">")
        before = "".join(written[(line - 1) * (width + 1) :][:width]) if line else ""
        total = int(before[::-1] or "0") + (operands[line - 1] if line else 0)
        return self.slip(operands, line, place, str(total).zfill(width)[::-1][place])


def calculator(slip: Slip = no_slip) -> lw.Solver:
    """A calculator with its task, ready to be measured."""
    task = lw.task("addition")
    return lw.Solver(Calculator(task, slip), task).eval()


def random_model(task: str = "addition", seed: int = 0, **options: Any) -> lw.Solver:
    """Untrained: parity in the paper's format has two possible tokens, so it is right now and then."""
    return lw.Solver.new(lw.task(task, **options), NoPositions(), SMALL, seed=seed).eval()


def half_trained() -> lw.Solver:
    """Parity without a scratchpad after a few steps: it ends where it should, and is right about half the time."""
    model = lw.Solver.new(lw.task("parity", scratchpad=False), NoPositions(), SMALL)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    batch = model.task.sample(64, length=6, seed=0, random_offsets=False)
    targets = batch.targets.nonzero()[:, 0]
    for _ in range(40):
        loss = torch.nn.functional.cross_entropy(model(batch, wanted=targets - 1), model.numbers(batch.tokens)[targets])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
    return model.eval()
