"""What a run sees: the batch of a step follows from the recipe and the step, and from nothing else."""

from collections import Counter
from dataclasses import fields, replace
from typing import Any

import pytest
import torch

import lengthwise as lw
from lengthwise.data import STEPS_AT_ONCE, Feed
from lengthwise.pages import Examples
from lengthwise.recipe import Data, Recipe
from lengthwise.solver import Solver
from test_recipe import tiny

Page = tuple[int, ...]


def feed(recipe: Recipe) -> Feed:
    return Feed(recipe, Solver.new(recipe.task, recipe.encoding, recipe.model, seed=recipe.seed))


def with_data(recipe: Recipe, **changes: Any) -> Recipe:
    return replace(recipe, data=replace(recipe.data, **changes))


def same(one: list[Examples], other: list[Examples]) -> bool:
    def value(part: Examples, name: str) -> Any:
        held = getattr(part, name)
        return held.tolist() if isinstance(held, torch.Tensor) else held

    names = [field.name for field in fields(Examples)]
    return [[value(part, name) for name in names] for part in one] == [
        [value(part, name) for name in names] for part in other
    ]


def pages(batch: list[Examples]) -> list[Page]:
    """The tokens of every page of a step."""
    return [
        tuple(page.tolist()) for part in batch for page in torch.split(part.tokens, part.boundaries.diff().tolist())
    ]


def ids(batch: list[Examples]) -> list[tuple[Page, ...]]:
    """The ids of every page of a step, by level."""
    return [
        tuple(map(tuple, page.tolist()))
        for part in batch
        for page in torch.split(part.position_ids, part.boundaries.diff().tolist(), dim=1)
    ]


@pytest.mark.parametrize("problems", [None, 500, 10, 1])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_batch_of_a_step_depends_on_the_step_alone(problems: int | None, accumulate: int) -> None:
    recipe = tiny(problems=problems, accumulate=accumulate)
    through = feed(recipe)
    passed = [through.at(step) for step in range(STEPS_AT_ONCE + 6)]
    for step in (0, STEPS_AT_ONCE - 1, STEPS_AT_ONCE, STEPS_AT_ONCE + 5):
        assert same(feed(recipe).at(step), passed[step])
        assert same(through.at(step), passed[step]), "a feed may be asked in any order"


@pytest.mark.parametrize("problems", [None, 50])
def test_data_are_the_same_whatever_the_number_of_steps(problems: int | None) -> None:
    short, long = feed(tiny(problems=problems, steps=5)), feed(tiny(problems=problems, steps=50_000))
    assert all(same(short.at(step), long.at(step)) for step in (0, 4, 40))


@pytest.mark.parametrize("problems", [None, 50])
def test_another_seed_gives_other_data(problems: int | None) -> None:
    first, second = (feed(tiny(problems=problems, seed=seed)) for seed in (0, 1))
    assert not set(pages(first.at(0))) & {page for page in pages(second.at(0)) if len(page) > 20}


