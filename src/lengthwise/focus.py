"""Whether heads look at what matters: how much weight each puts on the tokens a digit is added up from.

The tokens that matter for a digit in column c of partial sum k are two, however long the problem: column c of operand k
and of partial sum k − 1. Without a scratchpad they are column c of every operand. The query is the token before the
digit, which is to write it; so one row of an attention map is asked of one digit.

>>> import lengthwise as lw
>>> task = lw.task("addition")
>>> page = task.write([57, 48])                             # $057+048=000>750>501$
>>> [page.cells[key].name for key in np.flatnonzero(which_matter(task, page)[17])]
['tens digit of operand 2', 'tens digit of partial sum 1']
>>> found = focus(lw.average_attention(lw.construct(digits=2, operands=2), length=2, count=2, samples=10))
>>> [round(weight, 3) for weight in found.weight[0]]        # head 1 finds these two and the `$`, one third each
[0.667, 0.0, 0.45, 0.0]
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lengthwise.errors import InputError
from lengthwise.results import AttentionMap
from lengthwise.settings import from_json
from lengthwise.tasks import Page, Task, kinds

MOST = 0.9
"""The share of a head's weight whose keys are counted."""
SLACK = 1e-6
"""How far a share may be off by rounding: nine keys of ten, looked at evenly, hold nine tenths."""
TOO_MUCH = 1.01
"""No weight is so large, even where a row of attention was rounded to eight bits before it was averaged."""
SYMBOL = -1
"""The column of the symbols, one below the units."""

PerHead = list[list[float]]
"""One row for each layer, one number for each of its heads."""


