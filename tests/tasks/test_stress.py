"""Hard problems of one exact size, against Python's own integers."""

from typing import Any

import numpy
import pytest
import torch
from formats import SIZES

import lengthwise as lw
from lengthwise.tasks import Problems, kinds, stress
from lengthwise.tasks.problems import draw_different

ADDITION, MULTIPLICATION, PARITY = (lw.task(name) for name in ("addition", "multiplication", "parity"))
TASKS = [ADDITION, MULTIPLICATION, PARITY]
PAIRS = [(task, suite) for task in TASKS for suite in stress.suites(task)]
SAMPLES = 40


def named(value: Any) -> str:
    return value.name if isinstance(value, lw.Task) else str(value)


def operands(task: lw.Task, problems: Problems, sample: int) -> list[str]:
    return [task.operand_text(digits) for digits in problems.operands(sample)]


def all_operands(task: lw.Task, problems: Problems) -> list[list[str]]:
    return [operands(task, problems, sample) for sample in range(len(problems))]


def carry_run(first: int, second: int) -> int:
    """Through how many columns the longest run of carries goes while two numbers are added."""
    longest = current = carry = 0
    while first or second:
        carry = (first % 10 + second % 10 + carry) // 10
        current = current + 1 if carry else 0
        longest, first, second = max(longest, current), first // 10, second // 10
    return longest


@pytest.mark.parametrize("size", [0, 1], ids=["large", "smallest"])
@pytest.mark.parametrize(("task", "suite"), PAIRS, ids=named)
def test_every_suite_has_exactly_this_size(task: lw.Task, suite: str, size: int) -> None:
    smallest = {"addition": {"length": 1, "count": 2}, "multiplication": {"length": 1, "count": 1}}
    exact = smallest.get(task.name, {"length": 1}) if size else SIZES[task.name]
    problems = stress.draw(task, suite, SAMPLES, seed=0, **exact)
    right = task.sample_problems(len(problems), seed=0, fixed=True, **exact)
    assert problems.digits.shape == right.digits.shape
    assert problems.counts.equal(right.counts)
    assert problems.lengths.amax(1).equal(right.lengths.amax(1))
    if not task.count_varies:
        assert problems.lengths.equal(right.lengths)
    for given in all_operands(task, problems):
        page = task.write(given)  # which would drop leading zeros, and refuse bits that are none
        assert list(page.operands) == given
    written, expected = task.write_all(problems), task.write_all(right)
    assert written.boundaries.equal(expected.boundaries)  # padded, pages of one size are equally long


@pytest.mark.parametrize(("task", "suite"), PAIRS, ids=named)
def test_pages_have_the_answers_of_python(task: lw.Task, suite: str) -> None:
    problems = stress.draw(task, suite, SAMPLES, seed=1, **SIZES[task.name])
    batch = task.write_all(problems)
    for sample, given in enumerate(all_operands(task, problems)):
        text = batch.text(sample)
        answer = task.answer(text[text.index("=") + 1 :])
        if task is PARITY:
            assert answer == str(given[0].count("1") % 2)
        elif task is ADDITION:
            assert answer == str(sum(map(int, given)))
        else:
            assert answer == str(int(given[0]) * int(given[1]))


def test_random_is_the_test_cell_itself() -> None:
    for task in TASKS:
        same = task.sample_problems(SAMPLES, seed=5, fixed=True, **SIZES[task.name])
        assert stress.draw(task, "random", SAMPLES, seed=5, **SIZES[task.name]).digits.equal(same.digits)


def test_nines() -> None:
    assert all_operands(ADDITION, stress.draw(ADDITION, "nines", 9, length=3, count=4, seed=0)) == [["999"] * 4]
    assert all_operands(MULTIPLICATION, stress.draw(MULTIPLICATION, "nines", 9, length=3, count=2, seed=0)) == [
        ["999", "99"]
    ]
    assert all_operands(PARITY, stress.draw(PARITY, "nines", 9, length=5, seed=0)) == [["11111"]]