@pytest.mark.parametrize(("problems", "batch_size"), [(10, 4), (7, 6), (3, 4), (1, 3), (200, 6)])
def test_every_round_uses_every_problem_once_in_another_order_with_other_offsets(
    problems: int, batch_size: int
) -> None:
    recipe = with_data(tiny(problems=problems, batch_size=batch_size), length=6)
    fed = feed(recipe)
    rounds = 4
    steps = -(-rounds * problems // batch_size)
    seen: list[Page] = []
    numbered: list[tuple[Page, ...]] = []
    for step in range(steps):
        seen += pages(fed.at(step))
        numbered += ids(fed.at(step))
    by_round = [seen[start : start + problems] for start in range(0, rounds * problems, problems)]
    assert len(by_round) == rounds
    assert all(Counter(page) == Counter(by_round[0]) for page in by_round)
    if problems >= 7:
        assert len(set(by_round[0])) > problems / 2, "these problems should differ, or this test shows nothing"
        assert len({tuple(order) for order in by_round}) == rounds
    uses: dict[Page, set[Any]] = {}
    for page, numbers in zip(seen[: rounds * problems], numbered, strict=False):
        uses.setdefault(page, set()).add(numbers)
    # Offsets are drawn from hundreds of pairs: the same twice is possible, all the same is not.
    assert sum(len(found) for found in uses.values()) > 0.9 * rounds * problems


def test_offsets_are_redrawn_at_every_use() -> None:
    """One problem over and over: were its offsets drawn from few numbers, they would come in the same order again."""
    fed = feed(tiny(problems=1, batch_size=4))
    chunks = [[ids(fed.at(chunk * STEPS_AT_ONCE + step)) for step in range(8)] for chunk in range(3)]
    assert all(one != other for one, other in ((chunks[0], chunks[1]), (chunks[1], chunks[2]), (chunks[0], chunks[2])))
    assert len({tuple(batch) for chunk in chunks for batch in chunk}) == 24


def test_the_data_set_does_not_depend_on_how_it_is_used() -> None:
    def data_set(batch_size: int, **training: Any) -> Counter[Page]:
        fed = feed(tiny(problems=24, batch_size=batch_size, **training))
        return Counter(page for step in range(24 // batch_size) for page in pages(fed.at(step)))

    assert data_set(6) == data_set(12) == data_set(4, steps=99) == data_set(8, accumulate=2)


def test_fresh_problems_never_repeat() -> None:
    recipe = with_data(tiny(), length=9)
    fed = feed(recipe)
    batches = [pages(fed.at(step)) for step in range(2 * STEPS_AT_ONCE + 3)]
    assert len({tuple(batch) for batch in batches}) == len(batches)
    long = [page for batch in batches for page in batch if len(page) > 30]  # two small numbers may well come again
    assert len(long) > 200
    assert len(set(long)) == len(long)


def test_fixed_problems_do_repeat() -> None:
    """What the last test would see of a data set."""
    fed = feed(with_data(tiny(problems=60), length=9))
    long = [page for step in range(20) for page in pages(fed.at(step)) if len(page) > 30]
    assert len(set(long)) < len(long)


def test_offsets_are_random_or_one() -> None:
    def lowest(random_offsets: bool) -> set[tuple[int, ...]]:
        fed = feed(with_data(tiny(), random_offsets=random_offsets))
        return {
            tuple(min(number for number in level if number) for level in page)
            for step in range(5)
            for page in ids(fed.at(step))
        }

    assert lowest(False) == {(1, 1)}
    assert len(lowest(True)) > 10


@pytest.mark.parametrize("case", ["learned", "windowed hard", "rotary"])
@pytest.mark.parametrize("accumulate", [1, 2, 4, 6])
def test_examples_are_the_pages_of_the_task(case: str, accumulate: int) -> None:
    recipe = tiny(case, accumulate=accumulate)
    fed, whole = feed(recipe), feed(tiny(case))
    for step in (0, 33):
        parts = fed.at(step)
        assert len(parts) == accumulate
        assert pages(parts) == pages(whole.at(step)), "how a batch is worked through does not change it"
        assert ids(parts) == ids(whole.at(step))
        for part in parts:
            sizes = part.boundaries.diff().tolist()
            assert list(part.known.sizes) == sizes
            assert len(part) == len(sizes)
            assert sum(sizes) == len(part.tokens) == part.position_ids.shape[1]
            highest = part.position_ids.amax(1).tolist()
            assert all(known >= high for known, high in zip(part.known.highest, highest, strict=True))
            assert part.expected.equal(part.tokens[part.wanted + 1])
        for part in parts:
            for number, page in enumerate(pages([part])):
                text = [recipe.task.vocabulary[token] for token in page]
                operands = "".join(text[1 : text.index("=")]).split("+")
                assert 2 <= len(operands) <= 3
                right = recipe.task.write(operands)
                assert text == right.tokens
                first = int(part.boundaries[number])
                own = (part.wanted[part.sample == number] + 1 - first).tolist()
                assert own == [place for place, target in enumerate(right.targets) if target]


def test_parity_and_multiplication_are_fed_too() -> None:
    for name, size in (("parity", {"length": 7, "count": None}), ("multiplication", {"length": 3, "count": 2})):
        task = replace(tiny(), task=lw.task(name), encoding=tiny("windowed hard").encoding)
        fed = feed(replace(task, data=Data(problems=20, **size)))
        assert all(len(part) == 6 for part in fed.at(3))
