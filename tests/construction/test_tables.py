"""Every example table of the paper's appendix "Formal Construction", recomputed.

The sequence is `$057+048+096=000→750→501→102` with offsets 4 and 2. Position vectors are given by their ids: 7 stands
for v₇. Tables that begin at `=` are compared from there. Where a printed value is not what the formulas give, DIFFERS
says so.
"""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from lengthwise.construction import construct
from lengthwise.construction.directions import Directions, Name, corner
from lengthwise.model.transformer import Block

BITS = 3
ALPHA = 25.0
SEQUENCE = "$057+048+096=000>750>501>102"
EQUALS = SEQUENCE.index("=")

NUM = [0, 0, 5, 7, 0, 0, 4, 8, 0, 0, 9, 6, 0, 0, 0, 0, 0, 7, 5, 0, 0, 5, 0, 1, 0, 1, 0, 2]
IS_BOS = [1] + [0] * 27
COLUMN = [0, 7, 6, 5, 4, 7, 6, 5, 4, 7, 6, 5, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7]
NEXT_COLUMN = [0, 8, 7, 6, 5, 8, 7, 6, 5, 8, 7, 6, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8]
ROW = [0, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5]
NEXT_ROW = [0, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6]

PRE_SUM = [0, 0, 0, 0, 7, 5, 0, 0, 15, 9, 0, 0, 11, 9, 1, 0]
PRE_CARRY = [0, 0, 0, 0, 0, 7, 5, 0, 0, 15, 9, 0, 0, 11, 9, 1]
PRE_ARROW = [1 / 4, 1 / 4, 1 / 4, 1, 1 / 5, 1 / 5, 1 / 5, 1, 1 / 6, 1 / 6, 1 / 6, 1, 1 / 7, 1 / 7, 1 / 7, 1]
PRE_EOS = [1 / 3] * 8 + [1 / 2, 1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2, 1 / 2, 1 / 2]
SUM = [0, 0, 0, 0, 7, 5, 0, 0, 5, 0, 1, 0, 1, 0, 2, 0]
ARROW = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
EOS = [0, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 0, 0, 0, 0, 1]
PRE_EOS_IN_THE_END = [1 / 2] + [1 / 3] * 11 + [1 / 2] * 4
"""The same dimension as PRE_EOS, printed otherwise after the second residual connection."""
END_LOGIT = [0, -100, -100, 0, -100, -100, -100, 0, -100, -100, -100, 0, 0, 0, 0, 100]
OUTPUT = "000>750>501>102$"

SECOND_ARROW = 8
"""Counted from `=`."""
DIFFERS: dict[str, dict[int, tuple[float, float]]] = {
    "eos": {0: (0, -1), SECOND_ARROW: (-1, 0)},
    "pre_eos in the end": {0: (1 / 2, 1 / 3), SECOND_ARROW: (1 / 3, 1 / 2)},
    "logit of the end": {0: (0, -100), SECOND_ARROW: (-100, 0)},
}
"""Printed and computed, by place counted from `=`: the two columns are exchanged. See docs/paper-differences.md."""


@pytest.fixture(scope="module")
def directions() -> Directions:
    return Directions(BITS, BITS)


@pytest.fixture(scope="module")
def states() -> dict[str, Tensor]:
    model = construct(digits=6, operands=7, alpha=ALPHA, precision="float64")
    page = model.task.write([57, 48, 96], offsets=[4, 2])
    assert "".join(page.tokens) == SEQUENCE + "$"
    found = {name: state[:-1] for name, state in model.states(page).items()}  # the tables leave the end out
    block = model.transformer.blocks[0]
    assert isinstance(block, Block)
    assert model.transformer.head is not None
    weights = model.attention(page).weights[0, :, :-1, :-1]
    values = heads_of(found["blocks.0.attention.value"])[..., 0]
    outputs = heads_of(block.attention.output.weight)[..., 0]
    for head in range(4):
        found[f"UVX {head + 1}"] = values[:, head, None] * outputs[:, head]
        found[f"UVXA {head + 1}"] = weights[head] @ found[f"UVX {head + 1}"]
    found["W_out"], found["logits"] = model.transformer.head, found["blocks.0"] @ model.transformer.head.mT
    return found


