"""Where a model goes wrong first, how often, and what that foretells of longer problems.

The first mistake on a page is the model's own; what follows it is another problem. So only first mistakes are counted,
against all the tokens that were written up to one: the error rate of a step. If every step failed independently at
that rate, a response of n tokens would come out whole with the probability (1 − rate)ⁿ. Where a model does worse than
that on longer problems, length itself is its difficulty.

    report = lw.find_mistakes(model, length=20, count=20, samples=500)
    report.error_rate, report.by_carry, report.predict(model.task, 30, 30)
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from lengthwise.device import Precision, circumstances
from lengthwise.evaluate import about, check_request
from lengthwise.marking import mark
from lengthwise.pages import Pages
from lengthwise.randomness import derive
from lengthwise.results import as_read, wilson, write_json
from lengthwise.solver import Solver
from lengthwise.tasks import Task
from lengthwise.tasks.anatomy import anatomy
from lengthwise.tasks.stress import draw

Tally = dict[str, tuple[int, int]]
"""First mistakes, and tokens written up to the first mistake, by place."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """First mistakes on problems of one size."""

    task: dict[str, Any]
    length: int
    count: int | None
    problems: str
    samples: int
    wrong: int
    """Pages with a mistake."""
    written: int
    """Tokens written up to the first mistake, on all pages."""
    wrong_tokens: int
    """Wrong tokens on all pages, each with the right tokens before it."""
    tokens: int
    """Tokens to be written on all pages."""
    by_line: Tally
    """By line of the page: `partial sum 3`."""
    by_digit: Tally
    """By digit of the line, units 0; `symbol` for the others."""
    by_carry: Tally
    """By whether a carry comes into the digit; `symbol` for what is no digit."""
    model: dict[str, Any]
    made: dict[str, str]
    seed: int

    @property
    def error_rate(self) -> float:
        """How likely a step is wrong, everything before it being right."""
        return self.wrong / self.written

    @property
    def accuracy(self) -> float:
        """How many pages are without a mistake."""
        return 1 - self.wrong / self.samples

    def predict_interval(self, task: Task, length: int, count: int | None) -> tuple[float, float]:
        """The same at both ends of the 95 % interval of the error rate."""
        tokens = int(task.write_all(task.largest(length, count)).targets.sum())
        low, high = wilson(self.wrong, self.written)
        return float((1 - high) ** tokens), float((1 - low) ** tokens)

    def predict(self, task: Task, length: int, count: int | None) -> float:
        """How many pages of another size would be right if all steps failed independently at this rate."""
        task.require_size(length, count, random_offsets=False)
        page = task.write_all(task.largest(length, count))
        return float((1 - self.error_rate) ** int(page.targets.sum()))

    def to_json(self) -> dict[str, Any]:
        """Everything, as it stands in the file: the rates that follow from the counts, too."""
        rates = {"accuracy": self.accuracy, "error_rate": self.error_rate}
        return {"format": 1, "kind": "mistakes", **asdict(self), **rates}

    def save(self, file: str | Path) -> None:
        """Write the file, whole or not at all."""
        write_json(Path(file), self.to_json())


def find_mistakes(
    model: Solver,
    *,
    length: int,
    count: int | None = None,
    samples: int = 1000,
    seed: int = 0,
    problems: str = "random",
    precision: Precision = "auto",
    name: str | None = None,
) -> Report:
    """Count first mistakes on problems of one size."""
    axes = {"length": [length]} | ({} if count is None else {"count": [count]})
    check_request(model, axes, samples, seed, problems, "one", "teacher-forced")
    own = derive(seed, "cell", length, -1 if count is None else count)
    asked = draw(model.task, problems, samples, length=length, count=count, seed=own, device=model.device)
    wrong = written = wrong_tokens = tokens = 0
    tallies: dict[str, dict[str, list[int]]] = {"line": {}, "digit": {}, "carry": {}}
    for marked in mark(model, Pages(model, model.task.write_all(asked)), precision):
        place = anatomy(model.task, marked.problems)
        pages, sample, targets = len(marked.examples), marked.examples.sample, marked.examples.wanted + 1
        order = torch.arange(len(targets), device=targets.device)
        beyond = len(order)
        first = torch.full((pages,), beyond, dtype=order.dtype, device=order.device)
        first.scatter_reduce_(0, sample[~marked.right], order[~marked.right], "amin")
        reached = order <= first[sample]  # tokens up to the first mistake, itself included
        is_first = order == first[sample]
        wrong += int((first < beyond).sum())
        written += int(reached.sum())
        wrong_tokens += int((~marked.right).sum())
        tokens += beyond
        block, line = place.block[targets].long(), place.line[targets].long()
        digit, carry = place.digit[targets].long(), place.carry[targets].long()
        for kind, key in (
            ("line", block * 2**32 + line),
            ("digit", digit),
            ("carry", torch.where(digit < 0, -2, carry)),
        ):
            values, where = torch.unique(key[reached], return_inverse=True)
            seen = torch.bincount(where, minlength=len(values)).tolist()
            failed = torch.bincount(where[is_first[reached]], minlength=len(values)).tolist()
            for value, made, failures in zip(values.tolist(), seen, failed, strict=True):
                entry = tallies[kind].setdefault(_name(kind, value, place.roles), [0, 0])
                entry[0] += failures
                entry[1] += made
    return Report(
        task=as_read(model.task),
        length=length,
        count=count,
        problems=problems,
        samples=len(asked),
        wrong=wrong,
        written=written,
        wrong_tokens=wrong_tokens,
        tokens=tokens,
        by_line=_tally(tallies["line"]),
        by_digit=_tally(tallies["digit"]),
        by_carry=_tally(tallies["carry"]),
        model=about(model, name),
        made=circumstances(model.device),
        seed=seed,
    )


def _name(kind: str, value: int, roles: tuple[str, ...]) -> str:
    if kind == "line":
        block, line = divmod(value, 2**32)
        return "end" if roles[block] == "$" else f"{roles[block]} {line}"
    if kind == "digit":
        return "symbol" if value < 0 else str(value)
    return {-2: "symbol", -1: "digit", 0: "no carry", 1: "carry"}[value]


def _tally(counted: dict[str, list[int]]) -> Tally:
    return {name: (failures, made) for name, (failures, made) in counted.items()}