@dataclass(frozen=True, kw_only=True)
class Focus:
    """How the heads of a model look while digits are written, over those digits that some token matters for."""

    weight: PerHead
    """The mean weight on the tokens that matter."""
    with_carry: PerHead
    """The same with the tokens one column below counted in, which decide the carry."""
    keys: PerHead
    """The mean number of keys that hold nine tenths of the weight. It is counted in attention averaged over pages:
    a head that looks elsewhere on every page has more of them than on any one."""
    uniform: float
    """What `weight` would be if a head looked at all tokens up to the query evenly."""
    matter: float
    """The mean number of tokens that matter for a digit."""

    def __post_init__(self) -> None:
        per_head = (self.weight, self.with_carry, self.keys)
        if not all(_is_table(table) for table in per_head) or len({_shape(table) for table in per_head}) > 1:
            raise InputError("This focus is not sound: its weights and keys must be numbers, one row for each layer.")
        if not all(_is_number(value) for value in (self.uniform, self.matter)):
            raise InputError("This focus is not sound: uniform and matter must be numbers.")
        shares = [self.uniform, *(share for table in per_head[:2] for row in table for share in row)]
        counts = [self.matter, *(count for row in self.keys for count in row)]
        if not all(0 <= share < TOO_MUCH for share in shares) or not all(count >= 1 for count in counts):
            raise InputError("This focus is not sound: weights go from 0 to 1, and one token or more is looked at.")

    @property
    def layers(self) -> int:
        """How many layers the model has."""
        return len(self.weight)

    @property
    def heads(self) -> int:
        """How many heads each of its layers has."""
        return len(self.weight[0])

    def to_json(self) -> dict[str, Any]:
        """Everything, as lists and numbers."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> "Focus":
        """Read what `to_json` gave; anything amiss is refused in a sentence."""
        known = {entry.name for entry in fields(cls)}
        if not isinstance(data, Mapping) or set(data) != known:
            raise InputError(f"This is not a focus: it must say {', '.join(sorted(known))}, and nothing else.")
        return cls(**data)


def which_matter(task: Task, page: Page, *, carry: bool = False) -> NDArray[np.bool_]:
    """Which keys matter for which queries, as queries × keys; a row is empty unless the next token is a digit to write.

    With a scratchpad a digit is added up from its column of one operand and of the partial sum before; without, from
    its column of all operands. With `carry` the column below counts as well, for the units that of the symbols; `=` is
    the symbol of the first line of the response.
    """
    if task.name != "addition":
        raise InputError(f"attention that matters is defined for addition, not for {task.name}.")
    written = "partial sum" if task.scratchpad else "answer"
    role = np.array([cell.role for cell in page.cells])
    if page.task != task.name or written not in role:
        raise InputError("this page is not written as the task writes them: take one from task.write.")
    line = np.array([cell.line for cell in page.cells])
    column = np.array([SYMBOL if cell.digit is None else cell.digit for cell in page.cells])
    line[role == "="] = line[role == written].min()
    role[role == "="] = written
    targets = np.flatnonzero(np.array(page.targets) & (role == written) & (column != SYMBOL))
    above, own = column[targets, None], line[targets, None]
    matter = column == above
    if carry:
        matter |= column == above - 1
    if task.scratchpad:
        matter &= ((role == "operand") & (line == own)) | ((role == written) & (line == own - 1))
    else:
        matter &= role == "operand"
    tokens = len(page.tokens)
    table = np.zeros((tokens, tokens), dtype=np.bool_)
    table[targets - 1] = matter
    return np.tril(table)


def focus(attention: AttentionMap) -> Focus:
    """How much weight every head puts on the tokens that matter, and on how few keys it puts nearly all of it."""
    task, page = _page_of(attention)
    matter, with_carry = which_matter(task, page), which_matter(task, page, carry=True)
    queries = np.flatnonzero(matter.any(1))
    matter, with_carry = matter[queries], with_carry[queries]
    weights = attention.weights[:, :, queries].astype(np.float64)
    largest_first = -np.sort(-weights, axis=-1)
    short_of_most = largest_first.cumsum(-1) < (MOST - SLACK) * weights.sum(-1, keepdims=True)
    return Focus(
        weight=_per_head((weights * matter).sum(-1)),
        with_carry=_per_head((weights * with_carry).sum(-1)),
        keys=_per_head(1.0 + short_of_most.sum(-1)),
        uniform=float((matter.sum(1) / (queries + 1)).mean()),
        matter=float(matter.sum(1).mean()),
    )


def _page_of(attention: AttentionMap) -> tuple[Task, Page]:
    """The task of a map, and a page of the shape of those it was averaged over."""
    about, tokens = attention.about, len(attention.tokens)
    settings, length, count = about.get("task"), about.get("length"), about.get("count")
    if not isinstance(settings, Mapping) or settings.get("name") not in list(kinds()):
        raise InputError("This attention map does not say its task: take one made by lengthwise attention.")
    if settings["name"] != "addition":
        raise InputError(f"attention that matters is defined for addition, not for {settings['name']}.")
    task = from_json(kinds()["addition"], settings, "the task of this attention map")
    if type(length) is not int or type(count) is not int:
        raise InputError("This attention map does not say its length and count: take one made by lengthwise attention.")
    task.require_size(length, count, random_offsets=False)
    page = task.write(["9" * length] * count)
    if attention.labels != [cell.name for cell in page.cells]:
        raise InputError(
            f"The {tokens} tokens of this attention map are not those of a page of its size, which has "
            f"{len(page.tokens)}: use a format with zero-padding."
        )
    if attention.weights.ndim != 4 or attention.weights.shape[2:] != (tokens, tokens) or not attention.weights.size:
        shape = " × ".join(map(str, attention.weights.shape))
        raise InputError(f"This attention map is not sound: its weights are {shape} for {tokens} tokens.")
    if not np.isfinite(attention.weights).all():
        raise InputError("This attention map is not sound: some of its weights are no finite numbers.")
    return task, page


def _per_head(of_queries: NDArray[np.float64]) -> PerHead:
    means: PerHead = of_queries.mean(-1).tolist()
    return means


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_table(table: object) -> bool:
    """Whether this is one row of numbers or more, all as long as each other and none empty."""
    return (
        isinstance(table, list)
        and bool(table)
        and all(isinstance(row, list) and row and len(row) == len(table[0]) for row in table)
        and all(_is_number(value) for row in table for value in row)
    )


def _shape(table: PerHead) -> tuple[int, int]:
    return len(table), len(table[0])
