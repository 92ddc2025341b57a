"""Inside a model at one token: the page as it was written, and the same weights as of the whole page at once."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from models import CASES, solver
from torch import Tensor

import lengthwise as lw
from calculator import at, calculator
from lengthwise.inside import as_written, glance
from lengthwise.model.cache import Cache
from lengthwise.positions.learned import Learned

OPERANDS = ["57", "48", "96"]
VOCABULARY = lw.task("addition").vocabulary


def plain() -> lw.Solver:
    """A model of a format whose ids cannot be told while writing."""
    task = lw.task("addition", zero_padding=False, reverse_response=False)
    return lw.Solver.new(task, Learned(sizes=(40, 40)), lw.ModelConfig(layers=2, heads=2, width=32)).eval()


@pytest.mark.parametrize("case", CASES)
def test_ids_are_those_that_were_given_while_writing(case: str) -> None:
    """An untrained model goes wrong at once: what it wrote stands on the page with the ids it got then."""
    model = solver(case, seed=3)
    page, steps = model.task.write(OPERANDS), list(model.steps(OPERANDS))
    written = as_written(model, page, [step.token for step in steps])
    prompt = len(page.prompt)
    assert written.tokens == page.prompt + [step.token for step in steps]
    assert [level[:prompt] for level in written.position_ids] == [level[:prompt] for level in page.position_ids]
    for number, level in enumerate(written.position_ids):
        assert level[prompt:] == [step.ids[number] for step in steps]
    assert written.targets == [False] * prompt + [True] * len(steps)
    assert (written.task, written.levels, written.operands) == (page.task, page.levels, page.operands)


def test_ids_of_formats_that_give_them() -> None:
    model = plain()
    page, steps = model.task.write(OPERANDS), list(model.steps(OPERANDS))
    written = as_written(model, page, [step.token for step in steps])
    for number, level in enumerate(written.position_ids):
        assert level[len(page.prompt) :] == [step.ids[number] for step in steps]


def test_a_right_response_makes_the_right_page() -> None:
    for model in (solver("learned"), solver("alibi"), plain()):
        page = model.task.write(OPERANDS)
        assert as_written(model, page, page.response) == page


def test_part_of_a_right_response_makes_the_beginning_of_the_right_page() -> None:
    model = solver("learned")
    page = model.task.write(OPERANDS)
    for count in (0, 1, 7):
        written, length = as_written(model, page, page.response[:count]), len(page.prompt) + count
        assert written.tokens == page.tokens[:length]
        assert written.position_ids == [level[:length] for level in page.position_ids]
        assert written.cells == page.cells[:length]


def test_cells_are_those_of_the_right_page_and_beyond_its_end_the_end() -> None:
    model = solver("learned")
    page = model.task.write(OPERANDS)
    written = as_written(model, page, [*page.response, "0", "1"])
    assert written.cells == [*page.cells, page.cells[-1], page.cells[-1]]
    assert written.cells[-1].name == "end"
    assert len(written.cells) == len(written.tokens) == len(written.targets) == len(written.position_ids[0])
    longer = as_written(plain(), plain().task.write(OPERANDS), ["0"] * 40)
    assert len({tuple(level[-20:]) for level in longer.position_ids}) <= 2


def test_a_slip_carries_on_with_the_ids_of_the_rule() -> None:
    """One wrong digit moves nothing: the ids are the right page's."""
    model = calculator(at(2, 1))
    page, solution = model.task.write(OPERANDS), model.solve(OPERANDS)
    written = as_written(model, page, solution.response)
    assert "".join(written.tokens) == "$057+048+096=000>750>511>112$"
    assert written.position_ids == page.position_ids


