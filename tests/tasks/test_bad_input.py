"""What cannot be done is refused in one sentence that says what was wrong and what would be right."""

from collections.abc import Sequence
from typing import Any

import numpy
import pytest

import lengthwise as lw
from lengthwise.tasks.text import recognise

pytestmark = pytest.mark.usefixtures("as_users_run")


def one_sentence(error: pytest.ExceptionInfo[lw.InputError]) -> str:
    message = str(error.value)
    assert message.endswith((".", "?"))
    assert "\n" not in message
    assert len(message) < 300
    return message


@pytest.mark.parametrize(
    ("name", "operands", "words"),
    [
        ("addition", ["57", "4a"], "'4a' is not a whole number"),
        ("addition", ["57", ""], "empty"),
        ("addition", ["57", " "], "empty"),
        ("addition", [57, -4], "-4 is negative"),
        ("addition", ["57", "-4"], "'-4' is negative"),
        ("addition", ["57", "4.5"], "'4.5' is a fraction"),
        ("addition", [57, 4.5], "4.5 is not a whole number"),
        ("addition", [57, True], "True is not a whole number"),
        ("addition", [57, None], "None is not a whole number"),
        ("addition", [57], "two or more numbers"),
        ("addition", [], "two or more numbers"),
        ("addition", "57+48", "is not a list of operands"),
        ("addition", 57, "57 is not a list of operands"),
        ("addition", ["9" * 1_000_000, "1"], "1,000,000 digits is too long"),
        ("addition", [10**1_000_000, 1], "bits is too long"),
        ("addition", [-(10**1_000_000), 1], "negative"),
        ("addition", ["٣", "1"], "not a whole number"),
        ("multiplication", [3], "two numbers"),
        ("multiplication", [3, 4, 5], "two numbers"),
        ("multiplication", ["9" * 9_000, "9" * 9_000], "digits and symbols"),
        ("parity", ["0121"], "not a bit string"),
        ("parity", [101], "give the bits as a string"),
        ("parity", [""], "not a bit string"),
        ("parity", ["01", "10"], "one bit string"),
        ("parity", ["0" * 1_000_000], "1,000,000 bits is too long"),
    ],
)
def test_operands(name: str, operands: Any, words: str) -> None:
    with pytest.raises(lw.InputError, match=words) as error:
        lw.task(name).write(operands)
    one_sentence(error)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("division", {}, "no task 'division'"),
        ("additon", {}, "did you mean 'addition'"),
        ("addition", {"scrachpad": True}, "did you mean 'scratchpad'"),
        ("parity", {"padding_rule": "exact"}, "no setting 'padding_rule'"),
        ("addition", {"scratchpad": "yes"}, "scratchpad must be True or False"),
        ("addition", {"start_with_zeros": 1}, "start_with_zeros must be True or False"),
        ("addition", {"padding_rule": "loose"}, "one of 'exact', 'theory'"),
        ("addition", {"staircase": True}, "no setting 'staircase'"),
        ("multiplication", {"staircase": 1}, "staircase must be True or False"),
        ("multiplication", {"staircase": True, "scratchpad": False}, "staircase .* needs scratchpad=True"),
        ("multiplication", {"staircase": True, "zero_padding": False}, "staircase .* needs zero_padding=True"),
        ("addition", {"coupling": ("colum",)}, "couple any of column, row, index"),
        ("addition", {"coupling": ("row",), "scratchpad": False}, "couple any of column, index"),
        ("addition", {"coupling": ()}, "name each level once"),
        ("addition", {"coupling": ("row", "row")}, "name each level once"),
        ("addition", {"max_ids": (40,)}, "one positive integer for each level"),
        ("addition", {"max_ids": (40, 0)}, "one positive integer for each level"),
        ("addition", {"max_ids": (40, 1.5)}, "a tuple of integers"),
        ("addition", {"max_ids": (2**40, 40)}, "one positive integer for each level"),
        ("addition", {"max_ids": 40}, "a tuple of integers"),
        ("addition", {"coupling": "index"}, "a tuple of names"),
        ("addition", {"coupling": {"row", "column"}}, "a tuple of names"),
    ],
)
def test_options(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.InputError, match=words) as error:
        lw.task(name, **options)
    one_sentence(error)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("addition", {"length": 0, "count": 2}, "length 1 or more"),
        ("addition", {"length": 3, "count": 1}, "count 2 or more"),
        ("addition", {"length": 3}, "count 2 or more"),
        ("addition", {"length": "3", "count": 2}, "length must be a whole number"),
        ("addition", {"length": 3, "count": 2.5}, "count must be a whole number"),
        ("addition", {"length": 10**6, "count": 2}, "too long"),
        ("multiplication", {"length": 3}, "lengths of both operands"),
        ("multiplication", {"length": 3, "count": 0}, "1 or more"),
        ("parity", {"length": 3, "count": 2}, "leave count out"),
        ("parity", {"length": -1}, "1 or more"),
    ],
)
def test_sizes(name: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.InputError, match=words) as error:
        lw.task(name).sample(5, seed=0, **settings)
    one_sentence(error)
    with pytest.raises(lw.InputError, match=words):
        lw.task(name).sample(5, seed=0, fixed=True, **settings)


def test_samples_and_seeds() -> None:
    for samples in (0, -3, 1.5, None, 10**30):
        with pytest.raises(lw.InputError, match="samples must be"):
            lw.task("parity").sample(samples, length=3, seed=0)  # type: ignore[arg-type]
    with pytest.raises(lw.InputError, match="seed must be"):
        lw.task("parity").sample(2, length=3, seed="x")  # type: ignore[arg-type]
    with pytest.raises(lw.InputError, match="length must be"):
        lw.task("parity").sample(2, length=None, seed=0)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    three: Any = numpy.int64(3)
    task = lw.task("addition", max_ids=(numpy.int64(40), 40))
    assert task.write([three, three + 1], offsets=[three, 1]).answer == "7"
    assert len(task.sample(three, length=three, count=three, seed=three)) == 3


