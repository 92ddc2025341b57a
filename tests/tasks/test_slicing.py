"""Pages on end as a batch of their own: what writing those problems with the same ids gives."""

import dataclasses
from typing import Literal

import pytest
import torch
from formats import FORMATS, SIZES, describe

import lengthwise as lw
from lengthwise.positions.coupling import Numbering


def assert_same(one: lw.Batch, other: lw.Batch) -> None:
    for name in ("tokens", "position_ids", "targets", "boundaries"):
        first, second = getattr(one, name), getattr(other, name)
        assert first.dtype == second.dtype
        assert torch.equal(first, second), name
    for name in ("digits", "lengths", "counts"):
        assert torch.equal(getattr(one.problems, name), getattr(other.problems, name))
    assert one.vocabulary == other.vocabulary
    assert one.levels == other.levels


@pytest.mark.parametrize("policy", ["shift", "random"])
@pytest.mark.parametrize("task", FORMATS[::3], ids=describe)
def test_a_slice_is_those_problems_written_with_the_same_ids(task: lw.Task, policy: Literal["shift", "random"]) -> None:
    task = dataclasses.replace(task, id_policy=policy, max_ids=(400,) * len(task.levels))
    batch = task.sample(9, seed=4, **SIZES[task.name])
    assert (batch.numbering.tables is not None) == (policy == "random")
    for start, stop in [(0, 9), (0, 4), (3, 7), (8, 9)]:
        problems = batch.problems[start:stop]
        tables = batch.numbering.tables
        numbering = Numbering(
            offsets=batch.offsets[:, start:stop],
            tables=None if tables is None else tuple(table[start:stop] for table in tables),
        )
        cut = batch[start:stop]
        assert_same(cut, task._pack(task.lay_out_pages(problems), problems, numbering))
        assert_same(task.write_prompts(cut.problems, cut.numbering), task.write_prompts(problems, numbering))
        assert cut.offsets.equal(numbering.offsets)
        assert [cut.text(page) for page in range(len(cut))] == [batch.text(page) for page in range(start, stop)]


def test_slices_are_counted_as_in_lists() -> None:
    batch = lw.task("addition").sample(5, length=4, count=4, seed=0)
    pages = [batch.text(page) for page in range(5)]
    for cut in [slice(None), slice(-2, None), slice(1, -1), slice(3, 100), slice(3, 3), slice(4, 2), slice(9, 12)]:
        part = batch[cut]
        assert len(part) == len(pages[cut])
        assert [part.text(page) for page in range(len(part))] == pages[cut]
        assert int(part.boundaries[0]) == 0
        assert int(part.boundaries[-1]) == part.tokens.numel()


def test_slices_of_slices() -> None:
    batch = lw.task("multiplication").sample(8, length=4, count=4, seed=0)
    assert_same(batch[2:7][1:3], batch[3:5])


def test_a_slice_with_a_step_is_refused() -> None:
    with pytest.raises(IndexError, match="without a step"):
        lw.task("parity").sample(5, length=4, seed=0)[::2]
