"""Whatever is sent, the answer is a decent one: a sentence, the headers that keep browsers safe, and no traceback."""

import json
import logging
import re
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import LOCAL, Answer, Client, Direct, parse_answer, serving
from starlette.requests import Request

from lengthwise.web import Catalogue, Limits, create_app
from lengthwise.web.protection import HEADERS, client_address, loopback_names

EVERYTHING = Catalogue.of()
LIMITS = Limits(characters=300, digits=12, bits=40, numbers=6, tokens=300, matrix=100)
GETS = {
    "/api/models": "",
    "/api/grids": "",
    "/api/grids/adder-tiny": "",
    "/api/problem": "model=adder-tiny&length=3&count=3",
    "/api/page": "problem=57+48",
    "/api/solve": "problem=57+48",
    "/api/solve/stream": "problem=57+48",
    "/api/health": "",
    "/openapi.json": "",
    "/": "",
    "/api": "",
    "/static/index.html": "",
}
CHANGING = {"/api/solve", "/api/solve/stream", "/api/health"}
"""Whose answers say how long something took, or how many are at work."""
POSTS = ["/api/attention", "/api/attention/head"]
BODY: dict[str, Any] = {"model": "adder-tiny", "problem": "57+48", "response": ["0"], "at": 0}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(EVERYTHING, LIMITS) as client:
        yield client


@pytest.fixture(scope="module")
def direct() -> Iterator[Direct]:
    direct = Direct(create_app(EVERYTHING, LIMITS, hosts=LOCAL))
    yield direct
    direct.close()


