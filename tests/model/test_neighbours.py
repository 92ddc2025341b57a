"""Attention to neighbours: the keys that are found, and the same numbers as over all keys."""

from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import lengthwise as lw
from lengthwise.model import cache, neighbours
from lengthwise.model.neighbours import Index, Neighbours, find
from lengthwise.positions.windowed import Windowed

SMALL: dict[str, Any] = {"heads": 2, "width": 32, "feedforward": 48}


def visible(query: list[int], key: list[int], reach: int) -> bool:
    """The rule in words: near on every level they share, and they share one, or the key has no id."""
    shared = [(p, q) for p, q in zip(query, key, strict=True) if p and q]
    return all(abs(p - q) <= reach for p, q in shared) and (bool(shared) or not any(key))


def sets(found: Neighbours | None) -> list[set[int]]:
    assert found is not None
    rows = zip(found.key.tolist(), found.real.tolist(), strict=True)
    listed = [[key for key, real in zip(keys, reals, strict=True) if real] for keys, reals in rows]
    assert all(len(keys) == len(set(keys)) for keys in listed)
    return [set(keys) for keys in listed]


@settings(max_examples=200, deadline=None)
@given(
    levels=st.integers(1, 3),
    reach=st.integers(0, 2),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    data=st.data(),
)
def test_exactly_the_visible_keys_are_found(levels: int, reach: int, sizes: list[int], data: st.DataObject) -> None:
    tokens = sum(sizes)
    one = st.lists(st.integers(0, 5), min_size=tokens, max_size=tokens)
    ids = data.draw(st.lists(one, min_size=levels, max_size=levels))
    row = [number for number, size in enumerate(sizes) for _ in range(size)]
    expected = [
        {
            key
            for key in range(query + 1)
            if row[key] == row[query] and visible([level[query] for level in ids], [level[key] for level in ids], reach)
        }
        for query in range(tokens)
    ]
    packed, sequence = torch.tensor(ids), torch.tensor(row)
    assert sets(find(packed, sequence, reach)) == expected
    some = torch.tensor(data.draw(st.lists(st.integers(0, tokens - 1), min_size=1)))
    assert sets(find(packed, sequence, reach, some)) == [expected[query] for query in some.tolist()]


def test_every_query_sees_itself_and_empty_slots_are_its_own() -> None:
    found = find(torch.tensor([[0, 1, 9, 1, 2, 1]]), torch.tensor([0, 0, 0, 0, 0, 1]), 1)
    assert sets(found) == [{0}, {0, 1}, {0, 2}, {0, 1, 3}, {0, 1, 3, 4}, {5}]
    assert found is not None
    assert all(key == query for query, row in enumerate(found.key.tolist()) for key in row[len(sets(found)[query]) :])


@pytest.mark.parametrize(
    ("name", "options", "count", "most"),
    [("addition", {}, 1, 15), ("multiplication", {"staircase": True}, 1, 19), ("parity", {}, None, 6)],
)
def test_no_query_sees_more_keys_on_longer_pages(
    name: str, options: dict[str, Any], count: int | None, most: int
) -> None:
    for size in (10, 20, 40):
        batch = lw.task(name, **options).sample(2, length=size, count=count and size, seed=0, fixed=True)
        found = find(batch.position_ids, torch.arange(2).repeat_interleave(batch.boundaries.diff()), 1)
        assert found is not None
        assert found.real.sum(1).amax() == most


def test_sequences_with_the_same_ids_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = lw.task("addition").sample(20, length=4, count=3, seed=0, fixed=True)
    row = torch.arange(20).repeat_interleave(batch.boundaries.diff())
    wanted = batch.targets.nonzero()[:, 0] - 1
    searched: list[int] = []
    search = Index.search

    def count(self: Index, ids: torch.Tensor, *rest: Any) -> Neighbours:
        searched.append(ids.shape[1])
        return search(self, ids, *rest)

    monkeypatch.setattr(Index, "search", count)
    for queries in (None, wanted):
        together = sets(find(batch.position_ids, row, 1, queries))
        monkeypatch.setattr(neighbours.Alike, "of", lambda *rest: None)
        apart = sets(find(batch.position_ids, row, 1, queries))
        monkeypatch.undo()
        monkeypatch.setattr(Index, "search", count)
        assert together == apart
    assert searched[0] * 5 < searched[1]
    assert searched[2] * 5 < searched[3]


def test_sequences_that_differ_in_one_id_are_not_taken_for_alike() -> None:
    ids, row = torch.tensor([[0, 1, 2, 3] * 8]), torch.arange(8).repeat_interleave(4)
    ids[0, 14] = 9
    assert sets(find(ids, row, 1))[14] == {12, 14}
    assert sets(find(ids, row, 1))[18] == {16, 17, 18}


def test_nothing_to_look_for() -> None:
    task = lw.task("addition")
    model = lw.Solver.new(task, Windowed(), lw.ModelConfig(layers=1, **SMALL))
    batch = task.sample(2, length=2, count=2, seed=0)
    none = torch.zeros(0, dtype=torch.int64)
    assert model(batch, wanted=none).shape == (0, 14)
    assert model(batch, wanted=torch.tensor([3, 1], dtype=torch.int32)).equal(model(batch, wanted=torch.tensor([3, 1])))
    assert model.transformer(none, none.expand(2, 0), torch.tensor([0, 0])).shape == (0, 14)


