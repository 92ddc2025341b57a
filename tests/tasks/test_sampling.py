"""Bulk sampling: the paper's distributions, and the same pages as writing one by one."""

import itertools
from typing import Any

import pytest
import torch
from formats import FORMATS, SIZES, describe

import lengthwise as lw
from lengthwise.tasks import base
from lengthwise.tasks.batch import _Growing


def operands(task: lw.Task, batch: lw.Batch, sample: int) -> list[str]:
    step = 1 if task.name == "parity" else -1
    return ["".join(map(str, digits[::step])) for digits in batch.problems.operands(sample)]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("task", FORMATS, ids=describe)
def test_in_bulk_as_one_by_one(task: lw.Task, fixed: bool) -> None:
    batch = task.sample(40, seed=3, fixed=fixed, random_offsets=True, **SIZES[task.name])
    assert len(batch) == 40
    assert int(batch.boundaries[-1]) == batch.tokens.numel()
    for sample in range(len(batch)):
        page = task.write(operands(task, batch, sample), offsets=batch.offsets[:, sample].tolist())
        span = batch.span(sample)
        assert batch.text(sample) == page.tokens
        assert batch.position_ids[:, span].tolist() == page.position_ids
        assert batch.targets[span].tolist() == page.targets


@pytest.mark.parametrize("task", FORMATS[::5], ids=describe)
def test_chunks_do_not_show(task: lw.Task, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = task.sample(300, seed=5, **SIZES[task.name])
    monkeypatch.setitem(base.CHUNK_CELLS, "cpu", 2000)
    pieces = task.sample(300, seed=5, **SIZES[task.name])
    assert pieces.tokens.equal(whole.tokens)
    assert pieces.position_ids.equal(whole.position_ids)
    assert pieces.targets.equal(whole.targets)
    assert pieces.boundaries.equal(whole.boundaries)
    assert pieces.offsets.equal(whole.offsets)


def test_room_that_turns_out_too_small_grows() -> None:
    parts = [torch.arange(size, dtype=torch.int32).repeat(2, 1) for size in (3, 50, 7, 400)]
    growing = _Growing(parts[0], room=4)
    for part in parts:
        growing.append(part)
    assert growing.filled.equal(torch.cat(parts, dim=1))


def test_a_batch_depends_on_its_seed_alone() -> None:
    task = lw.task("addition")
    first = task.sample(50, length=10, count=10, seed=7)
    torch.manual_seed(123)
    task.sample(99, length=3, count=4, seed=1)
    torch.rand(1000)
    again = task.sample(50, length=10, count=10, seed=7)
    other = task.sample(50, length=10, count=10, seed=8)
    assert first.tokens.equal(again.tokens)
    assert first.position_ids.equal(again.position_ids)
    assert not (first.tokens.shape == other.tokens.shape and first.tokens.equal(other.tokens))


def test_sampling_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    lw.task("addition").sample(10, length=4, count=4, seed=0)
    assert torch.rand(3).equal(expected)


def test_problems_do_not_depend_on_the_format_or_the_offsets() -> None:
    size: dict[str, Any] = {"length": 6, "count": 6, "seed": 4}
    padded = lw.task("addition").sample(30, **size)
    plain = lw.task("addition", zero_padding=False, scratchpad=False).sample(30, random_offsets=False, **size)
    assert padded.problems.digits.equal(plain.problems.digits)


# With 40,000 samples a frequency that should be p lies within 5 standard deviations, which is what is allowed here.
SAMPLES = 40_000


def assert_frequency(observed: torch.Tensor, expected: float) -> None:
    count = observed.numel()
    spread = 5 * (expected * (1 - expected) / count) ** 0.5
    assert abs(float(observed.double().mean()) - expected) < spread


def test_training_sums_are_distributed_as_in_the_paper() -> None:
    problems = lw.task("addition").sample(SAMPLES, length=10, count=10, seed=0).problems
    for count in range(2, 11):
        assert_frequency(problems.counts == count, 1 / 9)
    for length in range(1, 11):
        assert_frequency(problems.lengths[:, 0] == length, 1 / 10)
    present = torch.arange(10) < problems.counts[:, None]
    assert ((problems.lengths > 0) == present).all()
    # The coin: with probability 1/2 all lengths are equal; independent ones agree by chance as well.
    for count in (2, 5):
        lengths = problems.lengths[problems.counts == count][:, :count]
        equal = (lengths == lengths[:, :1]).all(1)
        assert_frequency(equal, 0.5 + 0.5 * 0.1 ** (count - 1))


def test_numbers_are_uniform_among_those_of_their_length() -> None:
    problems = lw.task("addition").sample(SAMPLES, length=10, count=10, seed=1).problems
    one_digit = problems.digits[:, 0, 0][problems.lengths[:, 0] == 1]
    for digit in range(10):
        assert_frequency(one_digit == digit, 1 / 10)
    longer = problems.lengths[:, 0] > 1
    top = problems.digits[:, 0].gather(1, (problems.lengths[:, :1] - 1).long())[longer, 0]
    units = problems.digits[:, 0, 0][longer]
    for digit in range(10):
        assert_frequency(units == digit, 1 / 10)
        if digit:
            assert_frequency(top == digit, 1 / 9)
    assert (top > 0).all()
    above = torch.arange(10) >= problems.lengths[..., None]
    assert (problems.digits[above] == 0).all()


def test_test_sums_have_one_exact_size() -> None:
    problems = lw.task("addition").sample(2_000, length=7, count=5, seed=0, fixed=True).problems
    assert (problems.counts == 5).all()
    assert (problems.lengths == 7).all()
    assert (problems.digits[:, :, 6] > 0).all()


def test_products_have_independent_lengths() -> None:
    problems = lw.task("multiplication").sample(SAMPLES, length=4, count=3, seed=0).problems
    for first, second in itertools.product(range(1, 5), range(1, 4)):
        assert_frequency((problems.lengths[:, 0] == first) & (problems.lengths[:, 1] == second), 1 / 12)
    fixed = lw.task("multiplication").sample(500, length=4, count=3, seed=0, fixed=True).problems
    assert (fixed.lengths == torch.tensor([4, 3])).all()


def test_parity_lengths_and_bits_are_uniform() -> None:
    problems = lw.task("parity").sample(SAMPLES, length=20, seed=0).problems
    for length in range(1, 21):
        assert_frequency(problems.lengths == length, 1 / 20)
    assert_frequency(problems.digits[:, 0, 0] == 1, 0.5)
    assert (lw.task("parity").sample(500, length=20, seed=0, fixed=True).problems.lengths == 20).all()


# Offsets. Each range is FACTS.md's, with the lengths as written: first and last are reached, nothing lies beyond.


def offsets_of(task: lw.Task, level: int, **size: Any) -> list[int]:
    batch = task.sample(SAMPLES // 4, seed=0, fixed=True, random_offsets=True, **size)
    return sorted(set(batch.offsets[level].tolist()))


def test_offsets_of_parity() -> None:
    assert offsets_of(lw.task("parity"), 0, length=20) == list(range(1, 101 - 20 + 1))
    assert offsets_of(lw.task("parity", reverse_response=True), 0, length=20) == list(range(1, 101 - 20 + 1))
    assert offsets_of(lw.task("parity", scratchpad=False), 0, length=20) == list(range(1, 101))


def test_offsets_of_addition() -> None:
    task = lw.task("addition")  # ten numbers of ten digits are written with eleven; the scratchpad has eleven numbers
    assert offsets_of(task, 0, length=10, count=10) == list(range(1, 40 - 11 + 1))
    assert offsets_of(task, 1, length=10, count=10) == list(range(1, 40 - 11 + 1 + 1))
    assert offsets_of(lw.task("addition", start_with_zeros=False), 1, length=10, count=10) == list(
        range(1, 40 - 10 + 2)
    )
    assert offsets_of(lw.task("addition", scratchpad=False), 0, length=10, count=10) == list(range(1, 40 - 11 + 1))
    assert offsets_of(lw.task("addition", max_ids=(15, 12)), 0, length=10, count=10) == [1, 2, 3, 4]


def test_offsets_of_multiplication() -> None:
    task = lw.task("multiplication")
    assert offsets_of(task, 0, length=4, count=3) == list(range(1, 64 - 5 + 1))  # stage 1 has |A|+1 digits
    assert offsets_of(task, 0, length=2, count=9) == list(range(1, 64 - 9 + 1))  # |B| is longer than that
    assert offsets_of(task, 1, length=4, count=3) == list(range(1, 32 - 3 + 1 + 1))
    assert offsets_of(task, 2, length=4, count=3) == list(range(1, 64 - 7 + 1))
    assert offsets_of(lw.task("multiplication", scratchpad=False), 0, length=4, count=3) == list(range(1, 64 - 7 + 1))
    staircase = lw.task("multiplication", staircase=True)  # its last sum is as long as any of the paper's
    assert offsets_of(staircase, 2, length=4, count=3) == list(range(1, 64 - 7 + 1))


def test_levels_draw_their_offsets_independently() -> None:
    offsets = lw.task("addition").sample(SAMPLES, length=10, count=10, seed=0, fixed=True, random_offsets=True).offsets
    assert_frequency((offsets[0] <= 10) & (offsets[1] <= 10), 10 / 29 * 10 / 30)


def test_offsets_are_one_in_tests_and_random_in_training() -> None:
    task = lw.task("addition")
    assert (task.sample(100, length=5, count=5, seed=0, fixed=True).offsets == 1).all()
    assert (task.sample(100, length=5, count=5, seed=0, random_offsets=False).offsets == 1).all()
    assert (task.sample(100, length=5, count=5, seed=0).offsets > 1).any()


def test_pages_are_counted_from_either_end() -> None:
    batch = lw.task("addition").sample(3, length=3, count=3, seed=0)
    assert [batch.text(sample) for sample in (-3, -2, -1)] == [batch.text(sample) for sample in range(3)]
    for sample in (3, -4):
        with pytest.raises(IndexError, match="no page"):
            batch.text(sample)


def test_redrawing_offsets_keeps_the_problems() -> None:
    task = lw.task("addition")
    problems = task.sample_problems(100, length=5, count=5, seed=0)
    chosen = problems[torch.tensor([5, 1, 99])]
    first, second = (task.write_all(chosen, offsets_seed=seed) for seed in (1, 2))
    assert first.tokens.equal(second.tokens)
    assert not first.offsets.equal(second.offsets)


@pytest.mark.parametrize("task", FORMATS, ids=describe)
def test_no_id_exceeds_its_maximum(task: lw.Task) -> None:
    if task.coupling is not None:
        return
    batch = task.sample(3_000, seed=2, **SIZES[task.name])
    for level, ids in zip(task.levels, batch.position_ids, strict=True):
        assert int(ids.max()) <= task.paper_max_ids[level]
        assert int(ids.min()) == 0


def test_a_prompt_is_the_beginning_of_the_page() -> None:
    for task in FORMATS:
        batch = task.sample(20, seed=6, random_offsets=False, **SIZES[task.name])
        prompts = task.write_prompts(batch.problems)
        for sample in range(len(batch)):
            size = len(prompts.text(sample))
            assert prompts.text(sample) == batch.text(sample)[:size]
            span = batch.span(sample)
            assert prompts.position_ids[:, prompts.span(sample)].equal(batch.position_ids[:, span][:, :size])
            assert not prompts.targets[prompts.span(sample)].any()
            assert batch.targets[span][size:].all()