def test_integers_of_more_digits_than_python_prints() -> None:
    page = lw.task("addition").write([10**5000, 1])
    assert page.operands == ("1" + "0" * 5000, "1")
    assert page.answer == "1" + "0" * 4999 + "1"


def test_sizes_are_refused_before_they_are_made() -> None:
    for count in (10**10, 10**30):
        with pytest.raises(lw.InputError, match="fewer or shorter"):
            lw.task("addition").sample(5, length=2, count=count, seed=0, fixed=True)
    with pytest.raises(lw.InputError, match="fewer or shorter"):
        lw.task("multiplication", scratchpad=False).write(["9" * 100_000] * 2)


@pytest.mark.parametrize("length", [39, 50, 60])
def test_maximum_ids_hold_for_problems_of_any_origin(length: int) -> None:
    task = lw.task("addition")
    problems = task.sample_problems(5, length=length, count=3, seed=0, fixed=True)
    with pytest.raises(lw.InputError, match="maximum id of 'column'"):
        task.write_all(problems, offsets_seed=0)
    limited = lw.task("addition", max_ids=(5, 5))
    for write in (limited.write_all, limited.write_prompts):
        with pytest.raises(lw.InputError, match="maximum id of 'column'"):
            write(problems)
    assert len(task.write_all(problems)) == 5


def test_responses_that_are_no_tokens() -> None:
    task = lw.task("addition")
    numbers = [task.vocabulary.index(token) for token in task.write([57, 48]).response]
    assert task.read([57, 48], numbers).correct
    assert not task.read([57, 48], [99, -1]).correct
    for nothing in (None, 123):
        with pytest.raises(lw.InputError, match="is not a response"):
            task.read([57, 48], nothing)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "options", "size", "level", "needed"),
    [
        ("addition", {}, {"length": 39, "count": 2}, "column", 41),  # 2 · (10³⁹ − 1) has 40 digits
        ("addition", {}, {"length": 10, "count": 40}, "row", 41),
        ("addition", {"zero_padding": False}, {"length": 39, "count": 2}, "column", 41),
        ("addition", {"max_ids": (12, 50)}, {"length": 11, "count": 10}, "column", 13),
        ("multiplication", {}, {"length": 5, "count": 33}, "row", 33),
        ("multiplication", {}, {"length": 32, "count": 32}, "column", 65),
        ("multiplication", {"staircase": True}, {"length": 32, "count": 32}, "column", 65),
        ("parity", {}, {"length": 101}, "column", 102),
        ("parity", {"coupling": ("index",), "max_ids": (20,)}, {"length": 10}, "index", 22),
    ],
)
def test_a_size_beyond_the_maximum_ids(
    name: str, options: dict[str, Any], size: dict[str, Any], level: str, needed: int
) -> None:
    task = lw.task(name, **options)
    with pytest.raises(lw.InputError, match=f"maximum id of '{level}'.*raise it to {needed} or more") as error:
        task.sample(5, seed=0, **size)
    one_sentence(error)
    raised = [needed if at == level else 1000 for at in task.levels]
    larger = lw.task(name, **{**options, "max_ids": tuple(raised)})
    batch = larger.sample(5, seed=0, fixed=True, random_offsets=True, **size)
    assert int(batch.position_ids[task.levels.index(level)].max()) == needed


def test_without_a_maximum_any_size_can_be_written_and_tested() -> None:
    assert lw.task("addition").write(["9" * 300] * 60).answer == str(60 * (10**300 - 1))
    assert len(lw.task("addition").sample(2, length=90, count=90, seed=0, fixed=True)) == 2
    with pytest.raises(lw.InputError, match="maximum id of 'column'"):
        lw.task("addition", max_ids=(40, 40)).write(["9" * 300] * 2)
    with pytest.raises(lw.InputError, match="maximum id of 'column'"):
        lw.task("addition", max_ids=(40, 40)).write([57, 48], offsets=(38, 1))


@pytest.mark.parametrize("offsets", [(1,), (0, 1), (1, -1), (1.5, 1), (2**31, 1), (True, 1)])
def test_offsets(offsets: Sequence[Any]) -> None:
    with pytest.raises(lw.InputError, match="one positive integer for each level") as error:
        lw.task("addition").write([57, 48], offsets=offsets)
    one_sentence(error)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no problem to write"),
        ("   ", "no problem to write"),
        ("abc", "not a problem"),
        ("57", "single number"),
        ("57+", "operator without a number"),
        ("+57", "operator without a number"),
        ("*", "operator without a number"),
        ("1+2*3", "mixes operators"),
        ("57-48", "not a problem"),
        ("57 48+96", "space inside a number"),
        ("57+48\n1+2", "several lines"),
        ("57+48=105", "equals sign"),
        ("4/2", "not a problem"),
    ],
)
def test_typed_problems(text: str, words: str) -> None:
    with pytest.raises(lw.InputError, match=words) as error:
        recognise(text)
    one_sentence(error)


def test_an_operator_of_another_task() -> None:
    with pytest.raises(lw.InputError, match="operator of addition, but the task is multiplication"):
        recognise("57+48", "multiplication")


def test_typed_problems_that_are_fine() -> None:
    assert recognise(" 57 +48\n") == ("addition", ["57", "48"])
    assert recognise("3 × 4") == ("multiplication", ["3", "4"])
    assert recognise("101") == ("parity", ["101"])
    assert recognise("5++6") == ("addition", ["5", "", "6"])  # refused when it is written