@given(response=st.lists(st.sampled_from([*VOCABULARY, "[1]"]), max_size=30))
@settings(deadline=None, max_examples=50)
def test_any_nonsense_gets_ids(response: list[str]) -> None:
    model = solver("learned", reserved_tokens=1)
    page = model.task.write(OPERANDS)
    written = as_written(model, page, response)
    assert written.tokens == page.prompt + response
    model.require_ids(torch.tensor(written.position_ids))
    assert glance(model, written, len(written.tokens) - 1).weights.shape == (2, 2, len(written.tokens))


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("case", [*CASES, "plain page"])
def test_a_glance_is_a_row_of_the_whole(case: str, right: bool) -> None:
    model = plain() if case == "plain page" else solver(case, seed=3)
    page = model.task.write(OPERANDS)
    written = as_written(model, page, page.response if right else list("0=0>75$9+1"))
    whole, logits = model.attention(written).weights, model.score(written.tokens, written.position_ids)
    for place in (0, 1, 5, len(page.prompt) - 1, len(page.prompt), len(written.tokens) - 1):
        looked = glance(model, written, place)
        assert looked.weights.shape == (*whole.shape[:2], place + 1)
        assert torch.allclose(looked.weights, whole[:, :, place, : place + 1], atol=1e-5)
        assert torch.allclose(looked.weights.sum(-1), torch.ones(whole.shape[:2]), atol=1e-5)
        assert looked.probabilities == pytest.approx(model.likely(logits[place]), abs=1e-5)
        assert sum(looked.probabilities.values()) == pytest.approx(1, abs=1e-5)


def test_a_glance_does_not_see_what_comes_after() -> None:
    model = solver("rotary", seed=3)
    page = model.task.write(OPERANDS)
    one, other = (as_written(model, page, response) for response in (page.response, [*page.response[:3], "9", "9"]))
    assert torch.equal(glance(model, one, 15).weights, glance(model, other, 15).weights)


def test_on_a_long_page_a_glance_shows_all_keys() -> None:
    """Where decoding would meet a few keys only, because the encoding has a reach."""
    model = solver("windowed hard", seed=3)
    page = model.task.write(["9" * 30] * 20)
    assert len(page.tokens) > 1024
    place = len(page.tokens) - 30
    whole = model.attention(page).weights[:, :, place, : place + 1]
    assert torch.allclose(glance(model, page, place).weights, whole, atol=1e-5)


def test_tokens_that_are_not_there() -> None:
    model = solver("learned")
    page = model.task.write(OPERANDS)
    for place in (-1, 29, 10**6):
        with pytest.raises(lw.InputError, match=f"the page has the tokens 0 to 28, not {place}"):
            glance(model, page, place)
    with pytest.raises(lw.InputError, match="pages of its own task"):
        glance(model, lw.task("parity").write(["01"]), 0)
    with pytest.raises(lw.InputError, match="'x' is not in the model's vocabulary"):
        as_written(model, page, ["x"])
    with pytest.raises(lw.InputError, match="the model's are 0 to 40"):
        glance(model, model.task.write(["9" * 60, "1"]), 50)


# What `Solver.steps` says of each token.


@pytest.mark.parametrize("case", CASES)
def test_steps_say_what_solve_does(case: str) -> None:
    model = solver(case, seed=3)
    steps, solution = list(model.steps(OPERANDS)), model.solve(OPERANDS)
    assert [step.token for step in steps] == solution.response == list(model.stream(OPERANDS))
    written = as_written(model, solution.page, solution.response)
    logits = model.score(written.tokens, written.position_ids)
    for place, step in enumerate(steps, len(solution.page.prompt) - 1):
        assert step.probabilities == pytest.approx(model.likely(logits[place]), abs=1e-4)
        assert max(step.probabilities.values()) == step.probabilities[step.token]


def test_steps_come_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is worked out before it is asked for: whoever has seen enough costs no more."""
    model = calculator()
    taken, original = list[Tensor](), model.transformer.step

    def step(tokens: Tensor, ids: Tensor, cache: Cache) -> Tensor:
        taken.append(tokens)
        return original(tokens, ids, cache)

    monkeypatch.setattr(model.transformer, "step", step)
    steps = model.steps("57+48+96")
    assert [next(steps).token for _ in range(3)] == ["0", "0", "0"]
    assert len(taken) == 2
