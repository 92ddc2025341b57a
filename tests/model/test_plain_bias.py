"""Where ids are simply the index, one bias serves all sequences: the same numbers as one for each, and only there."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from jaxtyping import Float
from models import CASES, solver
from torch import Tensor

import lengthwise as lw
from lengthwise.data import Feed
from lengthwise.model.attention import Known
from lengthwise.positions.alibi import Alibi
from lengthwise.positions.base import Hooks, Place, distances
from lengthwise.positions.learned import Learned
from lengthwise.recipe import Data, Recipe, Training

BIASED = ["fire", "fire min shared", "alibi", "t5"]
SIZES = {
    "alike": [9, 9, 9],
    "alone": [30],
    "very different": [1, 90, 2, 17, 200, 3, 1, 40],
}


class Spied:
    """A model whose hooks are listened to."""

    def __init__(self, model: lw.Solver, monkeypatch: pytest.MonkeyPatch) -> None:
        self.model = model
        self.asked: list[tuple[int, ...]] = []
        """The shape of the queries of every bias: levels × sequences × tokens."""
        hooks = model.transformer.hooks
        bias = hooks.bias

        def listen(layer: int, query: Place, key: Place) -> Tensor | None:
            self.asked.append(tuple(query.ids.shape))
            return bias(layer, query, key)

        monkeypatch.setattr(hooks, "bias", listen)


def batch(model: lw.Solver, sizes: list[int], levels: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Any tokens, in sequences of these sizes, with the index as their id on every level."""
    source = torch.Generator().manual_seed(sum(sizes))
    tokens = torch.randint(len(model.vocabulary), (sum(sizes),), generator=source)
    index = torch.cat([torch.arange(size, dtype=torch.int32) for size in sizes])
    boundaries = torch.tensor([0, *sizes]).cumsum(0)
    return tokens, index.expand(levels, -1).contiguous(), boundaries


def worked_out(model: lw.Solver, given: tuple[Tensor, Tensor, Tensor], **how: Any) -> dict[str, Tensor]:
    """The logits, and the gradient of each weight for some loss of them all."""
    logits = model.transformer(*given, **how)
    loss = (logits * torch.linspace(-1, 1, logits.numel()).view_as(logits).sin()).sum()
    named = dict(model.transformer.named_parameters())
    slopes = torch.autograd.grad(loss, list(named.values()))
    return {"logits": logits.detach(), **dict(zip(named, slopes, strict=True))}