def heads_of(packed: Tensor) -> Tensor:
    return packed.reshape(packed.shape[0], 4, -1)


def vectors(ids: list[int]) -> Tensor:
    return torch.stack([torch.zeros(BITS, dtype=torch.float64) if i == 0 else corner(i, BITS) for i in ids])


def expect(computed: Tensor, printed: Sequence[float], table: str | None = None) -> None:
    """Equal to what is printed, except where DIFFERS knows better."""
    right = [float(value) for value in printed]
    for place, (was, should_be) in DIFFERS.get(table or "", {}).items():
        assert right[place] == was
        right[place] = should_be
    np.testing.assert_allclose(computed.detach().numpy(), right, atol=1e-6)


def test_the_corners_of_the_hypercube() -> None:
    every = torch.stack([corner(number, BITS) for number in range(1, 2**BITS + 1)])
    products = every @ every.mT
    assert (products.diagonal() == BITS).all()
    assert (products - BITS * torch.eye(2**BITS)).max() <= BITS - 2


def test_initial_embeddings(directions: Directions, states: dict[str, Tensor]) -> None:
    embedding = states["embedding"]
    assert embedding.shape == (28, 2 * (BITS + BITS) + 19)
    expect(embedding[:, directions.at(Name.NUM)], NUM)
    expect(embedding[:, directions.at(Name.IS_BOS)], IS_BOS)
    expect(embedding[:, directions.at(Name.FULL_ONES)], [1] * 28)
    assert (embedding[:, directions.at(Name.PRE_SUM) : directions.at(Name.EOS) + 1] == 0).all()
    for name, ids in (
        (Name.POS_1, COLUMN),
        (Name.POS_1_NEXT, NEXT_COLUMN),
        (Name.POS_2, ROW),
        (Name.POS_2_NEXT, NEXT_ROW),
    ):
        assert embedding[:, directions.of(name)].equal(vectors(ids)), name


@pytest.mark.parametrize(
    ("head", "part", "blocks"),
    [
        (1, "query", [NEXT_COLUMN, ROW]),
        (1, "key", [COLUMN, NEXT_ROW]),
        (2, "query", [COLUMN, ROW]),
        (2, "key", [COLUMN, NEXT_ROW]),
        (3, "query", [NEXT_COLUMN]),
        (3, "key", [COLUMN]),
        (4, "query", [COLUMN, ROW]),
        (4, "key", [COLUMN, ROW]),
    ],
)
def test_queries_and_keys(states: dict[str, Tensor], head: int, part: str, blocks: list[list[int]]) -> None:
    """QX and KX of every head, divided by √α."""
    computed = heads_of(states[f"blocks.0.attention.{part}"])[:, head - 1] / ALPHA**0.5
    bits = BITS * len(blocks)
    expected = torch.cat([vectors(ids) for ids in blocks], dim=1)
    torch.testing.assert_close(computed[:, :bits], expected)
    root = bits**0.5
    expect(computed[:, bits], [root] * 28 if part == "query" else [root] + [0] * 27)
    assert (computed[:, bits + 1 :] == 0).all()


@pytest.mark.parametrize(
    ("head", "name", "printed"),
    [
        (1, Name.PRE_SUM, [3 * digit for digit in NUM]),
        (2, Name.PRE_CARRY, [3 * digit for digit in NUM]),
        (3, Name.PRE_ARROW, IS_BOS),
        (4, Name.PRE_EOS, IS_BOS),
    ],
)
def test_values(
    directions: Directions, states: dict[str, Tensor], head: int, name: Name, printed: Sequence[float]
) -> None:
    """UVX of every head: one dimension is written, all others stay 0."""
    computed = states[f"UVX {head}"].clone()
    expect(computed[:, directions.at(name)], printed)
    computed[:, directions.at(name)] = 0
    assert (computed == 0).all()


