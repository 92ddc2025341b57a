"""Ids while writing: along a right page the rule yields the page's ids; along nonsense it keeps its footing."""

import pytest
import torch
from formats import FORMATS, SIZES, describe
from hypothesis import given, settings
from hypothesis import strategies as st

import lengthwise as lw

CAN = [task for task in FORMATS if not task.ids_given]
CANNOT = [task for task in FORMATS if task.ids_given]


@pytest.mark.parametrize("task", CAN, ids=describe)
def test_the_rule_yields_the_ids_of_the_page(task: lw.Task) -> None:
    batch = task.sample(60, seed=11, random_offsets=True, **SIZES[task.name])
    writer = task.id_writer(batch.problems, batch.numbering)
    pen = writer.begin()
    sizes = batch.boundaries.diff()
    prompts = task.write_prompts(batch.problems).boundaries.diff()
    edge = len(task.vocabulary) - 1
    for step in range(int((sizes - prompts).max())):
        place = batch.boundaries[:-1] + prompts + step
        alive = place < batch.boundaries[1:]
        tokens = torch.where(alive, batch.tokens[place.clamp(max=batch.tokens.numel() - 1)], edge)
        pen, ids = writer.step(pen, tokens)
        assert ids[:, alive].equal(batch.position_ids[:, place[alive]]), step


def test_formats_that_give_a_length_away_say_so() -> None:
    for task in CANNOT:
        assert not task.zero_padding
        assert not task.reverse_response
        with pytest.raises(lw.InputError, match="gives a number's length away"):
            task.id_writer(task.parse(task.example))
    assert {task.name for task in CANNOT} == {"addition", "multiplication"}
    assert len(CANNOT) == 8


def test_plain_unpadded_numbers_can_be_coupled_by_row_or_index() -> None:
    for coupling in (("row",), ("index",)):
        assert not lw.task("addition", zero_padding=False, reverse_response=False, coupling=coupling).ids_given


@pytest.mark.parametrize("task", CAN, ids=describe)
def test_the_rule_never_reads_the_numbers(task: lw.Task) -> None:
    """Two problems of the same shape get the same ids for the same tokens."""
    problems = task.sample_problems(8, seed=1, fixed=True, **SIZES[task.name])
    response = task.write_all(problems[:1])
    tokens = response.tokens[response.targets]
    pens = task.id_writer(problems), task.id_writer(problems.blank())
    states = [writer.begin() for writer in pens]
    for token in tokens:
        results = [writer.step(state, token.expand(8)) for writer, state in zip(pens, states, strict=True)]
        states = [state for state, _ in results]
        assert results[0][1].equal(results[1][1])


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(CAN), st.data())
def test_any_tokens_get_ids(task: lw.Task, data: st.DataObject) -> None:
    written = data.draw(st.lists(st.sampled_from(range(len(task.vocabulary))), max_size=60))
    writer = task.id_writer(task.parse(task.example))
    pen = writer.begin()
    for token in written:
        pen, ids = writer.step(pen, torch.tensor([token]))
        assert ids.shape == (len(task.levels), 1)
        assert (ids >= 0).all()


def test_a_page_that_never_ends_stays_within_the_maximum_ids() -> None:
    task = lw.task("addition", max_ids=(9, 7))
    writer = task.id_writer(task.parse([57, 48, 96]))
    for token in ("1", ">"):
        pen = writer.begin()
        for _ in range(100):
            pen, ids = writer.step(pen, torch.tensor([task.vocabulary.index(token)]))
        assert (ids[:, 0] <= torch.tensor([9, 7])).all()
        assert ids[0 if token == "1" else 1, 0] == (9 if token == "1" else 7)


@pytest.mark.parametrize("task", CAN, ids=describe)
def test_pages_written_side_by_side_do_not_change_each_others_ids(task: lw.Task) -> None:
    """Nor when one of them goes on beyond its last line, where only longer ones beside it have lines."""
    problems = task.sample_problems(12, seed=4, **SIZES[task.name])
    symbols = [token for token in task.vocabulary if not token.isdigit() and token != "$"]
    written = [task.vocabulary.index(token) for token in ["1", *symbols, *[symbols[-1], "1", "0"] * 8]]
    together = task.id_writer(problems)
    alone = [task.id_writer(problems[sample : sample + 1]) for sample in range(12)]
    pen, pens = together.begin(), [writer.begin() for writer in alone]
    for token in written:
        pen, ids = together.step(pen, torch.full((12,), token))
        steps = [writer.step(state, torch.tensor([token])) for writer, state in zip(alone, pens, strict=True)]
        pens = [state for state, _ in steps]
        assert torch.cat([own for _, own in steps], dim=1).equal(ids)
