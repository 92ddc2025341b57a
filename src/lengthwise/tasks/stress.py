"""Stress suites: hard problems of one exact size, to set beside the random ones of a test cell.

Random numbers hardly ever need a carry to run through ten columns, have no long rows of zeros, and in a test cell are
all equally long: a model may be right about every one of them and yet not know how to carry. Each suite here asks for
one such thing, on pages as large as those of the random cell: there are `count` operands, the longest of exactly
`length` digits; in multiplication they have `length` and `count` digits, and in parity there are `length` bits.

    suite    addition 3 × 4               multiplication 3 × 2    parity 4
    nines    999+999+999+999              999×99                  1111
    chains   999+1+1+999                  334×39                  1001
    zeros    0+0+100+0                    100×10                  0000
    huge     4+283+0+7
    ragged   28+5+701+44

>>> import lengthwise as lw
>>> task = lw.task("addition")
>>> problems = draw(task, "chains", 2, length=3, count=2, seed=0)
>>> sorted("+".join(map(task.operand_text, problems.operands(sample))) for sample in range(len(problems)))
['1+999', '999+1']
>>> task.write([999, 1, 1, 999]).answer
'2000'
"""

from collections.abc import Callable, Mapping
from typing import Final

import torch
from jaxtyping import Int32
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.randomness import generator
from lengthwise.tasks.base import Task
from lengthwise.tasks.operands import shown
from lengthwise.tasks.problems import Problems, draw_different, draw_numbers, uniform

RANDOM = "random"

SUITES: Final[Mapping[str, str]] = {
    RANDOM: "numbers drawn uniformly among those of their length, as in the test cells",
    "nines": "the highest digit everywhere, so that every column carries",
    "chains": "something to be carried on through the whole number, such as 999+1",
    "zeros": "as many zeros as the size allows, such as 0+0+100+0",
    "huge": "one number of full length in a random place among numbers of one digit",
    "ragged": "numbers of all lengths, at least one of them of full length",
}
"""What each suite has, in a line."""


def suites(task: Task) -> tuple[str, ...]:
    """The suites a task has: those of unequally long operands only where a size leaves the lengths open."""
    return tuple(name for name in SUITES if task.count_varies or name not in ("huge", "ragged"))


def draw(
    task: Task,
    suite: str,
    samples: int,
    *,
    length: int,
    count: int | None = None,
    seed: int,
    device: str | torch.device = "cpu",
) -> Problems:
    """Problems of a suite, of exactly this size. The result depends on the seed (and the device) alone.

    `random` gives the very problems of `task.sample_problems(…, fixed=True)`. It, `huge` and `ragged` give as many as
    asked for, and like any draws some may be the same. `nines`, `chains` and `zeros` have few problems and give none
    of them twice: there may be fewer than asked for, often a single one, so read `len(problems)`.
    """
    if suite not in suites(task):
        raise InputError(f"{task.name} has no stress suite {shown(suite)}: choose one of {', '.join(suites(task))}.")
    if suite == RANDOM:
        return task.sample_problems(samples, length=length, count=count, seed=seed, fixed=True, device=device)
    task.require_draw(samples, length, count, seed)
    length, count = int(length), None if count is None else int(count)  # numpy's integers would name another draw
    source = generator(seed, "stress", suite, length, count or 0, device=device)
    return _DRAW[suite](task, int(samples), length, count, source)


def _nines(task: Task, samples: int, length: int, count: int | None, source: torch.Generator) -> Problems:
    return task.largest(length, count).to(source.device)


def _chains(task: Task, samples: int, length: int, count: int | None, source: torch.Generator) -> Problems:
    return task.draw_chains(samples, length, count, source)


def _zeros(task: Task, samples: int, length: int, count: int | None, source: torch.Generator) -> Problems:
    """Numbers as small as their lengths allow; where lengths are open, only one of them is longer than 0 itself."""
    sizes = torch.tensor([task.sizes(length, count)], dtype=torch.int32, device=source.device)
    if task.count_varies:
        place = draw_different(samples, 1, sizes.shape[1], source)
        top = sizes.new_zeros(len(place), sizes.shape[1]).scatter_(1, place, 1)  # of length 1, too, one of them is 1
        lengths = torch.ones_like(top).scatter_(1, place, length)
    else:
        lengths, top = sizes, torch.full_like(sizes, not task.leading_zeros)
    digits = torch.zeros(*lengths.shape, int(sizes.max()), dtype=torch.uint8, device=source.device)
    return Problems.all_of(digits.scatter_(2, lengths[..., None].long() - 1, top[..., None].to(torch.uint8)), lengths)


def _huge(task: Task, samples: int, length: int, count: int | None, source: torch.Generator) -> Problems:
    operands = len(task.sizes(length, count))
    return _with_one_long(torch.ones(samples, operands, dtype=torch.int32, device=source.device), length, source)


def _ragged(task: Task, samples: int, length: int, count: int | None, source: torch.Generator) -> Problems:
    operands = len(task.sizes(length, count))
    return _with_one_long(uniform(1, length, (samples, operands), source), length, source)


def _with_one_long(lengths: Int32[Tensor, "samples operands"], length: int, source: torch.Generator) -> Problems:
    """Random numbers of these lengths, except that one, in a random place, has full length."""
    samples, operands = lengths.shape
    lengths = lengths.scatter(1, uniform(0, operands - 1, (samples, 1), source, torch.int64), length)
    return Problems.all_of(draw_numbers(lengths, length, source), lengths)


_DRAW: Final[Mapping[str, Callable[[Task, int, int, int | None, torch.Generator], Problems]]] = {
    "nines": _nines,
    "chains": _chains,
    "zeros": _zeros,
    "huge": _huge,
    "ragged": _ragged,
}
