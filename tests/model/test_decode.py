"""Greedy decoding: with and without a cache, together and alone, and the same verdict as one teacher-forced pass."""

import pytest
import torch
from models import CASES, solver, train

import lengthwise as lw
from lengthwise.model.cache import Cache
from lengthwise.model.decode import decode


def greedy_without_cache(model: lw.Solver, problems: lw.Problems, limit: int) -> list[int]:
    """Decode one problem by running everything again for each token."""
    prompts = model.task.write_prompts(problems)
    writer = model.task.id_writer(problems, max_ids=model.transformer.encoding.max_ids(model.transformer.shape))
    tokens, ids, pen = prompts.tokens.long(), prompts.position_ids, writer.begin()
    written: list[int] = []
    end = model.task.vocabulary.index("$")
    for _ in range(limit):
        logits = model.transformer(tokens, ids, torch.tensor([0, len(tokens)]))
        written.append(int(logits[-1].argmax()))
        if written[-1] == end:
            break
        pen, new = writer.step(pen, torch.tensor(written[-1:]))
        tokens, ids = torch.cat([tokens, torch.tensor(written[-1:])]), torch.cat([ids, new], dim=1)
    return written


def half_trained(case: str, task: str = "addition") -> lw.Solver:
    """A model that gets some problems right and others wrong."""
    model = solver(case, task=task)
    size = {"length": 2} if task == "parity" else {"length": 1, "count": 2}
    train(model, model.task.sample(24, seed=3, **size), steps=120, rate=0.01)  # type: ignore[arg-type]
    return model


@pytest.mark.parametrize("case", CASES)
def test_cached_as_uncached_and_together_as_alone(case: str) -> None:
    model = solver(case, seed=5)
    batch = model.task.sample(5, length=2, count=3, seed=4, random_offsets=False)
    together = model.decode(batch)
    for sample in range(len(batch)):
        problems = batch.problems[sample : sample + 1]
        span = batch.span(sample)
        limit = int(batch.targets[span].sum()) + 8
        expected = greedy_without_cache(model, problems, limit)
        assert together.response(sample) == expected
        alone = model.decode(model.task.write_all(problems))
        assert alone.response(0) == expected
        assert bool(alone.ended[0]) == bool(together.ended[sample]) == (expected[-1] == 13)


