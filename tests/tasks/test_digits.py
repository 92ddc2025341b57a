"""Digit arithmetic."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.tasks import digits


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**5), min_size=1, max_size=40))
def test_carrying_keeps_the_value(columns: list[int]) -> None:
    value = sum(column * 10**place for place, column in enumerate(columns))
    width = len(str(value)) + 1
    places = torch.tensor(columns + [0] * max(0, width - len(columns)))
    result = digits.carry(places, largest=10**5).tolist()
    assert all(0 <= digit <= 9 for digit in result)
    assert sum(digit * 10**place for place, digit in enumerate(result)) == value


def test_carrying_is_exact_around_every_multiple_of_ten() -> None:
    """Division by ten is a floating-point multiplication: it must be right for every column that can occur."""
    for largest, values in ((10**6 - 1, torch.arange(10**6)), (10**9, torch.arange(10**9 - 10**5, 10**9))):
        quotients = digits.incoming_carries(torch.stack([values, torch.zeros_like(values)], dim=1), largest)[:, 1]
        assert quotients.equal((values // 10).to(torch.int32))


def test_columns_are_left_as_they_were() -> None:
    for columns in (torch.tensor([20.0, 20.0, 0.0]), torch.tensor([[[20.0, 20.0, 0.0]]])):
        before = columns.clone()
        assert digits.carry(columns).flatten().tolist() == [0, 2, 2]
        assert digits.incoming_carries(columns).flatten().tolist() == [0, 2, 2]
        assert columns.equal(before)


def test_significant_digits() -> None:
    numbers = torch.tensor([[0, 0, 0], [5, 0, 0], [0, 1, 0], [0, 0, 9]], dtype=torch.uint8)
    assert digits.significant(numbers).tolist() == [1, 1, 2, 3]


def test_skewing_moves_row_k_up_by_k() -> None:
    rows = torch.arange(1, 25).reshape(2, 3, 4)
    skewed = digits.skew(rows)
    assert skewed.shape == (2, 3, 6)
    for sample in range(2):
        for row in range(3):
            expected = [0] * row + rows[sample, row].tolist() + [0] * (2 - row)
            assert skewed[sample, row].tolist() == expected
