"""Whether heads look at what matters, against loops over single cells, and for the model built by hand."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from formats import FORMATS, describe
from numpy.typing import NDArray

import lengthwise as lw
from lengthwise.focus import Focus, focus, which_matter
from lengthwise.results import AttentionMap, as_read
from lengthwise.tasks.page import Cell

ADDITIONS = [task for task in FORMATS if task.name == "addition"]
PROBLEMS = [["57", "48", "96"], ["5", "1234"], ["99"] * 11]


def number(cell: Cell, first: int) -> tuple[str, int, int]:
    """The number a token belongs to and its column there; `=` is written as the symbol of the first of the response."""
    if cell.role == "=":
        return "response", first, -1
    role = "response" if cell.role in ("partial sum", "answer") else cell.role
    return role, cell.line, -1 if cell.digit is None else cell.digit


def by_loops(task: lw.Task, page: lw.Page, carry: bool) -> NDArray[np.bool_]:
    first = next(cell.line for cell, target in zip(page.cells, page.targets, strict=True) if target)
    tokens = len(page.cells)
    table = np.zeros((tokens, tokens), dtype=np.bool_)
    for target in range(tokens):
        role, line, column = number(page.cells[target], first)
        if role != "response" or column < 0:
            continue
        summands = [("operand", line), ("response", line - 1)]
        if not task.scratchpad:
            summands = [("operand", other) for other in range(1, len(page.operands) + 1)]
        for key in range(target):
            *whose, at = number(page.cells[key], first)
            if tuple(whose) in summands and (at == column or (carry and at == column - 1)):
                table[target - 1, key] = True
    return table


def make_map(
    task: lw.Task, length: int = 2, count: int = 3, layers: int = 2, heads: int = 3, seed: int = 0
) -> AttentionMap:
    """Random attention of the right shape."""
    page = task.write(["9" * length] * count)
    tokens = len(page.tokens)
    weights = np.tril(np.random.default_rng(seed).exponential(size=(layers, heads, tokens, tokens)) ** 3)
    return AttentionMap(
        weights=(weights / weights.sum(-1, keepdims=True)).astype(np.float32),
        tokens=page.tokens,
        labels=[cell.name for cell in page.cells],
        lines=[cell.role for cell in page.cells],
        targets=page.targets,
        about={"task": as_read(task), "length": length, "count": count},
    )


@pytest.mark.parametrize("problem", PROBLEMS, ids=len)
@pytest.mark.parametrize("carry", [False, True])
@pytest.mark.parametrize("task", ADDITIONS, ids=describe)
def test_the_tokens_that_matter_are_those_found_one_by_one(task: lw.Task, carry: bool, problem: list[str]) -> None:
    page = task.write(problem)
    assert np.array_equal(which_matter(task, page, carry=carry), by_loops(task, page, carry))


def names(task: lw.Task, problem: list[int], before: str, carry: bool = False) -> list[str]:
    """The tokens that matter for this one."""
    page = task.write(problem)
    query = [cell.name for cell in page.cells].index(before) - 1
    return [page.cells[key].name for key in np.flatnonzero(which_matter(task, page, carry=carry)[query])]


def test_a_worked_example() -> None:
    task = lw.task("addition")
    assert names(task, [57, 48, 96], "tens digit of partial sum 2") == [
        "tens digit of operand 2",
        "tens digit of partial sum 1",
    ]
    assert names(task, [57, 48, 96], "tens digit of partial sum 2", carry=True) == [
        "tens digit of operand 2",
        "ones digit of operand 2",
        "ones digit of partial sum 1",
        "tens digit of partial sum 1",
    ]
    page = task.write([57, 48, 96])  # $057+048+096=000>750>501>102$
    queries = np.flatnonzero(which_matter(task, page).sum(1))
    assert "".join(page.tokens[query] for query in queries) == ">75>50>10"  # nothing matters for zeros and symbols
    units = which_matter(task, page, carry=True)[page.tokens.index(">")]
    assert [page.tokens[key] for key in np.flatnonzero(units)] == ["7", "+", "=", "0"]


def test_without_a_scratchpad_all_operands_matter() -> None:
    task = lw.task("addition", scratchpad=False)
    operands = [f"tens digit of operand {line}" for line in (1, 2, 3)]
    assert names(task, [57, 48, 96], "tens digit of answer") == operands


def test_a_scratchpad_that_begins_with_the_first_operand_copies_it() -> None:
    task = lw.task("addition", start_with_zeros=False)
    assert names(task, [57, 48], "tens digit of partial sum 1") == ["tens digit of operand 1"]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("task", [task for task in ADDITIONS if task.zero_padding], ids=describe)
def test_a_focus_is_what_loops_find(task: lw.Task, seed: int) -> None:
    attention = make_map(task, seed=seed)
    page = task.write(["99"] * 3)
    narrow, wide = by_loops(task, page, carry=False), by_loops(task, page, carry=True)
    queries = [query for query in range(len(page.tokens)) if narrow[query].any()]
    found = focus(attention)
    for layer, head in np.ndindex(2, 3):
        weight, with_carry, keys = [], [], []
        for query in queries:
            row = attention.weights[layer, head, query].astype(float)
            weight.append(sum(share for share, matters in zip(row, narrow[query], strict=True) if matters))
            with_carry.append(sum(share for share, matters in zip(row, wide[query], strict=True) if matters))
            held, count = 0.0, 0
            for share in sorted(row, reverse=True):
                if held >= 0.9:
                    break
                held, count = held + share, count + 1
            keys.append(count)
        assert found.weight[layer][head] == pytest.approx(np.mean(weight))
        assert found.with_carry[layer][head] == pytest.approx(np.mean(with_carry))
        assert found.keys[layer][head] == pytest.approx(np.mean(keys))
    assert found.uniform == pytest.approx(np.mean([narrow[query].sum() / (query + 1) for query in queries]))
    assert found.matter == pytest.approx(np.mean([narrow[query].sum() for query in queries]))


@pytest.mark.parametrize(("scratchpad", "matter"), [(True, 2), (False, 11)])
def test_looking_only_at_what_matters_and_looking_everywhere(scratchpad: bool, matter: int) -> None:
    task = lw.task("addition", scratchpad=scratchpad)
    attention = make_map(task, length=11, count=11, layers=1, heads=3)
    table = which_matter(task, task.write(["9" * 11] * 11))
    tokens = len(attention.tokens)
    shares = table / np.maximum(table.sum(1, keepdims=True), 1)
    one = np.eye(tokens)[table.argmax(1)]
    everywhere = np.tril(np.ones((tokens, tokens))) / np.arange(1, tokens + 1)[:, None]
    attention.weights = np.stack([shares, one, everywhere])[None].astype(np.float32)
    found = focus(attention)
    assert found.matter == matter
    assert found.weight[0][1] == 1.0
    assert found.weight[0] == pytest.approx([1, 1, found.uniform])
    assert found.with_carry[0][:2] == pytest.approx([1, 1])
    assert found.with_carry[0][2] > 1.8 * found.uniform
    assert found.keys[0][:2] == [2 if scratchpad else 10, 1]
    queries = np.flatnonzero(table.any(1))
    assert found.keys[0][2] == pytest.approx(np.mean(np.ceil(0.9 * (queries + 1) - 1e-9)))


def test_the_heads_built_by_hand_look_where_the_theorem_says() -> None:
    """Head 1 at the digits to be added, head 2 at those just added; each finds `$` as well, so two thirds are left."""
    built = lw.construct(digits=4, operands=4)
    found = focus(lw.average_attention(built, length=4, count=4, samples=20))
    assert (found.layers, found.heads, found.matter) == (1, 4, 2)
    assert found.uniform == pytest.approx(0.04895, abs=1e-5)
    # In the next column, head 3 finds all numbers up to the line being written, and these two are among them.
    assert found.weight[0] == pytest.approx([2 / 3, 0, 0.27282, 0], abs=1e-5)
    # The last operand has no symbol below its units, so head 2 finds only one token beside `$` when they are written.
    assert found.with_carry[0] == pytest.approx([2 / 3, (19 * 2 / 3 + 1 / 2) / 20, 0.27282, 0], abs=1e-5)
    assert found.keys[0] == pytest.approx([3, 2.95, 7.5, 2.7])


def test_a_focus_can_be_kept_as_json() -> None:
    found = focus(make_map(lw.task("addition")))
    assert Focus.from_json(json.loads(json.dumps(found.to_json()))) == found


SOUND: dict[str, Any] = {
    "weight": [[0.5, 1.0]],
    "with_carry": [[0.6, 1.0]],
    "keys": [[2.0, 1.0]],
    "uniform": 0.1,
    "matter": 2.0,
}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "it must say keys, matter, uniform, weight, with_carry"),
        ({**SOUND, "layers": 1}, "and nothing else"),
        ({name: value for name, value in SOUND.items() if name != "keys"}, "it must say keys"),
        ({**SOUND, "keys": [[2.0]]}, "one row for each layer"),
        ({**SOUND, "weight": [[0.5, 1.0], [0.5]]}, "one row for each layer"),
        ({**SOUND, "weight": [[0.5, "1"]]}, "must be numbers"),
        ({**SOUND, "weight": [0.5, 1.0]}, "must be numbers"),
        ({**SOUND, "weight": [[]], "with_carry": [[]], "keys": [[]]}, "must be numbers"),
        ({**SOUND, "weight": [[0.5, float("nan")]]}, "must be numbers"),
        ({**SOUND, "weight": [[0.5, 1.5]]}, "from 0 to 1"),
        ({**SOUND, "keys": [[0.0, 1.0]]}, "one token or more"),
        ({**SOUND, "matter": None}, "uniform and matter must be numbers"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_what_is_no_focus_is_refused(data: Any, sentence: str) -> None:
    with pytest.raises(lw.InputError, match=sentence):
        Focus.from_json(data)


@pytest.mark.parametrize("name", ["parity", "multiplication"])
def test_only_additions_are_understood(name: str) -> None:
    task = lw.task(name)
    with pytest.raises(lw.InputError, match=f"attention that matters is defined for addition, not for {name}"):
        which_matter(task, task.write(task.example))
    attention = make_map(lw.task("addition"))
    attention.about["task"] = as_read(task)
    with pytest.raises(lw.InputError, match=f"attention that matters is defined for addition, not for {name}"):
        focus(attention)


def test_a_page_of_another_format_is_refused() -> None:
    task, alone = lw.task("addition"), lw.task("addition", scratchpad=False)
    product = lw.task("multiplication", scratchpad=False)
    for page in (alone.write([1, 2]), product.write(product.example)):
        with pytest.raises(lw.InputError, match="not written as the task writes them"):
            which_matter(task, page)
    with pytest.raises(lw.InputError, match="not written as the task writes them"):
        which_matter(alone, product.write(product.example))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda attention: attention.about.clear(), "does not say its task"),
        (lambda attention: attention.about.update(task={"name": "division"}), "does not say its task"),
        (lambda attention: attention.about.update(task={"name": ["addition"]}), "does not say its task"),
        (lambda attention: attention.about["task"].pop("scratchpad"), "lacks the setting 'scratchpad'"),
        (lambda attention: attention.about.update(count=None), "does not say its length and count"),
        (lambda attention: attention.about.update(length=0), "length 1 or more"),
        (lambda attention: attention.about.update(length=4), "The 29 tokens .* which has 43: use a format with zero-"),
        (lambda attention: attention.labels.reverse(), "are not those of a page of its size"),
        (lambda attention: setattr(attention, "weights", attention.weights[0]), "3 × 29 × 29 for 29 tokens"),
        (lambda attention: attention.weights.fill(np.nan), "no finite numbers"),
    ],
)
def test_maps_that_do_not_say_what_they_show_are_refused(
    change: Callable[[AttentionMap], object], sentence: str
) -> None:
    attention = make_map(lw.task("addition"))
    change(attention)
    with pytest.raises(lw.InputError, match=sentence):
        focus(attention)
