"""The construction adds, and its limits are where the page on the theorem says they are."""

import itertools
from pathlib import Path

import pytest

import lengthwise as lw
from lengthwise.construction import Plan, construct
from lengthwise.construction.build import bits_for
from lengthwise.construction.limits import (
    every_problem,
    hard_cases,
    margins,
    smallest_sharpness,
    with_offsets,
    worst_margin,
)
from lengthwise.errors import InputError


def wrong_tokens(model: lw.Solver, plan: Plan, problems: lw.Problems) -> int:
    """Over every legal offset of every problem."""
    wrong, longest = 0, problems.lengths.amax(1)
    for length in set(longest.tolist()):
        batch = model.task.write_all(problems[longest == length])
        room = 2**plan.column_bits - length - len(str(plan.operands)), 2**plan.row_bits - plan.operands
        assert min(room) >= 1
        for offsets in itertools.product(range(1, room[0] + 1), range(1, room[1] + 1)):
            wrong += int((margins(model, with_offsets(batch, offsets)) <= 0).sum())
    return wrong


@pytest.mark.parametrize(("digits", "operands"), [(1, 2), (2, 2), (1, 3), (1, 4)])
def test_every_problem_at_every_legal_offset(digits: int, operands: int) -> None:
    """Small ones here; `python benchmarks/theorem.py exhaustive` does 2 × 3 digits and 3 × 2 digits."""
    plan, model = Plan(digits=digits, operands=operands), construct(digits=digits, operands=operands)
    assert wrong_tokens(model, plan, every_problem(digits, operands)) == 0


@pytest.mark.parametrize(("digits", "operands"), [(3, 2), (2, 3), (7, 12), (30, 30), (100, 3), (3, 100)])
def test_random_numbers_nines_chains_and_zeros(digits: int, operands: int) -> None:
    model = construct(digits=digits, operands=operands)
    for batch in hard_cases(model, digits, operands, samples=5):
        assert float(margins(model, batch).min()) > 0.9


def test_a_model_for_large_problems_solves_small_ones() -> None:
    model = construct(digits=20, operands=20)
    for length, count in ((1, 2), (1, 20), (20, 2), (7, 5)):
        assert model.exact_matches(model.task.sample(20, length=length, count=count, seed=0, fixed=True)).all()


@pytest.mark.parametrize(("digits", "operands"), [(2, 3), (12, 9)])
def test_decoded_token_by_token(digits: int, operands: int) -> None:
    model = construct(digits=digits, operands=operands)
    assert model.exact_matches(model.task.sample(5, length=digits, count=operands, seed=0, fixed=True), "greedy").all()
    assert construct(digits=2, operands=3).solve("57+48+96").answer == "201"


@pytest.mark.parametrize(
    ("digits", "operands", "columns", "rows", "width", "printed"),
    [(2, 3, 2, 2, 27, 27), (3, 3, 3, 2, 29, 27), (30, 30, 6, 5, 41, 39), (31, 3, 6, 2, 35, 33), (29, 30, 5, 5, 39, 39)],
)
def test_dimensions(digits: int, operands: int, columns: int, rows: int, width: int, printed: int) -> None:
    """2 P₁ + 2 P₂ + 19, and what the printed formula gives: less, whenever ℓ is a power of two."""
    plan = Plan(digits=digits, operands=operands)
    assert (plan.column_bits, plan.row_bits) == (columns, rows)
    assert construct(digits=digits, operands=operands).transformer.shape.width == width == plan.directions.width
    assert plan.printed_width == printed
    padded = digits + len(str(operands))
    assert (printed < width) == (padded & (padded - 1) == 0)


def test_bits() -> None:
    assert [bits_for(count) for count in (2, 3, 4, 5, 8, 9, 1024, 1025)] == [1, 2, 2, 3, 3, 4, 10, 11]


