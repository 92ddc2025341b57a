"""The Transformer: its size, its initial weights, and that tokens see only what they may."""

import copy as copying
import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest
import torch
from models import CASES, solver, train
from torch import Tensor

import lengthwise as lw
from lengthwise.marking import mark
from lengthwise.model.attention import Context, Sequences, attend
from lengthwise.pages import Pages
from lengthwise.positions.alibi import Alibi
from lengthwise.positions.base import Place
from lengthwise.positions.learned import Learned
from lengthwise.positions.none import NoPositions

BASE: dict[str, Any] = {"layers": 2, "heads": 2, "width": 32, "head_dim": 8, "feedforward": 48}


def count(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def transformer(task: lw.Task, sizes: tuple[int, ...], **config: Any) -> lw.Transformer:
    return lw.Transformer(
        lw.ModelConfig(reserved_tokens=2, **config),
        Learned(sizes=sizes),
        vocabulary_size=len(task.vocabulary),
        levels=len(task.levels),
    )


def test_parameter_counts_are_the_papers() -> None:
    paper = {"layers": 6, "heads": 8, "width": 1024, "head_dim": 128, "feedforward": 2048}
    assert count(transformer(lw.task("addition"), (40, 40), **paper)) == 63_040_512
    assert count(transformer(lw.task("multiplication"), (64, 64, 64), **paper)) == 63_157_248
    parity = {"layers": 6, "heads": 8, "width": 512, "head_dim": 64, "feedforward": 2048}
    assert count(transformer(lw.task("parity"), (101,), **parity)) == 25_233_920
    small = {"layers": 1, "heads": 4, "width": 256, "head_dim": 64, "feedforward": 512}
    assert count(transformer(lw.task("addition"), (40, 40), **small)) == 681_728


def test_initial_weights_have_the_papers_spread() -> None:
    shape = {"layers": 1, "heads": 4, "width": 512, "head_dim": 64, "feedforward": 1024}
    for scaled in (False, True):
        model = transformer(lw.task("addition"), (40, 40), scale_scores=scaled, tied_head=False, **shape)
        state = model.state_dict()
        expected = {
            "embedding": 1.0,
            "head": 512**-0.5,
            "hooks.tables.0": 1.0,
            "blocks.0.attention.query.weight": 512**-0.5 if scaled else (512 * 64) ** -0.5,
            "blocks.0.attention.key.weight": 512**-0.5,
            "blocks.0.attention.value.weight": 512**-0.5,
            "blocks.0.attention.output.weight": 256**-0.5,
            "blocks.0.feedforward.into.weight": 512**-0.5,
            "blocks.0.feedforward.gate.weight": 512**-0.5,
            "blocks.0.feedforward.out.weight": 1024**-0.5,
        }
        for name, std in expected.items():
            assert float(state[name].std()) == pytest.approx(std, rel=0.05), name
        assert (state["blocks.0.attention_before.weight"] == 1).all()
        assert (state["final_norm.weight"] == 1).all()


def test_the_same_seed_gives_the_same_weights() -> None:
    first, again, other = (solver("learned", seed=seed).state_dict() for seed in (1, 1, 2))
    assert all(first[name].equal(again[name]) for name in first)
    assert not first["transformer.embedding"].equal(other["transformer.embedding"])


@pytest.mark.parametrize("case", CASES)
def test_no_token_sees_a_later_one(case: str) -> None:
    model = solver(case)
    batch = model.task.sample(1, length=3, count=3, seed=0, random_offsets=False)
    tokens, ids = batch.tokens.clone(), batch.position_ids.clone()
    before = model.transformer(tokens, ids, batch.boundaries)
    place = len(tokens) // 2
    tokens[place:] = (tokens[place:] + 1) % 10
    ids[:, place + 1 :] = ids[:, place + 1 :].flip(1)
    after = model.transformer(tokens, ids, batch.boundaries)
    assert torch.allclose(after[:place], before[:place], atol=1e-6)  # lists of neighbours are padded otherwise
    assert not torch.allclose(after[place:], before[place:])


@pytest.mark.parametrize("case", CASES)
def test_a_sequence_does_not_depend_on_its_neighbours(case: str) -> None:
    model = solver(case)
    batch = model.task.sample(6, length=4, count=5, seed=1)
    together = model(batch)
    for sample in range(len(batch)):
        span = batch.span(sample)
        size = torch.tensor([0, span.stop - span.start])
        alone = model.transformer(batch.tokens[span], batch.position_ids[:, span], size)
        assert torch.allclose(together[span], alone, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_captured_attention_changes_nothing_and_sums_to_one(case: str) -> None:
    model = solver(case)
    batch = model.task.sample(4, length=4, count=4, seed=2)
    captured: list[Tensor] = []
    states: list[Tensor] = []
    assert torch.allclose(model(batch, captured=captured, states=states), model(batch), atol=1e-5)
    assert len(captured) == 2
    assert len(states) == 3
    for sample, size in enumerate(batch.boundaries.diff().tolist()):
        weights = captured[0][sample, :, :size]
        assert torch.allclose(weights.sum(-1), torch.ones(2, size), atol=1e-5)
        assert (weights[..., size:] == 0).all()
        assert (weights.triu(1)[..., :size] == 0).all()


@pytest.mark.parametrize("case", CASES)
def test_every_way_of_attention_agrees_with_a_loop(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = solver(case).transformer
    hooks, boundaries = model.hooks, torch.tensor([0, 5, 6, 36])
    ids = torch.randint(0, 4, (model.shape.levels, 36), generator=torch.Generator().manual_seed(0))
    sequences = Sequences(boundaries, 36)
    query, key, value = torch.randn(3, 36, 2, 8, generator=torch.Generator().manual_seed(1))

    def at(tokens: slice) -> Place:
        return Place(ids[:, tokens], sequences.index[tokens])

    expected = torch.zeros(36, 2, 8)
    for first, last in ((0, 5), (5, 6), (6, 36)):
        for i in range(first, last):
            own, seen = at(slice(i, i + 1)), at(slice(first, i + 1))
            turned = hooks.rotate(query[i : i + 1], own)[0], hooks.rotate(key[first : i + 1], seen)
            scores = 0.7 * torch.einsum("hd,jhd->hj", *turned)
            bias, focus = hooks.bias(1, own, seen), hooks.focus(own)
            scores = scores if bias is None else scores + bias[:, 0]
            scores = scores if focus is None else scores * focus
            expected[i] = torch.einsum("hj,jhd->hd", scores.softmax(-1), value[first : i + 1])
    for captured, rank in ((None, 128), (None, 0), ([], 128)):  # as an inner product or by its bias, and explicitly
        monkeypatch.setattr("lengthwise.positions.windowed.MAX_RANK", rank)
        context = Context(hooks, sequences, Place(ids, sequences.index), 0.7, captured)
        assert torch.allclose(attend(query, key, value, context, 1), expected, atol=1e-5)


@pytest.mark.parametrize("norm", ["pre_post", "pre", "post", "none"])
@pytest.mark.parametrize(("activation", "gated"), [("gelu", True), ("gelu", False), ("relu", True), ("relu", False)])
@pytest.mark.parametrize(
    ("final", "tied", "scaled"), [("rms", True, False), ("layer", False, True), ("none", True, True)]
)
def test_the_whole_model_against_its_formulas(
    norm: Any, activation: Any, gated: bool, final: Any, tied: bool, scaled: bool
) -> None:
    options = {"norm": norm, "activation": activation, "gated": gated, "final_norm": final, "tied_head": tied}
    config = lw.ModelConfig(**BASE, **options, scale_scores=scaled)
    model = lw.Transformer(config, NoPositions(), vocabulary_size=14, levels=1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:  # norms start as ones, which would hide that they are there
                weight.copy_(torch.linspace(0.5, 1.5, len(weight)) if "bias" not in name else torch.ones(len(weight)))
    state = model.state_dict()
    tokens = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6])

    def rms(x: Tensor, weight: Tensor | None) -> Tensor:
        return x if weight is None else weight * x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-6)

    x = state["embedding"][tokens]
    for layer in range(2):
        block = {name.removeprefix(f"blocks.{layer}."): weight for name, weight in state.items()}
        h = rms(x, block.get("attention_before.weight"))
        q, k, v = ((h @ block[f"attention.{part}.weight"].T).view(8, 2, 8) for part in ("query", "key", "value"))
        scores = torch.einsum("ihd,jhd->hij", q, k) / (8**0.5 if scaled else 1.0)
        scores = scores.masked_fill(torch.ones(8, 8).triu(1).bool(), -torch.inf)
        mixed = torch.einsum("hij,jhd->ihd", scores.softmax(-1), v).reshape(8, 16)
        x = rms(x + mixed @ block["attention.output.weight"].T, block.get("attention_after.weight"))
        h = rms(x, block.get("feedforward_before.weight"))
        hidden = h @ block["feedforward.into.weight"].T
        hidden = hidden.clamp(min=0) if activation == "relu" else torch.nn.functional.gelu(hidden, approximate="tanh")
        hidden = hidden * (h @ block["feedforward.gate.weight"].T) if gated else hidden
        x = rms(x + hidden @ block["feedforward.out.weight"].T, block.get("feedforward_after.weight"))
    if final == "layer":
        x = torch.nn.functional.layer_norm(x, (32,), state["final_norm.weight"], state["final_norm.bias"], 1e-6)
    elif final == "rms":
        x = rms(x, state["final_norm.weight"])
    expected = x @ state["embedding"].T / 32**0.5 if tied else x @ state["head"].T
    logits = model(tokens, torch.zeros(1, 8, dtype=torch.int64), torch.tensor([0, 8]))
    assert torch.allclose(logits, expected, rtol=1e-4, atol=1e-4)


def test_the_gradient_of_a_zero_row_is_a_number() -> None:
    model = lw.Transformer(lw.ModelConfig(norm="pre"), NoPositions(), vocabulary_size=14, levels=1)
    with torch.no_grad():
        model.embedding[3] = 0
    logits = model(torch.tensor([3, 3, 1]), torch.zeros(1, 3, dtype=torch.int64), torch.tensor([0, 3]))
    torch.autograd.backward(logits.sum())
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in model.parameters())