@pytest.mark.parametrize("new", [[6], [9], [0]])
def test_a_new_token_far_from_all_on_file(new: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """No token of this page is uncoupled: the first new one may see nothing but itself."""
    model = lw.Solver.new(lw.task("parity"), Windowed(), lw.ModelConfig(layers=1, **SMALL)).transformer.eval()
    monkeypatch.setattr(cache, "SHORT", 0)
    prompt, ids = torch.tensor([1, 0, 1]), torch.tensor([[1, 2, 3]])
    kept = cache.Cache(1, 8, 1)
    with torch.no_grad():
        model(prompt, ids, torch.tensor([0, 3]), cache=kept)
        step = model.step(torch.tensor([1]), torch.tensor([new]), kept)
        whole = model(torch.tensor([1, 0, 1, 1]), torch.tensor([[1, 2, 3, *new]]), torch.tensor([0, 4]))
    assert torch.allclose(step[0], whole[3], atol=1e-5)


def test_second_derivatives_are_refused() -> None:
    query, key, value = torch.randn(3, 4, 2, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()
    found = find(torch.tensor([[1, 2, 3, 4]]), torch.zeros(4, dtype=torch.int64), 1)
    assert found is not None
    bias = torch.zeros(4, 2, found.key.shape[1]).masked_fill(~found.real[:, None], -torch.inf)
    mixed = neighbours.mix(query, key, value, bias, found, 1.0)
    (first,) = torch.autograd.grad(mixed.square().sum(), query, create_graph=True)
    with pytest.raises(RuntimeError, match=r"once_differentiable|not have been used"):
        torch.autograd.grad(first.square().sum(), query)


def test_ids_beyond_what_an_integer_numbers() -> None:
    huge = torch.tensor([[1, 2**30], [2**30, 1], [5, 2**30]])
    assert Index.of(huge, torch.tensor([0, 0]), 1) is None


TASKS: list[tuple[str, dict[str, Any], int | None]] = [
    ("addition", {}, 4),
    ("multiplication", {}, 4),
    ("multiplication", {"staircase": True}, 3),
    ("multiplication", {"coupling": ("row",)}, 3),
    ("parity", {}, None),
]


def results(model: lw.Solver, batch: lw.Batch, wanted: torch.Tensor | None) -> list[torch.Tensor]:
    model.zero_grad()
    logits = model(batch, wanted=wanted)
    torch.autograd.backward(logits.square().mean())
    gradients = [weight.grad for weight in model.parameters()]
    assert all(gradient is not None for gradient in gradients)
    return [logits.detach(), *(gradient.clone() for gradient in gradients if gradient is not None)]


@pytest.mark.parametrize(("name", "options", "count"), TASKS)
@pytest.mark.parametrize(("layers", "window", "content"), list(product((1, 2), (0, 1, 2), (True, False))))
def test_outputs_and_gradients_as_over_all_keys(
    name: str, options: dict[str, Any], count: int | None, layers: int, window: int, content: bool
) -> None:
    task = lw.task(name, **options)
    config = lw.ModelConfig(layers=layers, content_scores=content, **SMALL)
    model = lw.Solver.new(task, Windowed(window=window), config)
    batch = task.sample(7, length=6, count=count, seed=1)
    for wanted in (None, batch.targets.nonzero()[:, 0] - 1):
        near = results(model, batch, wanted)
        model.transformer.hooks.reach = None
        dense = results(model, batch, wanted)
        model.transformer.hooks.reach = window
        for ours, theirs in zip(near, dense, strict=True):
            assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-6 + 1e-4 * float(theirs.abs().max()))
        with torch.no_grad():
            assert torch.allclose(model(batch, wanted=wanted), near[0], atol=1e-5)


def test_many_queries_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    task = lw.task("addition")
    model = lw.Solver.new(task, Windowed(), lw.ModelConfig(layers=2, **SMALL))
    batch = task.sample(7, length=6, count=5, seed=1)
    with torch.no_grad():
        whole = model(batch)
        monkeypatch.setitem(neighbours.PRODUCTS_AT_ONCE, "cpu", 2000)
        assert torch.allclose(model(batch), whole, atol=1e-5)


@pytest.mark.parametrize(("name", "options", "count"), TASKS)
@pytest.mark.parametrize("unfiled", [0, 3, 1000])
def test_decoding_by_neighbours_as_over_all_keys(
    name: str, options: dict[str, Any], count: int | None, unfiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = lw.task(name, **options)
    model = lw.Solver.new(task, Windowed(initial_std=2.0), lw.ModelConfig(layers=2, **SMALL), seed=3).eval()
    batch = task.sample(5, length=6, count=count, seed=2)
    dense = model.responses(batch)
    monkeypatch.setattr(cache, "SHORT", 0)
    monkeypatch.setattr(cache, "UNFILED", unfiled)
    monkeypatch.setattr(cache, "isqrt", lambda number: 0)
    assert model.responses(batch) == dense
    assert len({tuple(response) for response in dense}) > 1


def test_ids_too_large_to_sort_are_decoded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    task = lw.task("addition")
    model = lw.Solver.new(task, Windowed(), lw.ModelConfig(layers=1, **SMALL)).eval()
    batch = task.sample(3, length=4, count=3, seed=2)
    dense = model.responses(batch)
    logits = model(batch)
    monkeypatch.setattr(cache, "SHORT", 0)
    monkeypatch.setattr(neighbours, "CODES", 1)
    assert model.responses(batch) == dense
    assert torch.allclose(model(batch), logits, atol=1e-5)
