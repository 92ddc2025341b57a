"""Attention averaged over many pages: the mean of what one sees page by page."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lengthwise as lw
from calculator import SMALL
from lengthwise.looking import average_attention
from lengthwise.positions.learned import Learned
from lengthwise.randomness import derive
from lengthwise.results import AttentionMap

looking = importlib.import_module("lengthwise.looking")


def make(task: str = "addition", encoding: str = "windowed", layers: int = 2, **options: Any) -> lw.Solver:
    config = lw.ModelConfig(layers=layers, heads=2, width=16, feedforward=16)
    return lw.Solver.new(lw.task(task, **options), lw.encoding(encoding), config, seed=3)


def pages_of(model: lw.Solver, samples: int, length: int, count: int | None, seed: int) -> list[lw.Page]:
    own = derive(seed, "cell", length, -1 if count is None else count)
    problems = model.task.sample_problems(samples, length=length, count=count, seed=own, fixed=True)
    return [
        model.task.write([model.task.operand_text(digits) for digits in problems.operands(sample)])
        for sample in range(samples)
    ]


@pytest.mark.parametrize(
    ("task", "encoding", "length", "count"),
    [
        ("addition", "windowed", 2, 3),
        ("addition", "none", 1, 2),
        ("multiplication", "windowed", 2, 2),
        ("parity", "alibi", 5, None),
    ],
)
def test_it_is_the_mean_over_pages(task: str, encoding: str, length: int, count: int | None) -> None:
    model = make(task, encoding)
    found = average_attention(model, length=length, count=count, samples=7, seed=2)
    pages = pages_of(model, 7, length, count, seed=2)
    expected = torch.stack([model.attention(page).weights for page in pages]).mean(0)
    np.testing.assert_allclose(found.weights, expected.numpy(), atol=1e-6)
    assert found.weights.shape == (2, 2, len(pages[0].tokens), len(pages[0].tokens))
    assert found.weights.dtype == np.float32
    np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)
    assert np.triu(found.weights, 1).max() == 0
    assert (found.tokens, found.targets) == (pages[0].tokens, pages[0].targets)
    assert found.labels == [cell.name for cell in pages[0].cells]


def test_however_many_pages_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make()
    whole = average_attention(model, length=2, count=3, samples=7)
    passes: list[int] = []
    forward = lw.Solver.forward

    def keep(self: lw.Solver, batch: lw.Batch, **options: Any) -> torch.Tensor:
        passes.append(len(batch))
        return forward(self, batch, **options)

    monkeypatch.setattr(lw.Solver, "forward", keep)
    monkeypatch.setattr(looking, "PAIRS_AT_ONCE", 3 * 29**2 * 4)
    np.testing.assert_allclose(average_attention(model, length=2, count=3, samples=7).weights, whole.weights, atol=1e-6)
    assert passes == [3, 3, 1]
    monkeypatch.setattr(looking, "PAIRS_AT_ONCE", 1)
    np.testing.assert_allclose(average_attention(model, length=2, count=3, samples=7).weights, whole.weights, atol=1e-6)


def test_lines_have_names() -> None:
    found = average_attention(make(), length=2, count=3, samples=1)
    lines = list(dict.fromkeys(found.lines))
    operands = [f"operand {number}" for number in (1, 2, 3)]
    assert lines == ["$", *operands, "=", *(f"partial sum {number}" for number in (0, 1, 2, 3))]
    alone = average_attention(make("multiplication", "none", scratchpad=False), length=2, count=2, samples=1)
    assert "answer" in alone.lines  # there is only one: no number is needed


def test_a_map_says_what_it_shows(tmp_path: Path) -> None:
    found = average_attention(make(), length=2, count=3, samples=4, seed=9, name="mine")
    about = found.about
    assert (about["length"], about["count"], about["samples"], about["seed"]) == (2, 3, 4, 9)
    assert about["task"]["name"] == "addition"
    assert about["model"]["name"] == "mine"
    assert "device" in about["made"]
    found.save(tmp_path / "map.safetensors")
    again = AttentionMap.load(tmp_path / "map.safetensors")
    assert again.about == about
    assert np.array_equal(again.weights, found.weights)


def test_other_seeds_are_other_problems() -> None:
    first, again, other = (average_attention(make(), length=2, count=3, samples=3, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, other.weights)


def test_pages_of_different_lengths_are_refused() -> None:
    model = make("addition", "none", zero_padding=False)
    with pytest.raises(lw.InputError, match="use a format with zero-padding, or a single sample"):
        average_attention(model, length=2, count=3, samples=20)
    (page,) = pages_of(model, 1, 2, 3, seed=0)
    alone = average_attention(model, length=2, count=3, samples=1)
    np.testing.assert_allclose(alone.weights, model.attention(page).weights.numpy(), atol=1e-6)


def test_what_cannot_be_looked_at_is_refused() -> None:
    narrow = lw.Solver.new(lw.task("addition"), Learned(sizes=(10, 10)), SMALL)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"length": 30, "count": 2}, "column ids up to 32, but the model's go up to 10"),
        ({"length": 2}, "count 2 or more"),
        ({"length": 2, "count": 2, "samples": 0}, "samples must be 1 or more"),
    ]
    for asked, words in refused:
        with pytest.raises(lw.InputError, match=words):
            average_attention(narrow, **asked)