@pytest.mark.parametrize(("digits", "operands"), [(2, 3), (6, 5), (14, 2), (5, 12)])
def test_as_printed_a_page_that_uses_all_columns_goes_wrong(digits: int, operands: int) -> None:
    """ℓ + 1 = 2^P₁ leaves one offset, s₁ = 1, and the id after the topmost column is the symbols' own."""
    plan = Plan(digits=digits, operands=operands, as_printed=True)
    assert plan.padded + 1 == 2**plan.column_bits
    assert worst_margin(construct(digits=digits, operands=operands, as_printed=True), digits, operands) < 0
    assert worst_margin(construct(digits=digits, operands=operands), digits, operands) > 0.9


@pytest.mark.parametrize(("digits", "operands"), [(3, 3), (7, 5)])
def test_as_printed_some_sizes_have_too_few_ids(digits: int, operands: int) -> None:
    """ℓ = 2^P₁: one id less than columns."""
    model = construct(digits=digits, operands=operands, as_printed=True)
    with pytest.raises(InputError, match=f"needs column ids up to {digits + 2}"):
        model.task.sample(1, length=digits, count=operands, seed=0, fixed=True)


@pytest.mark.parametrize(("digits", "operands"), [(3, 12), (8, 9), (20, 20)])
def test_as_printed_other_sizes_are_right(digits: int, operands: int) -> None:
    plan = Plan(digits=digits, operands=operands, as_printed=True)
    assert plan.padded + 1 < 2**plan.column_bits
    assert worst_margin(construct(digits=digits, operands=operands, as_printed=True), digits, operands) > 0.9


def test_the_rows_may_use_all_ids() -> None:
    """m + 1 = 2^P₂: the id after the last row is never asked for before it is written."""
    for operands in (3, 7, 15):
        plan = Plan(digits=3, operands=operands, as_printed=False)
        assert operands + 1 == 2**plan.row_bits
        assert worst_margin(construct(digits=3, operands=operands), 3, operands) > 0.9


def test_sharpness() -> None:
    """Too little of it lets other keys leak in; the default is enough, in float32 as in float64."""
    least = smallest_sharpness(4, 4, "float32")
    assert least is not None
    assert least == smallest_sharpness(4, 4, "float64")
    assert 1 < least < Plan(digits=4, operands=4).sharpness
    assert worst_margin(construct(digits=4, operands=4, alpha=least - 0.5), 4, 4) < 0
    longer = smallest_sharpness(12, 12, "float32")
    assert longer is not None
    assert longer > least
    assert Plan(digits=1000, operands=10).sharpness > Plan(digits=4, operands=4).sharpness


def test_it_is_an_ordinary_model(tmp_path: Path) -> None:
    model = lw.construct(digits=4, operands=5)
    model.save_pretrained(tmp_path / "theorem")
    again = lw.load(tmp_path / "theorem")
    grid = lw.evaluate(again, lengths=[1, 4], counts=[2, 5], samples=20)
    assert grid.lowest == 1.0
    page = again.task.write([57, 48, 96])
    assert again.attention(page).weights.shape == (1, 4, len(page.tokens), len(page.tokens))
    assert lw.average_attention(again, length=3, count=3, samples=5).weights.shape[:2] == (1, 4)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"digits": 0, "operands": 3}, "1 to 100,000 digits"),
        ({"digits": 3, "operands": 1}, "2 to 100,000 operands"),
        ({"digits": "3", "operands": 3}, "digits must be a whole number"),
        ({"digits": 3, "operands": 3, "alpha": 0}, "alpha must be a number above 0"),
        ({"digits": 3, "operands": 3, "precision": "half"}, "precision must be one of"),
    ],
)
def test_bad_sizes(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        construct(**settings)  # type: ignore[arg-type]


def test_more_than_it_was_built_for_is_refused() -> None:
    model = construct(digits=2, operands=3)
    with pytest.raises(InputError, match="raise it to"):
        model.solve("1234567+1")
    with pytest.raises(InputError, match="raise it to"):
        model.solve("+".join(["1"] * 9))
