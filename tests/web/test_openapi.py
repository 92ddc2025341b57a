"""The description for programs says what there is: every address, and what really comes back."""

from collections.abc import Iterator
from typing import Any

import pytest
from serving import Answer, Client, serving
from starlette.routing import Mount, Route

from lengthwise.version import __version__
from lengthwise.web import Catalogue, Limits, create_app
from lengthwise.web.openapi import describe

LIMITS = Limits(characters=2_000, digits=100)
FOR_PEOPLE = {"/", "/api", "/openapi.json"}
KINDS: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}
KNOWN = {"type", "required", "properties", "additionalProperties", "items", "enum", "anyOf", "minimum", "maximum"}


def amiss(value: Any, schema: dict[str, Any], where: str = "") -> list[str]:
    """What of a value is not as its schema says. It knows the words that our schemas use, and minds others."""
    if "$ref" in schema:
        assert list(schema) == ["$ref"]
        return amiss(value, describe()["components"]["schemas"][schema["$ref"].rpartition("/")[2]], where)
    assert set(schema) <= KNOWN | {"description"}, schema
    if "anyOf" in schema:
        return [] if any(not amiss(value, choice) for choice in schema["anyOf"]) else [f"{where}: {value!r} is none"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r} is not one of {schema['enum']}"]
    kind = schema["type"]
    if not isinstance(value, KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{where}: {value!r} is no {kind}"]
    if kind in ("integer", "number"):
        fits = schema.get("minimum", value) <= value <= schema.get("maximum", value)
        return [] if fits else [f"{where}: {value!r} is beyond the bounds"]
    if kind == "array":
        parts = [(f"{where}[{number}]", part, schema["items"]) for number, part in enumerate(value)]
        return [found for place, part, own in parts for found in amiss(part, own, place)]
    if kind != "object":
        return []
    found = [f"{where} lacks {name}" for name in schema.get("required", []) if name not in value]
    others = schema.get("additionalProperties", {})
    for name, part in value.items():
        own = schema.get("properties", {}).get(name, others)
        if own is False:
            found.append(f"{where} has {name}")
        elif own:
            found += amiss(part, own, f"{where}.{name}")
    return found


def operations() -> dict[tuple[str, str], dict[str, Any]]:
    return {(method, path): about for path, methods in describe()["paths"].items() for method, about in methods.items()}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(Catalogue.of(), LIMITS) as client:
        yield client


def test_it_can_be_fetched(client: Client) -> None:
    said = client.get("/openapi.json").json()
    assert said == describe()
    assert said["openapi"].startswith("3.1")
    assert said["info"]["version"] == __version__


def test_every_address_is_described_and_no_other() -> None:
    there = set()
    for route in create_app(Catalogue([], [])).routes:
        if isinstance(route, Mount):
            assert route.path == "/static"
            continue
        assert isinstance(route, Route)
        if route.path not in FOR_PEOPLE:
            there |= {(method.lower(), route.path) for method in (route.methods or set()) - {"HEAD"}}
    assert there == set(operations())


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    def references(part: Any) -> set[str]:
        if isinstance(part, dict):
            own = {part["$ref"].removeprefix("#/components/schemas/")} if "$ref" in part else set()
            return own.union(*map(references, part.values()))
        return set().union(*map(references, part)) if isinstance(part, list) else set()

    assert references(describe()) == set(describe()["components"]["schemas"])


def test_parameters_of_a_path_are_in_it() -> None:
    for (_, path), about in operations().items():
        for given in about.get("parameters", []):
            assert set(given) >= {"name", "in", "required", "schema"}
            assert (given["in"] == "path") == (f"{{{given['name']}}}" in path)
        assert about["summary"]
        assert "200" in about["responses"]


def check(answer: Answer, method: str, path: str) -> None:
    """An answer that is described, with all that is said of it."""
    responses = operations()[method, path]["responses"]
    assert str(answer.status) in responses, (path, answer)
    ((media, about),) = responses[str(answer.status)]["content"].items()
    assert answer.headers["content-type"].partition(";")[0] == media
    value = answer.body.decode() if media == "text/event-stream" else answer.json()
    assert amiss(value, about["schema"]) == []


ASKED: list[tuple[str, dict[str, Any], int]] = [
    ("/api/models", {}, 200),
    ("/api/grids", {}, 200),
    ("/api/grids/{name}", {"name": "adder-tiny"}, 200),
    ("/api/grids/{name}", {"name": "parity-tiny"}, 200),
    ("/api/grids/{name}", {"name": "none"}, 404),
    ("/api/problem", {"model": "adder-tiny", "length": 3, "count": 3, "seed": 1}, 200),
    ("/api/problem", {"model": "parity-tiny", "length": 3}, 200),
    ("/api/problem", {"model": "none", "length": 3}, 404),
    ("/api/problem", {"model": "adder-tiny", "length": 0}, 400),
    *[
        asked
        for path in ("/api/page", "/api/solve", "/api/solve/stream")
        for asked in (
            (path, {"problem": "57+48+96"}, 200),
            (path, {"problem": "37*925"}, 200),
            (path, {"problem": "0110", "model": "parity-tiny"}, 200),
            (path, {"problem": "57+48", "model": "theorem"}, 200),
            (path, {"problem": "57+"}, 400),
            (path, {}, 400),
            (path, {"problem": "57+48", "model": "none"}, 404),
            (path, {"problem": "1" * 2_001}, 413),
        )
    ],
    ("/api/solve", {"problem": f"{'9' * 60}+1", "model": "adder-coupling"}, 400),
    ("/api/health", {}, 200),
]


@pytest.mark.parametrize(("path", "query", "status"), ASKED)
def test_answers_are_as_described(client: Client, path: str, query: dict[str, Any], status: int) -> None:
    named = {given["name"]: given for given in operations()["get", path].get("parameters", [])}
    assert set(query) <= set(named)
    if status in (200, 404):
        assert {name for name, given in named.items() if given["required"]} <= set(query)
        assert [found for name, value in query.items() for found in amiss(value, named[name]["schema"])] == []
    rest = {name: value for name, value in query.items() if f"{{{name}}}" not in path}
    answer = client.get(path.format(**query), **rest)
    assert answer.status == status
    check(answer, "get", path)


@pytest.mark.parametrize("path", ["/api/attention", "/api/attention/head"])
def test_bodies_and_what_they_bring_are_as_described(client: Client, path: str) -> None:
    own = {"at": 15} if path == "/api/attention" else {"layer": 0, "head": 1}
    body = {"model": "adder-coupling", "problem": "57+48+96", "response": list("000>750>9"), **own}
    (about,) = operations()["post", path]["requestBody"]["content"].values()
    assert amiss(body, about["schema"]) == []
    spoilt: list[Any] = [body | {"more": 1}, body | {"response": "000"}, body | {"at": 1, "layer": -1}]
    spoilt += [{"model": "adder-tiny"}, []]
    for wrong in spoilt:
        assert amiss(wrong, about["schema"]) != []
        check(client.post(path, wrong), "post", path)
    answer = client.post(path, body)
    assert answer.status == 200
    check(answer, "post", path)
    for change, status in (({"model": "none"}, 404), ({"problem": ""}, 400), ({"problem": "1" * 2_001}, 413)):
        answer = client.post(path, body | change)
        assert answer.status == status
        check(answer, "post", path)
    check(client.ask("POST", path, b"{}"), "post", path)
    check(client.ask("POST", path, b" " * 10**6, {"Content-Type": "application/json"}), "post", path)


def test_those_who_are_sent_away_are_described(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    monkeypatch.setattr("lengthwise.web.app.GLANCES_WAITING", 0)
    body = {"model": "adder-tiny", "problem": "57+48", "response": [], "at": 0}
    answer = client.post("/api/attention", body)
    assert answer.status == 503
    check(answer, "post", "/api/attention")
    for path in ("/api/solve", "/api/solve/stream"):
        assert "503" in operations()["get", path]["responses"]


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (1.5, {"type": "integer"}),
        (True, {"type": "integer"}),
        (-1, {"type": "integer", "minimum": 0}),
        (1.1, {"type": "number", "maximum": 1}),
        ({}, {"type": "object", "required": ["a"]}),
        ({"a": 1}, {"type": "object", "properties": {"a": {"type": "string"}}}),
        ({"a": 1}, {"type": "object", "properties": {}, "additionalProperties": False}),
        ({"a": "x"}, {"type": "object", "additionalProperties": {"type": "integer"}}),
        (["a", 1], {"type": "array", "items": {"type": "string"}}),
        ("c", {"enum": ["a", "b"]}),
        (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"error": None}, {"$ref": "#/components/schemas/Refusal"}),
    ],
)
def test_the_checker_minds(value: Any, schema: dict[str, Any]) -> None:
    assert amiss(value, schema) != []