@pytest.fixture(autouse=True)
def nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A traceback in the log is as bad as one in the answer."""
    yield
    for phase in ("setup", "call"):
        assert not [r for r in caplog.get_records(phase) if r.levelno >= logging.WARNING]


def check_headers(answer: Answer) -> None:
    for name, value in HEADERS.items():
        assert answer.headers[name.lower()] == value
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy.items() >= {"default-src": "'none'", "script-src": "'self'", "frame-ancestors": "'none'"}.items()
    assert not any(word in value for value in policy.values() for word in ("unsafe", "http", "*"))
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in answer.headers
    assert "cache-control" in answer.headers
    assert not [name for name in answer.headers if name.startswith("access-control")]


def check_decent(answer: Answer, *statuses: int) -> None:
    check_headers(answer)
    assert answer.status in (statuses or (200, 307, 400, 404, 405, 411, 413, 415, 421, 503)), answer
    if answer.status >= 400:
        assert answer.refusal


@pytest.mark.parametrize("path", GETS)
def test_every_answer_has_the_headers(client: Client, path: str) -> None:
    answer = client.ask("GET", f"{path}?{GETS[path]}")
    check_decent(answer, 200)
    cached = path in ("/", "/api") or path.startswith("/static")
    assert answer.headers["cache-control"] == ("no-cache" if cached else "no-store")
    check_decent(client.ask("HEAD", f"{path}?{GETS[path]}"), 200)


@pytest.mark.parametrize("path", POSTS)
def test_every_answer_to_a_body_has_the_headers(client: Client, path: str) -> None:
    body = BODY if path == "/api/attention" else {**{k: v for k, v in BODY.items() if k != "at"}, "layer": 0, "head": 0}
    check_decent(client.post(path, body), 200)


@pytest.mark.parametrize("path", [*GETS, *POSTS, "/static/none", "/none"])
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "POST", "GET", "BREW", "get"])
def test_wrong_methods(client: Client, method: str, path: str) -> None:
    if method == ("POST" if path in POSTS else "GET"):
        return
    answer = client.ask(method, path)
    check_decent(answer, 404 if path == "/none" or (path, method) == ("/static/none", "GET") else 405)
    if answer.status == 405 and not path.startswith("/static"):
        assert answer.headers["allow"]


@pytest.mark.parametrize(
    "path",
    [
        "/none",
        "/api/none",
        "/api/models/none",
        "/static/",
        "/static/none.js",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/....//....//etc/passwd",
        "/static/index.html%00.js",
        "/static/%00",
        f"/static/{'a' * 5_000}",
        f"/static/{'a/' * 2_000}",
        "/static/%ff%fe",
        "/static/index.html/none",
        "/api/grids/../models/../../etc/passwd",
        "/api/grids/..%2f..%2fetc%2fpasswd",
        "/api/grids/%00",
        "/api/grids/%ff",
        f"/api/grids/{'a' * 5_000}",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/.git/config",
        "/api/solve/stream/",
        "//evil.example/",
        "/favicon.ico",
        "*",
    ],
)
def test_addresses_that_lead_nowhere(client: Client, path: str) -> None:
    answer = client.ask("GET", path)
    check_decent(answer, *([307] if path == "/api/solve/stream/" else [404]))
    if answer.status == 307:
        assert answer.headers["location"].startswith(f"http://127.0.0.1:{client.port}/api/")
    assert b"import" not in answer.body
    assert b"root:" not in answer.body


@pytest.mark.parametrize("path", ["/", "/static/index.html"])
@pytest.mark.parametrize(
    "asked", ["bytes=0-3", "bytes=abc", "bytes=-", "bytes=9999999999-", "lines=1", "bytes=5-2,1-0"]
)
def test_parts_of_files(client: Client, path: str, asked: str) -> None:
    answer = client.ask("GET", path, headers={"Range": asked})
    check_headers(answer)
    assert answer.status in (200, 206, 400, 416)


# Bodies.


def test_bodies_that_are_too_large(client: Client) -> None:
    sentence = f"The body is too large: up to {LIMITS.body:,} bytes are taken here."
    for path in POSTS:
        answer = client.ask("POST", path, b" " * (LIMITS.body + 1), JSON)
        check_decent(answer, 413)
        assert answer.refusal == sentence
        whole = json.dumps(BODY).encode().ljust(LIMITS.body)
        assert client.ask("POST", path, whole, JSON).status in (200, 400)


def test_a_large_body_without_its_size(client: Client) -> None:
    """In chunks, of which nobody knows how many will come."""
    for path in POSTS:
        answer = client.ask("POST", path, iter([b" " * 1_000] * (LIMITS.body // 1_000 + 1)), JSON)
        check_decent(answer, 413)


def test_a_body_that_is_not_all_there(client: Client) -> None:
    """It says how much there will be, and then nothing comes: nobody else has to wait, and leaving is no failure."""
    head = "POST /api/attention HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {10**9}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", client.port), timeout=5) as line:
        line.sendall(head.encode() + b"{")
        assert client.get("/api/health").status == 200
    assert client.raw(head.encode() + b"{", hang_up=True) == b""
    large = client.raw(head.encode() + b" " * (LIMITS.body + 1))
    assert parse_answer(large).status == 413


@pytest.mark.parametrize("path", GETS)
def test_a_body_where_none_is_asked_for(client: Client, path: str) -> None:
    for body in (b"{}", b" " * (LIMITS.body + 1), iter([b" " * 1_000] * (LIMITS.body // 1_000 + 1))):
        answer = client.ask("GET", f"{path}?{GETS[path]}", body, JSON)
        check_decent(answer, 200)
        assert answer.body == client.ask("GET", f"{path}?{GETS[path]}").body or path in CHANGING


@pytest.mark.parametrize(
    "kind",
    [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", ";"],
)
def test_bodies_of_another_kind(client: Client, kind: str | None) -> None:
    """What another site's form can send without being asked."""
    for path in POSTS:
        answer = client.ask("POST", path, json.dumps(BODY).encode(), {} if kind is None else {"Content-Type": kind})
        check_decent(answer, 415)
        assert answer.refusal == "The body must be JSON, with the header Content-Type: application/json."
    assert (
        client.ask("POST", POSTS[0], json.dumps(BODY), {"Content-Type": "Application/JSON; charset=utf-8"}).status
        == 200
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"0",
        b'"x"',
        b"[" * 2_000,
        b'{"a":' * 1_000,
        b"[" * 1_000 + b"]" * 1_000,
        b"\xff\xfe",
        b'{"model": "\xff"}',
        b"NaN",
        b'{"at": NaN}',
        b"1" * 5_000,
        b'{"model":"adder-tiny","problem":"57+48","response":[],"at":1e400}',
        b'{"model":"adder-tiny","problem":"57+48","response":[],"at":-0}',
        b'{"model":"adder-tiny","problem":"57+48","response":[],"at":' + b"9" * 2_000 + b"}",
        b'{"model":"adder-tiny","problem":"57+48","response":[],"at":0,"at":-1}',
        b'{"model":"\\ud800","problem":"57+48","response":[],"at":0}',
        b'{"model":"adder-tiny","problem":"\\ud800+\\udfff","response":[],"at":0}',
        b'{"model":"adder-tiny","problem":"57+48","response":["\\ud800"],"at":0}',
        b'{"model":"adder-tiny","problem":"5\\u0000+48","response":["\\u0000"],"at":0}',
        b'{"\\ud800":1}',
        '{"model":"adder-tiny","problem":"57+48","response":[],"at":0}'.encode("utf-16"),
        '{"model":"adder-tiny","problem":"57+48","response":[],"at":0}'.encode("utf-32"),
        b"\xef\xbb\xbf" + json.dumps(BODY).encode(),
    ],
    ids=lambda body: ascii(body[:50]),
)
def test_bodies_that_are_not_what_is_wanted(client: Client, body: bytes) -> None:
    for path in POSTS:
        check_decent(client.ask("POST", path, body, JSON), 200, 400, 404)


