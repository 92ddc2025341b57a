"""The paper's three worked examples, in full."""

import pytest

import lengthwise as lw


def numbers(text: str) -> list[int]:
    return [int(digit) for digit in text.replace(" ", "")]


def test_parity_of_0101() -> None:
    page = lw.task("parity", scratchpad=True).write(["0101"])
    assert "".join(page.tokens) == "$0101=0110$"
    assert page.position_ids == [numbers("0 2345 1 2345 0")]
    assert page.targets == [False] * 6 + [True] * 5
    assert page.answer == "0"


def test_the_sum_57_48_96() -> None:
    task = lw.task("addition", scratchpad=True, zero_padding=True, reverse_query=False, reverse_response=True)
    page = task.write([57, 48, 96])
    assert "".join(page.tokens) == "$057+048+096=000>750>501>102$"
    assert page.levels == ("column", "row")
    assert page.position_ids == [
        numbers("0 4321 4321 432 1234 1234 1234 1234 0"),
        numbers("0 1111 2222 333 1111 2222 3333 4444 0"),
    ]
    assert page.targets == [False] * 13 + [True] * 16
    assert page.answer == "201"


def test_the_product_37_925() -> None:
    page = lw.task("multiplication").write([37, 925])
    assert "".join(page.tokens) == "$37*925=581+470+333=58100>52900>52243$"
    assert page.levels == ("multiplicand", "row", "column")
    assert page.position_ids == [
        numbers("0 32 0 000 1234 1234 1234 000000 000000 000000 0"),
        numbers("0 00 0 321 1111 2222 3333 111111 222222 333333 0"),
        numbers("0 00 0 000 1234 2345 3456 123456 123456 123456 0"),
    ]
    assert page.targets == [False] * 8 + [True] * 30
    assert page.answer == "34225"


def test_the_product_37_925_as_a_staircase() -> None:
    page = lw.task("multiplication", staircase=True).write([37, 925])
    assert "".join(page.tokens) == "$37*925=581+470+333=581>5290>52243$"
    assert page.levels == ("multiplicand", "row", "column")
    assert page.position_ids == [
        numbers("0 32 0 000 1234 1234 1234 0000 00000 000000 0"),
        numbers("0 00 0 321 1111 2222 3333 1111 22222 333333 0"),
        numbers("0 00 0 000 1234 2345 3456 1234 12345 123456 0"),
    ]
    assert page.targets == [False] * 8 + [True] * 27
    assert page.answer == "34225"
    assert page.cells[22].name == "hundreds digit of partial sum 1"
    assert page.cells[23].name == "> before partial sum 2"


def test_a_staircase_from_the_top_down() -> None:
    page = lw.task("multiplication", staircase=True, reverse_response=False).write([37, 925])
    assert "".join(page.tokens) == "$37*925=185+074+333=185>0925>34225$"
    assert page.position_ids == [
        numbers("0 32 0 000 1432 1432 1432 0000 00000 000000 0"),
        numbers("0 00 0 321 1111 2222 3333 1111 22222 333333 0"),
        numbers("0 00 0 000 1432 2543 3654 1432 15432 165432 0"),
    ]


def test_the_example_of_the_proof_has_offsets_4_and_2() -> None:
    page = lw.task("addition").write([57, 48, 96], offsets=(4, 2))
    assert page.position_ids == [
        numbers("0 7654 7654 765 4567 4567 4567 4567 0"),
        numbers("0 2222 3333 444 2222 3333 4444 5555 0"),
    ]


@pytest.mark.parametrize(
    ("operands", "exact", "theory"),
    [
        (["99"] * 3, 3, 3),
        (["99"] * 10, 3, 4),  # 990: the proof allows a digit more than any sum of ten can need
        (["99"] * 11, 4, 4),  # 1089: the paper's own example of n + 2
        (["9"] * 11, 2, 3),
        (["99"] * 101, 4, 5),
        (["99"] * 102, 5, 5),
    ],
)
def test_padding_rules(operands: list[str], exact: int, theory: int) -> None:
    for rule, length in (("exact", exact), ("theory", theory)):
        page = lw.task("addition", padding_rule=rule).write(operands)
        assert page.tokens.index("+") - 1 == length, rule


def test_cells_are_named_for_people() -> None:
    page = lw.task("addition").write([57, 48, 96])
    names = [cell.name for cell in page.cells]
    assert names[0] == "start"
    assert names[1:5] == [
        *("hundreds digit of operand 1", "tens digit of operand 1", "ones digit of operand 1", "+ after operand 1"),
    ]
    assert names[12:14] == ["=", "ones digit of partial sum 0"]
    assert names[24:] == [
        *("> before partial sum 3", "ones digit of partial sum 3", "tens digit of partial sum 3"),
        *("hundreds digit of partial sum 3", "end"),
    ]
    assert "= before partial sum 1" in [cell.name for cell in lw.task("multiplication").write([37, 925]).cells]
    assert lw.task("parity").write(["0101"]).cells[3].name == "bit 3 of query"


def places(page: lw.Page) -> str:
    """Where each token stands when lines are written under each other; a dot for a symbol."""
    return "".join("." if cell.place is None else str(cell.place) for cell in page.cells)


def test_numbers_of_a_sum_stand_under_each_other() -> None:
    page = lw.task("addition").write([57, 48, 96])
    assert "".join(page.tokens) == "$057+048+096=000>750>501>102$"
    assert places(page) == ".210.210.210.012.012.012.012."
    page = lw.task("addition", zero_padding=False, reverse_query=True).write([57, 1048])
    assert "".join(page.tokens) == "$75+8401=0>75>5011$"
    assert places(page) == ".01.0123.0.01.0123."
    page = lw.task("addition", coupling=("index",), reverse_response=False).write([57, 48, 96])
    assert places(page) == ".210.210.210.210.210.210.210."


def test_partial_products_are_shifted_against_each_other() -> None:
    """By one place a line, as on paper; their running sums are not."""
    page = lw.task("multiplication").write([37, 925])
    assert "".join(page.tokens) == "$37*925=581+470+333=58100>52900>52243$"
    assert places(page) == ".10.210.012.123.234.01234.01234.01234."
    page = lw.task("multiplication", reverse_response=False).write([37, 925])
    assert "".join(page.tokens) == "$37*925=185+074+333=00185>00925>34225$"
    assert places(page) == ".10.210.210.321.432.43210.43210.43210."
    page = lw.task("multiplication", staircase=True).write([37, 925])
    assert places(page) == ".10.210.012.123.234.012.0123.01234."
    page = lw.task("multiplication", scratchpad=False).write([37, 925])
    assert places(page) == ".10.210.01234."


def test_a_running_parity_stands_under_the_last_bit_it_covers() -> None:
    assert places(lw.task("parity").write(["0101"])) == ".3210.3210."
    page = lw.task("parity", reverse_response=True).write(["0111"])
    assert "".join(page.tokens) == "$0111=1011$"
    assert places(page) == ".3210.0123."
    assert places(lw.task("parity", reverse_query=True).write(["0101"])) == ".0123.3210."
    assert places(lw.task("parity", scratchpad=False).write(["0101"])) == ".3210.0."
