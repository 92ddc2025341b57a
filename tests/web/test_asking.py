"""Requests are understood, or refused in a sentence before anything large is made of them."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lengthwise as lw
from lengthwise.web import Catalogue, Limits
from lengthwise.web.asking import Desk, RefusedError

EVERYTHING = Catalogue.of()
OWN = Limits(characters=60, digits=12, bits=20, numbers=6, tokens=120)
"""Small enough that each of them is met in turn."""


def desk(**limits: Any) -> Desk:
    return Desk(EVERYTHING, Limits(**limits))


def refused(status: int, words: str, desk: Desk, method: str, *arguments: Any) -> None:
    with pytest.raises(RefusedError, match=words) as refusal:
        getattr(desk, method)(*arguments)
    assert refusal.value.status == status
    sentence = refusal.value.sentence
    assert sentence == str(refusal.value)
    assert "\n" not in sentence
    assert len(sentence) < 400


@pytest.mark.parametrize(
    ("model", "problem", "status", "words"),
    [
        (None, "1" * 61, 413, r"^This problem has 61 characters: up to 60 are taken here\.$"),
        (None, "1234567890123+1", 400, r"^A number of this has 13 digits: up to 12 are taken here\.$"),
        (None, "2*1234567890123", 400, r"^A number of this has 13 digits: up to 12 are taken here\.$"),
        (None, "01" * 10 + "0", 400, r"^This has 21 bits: up to 20 are taken here\.$"),
        (None, "1+2+3+4+5+6+7", 400, r"^This has 7 numbers: up to 6 are taken here\.$"),
        (None, "123456789012+1+2+3", 400, r"^This page would take about 127 tokens: up to 120 are taken here, so"),
        (None, "999999*999999", 400, r"^This page would take about 1\d\d tokens: up to 120 are taken here, so"),
        (None, "", 400, "^There is no problem to write: give a sum such as"),
        (None, " \t ", 400, "^There is no problem to write"),
        (None, None, 400, "^There is no problem: give problem="),
        (None, "57", 400, "is a single number"),
        (None, "57+48=105", 400, "has an equals sign"),
        (None, "57+48*2", 400, "mixes operators"),
        (None, "57+", 400, "without a number beside it"),
        (None, "57++48", 400, "An operand is empty"),
        (None, "-5+3", 400, "is negative"),
        (None, "1.5+3", 400, "is a fraction"),
        (None, "1,000+3", 400, "has separators"),
        (None, "1 2+3", 400, "has a space inside a number"),
        (None, "1+2\n3+4", 400, "or several lines"),
        (None, "٣+٤", 400, "is not a whole number: operands are digits 0–9 only"),
        (None, "１２+３", 400, "is not a whole number"),
        (None, "²+3", 400, "is not a whole number"),
        (None, "1\0+2", 400, "is not a whole number"),
        (None, "\ud800", 400, "is not a problem"),
        (None, "<script>", 400, "is not a problem"),
        ("parity-tiny", "٠١", 400, "is not a bit string"),
        ("parity-tiny", "57+48", 400, "is not a bit string"),
        ("adder-tiny", "0101", 400, "addition takes two or more numbers"),
        ("adder-tiny", "37*925", 400, "is written with the operator of multiplication, but the task is addition"),
        ("multiplier", "57+48", 400, "is written with the operator of addition, but the task is multiplication"),
        ("multiplier", "2*3*4", 400, "multiplication takes two numbers"),
        ("adder-tinny", "57+48", 404, "There is no model 'adder-tinny' here: did you mean 'adder-tiny'?"),
        ("theorm", "57+48", 404, "did you mean 'theorem'?"),
        ("gpt", "57+48", 404, "choose one of adder-coupling, adder-tiny, multiplier, parity-tiny, theorem."),
        ("x" * 5_000, "57+48", 404, "There is no model 'x{10,30}…' here: choose one of"),
        ("\ud800\0", "57+48", 404, r"There is no model '\\ud800\\x00' here"),
    ],
)
def test_what_cannot_be_asked(model: str | None, problem: str | None, status: int, words: str) -> None:
    refused(status, words, Desk(EVERYTHING, OWN), "question", model, problem)


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (None, "1" * 12 + "+2+3"),
        (None, "01" * 10),
        (None, "1+2+3+4+5+6"),
        (None, "9999*999"),
        (None, f"1{' ' * 56}+ 2"),
    ],
)
def test_up_to_the_limits_everything_is_taken(model: str | None, problem: str) -> None:
    question = Desk(EVERYTHING, OWN).question(model, problem)
    assert question.problem == problem.replace(" ", "")
    assert len(question.page.tokens) <= OWN.tokens


def test_a_page_just_within_the_limit_and_just_beyond() -> None:
    page = lw.task("addition").write(["57", "48", "96"])
    assert len(desk(tokens=len(page.tokens)).question(None, "57+48+96").page.tokens) == len(page.tokens) == 29
    refused(400, "about 29 tokens: up to 28", desk(tokens=28), "question", None, "57+48+96")


def test_pages_far_too_large_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(self: lw.Task, *arguments: Any) -> lw.Page:
        raise AssertionError

    monkeypatch.setattr(lw.Task, "write", write)
    everyone = desk(characters=10**6, digits=10**5, numbers=10**5)
    refused(400, r"about [\d,]+ tokens", everyone, "question", None, "+".join(["9" * 1_000] * 500))
    refused(400, r"about [\d,]+ tokens", everyone, "question", None, f"{'9' * 1_000}*{'9' * 1_000}")


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (f"{'9' * 63}+1", "needs column ids up to 65, but those of theorem go up to 64"),
        ("+".join(["7"] * 32), "needs row ids up to 33, but those of theorem go up to 32"),
    ],
)
def test_the_theorem_takes_what_it_has_ids_for(problem: str, words: str) -> None:
    refused(400, words, desk(), "question", "theorem", problem)
    smaller = "+".join(problem.split("+")[-31:]).replace("9" * 63, "9" * 62)
    question = desk().question("theorem", smaller)
    assert EVERYTHING.load("theorem").solve(question.operands).correct


def test_a_question_and_its_page() -> None:
    question = desk().question("adder-tiny", " 57 + 048 +96")
    page = lw.task("addition").write([57, 48, 96])
    assert question.offer.name == "adder-tiny"
    assert question.problem == "57+48+96"
    assert question.page == page
    said = json.loads(json.dumps(question.to_json()))
    assert said == {
        "model": "adder-tiny",
        "task": "addition",
        "problem": "57+48+96",
        "operands": ["57", "48", "96"],
        "answer": "201",
        "prompt": 13,
        "tokens": list("$057+048+096=000>750>501>102$"),
        "levels": ["column", "row"],
        "ids": page.position_ids,
        "roles": ["$", *["operand"] * 11, "=", *["partial sum"] * 15, "$"],
        "lines": [1, *[1] * 4, *[2] * 4, *[3] * 3, 1, *[0] * 3, *[1] * 4, *[2] * 4, *[3] * 4, 1],
        "places": [None, *[2, 1, 0, None] * 3, 0, 1, 2, *[None, 0, 1, 2] * 3, None],
        "names": [cell.name for cell in page.cells],
    }


@pytest.mark.parametrize(
    ("problem", "model"),
    [("57+48", "adder-tiny"), ("37*925", "multiplier"), ("37×925", "multiplier"), ("01", "parity-tiny")],
)
def test_without_a_name_the_box_has_a_model(problem: str, model: str) -> None:
    for name in (None, "", model):
        assert desk().question(name, problem).offer.name == model


def test_nothing_named_and_nothing_offered() -> None:
    nobody = Desk(Catalogue([], []), Limits())
    refused(404, "There is no model 'adder-tiny' here", nobody, "question", None, "57+48")
    refused(404, "There is no model 'x' here", nobody, "offer", "x")


# Random problems.


def test_the_same_seed_gives_the_same_problem() -> None:
    for model, length, count in (("adder-tiny", "5", "4"), ("multiplier", "3", "2"), ("parity-tiny", "30", None)):
        drawn = [desk().surprise(model, length, count, str(seed)) for seed in range(5)]
        assert drawn == [desk().surprise(model, length, count, str(seed)) for seed in range(5)]
        assert len({one["problem"] for one in drawn}) == 5
        assert desk().surprise(model, length, count, None) == drawn[0]


@given(length=st.integers(1, 12), count=st.integers(2, 6), seed=st.integers(0, 10**9 - 1))
@settings(max_examples=30, deadline=None)
def test_a_problem_of_exactly_that_size(length: int, count: int, seed: int) -> None:
    limits = desk(digits=12, numbers=6)
    found = limits.surprise("adder-tiny", str(length), str(count), str(seed))
    assert found.items() >= {"model": "adder-tiny", "length": length, "count": count}.items()
    assert [len(number) for number in found["problem"].split("+")] == [length] * count
    found = limits.surprise("multiplier", str(length), str(count), str(seed))
    assert [len(number) for number in found["problem"].split("*")] == [length, count]
    found = limits.surprise("parity-tiny", str(length), None, str(seed))
    assert len(found["problem"]) == length
    assert "count" not in found
    assert limits.question("parity-tiny", found["problem"]).problem == found["problem"]


@pytest.mark.parametrize(
    ("model", "length", "count", "seed", "status", "words"),
    [
        (None, "2", "2", None, 400, "There is no model: give model=adder-tiny"),
        ("nobody", "2", "2", None, 404, "There is no model 'nobody' here"),
        ("adder-tiny", None, "2", None, 400, "^length must be a whole number from 1 up, not 'nothing'.$"),
        ("adder-tiny", "", "2", None, 400, "^length must be"),
        ("adder-tiny", "0", "2", None, 400, "^length must be a whole number from 1 up, not '0'.$"),
        ("adder-tiny", "-1", "2", None, 400, "^length must be"),
        ("adder-tiny", "+1", "2", None, 400, "^length must be"),
        ("adder-tiny", "1.5", "2", None, 400, "^length must be"),
        ("adder-tiny", "1e3", "2", None, 400, "^length must be"),
        ("adder-tiny", "٣", "2", None, 400, "^length must be"),
        ("adder-tiny", "²", "2", None, 400, "^length must be"),
        ("adder-tiny", "1_0", "2", None, 400, "^length must be"),
        ("adder-tiny", " 1", "2", None, 400, "^length must be"),
        ("adder-tiny", "1\0", "2", None, 400, "^length must be"),
        ("adder-tiny", "1234567890", "2", None, 400, "^length must be"),
        ("adder-tiny", "9" * 10_000, "2", None, 400, "^length must be a whole number from 1 up, not '9{10,30}…'.$"),
        ("adder-tiny", "2", "x", None, 400, "^count must be"),
        ("adder-tiny", "2", "0", None, 400, "^count must be"),
        ("adder-tiny", "2", "1", None, 400, "count 2 or more"),
        ("adder-tiny", "2", None, None, 400, "addition needs length 1 or more and count 2 or more"),
        ("adder-tiny", "2", "2", "x", 400, "^seed must be a whole number from 0 up"),
        ("adder-tiny", "2", "2", "-1", 400, "^seed must be"),
        ("adder-tiny", "201", "2", None, 400, "^A number of this has 201 digits: up to 200 are taken here"),
        ("adder-tiny", "2", "101", None, 400, "^This has 101 numbers: up to 100 are taken here"),
        ("adder-tiny", "200", "100", None, 400, r"^This page would take about [\d,]+ tokens"),
        ("adder-tiny", "999999999", "2", None, 400, r"^This page would take about [\d,]+ tokens"),
        ("adder-tiny", "2", "999999999", None, 400, r"^This page would take about [\d,]+ tokens"),
        ("multiplier", "2", None, None, 400, "multiplication needs the lengths of both operands"),
        ("multiplier", "2", "201", None, 400, "^A number of this has 201 digits"),
        ("multiplier", "999999999", "999999999", None, 400, r"^This page would take about [\d,]+ tokens"),
        ("parity-tiny", "2", "2", None, 400, "parity has a length only"),
        ("parity-tiny", "1001", None, None, 400, "^This has 1,001 bits: up to 1,000 are taken here"),
        ("parity-tiny", "999999999", None, None, 400, r"^This page would take about [\d,]+ tokens"),
        ("theorem", "63", "2", None, 400, "needs column ids up to 65"),
        ("theorem", "2", "32", None, 400, "needs row ids up to 33"),
        ("adder-coupling", "45", "2", None, 400, "needs column ids up to 47, but those of adder-coupling go up to 40"),
    ],
)
def test_problems_that_are_not_drawn(
    model: str | None, length: str | None, count: str | None, seed: str | None, status: int, words: str
) -> None:
    refused(status, words, desk(), "surprise", model, length, count, seed)


def test_sizes_beyond_the_limits_are_refused_before_anything_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether there are ids for a size is told from its largest page, which is a long one where anybody may ask."""

    def largest(self: lw.Task, *size: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(lw.Task, "largest", largest)
    for length, count in (("1", "900000"), ("90000", "60"), ("201", "2"), ("1", "101")):
        refused(400, "are taken here", desk(), "surprise", "theorem", length, count, "0")


# What a model is said to have written.


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ("000", "response must be a list of tokens"),
        (None, "response must be a list of tokens"),
        ([0, 1], "response must be a list of tokens"),
        (["0", ["1"]], "response must be a list of tokens"),
        (["0", "x"], "'x' is not in the model's vocabulary: 0 1 2 3 4 5 6 7 8 9 [+] = > [$]"),
        (["0", "00"], "'00' is not in the model's vocabulary"),
        (["0", ""], "'' is not in the model's vocabulary"),
        (["\ud800"], r"'\\ud800' is not in the model's vocabulary"),
        (["٣"], "is not in the model's vocabulary"),
        (["y" * 10_000], "'y{10,30}…' is not in the model's vocabulary"),
        (["0"] * 121, "up to 120 are taken here"),
    ],
)
def test_responses_that_no_model_wrote(tokens: Any, words: str) -> None:
    refused(400, words, Desk(EVERYTHING, OWN), "response", tokens, EVERYTHING.load("adder-tiny"))


