"""Pages made ready for a model: packed on its device, with every size known on this side.

Sizes must be read back from the device, and reading back waits for it. So that is done once for many pages; any stretch
of them is then had without waiting.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Int, Integer
from torch import Tensor

from lengthwise.model.attention import Known, neighbours_of
from lengthwise.model.neighbours import find
from lengthwise.solver import Solver
from lengthwise.tasks import Batch


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Pages on end, packed: what goes through a model, and what should come out."""

    tokens: Integer[Tensor, " tokens"]
    """As the model numbers them."""
    position_ids: Int[Tensor, "levels tokens"]
    boundaries: Int[Tensor, " samples_and_one"]
    wanted: Int[Tensor, " targets"]
    """The tokens after which a target comes."""
    expected: Int[Tensor, " targets"]
    """The targets, as the model numbers them."""
    sample: Int[Tensor, " targets"]
    """Which page each target is on."""
    known: Known

    def __len__(self) -> int:
        return len(self.known.sizes)


class Pages:
    """Many pages, of which any stretch is had as examples."""

    def __init__(self, model: Solver, batch: Batch, *, look_around: bool = False) -> None:
        """With `look_around`, the neighbours of all tokens are found at once, where the model looks at neighbours."""
        model.require_ids(batch.position_ids)
        self.batch, self._tokens = batch, model.numbers(batch.tokens)
        sizes = batch.boundaries.diff()
        each = torch.arange(len(sizes), device=sizes.device)
        self.targets = batch.targets.nonzero()[:, 0]
        page = torch.repeat_interleave(each, sizes, output_size=len(batch.tokens))
        self._row = page[self.targets]
        written = torch.bincount(self._row, minlength=len(sizes)).cumsum(0)
        index = torch.arange(len(batch.tokens), device=sizes.device) - batch.boundaries[:-1][page]
        self._begins, self._ends = [0, *batch.boundaries[1:].tolist()], [0, *written.tolist()]
        self._highest = tuple(batch.position_ids.amax(1).tolist())
        self._plain = bool((batch.position_ids == index).all())
        self._seeing = neighbours_of(len(model.transformer.blocks), self.targets - 1)
        reach = model.transformer.hooks.reach if look_around else None
        self._neighbours = None if reach is None else find(batch.position_ids, page, reach, self._seeing)

    def __len__(self) -> int:
        return len(self._begins) - 1

    def targets_of(self, first: int, last: int) -> slice:
        """Which of all targets are on a stretch of pages."""
        return slice(self._ends[first], self._ends[last])

    def examples(self, first: int, last: int) -> Examples:
        """A stretch of pages, by where it begins and ends."""
        origin = self._begins[first]
        chosen, among = slice(origin, self._begins[last]), self.targets_of(first, last)
        targets, near = self.targets[among], self._neighbours
        return Examples(
            tokens=self._tokens[chosen],
            position_ids=self.batch.position_ids[:, chosen],
            boundaries=self.batch.boundaries[first : last + 1] - origin,
            wanted=targets - 1 - origin,
            expected=self._tokens[targets],
            sample=self._row[among] - first,
            known=Known(
                sizes=tuple(end - begin for begin, end in pairwise(self._begins[first : last + 1])),
                highest=self._highest,
                plain=self._plain,
                neighbours=None if near is None else near[chosen if self._seeing is None else among] + -origin,
            ),
        )
