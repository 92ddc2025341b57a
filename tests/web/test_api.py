"""Every address: what it answers, and that it is what the library says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from models import CASES, solver
from serving import Answer, Client, offer, serving

import lengthwise as lw
from lengthwise.inside import as_written
from lengthwise.positions.learned import Learned
from lengthwise.results import Grid
from lengthwise.web import Catalogue, Limits
from lengthwise.web.inspecting import SMALLEST_OF_MATRIX, SMALLEST_OF_QUERY
from lengthwise.web.openapi import describe
from lengthwise.web.sizes import longest_by_count

LIMITS = Limits(matrix=100)
SUM = "57+48+96"


def plain() -> lw.Solver:
    """A model of a format whose ids are taken from the right page."""
    task = lw.task("addition", zero_padding=False, reverse_response=False)
    return lw.Solver.new(task, Learned(sizes=(40, 40)), lw.ModelConfig(layers=2, heads=2, width=32), seed=4).eval()


MODELS = {
    **{case.replace(" ", "-"): solver(case, seed=3) for case in CASES},
    "plain-page": plain(),
    "reserved": solver("learned", seed=2, reserved_tokens=2),
}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    folder = tmp_path_factory.mktemp("grids")
    Grid.blank({"length": [1, 2]}, task={"name": "parity"}, seed=0, samples=10).save(folder / "bits.json")
    found = Catalogue.of([folder])
    made = [offer(name, model) for name, model in MODELS.items()]
    return Catalogue([*found.offers.values(), *made], found.grids.values())


@pytest.fixture(scope="module")
def client(everything: Catalogue) -> Iterator[Client]:
    with serving(everything, LIMITS) as client:
        yield client


def test_models_and_limits(client: Client, everything: Catalogue) -> None:
    said = client.get("/api/models").json()
    listed = [{name: value for name, value in model.items() if name != "longest_drawn"} for model in said["models"]]
    assert listed == json.loads(json.dumps([offer.to_json() for offer in everything.offers.values()]))
    for model, offered in zip(said["models"], everything.offers.values(), strict=True):
        assert model["longest_drawn"] == list(longest_by_count(offered.task, offered.max_ids, LIMITS))
    assert [model["kind"] for model in said["models"]][:6] == [*["box"] * 4, "theorem", "folder"]
    tiny = said["models"][1]
    assert (tiny["kind"], tiny["task"], tiny["example"]) == ("box", "addition", "57+48+96")
    names = ("characters", "digits", "bits", "numbers", "tokens", "matrix")
    assert said["limits"] == {name: getattr(LIMITS, name) for name in names}


def test_grids_and_one_of_them(client: Client, everything: Catalogue) -> None:
    listed = client.get("/api/grids").json()["grids"]
    assert [grid["name"] for grid in listed] == list(everything.grids)
    for about in listed:
        one = client.get(f"/api/grids/{about['name']}").json()
        grid = everything.grids[about["name"]].grid
        assert one == about | {"grid": json.loads(json.dumps(grid.to_json()))}
        assert about["axes"] == grid.axes
        assert about["lowest"] == grid.lowest
    tiny, bits = (next(grid for grid in listed if grid["name"] == name) for name in ("adder-tiny", "bits"))
    assert (tiny["model"], tiny["task"]) == ("adder-tiny", "addition")
    assert (bits["model"], bits["task"], bits["lowest"], bits["complete"]) == (None, "parity", None, False)
    answer = client.get("/api/grids/no-such")
    assert (answer.status, answer.refusal) == (404, "There is no grid 'no-such' here: /api/grids lists them.")


def test_random_problems_can_be_asked(client: Client) -> None:
    for query in (
        {"model": "adder-tiny", "length": 7, "count": 3, "seed": 5},
        {"model": "multiplier", "length": 2, "count": 3, "seed": 5},
        {"model": "parity-tiny", "length": 9, "seed": 5},
    ):
        drawn = client.get("/api/problem", **query).json()
        assert drawn == client.get("/api/problem", **query).json()
        assert {name: drawn[name] for name in query if name != "seed"} == {
            name: value for name, value in query.items() if name != "seed"
        }
        solved = client.get("/api/solve", model=drawn["model"], problem=drawn["problem"]).json()
        assert solved["problem"] == drawn["problem"]


def test_a_plus_in_an_address_is_a_plus(client: Client) -> None:
    """However it is written: as itself, escaped, with spaces, and with names that are escaped for no reason."""
    expected = client.get("/api/page", problem=SUM).json()
    assert expected["operands"] == ["57", "48", "96"]
    for query in (
        "problem=57+48+96",
        "problem=57%2B48%2b96",
        "problem=%2057%20+%2048+96%09",
        "p%72oblem=57+48+96",
        "&&problem=57+48+96&",
        "problem=1+1&problem=57+48+96",
        "model=adder-tiny&problem=57+48+96",
        "model=&problem=57+48+96",
    ):
        assert client.ask("GET", f"/api/page?{query}").json() == expected, query
    assert client.get("/api/page", problem="37×925").json()["problem"] == "37*925"
    for query, words in (
        ("problem", "There is no problem to write"),
        ("problem=", "There is no problem to write"),
        ("", "There is no problem: give problem="),
        ("model=adder-tiny", "There is no problem: give problem="),
        ("problem=57=48", "has an equals sign"),
        ("Problem=57+48", "There is nothing called 'Problem' to give here: model, problem."),
        ("problem=1+1&seed=1", "There is nothing called 'seed' to give here: model, problem."),
        ("=1", "There is nothing called '' to give here"),
        ("problem=%FF", "The address is not written in UTF-8."),
        ("%FF=1", "The address is not written in UTF-8."),
        ("problem=%ED%A0%80", "The address is not written in UTF-8."),
        ("problem=%", "is not a problem"),
        ("problem=%2", "is not a problem"),
        ("problem=1%00+2", "is not a whole number"),
    ):
        answer = client.ask("GET", f"/api/page?{query}")
        assert answer.status == 400
        assert words in answer.refusal, query


def test_the_page_is_the_librarys(client: Client, everything: Catalogue) -> None:
    for name in ("adder-tiny", "theorem", "plain-page", "learned-plain"):
        page = everything.offer(name).task.write([57, 48, 96])
        said = client.get("/api/page", model=name, problem=SUM).json()
        assert (said["tokens"], said["ids"], said["levels"]) == (page.tokens, page.position_ids, list(page.levels))
        assert said["prompt"] == len(page.prompt)
        assert said["places"] == [cell.place for cell in page.cells]


def test_health_without_work(client: Client) -> None:
    assert client.get("/api/health").json() == {"ok": True, "working": 0, "waiting": 0}


def test_the_pages_for_people_are_files(client: Client) -> None:
    for path in ("/", "/api"):
        answer = client.get(path)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["cache-control"] == "no-cache"


def test_an_address_with_a_stroke_too_many_leads_to_the_one_without(client: Client) -> None:
    answer = client.ask("GET", "/api/page/?problem=57+48")
    assert answer.status == 307
    assert answer.headers["location"].endswith("/api/page?problem=57+48")


# Looking inside.


def attention(client: Client, **body: Any) -> Answer:
    return client.post("/api/attention", {"model": "adder-tiny", "problem": SUM, "response": [], "at": 0} | body)


def matrix(client: Client, **body: Any) -> Answer:
    given = {"model": "adder-tiny", "problem": SUM, "response": [], "layer": 0, "head": 0}
    return client.post("/api/attention/head", given | body)


RIGHT = list("000>750>501>102$")
RESPONSES = {
    "right": RIGHT,
    "wrong": list("000>850>501>102$"),
    "nonsense": list("=$+>>>99$$0"),
    "shorter": RIGHT[:5],
    "nothing": [],
    "longer": [*RIGHT, *"0123"],
}


def expected(model: lw.Solver, response: list[str]) -> tuple[lw.Page, torch.Tensor]:
    """What is written, and where all heads look from all its tokens."""
    page = as_written(model, model.task.write([57, 48, 96]), response)
    return page, model.attention(page).weights


@pytest.mark.parametrize(
    ("name", "written"),
    [
        *(
            (name, written)
            for name in ("learned", "windowed-hard", "plain-page", "adder-tiny")
            for written in RESPONSES
        ),
        *((name, "wrong") for name in MODELS),
        *((name, "right") for name in ("adder-tiny", "adder-coupling", "theorem")),
    ],
)
def test_where_the_heads_look_from_one_token(client: Client, everything: Catalogue, name: str, written: str) -> None:
    response = RESPONSES[written]
    model = everything.load(name)
    page, weights = expected(model, response)
    layers, heads, tokens, _ = weights.shape
    prompt = len(page.prompt) if any(page.targets) else tokens
    for at in sorted({0, 1, prompt - 1, min(prompt + 2, tokens - 1), tokens - 1}):
        said = attention(client, model=name, response=response, at=at).json()
        assert said["at"] == at
        assert (len(said["heads"]), {len(layer) for layer in said["heads"]}) == (layers, {heads})
        for layer in range(layers):
            for head in range(heads):
                look, row = said["heads"][layer][head], weights[layer, head, at]
                check_row(look, row, SMALLEST_OF_QUERY, 2e-4)
                assert look["weights"] == sorted(look["weights"], reverse=True)
        logits = model.score(page.tokens[: at + 1], [level[: at + 1] for level in page.position_ids])[-1]
        likely = model.likely(logits)
        assert said["next"][0]["token"] == max(likely, key=lambda token: likely[token])
        assert {one["token"]: one["probability"] for one in said["next"]} == pytest.approx(likely, abs=2e-4)
        rates = [one["probability"] for one in said["next"]]
        assert rates == sorted(rates, reverse=True)


def check_row(look: dict[str, Any], row: torch.Tensor, least: float, accuracy: float) -> None:
    """Keys from the least weight up, each once, with the weights they have."""
    given = dict(zip(look["keys"], look["weights"], strict=True))
    assert len(given) == len(look["keys"])
    for key, weight in enumerate(row.tolist()):
        if abs(weight - least) > 1e-5:  # on the very edge it may be either way
            assert (key in given) == (weight >= least)
        if key in given:
            assert given[key] == pytest.approx(weight, abs=accuracy)


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
@pytest.mark.parametrize("name", ["learned", "windowed-soft", "rotary", "plain-page", "adder-tiny", "theorem"])
def test_the_whole_matrix_of_a_head(client: Client, everything: Catalogue, name: str, response: list[str]) -> None:
    model = everything.load(name)
    page, weights = expected(model, response)
    for layer, head in {(0, 0), (weights.shape[0] - 1, weights.shape[1] - 1)}:
        said = matrix(client, model=name, response=response, layer=layer, head=head).json()
        assert (said["layer"], said["head"], said["least"]) == (layer, head, SMALLEST_OF_MATRIX)
        assert said["tokens"] == page.tokens
        assert said["names"] == [cell.name for cell in page.cells]
        assert len(said["rows"]) == len(page.tokens)
        for at, row in enumerate(said["rows"]):
            assert row["keys"] == sorted(row["keys"])
            check_row(row, weights[layer, head, at], SMALLEST_OF_MATRIX, 2e-3)


def test_the_smallest_weights_are_left_out_as_described() -> None:
    assert (SMALLEST_OF_QUERY, SMALLEST_OF_MATRIX) == (0.001, 0.01)
    described = describe()["components"]["schemas"]["Attention"]["properties"]["heads"]["description"]
    assert f"those below {SMALLEST_OF_QUERY:g} left out" in described


@pytest.mark.parametrize("at", [29, 30, -1, 10**6, -(10**30), 10**4000])
def test_tokens_that_the_page_does_not_have(client: Client, at: int) -> None:
    answer = attention(client, response=RIGHT, at=at)
    assert answer.status == 400
    assert answer.refusal.startswith("the page has the tokens 0 to 28, not ")
    assert attention(client, response=RIGHT, at=28).status == 200


@pytest.mark.parametrize(("layer", "head"), [(-1, 0), (1, 0), (0, 4), (0, -1), (10**30, 0), (0, 10**4000)])
def test_heads_that_the_model_does_not_have(client: Client, layer: int, head: int) -> None:
    answer = matrix(client, model="adder-coupling", layer=layer, head=head)
    assert answer.status == 400
    assert answer.refusal == "This model has the layers 0 to 0 and the heads 0 to 3."


def test_a_matrix_is_not_given_of_long_pages(client: Client) -> None:
    prompt = client.get("/api/page", problem=SUM).json()["prompt"]
    room = LIMITS.matrix - prompt
    assert len(matrix(client, response=["0"] * room).json()["rows"]) == LIMITS.matrix
    answer = matrix(client, response=["0"] * (room + 1))
    assert answer.status == 400
    assert answer.refusal == "The matrix of 101 tokens is too large: up to 100 are drawn here."
    assert attention(client, response=["0"] * (room + 1), at=100).status == 200


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (["x"], "'x' is not in the model's vocabulary"),
        (["0", "[EOS]"], "'[EOS]' is not in the model's vocabulary"),
        (["\ud800"], r"'\ud800' is not in the model's vocabulary"),
        (["00"], "'00' is not in the model's vocabulary"),
        ([0], "response must be a list of tokens"),
        ([None], "response must be a list of tokens"),
        ([["0"]], "response must be a list of tokens"),
        ([{}], "response must be a list of tokens"),
        (["0"] * (LIMITS.tokens + 1), "tokens: up to"),
    ],
)
def test_responses_that_no_model_wrote(client: Client, response: list[Any], words: str) -> None:
    answer = attention(client, response=response)
    assert answer.status == 400
    assert words in answer.refusal
    if len(response) < LIMITS.matrix:
        assert matrix(client, response=response).refusal == answer.refusal


def test_reserved_tokens_can_be_looked_at(client: Client) -> None:
    assert attention(client, model="reserved", response=["[1]", "0", "[2]"], at=15).status == 200
    assert attention(client, model="learned", response=["[1]"], at=13).status == 400


@pytest.mark.parametrize(
    "change",
    [
        {"at": 1.0},
        {"at": "1"},
        {"at": True},
        {"at": None},
        {"at": []},
        {"model": None},
        {"model": 1},
        {"model": ["adder-tiny"]},
        {"problem": 57},
        {"problem": None},
        {"response": "000"},
        {"response": None},
        {"response": {"0": 1}},
        {"at": float("nan")},
        {"at": float("inf")},
        {"more": 1},
        {"layer": 0},
    ],
    ids=str,
)
def test_bodies_of_the_wrong_kind(client: Client, change: dict[str, Any]) -> None:
    answer = attention(client, **change)
    assert answer.status == 400
    words = "must be an object with model, problem, response, at" if {"more", "layer"} & set(change) else " must be "
    assert words in answer.refusal


def test_bodies_that_lack_something(client: Client) -> None:
    whole = {"model": "adder-tiny", "problem": SUM, "response": [], "at": 0}
    for name in whole:
        answer = client.post("/api/attention", {key: value for key, value in whole.items() if key != name})
        assert answer.refusal == "The body must be an object with model, problem, response, at."
    for body in ([], [whole], None, 1, "x", True):
        assert client.post("/api/attention", body).status == 400


def test_problems_and_models_are_checked_as_anywhere(client: Client) -> None:
    for send, last in ((attention, {"at": 100}), (matrix, dict[str, int]())):
        assert send(client, model="nobody").status == 404
        assert send(client, problem="57+").status == 400
        assert send(client, problem="1" * 9_000).status == 413
        assert send(client, problem="01").status == 400
        assert send(client, model="adder-coupling", problem=f"{'9' * 60}+1", **last).status == 400
        assert send(client, model="").status == 200  # the box's own


def test_too_many_who_look_are_sent_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lengthwise.web.app.GLANCES_WAITING", 0)
    answer = attention(client)
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) > 0
    assert "Too many are looking" in answer.refusal
    monkeypatch.undo()
    assert attention(client).status == 200


def test_a_model_in_a_folder_is_asked_by_its_name(tmp_path: Path) -> None:
    solver("learned", seed=8).save_pretrained(tmp_path / "my own")
    model = lw.load(tmp_path / "my own")
    with serving(Catalogue.of([tmp_path / "my own"])) as client:
        whole = client.get("/api/solve", model="my-own", problem=SUM).json()
        assert (whole["model"], whole["response"]) == ("my-own", model.solve(SUM).response)
        said = attention(client, model="my-own", response=whole["response"], at=20).json()
        _, weights = expected(model, whole["response"])
        check_row(said["heads"][1][1], weights[1, 1, 20], SMALLEST_OF_QUERY, 2e-4)
