"""Marking: what counts as right, by one pass and token by token, and how many pages are gone over at once."""

from typing import Any

import pytest
import torch

import lengthwise as lw
from calculator import SMALL, at, calculator, half_trained, random_model
from lengthwise import marking
from lengthwise.evaluate import measure_cell
from lengthwise.marking import mark, score, score_decoded
from lengthwise.model.transformer import Transformer
from lengthwise.pages import Pages
from lengthwise.tasks.problems import Problems


def problems_of(model: lw.Solver, samples: int = 12, length: int = 2, count: int | None = 3) -> Problems:
    return model.task.sample_problems(samples, length=length, count=count, seed=5, fixed=True)


def pages_of(model: lw.Solver, problems: Problems) -> Pages:
    return Pages(model, model.task.write_all(problems))


def counts(model: lw.Solver, problems: Problems, decoding: str = "teacher-forced") -> tuple[int, int]:
    """Right responses and right answers."""
    if decoding == "greedy":
        return score_decoded(model, model.task.write_all(problems))
    right, answers = score(model, pages_of(model, problems)).tolist()
    return right, answers


def only_if_the_first_operand_is_even(operands: list[int], line: int, place: int, token: str) -> str:
    return at(line=1, place=0)(operands, line, place, token) if operands[0] % 2 else token


def test_a_model_that_adds_is_right_about_everything() -> None:
    model = calculator()
    assert counts(model, problems_of(model)) == (12, 12)
    assert counts(model, problems_of(model), "greedy") == (12, 12)


def test_whole_responses_and_answers_are_counted_by_themselves() -> None:
    """Counts against those of Python's own integers: a slip on pages whose first operand is odd, and only there."""
    model = calculator(only_if_the_first_operand_is_even)
    asked = problems_of(model, samples=30)
    even = sum(int(model.task.operand_text(asked.operands(sample)[0])) % 2 == 0 for sample in range(30))
    assert 0 < even < 30
    assert counts(model, asked) == (even, 30)  # with the right scratchpad given, all answers are right
    assert counts(model, asked, "greedy") == (even, even)  # the slip is carried on to the answer


@pytest.mark.parametrize(
    ("line", "place", "teacher_forced", "greedy"),
    [
        (1, 0, (0, 8), (0, 0)),  # a digit of the scratchpad: right answers only with the right scratchpad
        (1, 3, (0, 8), (0, 8)),  # a symbol of the scratchpad: nothing follows from it
        (3, 1, (0, 0), (0, 0)),  # a digit of the answer
        (3, 3, (0, 8), (0, 0)),  # the end: the answer goes on where it should stop
    ],
)
def test_answers_alone_differ_between_one_pass_and_decoding(
    line: int, place: int, teacher_forced: tuple[int, int], greedy: tuple[int, int]
) -> None:
    model = calculator(at(line, place))
    assert counts(model, problems_of(model, samples=8)) == teacher_forced
    assert counts(model, problems_of(model, samples=8), "greedy") == greedy


@pytest.mark.parametrize("decoding", ["teacher-forced", "greedy"])
def test_a_whole_response_counts_the_same_by_one_pass_and_by_decoding(decoding: Any) -> None:
    """For models that are right sometimes, as trained ones are."""
    for model in (half_trained(), random_model("parity", seed=3)):
        asked = problems_of(model, samples=60, length=5, count=None)
        right, _ = counts(model, asked, decoding)
        batch = model.task.write_all(asked)
        assert right == int(model.exact_matches(batch, "greedy").sum())
        written = model.responses(batch)
        pages = [model.task.write([model.task.operand_text(asked.operands(sample)[0])]) for sample in range(60)]
        assert right == sum(ours == page.response for ours, page in zip(written, pages, strict=True))
    right, answers = counts(half_trained(), asked, decoding)
    assert 0 < right <= answers < 60


def test_marks_stand_on_the_targets_and_nowhere_else() -> None:
    model = calculator(at(line=2, place=1))
    (marked,) = mark(model, pages_of(model, problems_of(model, samples=3)))
    page = model.task.write([57, 48, 96])  # all pages of this size are laid out like this one
    wrong = page.tokens.index("=") + 1 + 2 * 4 + 1
    for sample in range(3):
        own = marked.examples.sample == sample
        places = (marked.examples.wanted[own] + 1 - marked.examples.boundaries[sample]).tolist()
        assert places == [place for place, target in enumerate(page.targets) if target]
        assert [place for place, right in zip(places, marked.right[own].tolist(), strict=True) if not right] == [wrong]
    assert marked.losses[marked.right].max() < 1e-6
    assert marked.losses[~marked.right].min() == pytest.approx(20, abs=1e-4)
    assert marked.per_page().tolist() == [False] * 3
    assert marked.per_page(marked.right).tolist() == [True] * 3


def test_an_encoding_with_a_number_for_each_pair_takes_fewer_pages_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = lw.Solver.new(lw.task("parity"), lw.encoding("alibi"), SMALL).eval()
    asked = problems_of(model, samples=8, length=5, count=None)
    monkeypatch.setitem(marking.PAIRS_AT_ONCE, "cpu", 2 * 13**2)  # $01011=01101$
    for solver, sizes in ((model, [2] * 4), (random_model("parity"), [8])):
        assert [len(marked.examples) for marked in mark(solver, pages_of(solver, asked))] == sizes


def test_wide_models_take_fewer_tokens_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model()
    assert marking.pages_at_once(model, 100) == 2**14 // 100
    monkeypatch.setitem(marking.NUMBERS_AT_ONCE, "cpu", 1000 * model.transformer.config.width)
    assert marking.pages_at_once(model, 100) == 10


@pytest.mark.parametrize(("precision", "half"), [("float32", False), ("bfloat16", True)])
def test_the_precision_asked_for_is_that_of_the_pass(
    precision: Any, half: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    forward = Transformer.forward

    def keep(self: Transformer, *given: Any, **options: Any) -> torch.Tensor:
        seen.append(torch.is_autocast_enabled("cpu"))
        return forward(self, *given, **options)

    monkeypatch.setattr(Transformer, "forward", keep)
    measure_cell(random_model(), 2, 3, samples=3, seed=0, precision=precision)
    assert seen == [half]
