"""The API for programs: an OpenAPI 3.1 description. /api says the same for people."""

from typing import Any

from lengthwise.version import __version__

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer", "minimum": 0}
SIZE: Json = {"type": "integer", "minimum": 1}
RATE: Json = {"type": "number", "minimum": 0, "maximum": 1}
TOKENS: Json = {"type": "array", "items": TEXT}
IDS: Json = {"type": "array", "items": {"type": "array", "items": WHOLE}, "description": "One list a level."}
LOOK: Json = {
    "type": "object",
    "required": ["keys", "weights"],
    "properties": {"keys": {"type": "array", "items": WHOLE}, "weights": {"type": "array", "items": RATE}},
}


def describe() -> Json:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lengthwise",
            "version": __version__,
            "summary": "Transformers that do long arithmetic: ask them, watch them write, look inside.",
            "description": "Every refusal is a JSON object with one sentence, `error`. In addresses a `+` is a plus.",
        },
        "paths": {
            "/api/models": _get("The models that may be asked, and the limits of a request", _ref("Models")),
            "/api/grids": _get("Measured grids, without their counts", _ref("Grids")),
            "/api/grids/{name}": _get(
                "One grid with its counts, rates and 95 % intervals",
                _ref("Grid"),
                [_given("name", "path")],
                missing=True,
            ),
            "/api/problem": _get(
                "A random problem of exactly one size",
                _ref("Problem"),
                [
                    _given("model"),
                    _given("length", kind=SIZE, text="Digits of each number, or of the first factor; or bits."),
                    _given(
                        "count", kind=SIZE, required=False, text="How many numbers, or digits of the second factor."
                    ),
                    _given("seed", kind=WHOLE, required=False, text="The same seed gives the same problem; 0."),
                ],
                missing=True,
            ),
            "/api/page": _get(
                "A problem as a model sees it: tokens, ids, where each stands", _ref("Page"), ASKED, True
            ),
            "/api/solve": _get(
                "A model's solution, written token by token, given whole", _ref("Solution"), ASKED, True, line=True
            ),
            "/api/solve/stream": _get(
                "The same as server-sent events: `line` while waiting, then `page`, `tokens` …, `verdict`; or `error`",
                TEXT,
                ASKED,
                True,
                line=True,
                media="text/event-stream",
            ),
            "/api/attention": _post(
                "Where every head looks from one token of what a model wrote, and what it would write next",
                _ref("Attention"),
                {"at": WHOLE | {"description": "Which token of the page, the query included, from 0."}},
            ),
            "/api/attention/head": _post(
                "The whole attention matrix of one head", _ref("Matrix"), {"layer": WHOLE, "head": WHOLE}
            ),
            "/api/health": _get("How many are at work and how many wait", _ref("Health")),
        },
        "components": {"schemas": SCHEMAS},
    }


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _given(
    name: str, place: str = "query", *, kind: Json = TEXT, required: bool = True, text: str | None = None
) -> Json:
    about = {"name": name, "in": place, "required": required, "schema": kind}
    return about if text is None else about | {"description": text}


ASKED = [
    _given("problem", text="57+48+96, 37*925, or bits such as 0110."),
    _given("model", required=False, text="A name of /api/models; without one, the box's own for such problems."),
]


def _answers(schema: Json, media: str, *statuses: str) -> Json:
    refusal = {"description": "Refused", "content": {"application/json": {"schema": _ref("Refusal")}}}
    done = {"description": "Done", "content": {media: {"schema": schema}}}
    return {"200": done} | dict.fromkeys(statuses, refusal)


def _get(
    summary: str,
    schema: Json,
    given: list[Json] | None = None,
    missing: bool = False,
    *,
    line: bool = False,
    media: str = "application/json",
) -> Json:
    statuses = ["400"] * bool(given) + ["404", "413"] * missing + ["429"] * line + ["503"] * missing
    about: Json = {"summary": summary, "responses": _answers(schema, media, *statuses)}
    return {"get": about | ({"parameters": given} if given else {})}


