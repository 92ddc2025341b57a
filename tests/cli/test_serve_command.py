"""lengthwise serve: a process that says where its page is, answers, and ends when it is told to."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from asking import check_help, refused, run, train_tiny

from lengthwise.cli.serve import _has_browser, _Serve
from lengthwise.web.limits import Limits

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
LONG = "+".join(["9" * 50] * 50)
"""A problem that takes seconds."""


class Serving:
    """The command at work."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lengthwise", "serve", "--port", "0", "--no-open", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        found = re.fullmatch(r"lengthwise: the page is at (http://\S+:(\d+)/)   \(Ctrl-C ends it\)\n", self.said)
        assert found, (self.said, self.process.communicate())
        self.address, self.port = found[1], int(found[2])

    def get(self, path: str) -> dict[str, object]:
        with urllib.request.urlopen(f"{self.address}{path}", timeout=20) as response:
            found: dict[str, object] = json.load(response)
            return found

    def end(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str, str, float]:
        """The exit code, what was printed, and how long it took."""
        began = time.monotonic()
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err, time.monotonic() - began


@contextmanager
def serving(*arguments: str) -> Iterator[Serving]:
    server = Serving(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


@contextmanager
def watching(port: int, problem: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", f"/api/solve/stream?problem={problem}")
    response = connection.getresponse()
    try:
        yield response
    finally:
        response.close()
        connection.close()


def test_it_answers_and_ctrl_c_ends_it() -> None:
    with serving() as server:
        assert server.address == f"http://127.0.0.1:{server.port}/"
        assert server.get("api/health") == {"ok": True, "working": 0, "waiting": 0}
        assert server.get("api/solve?problem=57+48+96")["answer"] == "201"
        with urllib.request.urlopen(server.address, timeout=20) as page:
            assert page.status == 200
            assert "Server" not in page.headers
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
            line.sendall(b"this is no request\r\n\r\n")  # nothing that one would want to read about
            assert line.recv(100).startswith(b"HTTP/1.1 400")
        code, out, err, seconds = server.end()
    assert (code, out, err) == (0, "lengthwise: the page is closed.\n", "")
    assert seconds < 4


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_while_people_watch_and_wait(how: signal.Signals) -> None:
    """Soon, without a word of trouble, and with a word to those who watched."""
    with (
        serving("--at-once", "1") as server,
        watching(server.port, LONG) as first,
        watching(server.port, LONG) as second,
    ):
        assert first.readline() == b"event: page\n"
        assert second.readline() == b"event: line\n"
        code, out, err, seconds = server.end(how)
        for response in (first, second):
            assert response.read().endswith(b'event: error\ndata: {"error":"The page is being closed."}\n\n')
    assert (code, out, err) == (0, "lengthwise: the page is closed.\n", "")
    assert seconds < 4


def test_ctrl_c_twice_ends_it_at_once() -> None:
    with serving() as server, watching(server.port, LONG) as response:
        response.readline()
        server.process.send_signal(signal.SIGINT)
        code, _, err, seconds = server.end()
    assert code == 0
    assert "Traceback" not in err
    assert seconds < 4


def test_limits_and_folders_are_taken(tmp_path: Path) -> None:
    folder = train_tiny(tmp_path / "my run")
    with serving(str(folder), "--digits", "7", "--waiting", "0", "--seconds", "1.5") as server:
        said = server.get("api/models")
        assert isinstance(said["models"], list)
        assert said["models"][-1]["name"] == "my-run"
        assert isinstance(said["limits"], dict)
        assert said["limits"]["digits"] == 7
        with pytest.raises(urllib.error.HTTPError) as refusal:
            server.get("api/solve?problem=12345678+1")
        with refusal.value as answer:
            assert json.load(answer) == {"error": "A number of this has 8 digits: up to 7 are taken here."}


def test_another_host_is_refused_at_a_loopback_address() -> None:
    with serving() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", "/api/health", headers={"Host": "evil.example"})
        answer = connection.getresponse()
        assert answer.status == 421
        answer.close()
        connection.close()


def test_at_all_addresses_it_warns_and_answers_to_any_name() -> None:
    with serving("--host", "0.0.0.0") as server:
        assert server.address == f"http://localhost:{server.port}/"
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", "/api/health", headers={"Host": "my-laptop.example"})
        answer = connection.getresponse()
        assert answer.status == 200
        answer.close()
        connection.close()
        code, _, err, _ = server.end()
    assert code == 0
    assert err == "lengthwise: other machines can reach it, and nothing asks who they are.\n"


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refused(capsys, "serve", "--port", port, "--no-open")
    assert sentence.startswith(f"Nothing can be served at 127.0.0.1:{port} (Address already in use): give another")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--port", "99999"], "--port must be from 0 to 65535, not 99999."),
        (["--port", "-1"], "--port must be from 0 to 65535, not -1."),
        (["--port", "eighty"], "--port cannot be 'eighty'"),
        (["--host", "no.such.host.invalid", "--port", "0"], "Nothing can be served at no.such.host.invalid:0 ("),
        (["--host", "\udcff", "--port", "0"], "Nothing can be served at "),
        (["nowhere"], "There is neither a model nor a grid in 'nowhere': give a run folder"),
        (["empty"], "There is neither a model nor a grid in 'empty': give a run folder"),
        (["notes.txt"], "notes.txt"),
        (["--at-once", "0"], "at_once must be above 0, not 0 (see"),
        (["--digits", "-5"], "digits must be above 0, not -5 (see"),
        (["--seconds", "soon"], "--seconds cannot be 'soon' (see"),
        (["--seconds", "nan"], "seconds must be above 0, not nan (see"),
        (["--device", "abacus"], "abacus"),
        (["--prot", "80"], "did you mean --port?"),
    ],
)
def test_what_cannot_be_served(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("notes")
    assert words in refused(capsys, "serve", "--no-open", *arguments)


def test_a_refusal_as_a_process() -> None:
    """The exit code, and nothing but a sentence."""
    command = [sys.executable, "-m", "lengthwise", "serve", "--no-open", "--port"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = subprocess.run(
            [*command, str(taken.getsockname()[1])], capture_output=True, text=True, env=ENVIRONMENT, check=False
        )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(r"lengthwise: Nothing can be served at .*\n", ended.stderr)


def test_help_explains_every_option_and_every_limit(capsys: pytest.CaptureFixture[str]) -> None:
    check_help(capsys, "serve", ("", Limits))
    out, _ = run(capsys, "serve", "--help")
    for option in ("FOLDER", "--host", "--port", "--no-open", "--device"):
        assert option in out
    assert "0.0.0.0 lets other machines in" in re.sub(r"[\s│]+", " ", out)
    assert set(_Serve.__dataclass_fields__) == {"places", "host", "port", "no_open", "device", "limits"}


def test_the_overview_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "serve      the web page" in run(capsys)[0]


def test_a_browser_is_opened_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a screen, for a person at a terminal, unless told otherwise; at the very address that is printed."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    for screen, terminal, expected in ((None, True, False), (":0", True, True), (":0", False, False)):
        if screen:
            monkeypatch.setenv("DISPLAY", screen)
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal)
        assert _has_browser() is expected