@pytest.mark.parametrize(
    ("head", "name", "printed"),
    [
        (1, Name.PRE_SUM, PRE_SUM),
        (2, Name.PRE_CARRY, PRE_CARRY),
        (3, Name.PRE_ARROW, PRE_ARROW),
        (4, Name.PRE_EOS, PRE_EOS),
    ],
)
def test_what_attention_brings(
    directions: Directions, states: dict[str, Tensor], head: int, name: Name, printed: Sequence[float]
) -> None:
    """UVXA of every head, and the same values after the residual connection."""
    expect(states[f"UVXA {head}"][EQUALS:, directions.at(name)], printed)
    expect(states["blocks.0.attention_after"][EQUALS:, directions.at(name)], printed)


def test_after_attention_everything_else_is_as_it_was(directions: Directions, states: dict[str, Tensor]) -> None:
    before, after = states["embedding"].clone(), states["blocks.0.attention_after"].clone()
    for name in (Name.PRE_SUM, Name.PRE_CARRY, Name.PRE_ARROW, Name.PRE_EOS):
        after[:, directions.at(name)] = 0
    assert after.equal(before)


def test_feed_forward(directions: Directions, states: dict[str, Tensor]) -> None:
    made = states["blocks.0.feedforward"][EQUALS:]
    digits = torch.nn.functional.one_hot(torch.tensor(SUM), 10).to(torch.float64)
    torch.testing.assert_close(made[:, directions.of(Name.SUM)], digits)
    expect(made[:, directions.at(Name.ARROW)], ARROW)
    expect(made[:, directions.at(Name.EOS)], EOS, "eos")
    assert (made[:, : directions.of(Name.SUM).start] == 0).all()
    assert (made[:, directions.of(Name.POS_1).start :] == 0).all()


def test_after_the_second_residual_connection(directions: Directions, states: dict[str, Tensor]) -> None:
    last = states["blocks.0"][EQUALS:]
    for name, printed in (
        (Name.NUM, NUM[EQUALS:]),
        (Name.IS_BOS, [0] * 16),
        (Name.FULL_ONES, [1] * 16),
        (Name.PRE_SUM, PRE_SUM),
        (Name.PRE_CARRY, PRE_CARRY),
        (Name.PRE_ARROW, PRE_ARROW),
        (Name.ARROW, ARROW),
    ):
        expect(last[:, directions.at(name)], printed)
    expect(last[:, directions.at(Name.PRE_EOS)], PRE_EOS_IN_THE_END, "pre_eos in the end")
    expect(last[:, directions.at(Name.EOS)], EOS, "eos")
    digits = torch.nn.functional.one_hot(torch.tensor(SUM), 10).to(torch.float64)
    torch.testing.assert_close(last[:, directions.of(Name.SUM)], digits)
    assert last[:, directions.of(Name.POS_1)].equal(vectors(COLUMN[EQUALS:]))
    assert last[:, directions.of(Name.POS_2_NEXT)].equal(vectors(NEXT_ROW[EQUALS:]))


def test_output_matrix(directions: Directions, states: dict[str, Tensor]) -> None:
    expected = torch.zeros(14, directions.width, dtype=torch.float64)
    for digit in range(10):
        expected[digit, directions.of(Name.SUM).start + digit] = 1
    expected[12, directions.at(Name.ARROW)] = 10
    expected[13, directions.at(Name.EOS)] = 100
    assert states["W_out"].equal(expected)


def test_logits_and_output(states: dict[str, Tensor]) -> None:
    logits = states["logits"][EQUALS:]
    digits = torch.nn.functional.one_hot(torch.tensor(SUM), 10).to(torch.float64)
    torch.testing.assert_close(logits[:, :10], digits)
    assert (logits[:, 10:12] == 0).all()
    expect(logits[:, 12], [10 * arrow for arrow in ARROW])
    expect(logits[:, 13], END_LOGIT, "logit of the end")
    assert "".join("0123456789+=>$"[token] for token in logits.argmax(1).tolist()) == OUTPUT