def check_same(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        scale = float(theirs[name].abs().max())
        torch.testing.assert_close(value, theirs[name], rtol=1e-4, atol=2e-5 * max(1.0, scale), msg=name)


def one_by_one(patch: pytest.MonkeyPatch) -> None:
    """Let attention think that no ids are plain."""
    patch.setattr(Place, "is_plain", property(lambda place: False))


@pytest.mark.parametrize("sizes", SIZES.values(), ids=list(SIZES))
@pytest.mark.parametrize("case", BIASED)
def test_one_bias_for_all_gives_the_logits_and_gradients_of_one_for_each(
    case: str, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    spied = Spied(solver(case, layers=2), monkeypatch)
    given = batch(spied.model, sizes)
    shared = worked_out(spied.model, given)
    assert spied.asked == [(1, 1, max(sizes))] * 2, "one for each layer, as long as the longest"
    spied.asked.clear()
    with monkeypatch.context() as patch:
        one_by_one(patch)
        apart = worked_out(spied.model, given)
    assert sum(shape[1] for shape in spied.asked) == 2 * len(sizes)
    assert {"hooks" in name for name in shared} == ({True, False} if case != "alibi" else {False})
    check_same(shared, apart)
    assert any(float(slope.abs().max()) > 0 for name, slope in shared.items() if "hooks" in name) or case == "alibi"


@pytest.mark.parametrize("case", BIASED)
def test_one_bias_for_all_is_the_textbook_formula(case: str) -> None:
    """Which attention that is looked at is computed by, sequence by sequence."""
    model = solver(case)
    given = batch(model, SIZES["very different"])
    with torch.no_grad():
        shared, captured = model.transformer(*given), list[Tensor]()
        textbook = model.transformer(*given, captured=captured)
    assert len(captured) == 2
    torch.testing.assert_close(shared, textbook, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", BIASED)
def test_sequences_do_not_notice_each_other(case: str) -> None:
    model = solver(case)
    tokens, ids, boundaries = batch(model, SIZES["very different"])
    with torch.no_grad():
        together = model.transformer(tokens, ids, boundaries)
        for begin, end in zip(boundaries[:-1].tolist(), boundaries[1:].tolist(), strict=True):
            alone = model.transformer(tokens[begin:end], ids[:, begin:end], torch.tensor([0, end - begin]))
            torch.testing.assert_close(together[begin:end], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", BIASED)
def test_only_some_tokens_may_be_wanted(case: str) -> None:
    model = solver(case)
    given = batch(model, SIZES["very different"])
    wanted = torch.tensor([0, 5, 91, 300, 353])
    with torch.no_grad():
        some, every = model.transformer(*given, wanted=wanted), model.transformer(*given)
    torch.testing.assert_close(some, every[wanted], rtol=1e-4, atol=1e-5)


def test_in_half_precision_it_is_nearly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = solver("fire")
    given = batch(model, SIZES["very different"])
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        shared = model.transformer(*given).float()
        one_by_one(monkeypatch)
        apart = model.transformer(*given).float()
    torch.testing.assert_close(shared, apart, rtol=0.05, atol=0.05)


class Sharpened(Hooks):
    """A bias by distance, in scores that are sharpened along the sequence; and nothing offered that is faster."""

    has_bias = True

    def bias(self, layer: int, query: Place, key: Place) -> Float[Tensor, "*batch heads queries keys"]:
        falls = -0.1 * (layer + 1) * distances(query, key).sum(0).abs().float()
        return torch.stack([falls, falls / 2], dim=-3)

    def focus(self, query: Place) -> Float[Tensor, "*shape"]:
        return 1 + query.ids.sum(0).float() / 50


@pytest.mark.parametrize("levels", [1, 2])
def test_scores_may_be_sharpened_and_several_levels_be_plain(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = solver("none", task="addition" if levels == 2 else "parity")
    model.transformer.hooks = Sharpened()
    spied = Spied(model, monkeypatch)
    given = batch(model, SIZES["very different"], levels)
    shared = worked_out(model, given)
    assert spied.asked == [(levels, 1, 200)] * 2
    one_by_one(monkeypatch)
    check_same(shared, worked_out(model, given))


# Which ids are plain.


def test_ids_are_plain_only_if_every_one_is_its_tokens_index() -> None:
    index = torch.tensor([0, 1, 2, 0, 1])
    assert Place(index[None].int(), index).is_plain
    assert Place(torch.stack([index, index]), index).is_plain
    assert not Place(torch.stack([index, index + 1]), index).is_plain
    for place in range(5):
        changed = index.clone()
        changed[place] += 1
        assert not Place(changed[None], index).is_plain
    assert not Place(index[None] + 1, index).is_plain, "shifted by one"
    assert not Place(torch.arange(5)[None], index).is_plain, "counted over all sequences"


def test_what_is_known_of_ids_is_believed_and_not_read_back() -> None:
    index = torch.tensor([0, 1, 2])
    assert Place(index[None] + 7, index, plain=True).is_plain
    assert not Place(index[None], index, plain=False).is_plain


@pytest.mark.parametrize("known", [None, True, False])
def test_a_caller_may_know_whether_ids_are_plain(known: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    spied = Spied(solver("fire"), monkeypatch)
    sizes = SIZES["very different"]
    given = batch(spied.model, sizes)
    with torch.no_grad():
        told = spied.model.transformer(*given, known=Known(sizes=tuple(sizes), highest=(199,), plain=known))
        assert (spied.asked == [(1, 1, 200)] * 2) == (known is not False)
        torch.testing.assert_close(told, spied.model.transformer(*given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", BIASED)
def test_sequences_with_shifted_ids_have_biases_of_their_own(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spied = Spied(solver(case), monkeypatch)
    tokens, ids, boundaries = batch(spied.model, [5, 40, 6, 39])
    shifted = ids.clone()
    shifted[:, int(boundaries[1]) : int(boundaries[2])] += 300  # one of the four
    with torch.no_grad():
        ours = spied.model.transformer(tokens, shifted, boundaries)
        assert sum(shape[1] for shape in spied.asked) == 2 * 4
        textbook = spied.model.transformer(tokens, shifted, boundaries, captured=[])
        plain = spied.model.transformer(tokens, ids, boundaries)
    torch.testing.assert_close(ours, textbook, rtol=1e-4, atol=1e-5)
    # FIRE measures distances against the position itself; the others see distances alone.
    second = slice(int(boundaries[1]), int(boundaries[2]))
    assert torch.allclose(ours[second], plain[second], atol=1e-3) == (not case.startswith("fire"))


@pytest.mark.parametrize(
    ("options", "offsets", "plain"),
    [
        ({"coupling": ("index",)}, False, True),
        ({"coupling": ("index",)}, True, True),  # plain ids have nothing to be shifted within
        ({"coupling": ("index",), "max_ids": (300,)}, False, True),
        ({"coupling": ("index",), "max_ids": (300,)}, True, False),
        ({"coupling": ("index",), "max_ids": (300,), "id_policy": "random"}, True, False),
        ({}, False, False),
        ({}, True, False),
    ],
)
def test_a_run_knows_of_each_batch_whether_its_ids_are_plain(
    options: dict[str, Any], offsets: bool, plain: bool
) -> None:
    task = lw.task("addition", **options)
    encoding = CASES["fire"][0] if "coupling" in options else Learned(sizes=(40, 40))
    recipe = Recipe(
        name="",
        task=task,
        encoding=encoding,
        model=lw.ModelConfig(layers=1, heads=2, width=16, feedforward=16),
        data=Data(length=3, count=3, problems=None, random_offsets=offsets),
        training=Training(steps=4, batch_size=6, accumulate=2),
    )
    recipe.check()
    model = lw.Solver.new(recipe.task, recipe.encoding, recipe.model)
    for part in Feed(recipe, model).at(0):
        assert part.known.plain is plain
        starts = part.boundaries[:-1].repeat_interleave(part.boundaries.diff())
        index = torch.arange(len(part.tokens)) - starts
        assert Place(part.position_ids, index).is_plain == plain
        with torch.no_grad():
            told = model.transformer(part.tokens, part.position_ids, part.boundaries, known=part.known)
            asked = model.transformer(part.tokens, part.position_ids, part.boundaries, captured=[])
        torch.testing.assert_close(told, asked, rtol=1e-4, atol=1e-5)


# Measuring.


@pytest.mark.parametrize("case", BIASED)
def test_what_is_measured_of_plain_ids_does_not_depend_on_the_way(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spied = Spied(solver(case, task="parity"), monkeypatch)
    asked: dict[str, Any] = {"lengths": [1, 2, 3], "samples": 60}
    shared = lw.evaluate(spied.model, **asked)
    assert {shape[1] for shape in spied.asked} == {1}
    one_by_one(monkeypatch)
    apart = lw.evaluate(spied.model, **asked)
    assert (shared.correct, shared.answers) == (apart.correct, apart.answers)
    assert shared.answers not in ([[0]] * 3, [[60]] * 3)


def test_coupled_ids_are_measured_with_biases_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of coupled ids no two sequences need have the same."""
    model = lw.Solver.new(lw.task("addition"), Alibi(), lw.ModelConfig(layers=2, heads=2, width=16, feedforward=16))
    spied = Spied(model.eval(), monkeypatch)
    problems = model.task.sample_problems(12, length=4, count=4, seed=0)
    written = model.task.write_all(problems)
    with torch.no_grad():
        ours = model(written)
        assert sum(shape[1] for shape in spied.asked) == 2 * 12
        textbook = model.transformer(
            model.numbers(written.tokens), written.position_ids, written.boundaries, captured=[]
        )
    torch.testing.assert_close(ours, textbook, rtol=1e-4, atol=1e-5)
    before = lw.evaluate(model, lengths=[2, 3], counts=[2, 3], samples=10)
    one_by_one(monkeypatch)
    after = lw.evaluate(model, lengths=[2, 3], counts=[2, 3], samples=10)
    assert replace(before, seconds=0.0) == replace(after, seconds=0.0)