@pytest.mark.parametrize("case", ["windowed soft", "windowed soft sharpened"])
def test_with_and_without_factors_in_values_and_gradients(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for rank in (128, 0):
        monkeypatch.setattr("lengthwise.positions.windowed.MAX_RANK", rank)
        model = solver(case)
        batch = model.task.sample(5, length=6, count=4, seed=1)
        logits = model(batch)
        torch.autograd.backward(logits.square().mean())
        results.append([logits.detach(), *(weight.grad for weight in model.parameters() if weight.grad is not None)])
    for with_factors, without in zip(*results, strict=True):
        assert torch.allclose(with_factors, without, atol=1e-5)


def test_a_sequence_in_any_company() -> None:
    """Sequences are grouped by length: one of length 1, two alike, one far longer."""
    model = solver("learned plain")
    sizes = [1, 40, 3, 40, 160, 2]
    boundaries = torch.tensor([0, *torch.tensor(sizes).cumsum(0).tolist()])
    tokens = torch.randint(0, 10, (sum(sizes),), generator=torch.Generator().manual_seed(0))
    ids = torch.cat([torch.arange(size) for size in sizes])[None]
    together = model.transformer(tokens, ids, boundaries)
    for first, last in zip(boundaries[:-1].tolist(), boundaries[1:].tolist(), strict=True):
        alone = model.transformer(tokens[first:last], ids[:, first:last], torch.tensor([0, last - first]))
        assert torch.allclose(together[first:last], alone, atol=1e-5)


def test_logits_only_where_they_are_wanted() -> None:
    model = solver("learned")
    batch = model.task.sample(3, length=3, count=3, seed=0)
    wanted = torch.tensor([7, 2, 20])
    assert torch.allclose(model(batch, wanted=wanted), model(batch)[wanted], atol=1e-6)


CHANGES: dict[str, Any] = {
    "layers": 3,
    "heads": 3,
    "width": 40,
    "head_dim": 16,
    "feedforward": 64,
    "activation": "relu",
    "gated": False,
    "norm": "pre",
    "final_norm": "layer",
    "scale_scores": True,
    "content_scores": False,
    "tied_head": False,
    "reserved_tokens": 1,
}


def test_every_setting_is_in_the_list() -> None:
    assert set(CHANGES) == {field.name for field in dataclasses.fields(lw.ModelConfig)}


@pytest.mark.parametrize("setting", CHANGES)
def test_every_setting_does_something(setting: str) -> None:
    changed = {**BASE, setting: CHANGES[setting]}
    models = [
        lw.Transformer(lw.ModelConfig(**config), Alibi(), vocabulary_size=14, levels=1) for config in (BASE, changed)
    ]
    tokens, ids, boundaries = torch.arange(10), torch.arange(10)[None], torch.tensor([0, 10])
    shapes = [{name: weight.shape for name, weight in model.state_dict().items()} for model in models]
    outputs = [model(tokens, ids, boundaries) for model in models]
    if setting == "scale_scores":  # it changes weights and scores so that a new model is the same, and learns otherwise
        weights = [model.state_dict()["blocks.0.attention.query.weight"] for model in models]
        assert torch.allclose(weights[1], weights[0] * 8**0.5)
        models[1].load_state_dict(models[0].state_dict())
        outputs[1] = models[1](tokens, ids, boundaries)
    assert shapes[0] != shapes[1] or not torch.allclose(outputs[0], outputs[1], atol=1e-3)


@pytest.mark.parametrize("norm", ["pre_post", "pre", "post", "none"])
def test_norm_positions(norm: Any) -> None:
    model = lw.Transformer(lw.ModelConfig(**BASE, norm=norm), NoPositions(), vocabulary_size=14, levels=1)
    block = model.blocks[0]
    assert isinstance(block, torch.nn.Module)
    has = [name for name, _ in block.named_parameters() if "_before" in name or "_after" in name]
    assert len(has) == {"pre_post": 4, "pre": 2, "post": 2, "none": 0}[norm]


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"layers": 0}, "layers must be from 1 to"),
        ({"width": 1.5}, "width must be a whole number"),
        ({"reserved_tokens": -1}, "reserved_tokens must be from 0 to"),
        ({"norm": "both"}, "one of 'pre_post', 'pre', 'post', 'none'"),
        ({"activation": "swish"}, "one of 'gelu', 'relu'"),
        ({"gated": 1}, "gated must be True or False"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.InputError, match=words):
        lw.ModelConfig(**settings)