# The name of the host, and what comes over a socket.


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8421", "localhost.evil.example", "127.0.0.1.evil.example"),
        *("localhost@evil.example", "localhost, evil.example", "evil.example/localhost", "127.0.0.2", "0.0.0.0"),
        *("", "[", "]", "[::1", ":", "::1"),
    ],
)
def test_other_names_of_this_host_are_not_answered_to(client: Client, host: str) -> None:
    """A site that has its own name lead here must not be able to ask anything."""
    for path in ("/", "/api/health", "/static/index.html", "/none"):
        answer = parse_answer(client.raw(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()))
        check_decent(answer, 421)
        assert answer.refusal == "This page answers to its own address only."


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:80"])
def test_its_own_names_are(client: Client, host: str) -> None:
    assert (
        parse_answer(
            client.raw(f"GET /api/health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        ).status
        == 200
    )


def test_no_host_at_all(client: Client) -> None:
    check_decent(parse_answer(client.raw(b"GET /api/health HTTP/1.0\r\n\r\n")), 421)
    assert parse_answer(client.raw(b"GET /api/health HTTP/1.1\r\n\r\n")).status == 400


def test_the_names_of_a_loopback_address() -> None:
    names = frozenset({"localhost", "127.0.0.1", "::1"})
    assert loopback_names("127.0.0.1") == loopback_names("localhost") == loopback_names("::1") == names
    assert loopback_names("127.0.0.5") == names | {"127.0.0.5"}
    assert loopback_names("0.0.0.0") is loopback_names("::") is loopback_names("example.org") is None


@pytest.mark.parametrize(
    ("client", "address"),
    [
        (("192.0.2.7", 51_234), "192.0.2.7"),
        (("::ffff:192.0.2.7", 51_234), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 51_234), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff::", 1), "2001:db8:1:2::/64"),
        (("2001:db8:1:3::1", 1), "2001:db8:1:3::/64"),
        (("fe80::1%eth0", 1), "fe80::/64"),
        (("::1", 1), "::/64"),
        (("/run/a.sock", 0), "/run/a.sock"),
        (None, ""),
    ],
)
def test_where_a_request_comes_from(client: tuple[str, int] | None, address: str) -> None:
    headers = [(b"x-forwarded-for", b"198.51.100.1"), (b"forwarded", b"for=198.51.100.1"), (b"x-real-ip", b"1.2.3.4")]
    assert client_address(Request({"type": "http", "client": client, "headers": headers})) == address


def test_where_any_name_will_do() -> None:
    with serving(EVERYTHING, LIMITS, hosts=None) as client:
        for host in ("evil.example", "[", "]", "[::1", "", ":", "a b", "\\", "%", "[::1]:80"):
            for path in ("/api/page?problem=57+48", "/api/models/", "/static", "/none"):
                sent = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
                answer = parse_answer(client.raw(sent))
                check_decent(answer, 200, 307, 404)
                assert answer.status == 200 or "problem" not in path


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00" * 100,
        b"\r\n" * 100,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: \xff\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /api/attention HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"GET /?" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    ],
    ids=lambda sent: ascii(sent[:60]),
)
def test_what_is_no_request(client: Client, sent: bytes) -> None:
    received = client.raw(sent, hang_up=True)
    assert re.match(rb"(HTTP/1\.1 (200|400|404|421) |$)", received)
    assert b"Traceback" not in received
    assert b"server:" not in received.lower().partition(b"\r\n\r\n")[0]
    assert client.get("/api/health").status == 200


def test_requests_that_come_slowly_hold_up_nobody(client: Client) -> None:
    lines = [socket.create_connection(("127.0.0.1", client.port), timeout=5) for _ in range(50)]
    try:
        for line in lines:
            line.sendall(b"GET /api/health HTTP/1.1\r\nHost: ")
        began = time.monotonic()
        assert client.get("/api/health").status == 200
        assert time.monotonic() - began < 5
    finally:
        for line in lines:
            line.close()