@pytest.mark.parametrize(("length", "count"), [(1, 2), (1, 5), (2, 3), (12, 7), (30, 30)])
def test_every_second_running_sum_carries_through_the_whole_number(length: int, count: int) -> None:
    problems = stress.draw(ADDITION, "chains", SAMPLES, length=length, count=count, seed=0)
    found = [[int(number) for number in given] for given in all_operands(ADDITION, problems)]
    assert len(found) == min(SAMPLES, 2 ** ((count + 1) // 2))
    assert len(set(map(tuple, found))) == len(found)
    for given in found:
        assert len(given) == count
        for place in range(1, count, 2):
            assert {given[place - 1], given[place]} == {10**length - 1, 1}
            before = sum(given[:place])
            assert carry_run(before % 10**length, given[place]) == length
            # Not one digit of it is the sum of its column alone.
            without = [(before // 10**k + given[place] // 10**k) % 10 for k in range(1, length)]
            after = [(before + given[place]) // 10**k % 10 for k in range(1, length)]
            assert all(alone != right for alone, right in zip(without, after, strict=True))


@pytest.mark.parametrize(("length", "count"), [(1, 1), (1, 4), (6, 1), (9, 5), (3, 20)])
def test_every_partial_product_carries_through_the_whole_number(length: int, count: int) -> None:
    problems = stress.draw(MULTIPLICATION, "chains", SAMPLES, length=length, count=count, seed=0)
    found = all_operands(MULTIPLICATION, problems)
    assert len(set(map(tuple, found))) == len(found) == min(SAMPLES, 3**count)
    for first, second in found:
        assert (len(first), len(second)) == (length, count)
        for multiplier in map(int, second):
            for place in range(1, length + 1):
                assert int(first) % 10**place * multiplier >= 10**place  # a carry comes in …
                column = int(first) // 10**place % 10 * multiplier
                assert (column % 10) != int(first) * multiplier // 10**place % 10  # … without which the digit is wrong


def test_parity_carries_the_first_one_to_the_last() -> None:
    assert all_operands(PARITY, stress.draw(PARITY, "chains", 9, length=6, seed=0)) == [["100001"]]
    assert all_operands(PARITY, stress.draw(PARITY, "chains", 9, length=1, seed=0)) == [["1"]]
    for reverse in (False, True):
        assert lw.task("parity", reverse_response=reverse).write(["100001"]).response == list("111110$")


def test_zeros() -> None:
    found = all_operands(ADDITION, stress.draw(ADDITION, "zeros", 100, length=4, count=3, seed=0))
    assert sorted(found) == [["0", "0", "1000"], ["0", "1000", "0"], ["1000", "0", "0"]]
    assert len(stress.draw(ADDITION, "zeros", 2, length=4, count=3, seed=0)) == 2
    for length, count, expected in [(3, 5, ["100", "10000"]), (1, 2, ["1", "10"])]:
        problems = stress.draw(MULTIPLICATION, "zeros", 100, length=length, count=count, seed=0)
        assert all_operands(MULTIPLICATION, problems) == [expected]
    assert all_operands(PARITY, stress.draw(PARITY, "zeros", 100, length=7, seed=0)) == [["0000000"]]


def test_one_huge_number_among_small_ones() -> None:
    problems = stress.draw(ADDITION, "huge", 2_000, length=20, count=6, seed=0)
    assert ((problems.lengths == 20).sum(1) == 1).all()
    assert ((problems.lengths == 1).sum(1) == 5).all()
    places = (problems.lengths == 20).sum(0)
    assert (places > 2_000 / 6 - 100).all()  # five standard deviations are 83
    assert set(problems.digits[problems.lengths == 1][:, 0].tolist()) == set(range(10))
    assert (problems.digits[problems.lengths == 20][:, -1] > 0).all()


def test_ragged_numbers_have_all_lengths_and_one_of_them_the_full_one() -> None:
    problems = stress.draw(ADDITION, "ragged", 2_000, length=8, count=5, seed=0)
    full = (problems.lengths == 8).sum(1)
    assert (full >= 1).all()
    assert (full > 1).any()
    for length in range(1, 8):
        expected = 2_000 * 4 / 8  # four of the five are free, eight lengths each
        assert abs(int((problems.lengths == length).sum()) - expected) < 5 * (2_000 * 4 * 7 / 64) ** 0.5
    assert (problems.lengths[:, 0] == 8).any()
    assert (problems.lengths[:, 0] < 8).any()


@pytest.mark.parametrize(("task", "suite"), PAIRS, ids=named)
def test_a_draw_depends_on_its_seed_alone(task: lw.Task, suite: str) -> None:
    size = SIZES[task.name]
    first = stress.draw(task, suite, 20, seed=3, **size)
    torch.manual_seed(9)
    stress.draw(task, suite, 7, seed=4, **size)
    again = stress.draw(task, suite, 20, seed=3, **size)
    other = stress.draw(task, suite, 20, seed=4, **size)
    assert first.digits.equal(again.digits)
    assert first.lengths.equal(again.lengths)
    if len(first) > 1:
        assert not (first.digits.equal(other.digits) and first.lengths.equal(other.lengths))


def test_cells_do_not_share_their_draws() -> None:
    places = [
        stress.draw(ADDITION, "zeros", 30, length=length, count=30, seed=0).lengths.argmax(1) for length in (3, 4)
    ]
    assert not places[0].equal(places[1])


def test_drawing_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    for task, suite in PAIRS:
        stress.draw(task, suite, 5, seed=0, **SIZES[task.name])
    assert torch.rand(3).equal(expected)


def test_problems_do_not_depend_on_the_format() -> None:
    for task, suite in PAIRS:
        plain = lw.task(task.name, scratchpad=False, zero_padding=False, reverse_response=not task.reverse_response)
        first, second = (stress.draw(one, suite, 20, seed=3, **SIZES[task.name]) for one in (task, plain))
        assert first.digits.equal(second.digits)
        assert first.lengths.equal(second.lengths)


def test_rows_are_different_and_each_is_drawn_uniformly() -> None:
    rows = torch.cat([draw_different(5, 40, 3, torch.Generator().manual_seed(seed)) for seed in range(400)])
    assert rows.shape == (2_000, 40)
    for choice in range(3):
        spread = 5 * (2 / 9 / 2_000) ** 0.5
        assert ((rows == choice).double().mean(0) - 1 / 3).abs().max() < spread
    for samples, places, choices, expected in [
        (7, 3, 2, 7),
        (8, 3, 2, 8),
        (100, 3, 2, 8),
        (100, 0, 2, 1),
        (9, 1, 1, 1),
    ]:
        few = draw_different(samples, places, choices, torch.Generator().manual_seed(0))
        assert len({tuple(row) for row in few.tolist()}) == len(few) == expected


def test_suites_of_each_task() -> None:
    assert list(stress.SUITES) == ["random", "nines", "chains", "zeros", "huge", "ragged"]
    assert stress.suites(ADDITION) == tuple(stress.SUITES)
    assert stress.suites(MULTIPLICATION) == stress.suites(PARITY) == ("random", "nines", "chains", "zeros")
    for kind in kinds().values():
        assert "chains" in stress.suites(kind())
    assert all(line and "\n" not in line for line in stress.SUITES.values())


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("suite", ["huge", "ragged", "nine", "", None, ["nines"]])
def test_a_suite_the_task_does_not_have(suite: Any) -> None:
    with pytest.raises(lw.InputError, match=r"parity has no .* suite .*: choose one of random, nines, chains, zeros\."):
        stress.draw(PARITY, suite, 5, length=4, seed=0)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("suite", ["random", "nines", "chains", "zeros"])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("addition", {"length": 0, "count": 2}),
        ("addition", {"length": 3, "count": 1}),
        ("addition", {"length": 3}),
        ("addition", {"length": "3", "count": 2}),
        ("addition", {"length": 3, "count": 2.5}),
        ("addition", {"length": 10**6, "count": 2}),
        ("addition", {"length": 3, "count": 2, "samples": 0}),
        ("addition", {"length": 3, "count": 2, "samples": True}),
        ("addition", {"length": 3, "count": 2, "seed": 0.5}),
        ("multiplication", {"length": 3}),
        ("multiplication", {"length": 3, "count": 0}),
        ("parity", {"length": 3, "count": 2}),
        ("parity", {"length": -1}),
    ],
)
def test_bad_sizes_are_refused_as_in_sampling(suite: str, name: str, settings: dict[str, Any]) -> None:
    asked = {"samples": 5, "seed": 0, **settings}
    with pytest.raises(lw.InputError) as sampling:
        lw.task(name).sample_problems(fixed=True, **asked)
    with pytest.raises(lw.InputError) as drawing:
        stress.draw(lw.task(name), suite, **asked)
    assert str(drawing.value) == str(sampling.value)
    assert str(drawing.value).endswith(".")


@pytest.mark.usefixtures("as_users_run")
def test_sizes_beyond_the_largest_id_are_refused() -> None:
    task = lw.task("addition", max_ids=(10, 10))
    with pytest.raises(lw.InputError, match="maximum id"):
        stress.draw(task, "nines", 1, length=20, count=2, seed=0)


@pytest.mark.usefixtures("as_users_run")
def test_integers_of_numpy_are_as_good() -> None:
    plain = stress.draw(ADDITION, "ragged", 10, length=6, count=4, seed=2)
    numpys: Any = numpy.int64
    same = stress.draw(ADDITION, "ragged", numpys(10), length=numpys(6), count=numpys(4), seed=numpys(2))
    assert same.digits.equal(plain.digits)
