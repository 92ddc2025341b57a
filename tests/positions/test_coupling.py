"""Offsets and randomised positions."""

from collections import Counter

import pytest
import torch

import lengthwise as lw


def test_randomised_positions_are_ascending_and_keep_the_order_of_coordinates() -> None:
    task = lw.task("addition", id_policy="random", max_ids=(60, 30))
    batch = task.sample(200, length=4, count=5, seed=0)
    plain = task.sample(200, length=4, count=5, seed=0, random_offsets=False)
    assert batch.tokens.equal(plain.tokens)
    sample = torch.repeat_interleave(torch.arange(200), batch.boundaries.diff())
    for level, max_id in ((0, 60), (1, 30)):
        random, consecutive = batch.position_ids[level], plain.position_ids[level]
        assert ((random == 0) == (consecutive == 0)).all()
        assert int(random.max()) == max_id
        for number in range(20):
            pairs = {
                (int(c), int(r))
                for c, r in zip(consecutive[sample == number], random[sample == number], strict=True)
                if c
            }
            ascending = sorted(pairs)
            assert len({c for c, _ in pairs}) == len(pairs)  # one id per coordinate
            assert [r for _, r in ascending] == sorted({r for _, r in pairs})


def test_every_subset_of_ids_is_as_likely_as_any_other() -> None:
    coupling = lw.Coupling(levels=("column",), max_ids=(4,))
    reach = torch.ones(1, 60_000, dtype=torch.int32)  # two coordinates, six pairs of ids
    tables = coupling.randomised(reach, torch.Generator().manual_seed(0)).tables
    assert tables is not None
    counts = Counter(tuple(pair) for pair in tables[0][:, :2].tolist())
    assert sorted(counts) == [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
    assert all(abs(count - 10_000) < 5 * 91 for count in counts.values())  # five standard deviations


def test_randomised_positions_are_told_while_writing() -> None:
    task = lw.task("addition", id_policy="random", max_ids=(60, 30))
    batch = task.sample(20, length=4, count=5, seed=0, fixed=True, random_offsets=True)
    writer = task.id_writer(batch.problems, batch.numbering)
    prompts = task.write_prompts(batch.problems, batch.numbering)
    pen = writer.begin()
    size = int(batch.boundaries[1] - prompts.boundaries[1])
    for step in range(size):
        place = batch.boundaries[:-1] + prompts.boundaries.diff() + step
        pen, ids = writer.step(pen, batch.tokens[place])
        assert ids.equal(batch.position_ids[:, place])


@pytest.mark.usefixtures("as_users_run")
def test_randomised_positions_in_chunks_and_without_a_maximum() -> None:
    from lengthwise.tasks import base

    with pytest.raises(lw.InputError, match="give max_ids"):
        lw.task("addition", id_policy="random", coupling=("index",)).sample(5, length=3, count=3, seed=0)
    with pytest.raises(lw.InputError, match="one of 'shift', 'random'"):
        lw.task("addition", id_policy="other")
    task = lw.task("addition", id_policy="random", coupling=("index",), max_ids=(500,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(base.CHUNK_CELLS, "cpu", 500)
        batch = task.sample(50, length=3, count=3, seed=0)
    assert batch.numbering.tables is not None
    assert batch.numbering.tables[0].shape == (50, 500)
    assert (batch.position_ids.diff(dim=1)[0] > 0).sum() == batch.tokens.numel() - 50