@pytest.mark.parametrize("path", ["/api/page", "/api/solve", "/api/solve/stream"])
def test_long_queries(client: Client, path: str) -> None:
    check_decent(client.ask("GET", f"{path}?problem={'1' * 50_000}"), 413)
    check_decent(client.ask("GET", f"{path}?{'a' * 50_000}=1"), 400)
    check_decent(client.ask("GET", f"{path}?{'&' * 50_000}problem=57+48"), 200)
    check_decent(client.ask("GET", f"{path}?{'model=&' * 5_000}problem=57+48"), 200)
    check_decent(client.ask("GET", f"{path}?problem=1{'%20' * 298}1"), 400)
    check_decent(client.ask("GET", f"{path}?problem=%F0%9F%98%80"), 400)


# At random. Words that mean something are thrown in, or little would come past the first question.

WORDS = st.sampled_from(
    [
        *("adder-tiny", "multiplier", "parity-tiny", "theorem", "57+48", "37*925", "0110", "9" * 20, "1" * 13 + "+1"),
        *("", "0", "1", "-1", "$", "=", ">", "[1]", "\0", "\ud800", "٣", "x" * 400, "..", "1e5", "true", "9" * 9),
    ]
)
TEXT = WORDS | st.text(max_size=20)
NUMBERS = st.integers(-3, 40) | st.integers() | st.floats() | st.just(10**400) | st.just(-(10**25))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=6,
)
TOKENS = st.lists(st.sampled_from("0123456789+*=>$"), max_size=40)
ENTRIES = {
    "model": st.sampled_from(["adder-tiny", "multiplier", "parity-tiny", "theorem", "adder-coupling"]) | VALUES,
    "problem": st.sampled_from(["57+48", "1+2+3", "37*925", "0110", "9" * 12 + "+1"]) | VALUES,
    "response": TOKENS | st.lists(TEXT, max_size=5) | VALUES,
    "at": NUMBERS | VALUES,
    "layer": st.integers(0, 1) | NUMBERS,
    "head": st.integers(0, 4) | NUMBERS,
}
QUIET = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.mark.parametrize("path", POSTS)
@given(data=st.data())
@QUIET
def test_any_json(direct: Direct, path: str, data: st.DataObject) -> None:
    names = ["model", "problem", "response", *(["at"] if path == "/api/attention" else ["layer", "head"])]
    body: Any = {name: data.draw(ENTRIES[name]) for name in names}
    if data.draw(st.integers(0, 9)) == 0:
        body = data.draw(VALUES)
    check_decent(direct.post(path, json.dumps(body).encode()), 200, 400, 404, 413)


@pytest.mark.parametrize("path", POSTS)
@given(body=st.binary(max_size=60))
@QUIET
def test_any_bytes(direct: Direct, path: str, body: bytes) -> None:
    check_decent(direct.post(path, body), 400)


QUERIES = st.lists(
    st.tuples(
        st.sampled_from(["model", "problem", "length", "count", "seed"]) | TEXT,
        TEXT.map(lambda text: text.encode(errors="surrogatepass")) | st.binary(max_size=8),
    ),
    max_size=5,
)


@pytest.mark.parametrize("path", GETS)
@given(parts=QUERIES)
@settings(QUIET, max_examples=60)
def test_any_query(direct: Direct, path: str, parts: list[tuple[str, bytes]]) -> None:
    query = "&".join(
        f"{quote_from_bytes(name.encode(errors='surrogatepass'))}={quote_from_bytes(value)}" for name, value in parts
    )
    check_decent(direct.get(path, query.encode()), 200, 400, 404, 413)


@given(path=st.sampled_from(sorted(GETS)), query=st.binary(max_size=40))
@QUIET
def test_any_bytes_as_a_query(direct: Direct, path: str, query: bytes) -> None:
    check_decent(direct.get(path, query), 200, 400, 404, 413)


@given(path=st.text(max_size=30), front=st.sampled_from(["/", "/static/", "/api/", "/api/grids/", ""]))
@QUIET
def test_any_address(direct: Direct, path: str, front: str) -> None:
    check_decent(direct.get(front + path), 200, 307, 400, 404, 405)


@given(
    headers=st.lists(
        st.tuples(
            st.sampled_from([b"content-type", b"host", b"range", b"if-none-match", b"if-modified-since", b"accept"])
            | st.binary(max_size=10).map(bytes.lower),
            st.binary(max_size=20),
        ),
        max_size=4,
    ),
    path=st.sampled_from([*GETS, *POSTS]),
)
@QUIET
def test_any_headers(direct: Direct, headers: list[tuple[bytes, bytes]], path: str) -> None:
    answer = direct.ask("POST" if path in POSTS else "GET", path, headers=headers)
    check_headers(answer)
    assert answer.status in (200, 206, 304, 400, 415, 416, 421)