@pytest.mark.parametrize("case", CASES)
def test_cached_logits_are_those_of_the_whole_sequence(case: str) -> None:
    model = solver(case, seed=5).transformer
    sizes, steps = [2, 25, 7], 12
    tokens = [torch.randint(0, 10, (size + steps,), generator=torch.Generator().manual_seed(size)) for size in sizes]
    ids = [torch.randint(0, 5, (model.shape.levels, size + steps)) for size in sizes]
    cache = Cache(model.config.layers, max(sizes) + steps)
    boundaries = torch.tensor([0, 2, 27, 34])
    prompts = torch.cat([part[:size] for part, size in zip(tokens, sizes, strict=True)])
    prompt_ids = torch.cat([part[:, :size] for part, size in zip(ids, sizes, strict=True)], dim=1)
    with torch.no_grad():
        model(prompts, prompt_ids, boundaries, cache=cache)
        for step in range(steps):
            new = torch.stack([part[size + step] for part, size in zip(tokens, sizes, strict=True)])
            new_ids = torch.stack([part[:, size + step] for part, size in zip(ids, sizes, strict=True)], dim=1)
            logits = model.step(new, new_ids, cache)
            for row, size in enumerate(sizes):
                stop = size + step + 1
                whole = model(tokens[row][:stop], ids[row][:, :stop], torch.tensor([0, stop]))
                assert torch.allclose(logits[row], whole[-1], atol=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_captured_weights_are_those_of_the_whole_sequence(case: str) -> None:
    """Of every layer, of sequences of different sizes side by side, and the logits stay the same."""
    model = solver(case, seed=5, scale_scores=True).transformer
    sizes, steps = [2, 25, 7], 4
    tokens = [torch.randint(0, 10, (size + steps,), generator=torch.Generator().manual_seed(size)) for size in sizes]
    ids = [torch.randint(0, 5, (model.shape.levels, size + steps)) for size in sizes]
    boundaries = torch.tensor([0, *torch.tensor(sizes).cumsum(0).tolist()])
    prompts = torch.cat([part[:size] for part, size in zip(tokens, sizes, strict=True)])
    prompt_ids = torch.cat([part[:, :size] for part, size in zip(ids, sizes, strict=True)], dim=1)
    watched, unwatched = (Cache(model.config.layers, max(sizes) + steps) for _ in range(2))
    with torch.no_grad():
        for cache in (watched, unwatched):
            model(prompts, prompt_ids, boundaries, cache=cache)
        for step in range(steps):
            new = torch.stack([part[size + step] for part, size in zip(tokens, sizes, strict=True)])
            new_ids = torch.stack([part[:, size + step] for part, size in zip(ids, sizes, strict=True)], dim=1)
            captured: list[torch.Tensor] = []
            logits = model.step(new, new_ids, watched, captured)
            assert logits.equal(model.step(new, new_ids, unwatched))
            assert len(captured) == model.config.layers
            for row, size in enumerate(sizes):
                stop, whole = size + step + 1, list[torch.Tensor]()
                model(tokens[row][:stop], ids[row][:, :stop], torch.tensor([0, stop]), captured=whole)
                for layer, weights in enumerate(captured):
                    assert torch.allclose(weights[row, :, :stop], whole[layer][0, :, -1], atol=1e-5)
                    assert not weights[row, :, stop:].any()  # where there is no key


def test_tokens_that_are_no_tokens_of_the_task_are_symbols_to_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    model = solver("learned", reserved_tokens=1)
    reserved = torch.zeros(15)
    reserved[14] = 1.0
    monkeypatch.setattr(model.transformer, "_read", lambda x: reserved.expand(len(x), -1))
    assert model.task_numbers[14] == len(model.task.vocabulary)
    solution = model.solve([57, 48])
    assert set(solution.response) == {"[1]"}
    assert not solution.correct
    assert not solution.ended


@pytest.mark.parametrize("task", ["parity", "addition", "multiplication"])
def test_teacher_forced_and_decoded_verdicts_agree_sample_for_sample(task: str) -> None:
    model = half_trained("none" if task != "addition" else "windowed hard", task)
    size = {"length": 4} if task == "parity" else {"length": 1, "count": 2}
    batch = model.task.sample(200, seed=9, **size)  # type: ignore[arg-type]
    forced = model.exact_matches(batch, "teacher-forced")
    decoded = model.exact_matches(batch, "greedy")
    assert forced.equal(decoded)
    assert 0 < int(forced.sum()) < 200  # some right, some wrong: the comparison means something


@pytest.mark.parametrize("case", CASES)
def test_untrained_models_are_wrong_both_ways(case: str) -> None:
    model = solver(case, seed=7)
    batch = model.task.sample(20, length=2, count=2, seed=9)
    assert not model.exact_matches(batch, "teacher-forced").any()
    assert not model.exact_matches(batch, "greedy").any()


def test_a_perfect_model_is_right_both_ways_and_solves() -> None:
    model = solver("learned")
    batch = model.task.sample(4, length=2, count=2, seed=3, random_offsets=False)
    train(model, batch, steps=200, rate=0.01)
    assert model.exact_matches(batch).all()
    assert model.exact_matches(batch, "greedy").all()
    operands = [model.task.operand_text(digits) for digits in batch.problems.operands(0)]
    solution = model.solve(operands)
    assert solution.correct
    assert solution.ended
    assert solution.ids == "rule"
    assert solution.answer == str(sum(map(int, operands))) == solution.page.answer
    assert model.solve("+".join(operands)).answer == solution.answer


def test_formats_whose_ids_cannot_be_told_get_them_from_the_page() -> None:
    from lengthwise.positions.learned import Learned

    task = lw.task("addition", zero_padding=False, reverse_response=False)
    config = lw.ModelConfig(layers=2, heads=2, width=32, head_dim=8, feedforward=48)
    model = lw.Solver(lw.Transformer(config, Learned(), vocabulary_size=14, levels=2), task)
    batch = task.sample(6, length=2, count=2, seed=3, random_offsets=False)
    train(model, batch, steps=200, rate=0.01)
    assert model.exact_matches(batch).all()
    assert model.exact_matches(batch, "greedy").all()
    assert model.solve([1, 2]).ids == "given"


def test_a_model_that_never_stops_is_stopped_and_wrong() -> None:
    model = solver("learned")
    final = model.transformer.final_norm
    assert isinstance(final.weight, torch.Tensor)
    with torch.no_grad():
        final.weight.zero_()  # all logits are zero now: the first token, a 0, is chosen for ever
    solution = model.solve([57, 48, 96])
    assert not solution.ended
    assert not solution.correct
    assert solution.answer is None
    assert set(solution.response) == {"0"}
    assert len(solution.response) == 16 + 8
    assert not model.exact_matches(model.task.sample(5, length=2, count=2, seed=0), "greedy").any()


def test_limits_are_per_sequence() -> None:
    model = solver("none", seed=5, reserved_tokens=1)
    batch = model.task.sample(3, length=2, count=3, seed=4, random_offsets=False)
    prompts = model.task.write_prompts(batch.problems)
    writer = model.task.id_writer(batch.problems)
    end = len(model.task.vocabulary)  # the reserved token, which this model never writes
    written = decode(
        model.transformer,
        prompts.tokens,
        prompts.position_ids,
        prompts.boundaries,
        rule=writer.step,
        state=writer.begin(),
        end=end,
        limits=torch.tensor([4, 0, 7]),
    )
    assert written.lengths.tolist() == [4, 0, 7]
    assert not written.ended.any()
    assert [len(written.response(sample)) for sample in range(3)] == [4, 0, 7]
