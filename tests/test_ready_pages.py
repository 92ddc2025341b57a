"""Pages made ready for a model: any stretch is what it would be by itself, and what is known of it is true."""

import pytest
import torch
from models import solver

import lengthwise as lw
from lengthwise.model.attention import Known
from lengthwise.pages import Examples, Pages
from lengthwise.positions.learned import Learned

CASES = ("learned", "none", "fire", "windowed hard")


def by_itself(model: lw.Solver, batch: lw.Batch, first: int, last: int) -> Examples:
    return Pages(model, batch[first:last]).examples(0, last - first)


@pytest.mark.parametrize("case", CASES)
def test_a_stretch_is_what_it_would_be_by_itself(case: str) -> None:
    model = solver(case)
    batch = model.task.sample(9, length=4, count=5, seed=1)  # of very different lengths
    pages = Pages(model, batch)
    assert len(pages) == 9
    for first, last in ((0, 9), (0, 1), (3, 7), (8, 9)):
        ours, alone = pages.examples(first, last), by_itself(model, batch, first, last)
        assert len(ours) == len(alone) == last - first
        for name in ("tokens", "position_ids", "boundaries", "wanted", "expected", "sample"):
            assert torch.equal(getattr(ours, name), getattr(alone, name)), name
        assert ours.known.sizes == alone.known.sizes == tuple(batch[first:last].boundaries.diff().tolist())
        among = pages.targets_of(first, last)
        tokens = slice(int(batch.boundaries[first]), int(batch.boundaries[last]))
        assert (pages.targets[among] - tokens.start).equal(ours.wanted + 1)
        assert int(batch.targets[tokens].sum()) == among.stop - among.start


@pytest.mark.parametrize("case", CASES)
def test_what_is_known_changes_nothing(case: str) -> None:
    model = solver(case)
    part = Pages(model, model.task.sample(6, length=4, count=4, seed=2)).examples(1, 5)
    inputs = part.tokens, part.position_ids, part.boundaries
    with torch.no_grad():
        expected = model.transformer(*inputs, wanted=part.wanted)
        assert torch.equal(model.transformer(*inputs, wanted=part.wanted, known=part.known), expected)


def known(task: lw.Task) -> Known:
    model = lw.Solver.new(task, Learned(sizes=(200,) * len(task.levels)))
    return Pages(model, task.sample(20, length=4, count=4, seed=0, random_offsets=False)).examples(0, 20).known


def test_only_ids_that_are_the_index_are_called_plain() -> None:
    plain, coupled = known(lw.task("addition", coupling=("index",))), known(lw.task("addition"))
    assert plain.plain
    assert not coupled.plain
    batch = lw.task("addition").sample(20, length=4, count=4, seed=0, random_offsets=False)
    assert coupled.highest == tuple(batch.position_ids.amax(1).tolist())


def test_neighbours_found_at_once_are_those_of_each_stretch() -> None:
    model = solver("windowed hard")
    batch = model.task.sample(7, length=4, count=4, seed=3)
    pages = Pages(model, batch, look_around=True)
    part = pages.examples(2, 6)
    near, alone = part.known.neighbours, Pages(model, batch[2:6], look_around=True).examples(0, 4).known.neighbours
    assert near is not None
    assert alone is not None
    assert torch.equal(near.real, alone.real)
    assert torch.equal(near.key[near.real], alone.key[alone.real])
    assert Pages(model, batch).examples(2, 6).known.neighbours is None


def test_ids_beyond_those_of_the_model_are_refused() -> None:
    model = lw.Solver.new(lw.task("addition"), Learned(sizes=(3, 40)))
    with pytest.raises(lw.InputError, match="needs column ids"):
        Pages(model, model.task.sample(3, length=9, count=2, seed=0, random_offsets=False))