def test_responses_as_models_write_them() -> None:
    model = EVERYTHING.load("adder-tiny")
    for tokens in ([], list("000>750>501>102$"), ["$", "="], ["0"] * 120):
        assert Desk(EVERYTHING, OWN).response(tokens, model) == tokens


# Limits.


@pytest.mark.parametrize(
    "name", ["characters", "digits", "bits", "numbers", "tokens", "matrix", "seconds", "at_once", "per_address"]
)
def test_a_limit_is_above_0(name: str) -> None:
    for value in (0, -1):
        with pytest.raises(lw.InputError, match=f"^{name} must be above 0, not {value}.$"):
            Limits(**{name: value})
    with pytest.raises(lw.InputError, match=r"^seconds must be above 0, not nan\.$"):
        Limits(seconds=float("nan"))


def test_nobody_may_have_to_wait() -> None:
    assert Limits(waiting=0).waiting == 0
    with pytest.raises(lw.InputError, match="waiting must be"):
        Limits(waiting=-1)


def test_a_body_has_room_for_the_longest_problem_and_its_response() -> None:
    limits = Limits()
    body = {"model": "x" * 80, "problem": "1" * limits.characters, "response": ["0"] * limits.tokens, "at": 10**6}
    assert len(json.dumps(body)) <= limits.body
