"""Every encoding against the formula of its definition, written out naively for single tokens."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import lengthwise as lw
from lengthwise.positions import Encoding, Hooks, Place, Shape, encodings
from lengthwise.positions.alibi import Alibi
from lengthwise.positions.fire import Fire, FireBias, FireFunction
from lengthwise.positions.learned import Learned, LearnedTables
from lengthwise.positions.rotary import Rotary
from lengthwise.positions.sinusoidal import Sinusoidal
from lengthwise.positions.t5 import T5, BucketBias
from lengthwise.positions.windowed import WindowBias, Windowed

ONE = Shape(levels=1, width=24, layers=3, heads=2, head_dim=12)
TWO = Shape(levels=2, width=24, layers=3, heads=2, head_dim=12)


def built(encoding: Encoding, shape: Shape) -> Hooks:
    hooks = encoding.build(shape)
    hooks.reset(torch.Generator().manual_seed(1))
    return hooks


def place(ids: list[list[int]]) -> Place:
    return Place(torch.tensor(ids), torch.arange(len(ids[0])))


PLAIN = place([[0, 1, 2, 3, 9, 40]])
COUPLED = place([[0, 3, 2, 1, 0, 2], [0, 1, 1, 5, 2, 0]])


def test_all_are_found() -> None:
    assert list(encodings()) == ["alibi", "fire", "learned", "none", "rotary", "sinusoidal", "t5", "windowed"]


def test_encodings_by_name() -> None:
    assert lw.encoding("windowed", window=2) == Windowed(window=2)
    for name, settings, words in (
        ("window", {}, "did you mean 'windowed'"),
        ("magic", {}, "choose one of alibi, fire"),
        ("fire", {"nrom": "max"}, "did you mean 'norm'"),
    ):
        with pytest.raises(lw.InputError, match=words):
            lw.encoding(name, **settings)


def test_none_does_nothing() -> None:
    hooks = built(encodings()["none"](), TWO)
    vectors = torch.randn(6, 2, 12)
    assert hooks.embed(COUPLED) is None
    assert hooks.bias(0, COUPLED, COUPLED) is None
    assert hooks.rotate(vectors, COUPLED) is vectors
    assert list(hooks.parameters()) == []


@pytest.mark.parametrize("shared", [False, True])
def test_learned(shared: bool) -> None:
    hooks = built(Learned(sizes=(5, 5), shared=shared), TWO)
    assert isinstance(hooks, LearnedTables)
    assert [tuple(table.shape) for table in hooks.tables] == [(6, 24)] * (1 if shared else 2)
    vectors = hooks.embed(COUPLED)
    for token in range(6):
        first, second = COUPLED.ids[:, token].tolist()
        expected = hooks.tables[0][first] + hooks.tables[0 if shared else 1][second]
        assert vectors[token].equal(expected)


def test_sinusoidal() -> None:
    hooks = built(Sinusoidal(base=100.0), TWO)
    vectors = hooks.embed(COUPLED)
    assert vectors is not None
    for token in range(6):
        expected = []
        for level in range(2):
            for pair in range(6):
                angle = COUPLED.ids[level, token].item() * 100.0 ** (-2 * pair / 12)
                expected += [math.sin(angle), math.cos(angle)]
        assert torch.allclose(vectors[token], torch.tensor(expected), atol=1e-6)


@pytest.mark.parametrize(("shape", "at", "dims"), [(ONE, PLAIN, None), (ONE, PLAIN, 4), (TWO, COUPLED, None)])
def test_rotary(shape: Shape, at: Place, dims: int | None) -> None:
    hooks = built(Rotary(base=50.0, dims=dims), shape)
    vectors = torch.randn(6, 2, 12, generator=torch.Generator().manual_seed(0))
    turned = hooks.rotate(vectors, at)
    share = (dims or 12) // shape.levels
    for token in range(6):
        for head in range(2):
            expected = vectors[token, head].tolist()
            for level in range(shape.levels):
                for pair in range(share // 2):
                    angle = at.ids[level, token].item() * 50.0 ** (-2 * pair / share)
                    one, other = level * share + 2 * pair, level * share + 2 * pair + 1
                    x, y = expected[one], expected[other]
                    expected[one] = x * math.cos(angle) - y * math.sin(angle)
                    expected[other] = y * math.cos(angle) + x * math.sin(angle)
            assert torch.allclose(turned[token, head], torch.tensor(expected), atol=1e-5)


def test_rotary_scores_depend_on_differences_only() -> None:
    hooks = built(Rotary(), TWO)
    query, key = torch.randn(2, 1, 2, 12)
    here = (hooks.rotate(query, place([[7], [3]])) * hooks.rotate(key, place([[4], [9]]))).sum(-1)
    there = (hooks.rotate(query, place([[17], [23]])) * hooks.rotate(key, place([[14], [29]]))).sum(-1)
    assert torch.allclose(here, there, atol=1e-5)


def test_alibi() -> None:
    hooks = built(Alibi(), ONE)
    bias = hooks.bias(0, PLAIN, PLAIN)
    assert bias is not None
    for head in range(2):
        for i, p in enumerate(PLAIN.ids[0].tolist()):
            for j, q in enumerate(PLAIN.ids[0].tolist()):
                assert float(bias[head, i, j]) == pytest.approx(-abs(p - q) * 2 ** (-8 * (head + 1) / 2))


def test_t5() -> None:
    hooks = built(T5(buckets=8, max_distance=32), ONE)
    assert isinstance(hooks, BucketBias)
    bias = hooks.bias(1, PLAIN, PLAIN)
    for i, p in enumerate(PLAIN.ids[0].tolist()):
        for j, q in enumerate(PLAIN.ids[0].tolist()):
            distance = max(p - q, 0)
            far = 4 + int(math.log(max(distance, 4) / 4) / math.log(32 / 4) * 4)
            bucket = distance if distance < 4 else min(7, far)
            assert bias[:, i, j].equal(hooks.table[bucket])
    assert hooks.bias(0, PLAIN, PLAIN).equal(hooks.bias(2, PLAIN, PLAIN))


@pytest.mark.parametrize("norm", ["max", "min"])
@pytest.mark.parametrize("shared", [True, False])
def test_fire(norm: Any, shared: bool) -> None:
    hooks = built(Fire(norm=norm, shared=shared, initial_length=6.25), ONE)
    assert isinstance(hooks, FireBias)
    assert len(hooks.functions) == (1 if shared else 3)
    for layer in range(3):
        function = hooks.functions[0 if shared else layer]
        assert isinstance(function, FireFunction)
        bias = hooks.bias(layer, PLAIN, PLAIN)
        for i, p in enumerate(PLAIN.ids[0].tolist()):
            for j, q in enumerate(PLAIN.ids[0].tolist()):
                against = max(p, 6.25) if norm == "max" else min(p, 6.25)
                share = math.log(abs(0.1 * (p - q)) + 1) / (math.log(0.1 * against + 1) + 1e-6)
                hidden = (function.first * share).relu()[:, 0]
                hidden = (function.second @ hidden).relu()
                assert torch.allclose(bias[:, i, j], function.third @ hidden, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("window", [0, 1, 2])
def test_windowed(hard: bool, window: int) -> None:
    hooks = built(Windowed(window=window, hard=hard), TWO)
    assert isinstance(hooks, WindowBias)
    near = 2 * window + 1
    assert hooks.numbers.shape == (3, 2, near + 3 + (not hard), 2)
    for layer in range(3):
        bias = hooks.bias(layer, COUPLED, COUPLED)
        for i in range(6):
            for j in range(6):
                expected = torch.zeros(2)
                for level in range(2):
                    p, q = COUPLED.ids[level, i].item(), COUPLED.ids[level, j].item()
                    numbers = hooks.numbers[layer, level] * 4.0
                    null = numbers[-3:]
                    if p == 0 and q == 0:
                        expected = expected + null[2]
                    elif p == 0:
                        expected = expected + null[0]
                    elif q == 0:
                        expected = expected + null[1]
                    elif abs(p - q) <= window:
                        expected = expected + numbers[int(p - q) + window]
                    else:
                        expected = expected + (torch.full((2,), -torch.inf) if hard else numbers[near])
                pairs = list(zip(COUPLED.ids[:, i].tolist(), COUPLED.ids[:, j].tolist(), strict=True))
                if hard and not any(p and q for p, q in pairs) and any(q for _, q in pairs):
                    expected = torch.full((2,), -torch.inf)  # they share no level
                assert torch.allclose(bias[:, i, j], expected)


def test_the_soft_window_as_an_inner_product() -> None:
    hooks = built(Windowed(window=1, hard=False), TWO)
    for layer in range(3):
        factors, bias = hooks.factors(layer, COUPLED), hooks.bias(layer, COUPLED, COUPLED)
        assert factors is not None
        assert bias is not None
        assert torch.allclose(torch.einsum("ihr,jr->hij", *factors), bias, atol=1e-5)
    assert built(Windowed(window=1), TWO).factors(0, COUPLED) is None  # the hard one looks at neighbours only
    assert hooks.factors(0, place([[0, 200], [0, 1]])) is None  # too many ids: attention falls back on the bias


def test_the_soft_window_sharpens_beyond_its_training_length() -> None:
    hooks = built(Windowed(hard=False, train_length=4), TWO)
    focus = hooks.focus(COUPLED)
    assert focus is not None
    expected = [max(1.0, math.log(tokens) / math.log(4)) for tokens in range(1, 7)]
    assert torch.allclose(focus, torch.tensor(expected))
    assert built(Windowed(hard=False), TWO).focus(COUPLED) is None


def test_relative_encodings_do_not_see_offsets() -> None:
    shifted = Place(torch.where(COUPLED.ids > 0, COUPLED.ids + 13, 0), COUPLED.index)
    hooks = built(Windowed(), TWO)
    here, there = hooks.bias(0, COUPLED, COUPLED), hooks.bias(0, shifted, shifted)
    assert here is not None
    assert there is not None
    assert here.equal(there)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Learned(sizes=(5,)).build(TWO), "every level, 2 in all"),
        (lambda: Learned(sizes=(5, 6), shared=True), "one size for all levels"),
        (lambda: T5().build(TWO), "one level of ids"),
        (lambda: Fire().build(TWO), "one level of ids"),
        (lambda: Fire(norm="mean"), "one of 'max', 'min'"),  # type: ignore[arg-type]
        (lambda: T5(buckets=1), "2 buckets or more"),
        (lambda: Rotary(dims=10).build(TWO), "a multiple of 4 dimensions"),
        (lambda: Rotary(dims=16).build(ONE), "at most the 12 of a head"),
        (lambda: Sinusoidal().build(Shape(levels=2, width=6, layers=1, heads=1, head_dim=2)), "a multiple of 4"),
        (lambda: Windowed(window=-1), "0 or wider"),
        (lambda: Windowed(train_length=100), "set hard=False"),
        (lambda: Windowed(train_length=1, hard=False), "2 or more"),
        (lambda: lw.encoding("windowed", window=1.5), "window must be a whole number"),
        (lambda: lw.encoding("windowed", hard="yes"), "hard must be True or False"),
        (lambda: lw.encoding("windowed", initial_std=-1), "initial_std must not be below 0"),
        (lambda: lw.encoding("rotary", base=float("nan")), "base must be a number"),
        (lambda: lw.encoding("rotary", base=0), "base must be above 1"),
        (lambda: lw.encoding("rotary", dims="8"), "dims must be a whole number or None"),
        (lambda: lw.encoding("fire", initial_length=-1), "must start above 0"),
        (lambda: lw.encoding("learned", sizes=40), "sizes must be a tuple of integers"),
        (lambda: lw.encoding("learned", sizes=(40, 0)), "largest ids, from 1"),
    ],
)
def test_impossible_settings_are_refused(make: Any, words: str) -> None:
    with pytest.raises(lw.InputError, match=words):
        make()


def tensor_list(hooks: Hooks) -> list[Tensor]:
    return [parameter.detach() for parameter in hooks.parameters()]


def test_initial_spread() -> None:
    source = torch.Generator().manual_seed(0)
    large = Shape(levels=2, width=256, layers=4, heads=8, head_dim=8)
    learned = Learned(sizes=(100, 100)).build(large)
    learned.reset(source)
    assert all(abs(float(table.std()) - 1) < 0.02 for table in tensor_list(learned))
    windowed = Windowed(window=20, initial_std=3.0).build(large)
    windowed.reset(source)
    assert abs(4 * float(tensor_list(windowed)[0].std()) - 3) < 0.15
    fire = FireFunction(Fire(), 8)
    assert float(fire.c.detach()) == pytest.approx(0.1)
    assert float(fire.root_length.detach()) ** 2 == pytest.approx(256)