@pytest.mark.parametrize("case", CASES)
def test_bfloat16_is_close_to_float32(case: str) -> None:
    model = solver(case)
    batch = model.task.sample(3, length=3, count=3, seed=0)
    exact = model(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model(batch)
    half = solver(case).to(torch.bfloat16)(batch)
    assert half.dtype == torch.bfloat16
    for rough in (mixed, half):
        assert float((rough.float() - exact).detach().norm() / exact.detach().norm()) < 0.1


@pytest.mark.parametrize("case", CASES)
def test_a_tiny_model_overfits_one_batch(case: str) -> None:
    model = solver(case)
    batch = model.task.sample(4, length=2, count=2, seed=3)
    assert train(model, batch, steps=200, rate=0.01) < 0.05
    assert model.exact_matches(batch).all()


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", ["none", "learned", "rotary", "fire", "windowed hard"])
def test_the_whole_model_can_be_compiled(case: str) -> None:
    model = solver(case)
    batch = model.task.sample(4, length=3, count=3, seed=0)
    expected = model(batch)
    compiled = torch.compile(model.transformer, backend="aot_eager", dynamic=True)
    logits = compiled(model.numbers(batch.tokens), batch.position_ids, batch.boundaries)
    assert torch.allclose(logits, expected, atol=1e-5)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", ["learned", "fire"])
def test_a_compiled_model_takes_batches_of_any_lengths_without_being_compiled_anew(case: str) -> None:
    from torch._dynamo.testing import CompileCounter

    model, compiled, graphs = solver(case), solver(case), CompileCounter()
    compiled.transformer.compile(backend=graphs)
    counted = []
    for seed, length in enumerate((2, 5, 3, 4)):
        batch = model.task.sample(4 + seed, length=length, count=2 + seed, seed=seed)
        (asked,) = mark(model, Pages(model, batch))
        (marked,) = mark(compiled, Pages(compiled, batch))
        assert torch.allclose(marked.logits, asked.logits, atol=1e-5)
        counted.append(graphs.frame_count)
    assert counted == [counted[0]] * 4
    assert counted[0] > 0
    compiled.transformer.uncompile()
    assert compiled(batch).equal(model(batch))
    assert graphs.frame_count == counted[0]


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.filterwarnings("ignore")
def test_a_copy_of_a_compiled_model_has_its_own_weights_and_is_not_compiled() -> None:
    model = solver("learned")
    batch = model.task.sample(3, length=2, count=2, seed=0)
    model.transformer.compile(backend="eager")
    copy, read = copying.deepcopy(model.transformer), pickle.loads(pickle.dumps(model.transformer))
    assert not copy.is_compiled
    inputs = model.numbers(batch.tokens), batch.position_ids, batch.boundaries
    assert torch.allclose(read(*inputs), model(batch), atol=1e-6)
    for weight in copy.blocks.parameters():
        torch.nn.init.zeros_(weight)
    assert not torch.allclose(copy(*inputs), model(batch), atol=1e-2)


def test_nothing_loads_the_compiler_before_a_model_is_compiled() -> None:
    """It takes a second, which every command would take longer to start."""
    code = "import sys, lengthwise as lw; lw.load('adder-tiny').solve('57+48'); print('torch._dynamo' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