def _post(summary: str, schema: Json, more: Json) -> Json:
    wanted = {
        "model": TEXT,
        "problem": TEXT,
        "response": TOKENS | {"description": "What the model wrote, as /api/solve gives it."},
    } | more
    body = {"type": "object", "required": list(wanted), "properties": wanted, "additionalProperties": False}
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
            "responses": _answers(schema, "application/json", "400", "404", "413", "415", "503"),
        }
    }


def _object(**entries: Json) -> Json:
    return {"type": "object", "required": list(entries), "properties": entries}


def _or_null(kind: Json) -> Json:
    return {"anyOf": [kind, {"type": "null"}]}


def _list(of: Json) -> Json:
    return {"type": "array", "items": of}


SIZES: Json = {"type": "object", "additionalProperties": WHOLE}
ABOUT_GRID: dict[str, Json] = {
    "name": TEXT,
    "title": TEXT,
    "model": _or_null(TEXT),
    "task": TEXT,
    "axes": {"type": "object", "additionalProperties": _list(WHOLE)},
    "problems": TEXT,
    "decoding": {"enum": ["teacher-forced", "greedy"]},
    "samples": WHOLE,
    "trained_on": SIZES,
    "lowest": _or_null(RATE),
    "complete": {"type": "boolean"},
}
SCHEMAS: Json = {
    "Refusal": _object(error=TEXT),
    "Models": _object(
        models=_list(
            _object(
                name=TEXT,
                kind={"enum": ["box", "theorem", "folder"]},
                task=TEXT,
                format={"type": "object"},
                levels=_list(TEXT),
                example=TEXT,
                encoding=TEXT,
                parameters=WHOLE,
                layers=WHOLE,
                heads=WHOLE,
                width=WHOLE,
                trained_on=SIZES,
                first_choice={"type": "boolean", "description": "Asked where no model is named."},
                longest_drawn=_list(WHOLE)
                | {
                    "description": "How long the numbers of a random problem can be, by their count from 0 up, 0 where "
                    "there is none; of a task that has lengths only, one entry."
                },
            )
        ),
        limits=SIZES,
    ),
    "Grids": _object(grids=_list(_object(**ABOUT_GRID))),
    "Grid": _object(**ABOUT_GRID, grid={"type": "object", "description": "As in a grid file."}),
    "Problem": _object(model=TEXT, problem=TEXT, length=WHOLE),
    "Page": _object(
        model=TEXT,
        task=TEXT,
        problem=TEXT,
        operands=TOKENS,
        answer=TEXT,
        prompt=WHOLE | {"description": "How many tokens the model is given; it writes the others."},
        tokens=TOKENS,
        levels=TOKENS,
        ids=IDS,
        roles=TOKENS,
        lines=_list(WHOLE),
        places=_list(_or_null(WHOLE)) | {"description": "Places from the right where numbers stand under each other."},
        names=TOKENS,
    ),
    "Solution": _object(
        model=TEXT,
        task=TEXT,
        problem=TEXT,
        answer=_or_null(TEXT),
        right_answer=TEXT,
        correct={"type": "boolean", "description": "Whether every token is right."},
        answer_correct={"type": "boolean"},
        mistake=_or_null(TEXT),
        first_mistake=_or_null(WHOLE),
        checked_by=TEXT,
        sentence=TEXT,
        ended={"type": "boolean"},
        response=TOKENS,
        seconds={"type": "number"},
    ),
    "Attention": _object(
        at=WHOLE,
        heads=_list(_list(LOOK)) | {"description": "Layers, heads; keys by weight, those below 0.001 left out."},
        next=_list(_object(token=TEXT, probability=RATE)),
    ),
    "Matrix": _object(layer=WHOLE, head=WHOLE, tokens=TOKENS, names=TOKENS, least=RATE, rows=_list(LOOK)),
    "Health": _object(ok={"type": "boolean"}, working=WHOLE, waiting=WHOLE),
}
