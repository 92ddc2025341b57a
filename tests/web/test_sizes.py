"""How large a random problem may be: as large as the desk takes it, and no larger."""

import pytest
from models import solver
from serving import offer, serving

import lengthwise as lw
from lengthwise.positions.learned import Learned
from lengthwise.web import Catalogue, Limits
from lengthwise.web.asking import Desk, RefusedError
from lengthwise.web.sizes import MOST, MOST_BITS, longest_by_count

SHAPE = lw.ModelConfig(layers=1, heads=1, width=16)


def made(sizes: tuple[int, ...], task: str = "addition", **options: object) -> lw.Solver:
    """A model with so many ids on each level."""
    return lw.Solver.new(lw.task(task, **options), Learned(sizes=sizes), SHAPE, seed=0)


MODELS = {
    "few ids": made((5, 4)),
    "no ids to speak of": made((2, 1)),
    "plain positions": made((60,), coupling=("index",)),
    "unpadded": made((12, 9), zero_padding=False),
    "answer alone": made((12,), scratchpad=False),
    "products": made((9, 6, 12), "multiplication"),
    "products alone": made((30,), "multiplication", scratchpad=False),
    "bits": made((21,), "parity"),
    "any ids": solver("none"),
}
FOUND = Catalogue.of()
EVERYTHING = Catalogue([*FOUND.offers.values(), *(offer(name, model) for name, model in MODELS.items())], [])
NARROW = Limits(characters=700, digits=50, bits=90, numbers=30, tokens=1_200)


def taken(desk: Desk, model: str, length: int, count: int | None) -> bool:
    """Whether a problem of this size is drawn, and can then be asked."""
    try:
        drawn = desk.surprise(model, str(length), None if count is None else str(count), "0")
        desk.question(model, drawn["problem"])
    except RefusedError:
        return False
    return True


@pytest.mark.parametrize("limits", [Limits(), NARROW], ids=["by default", "narrow"])
@pytest.mark.parametrize("model", EVERYTHING.offers)
def test_the_longest_are_taken_and_longer_ones_are_not(model: str, limits: Limits) -> None:
    own, desk = EVERYTHING.offer(model), Desk(EVERYTHING, limits)
    longest = longest_by_count(own.task, own.max_ids, limits)
    if own.task.name == "parity":
        (most,) = longest
        assert taken(desk, model, most, None)
        assert most == MOST_BITS or not taken(desk, model, most + 1, None)
        return
    least = 1 if own.task.name == "multiplication" else 2
    assert list(longest) == [0] * least + sorted(longest[least:], reverse=True)
    assert all(length >= 1 for length in longest[least:])
    steps = [count for count in range(least, len(longest)) if longest[count] != longest[count - 1]]
    for count in sorted({*steps[:1], *(step - back for step in steps[1::23] for back in (0, 1))}):
        assert taken(desk, model, longest[count], count)
        unpadded = not own.task.zero_padding  # then it depends on the digits that are drawn
        assert longest[count] == MOST or unpadded or not taken(desk, model, longest[count] + 1, count)
    assert len(longest) == MOST + 1 or not taken(desk, model, 1, max(len(longest), least))


def test_in_plain_numbers() -> None:
    """What those in the box can take: adder-coupling has 40 ids on each level, the theorem 64 columns and 32 rows."""
    coupling, tiny, theorem = (
        longest_by_count(own.task, own.max_ids, Limits())
        for own in map(EVERYTHING.offer, ("adder-coupling", "adder-tiny", "theorem"))
    )
    assert coupling == (0, 0, *[38] * 9, *[37] * 29)
    assert theorem == (0, 0, *[62] * 8, *[61] * 22)
    assert (tiny[2], tiny[MOST]) == (100, 56)  # the pages of more would be too long
    empty = EVERYTHING.offer("no ids to speak of")
    assert longest_by_count(empty.task, empty.max_ids, Limits()) == (0, 0)


def test_sizes_are_worked_out_before_the_first_visitor_comes_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside models at work it would take seconds, for everyone who opens the page."""
    asked: list[str] = []

    def count(task: lw.Task, max_ids: tuple[int | None, ...], limits: Limits) -> tuple[int, ...]:
        asked.append(task.name)
        return longest_by_count(task, max_ids, limits)

    monkeypatch.setattr("lengthwise.web.app.longest_by_count", count)
    with serving(Catalogue([offer("few ids", MODELS["few ids"])], [])) as client:
        assert asked == ["addition"]
        for _ in range(2):
            (listed,) = client.get("/api/models").json()["models"]
            assert listed["longest_drawn"] == list(longest_by_count(MODELS["few ids"].task, (5, 4), Limits()))
        assert asked == ["addition"]
