"""What holds for every command: the overview, exit codes, and how it behaves as a process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from asking import refused, run

from lengthwise import cli
from lengthwise.cli.command import COMMANDS

DESIGNED = {"demo", "show", "solve", "train", "evaluate", "figure", "list", "mistakes", "attention"}


def test_the_overview_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(COMMANDS) >= DESIGNED
    for arguments in ([], ["--help"], ["-h"], ["help"]):
        out, err = run(capsys, *arguments)
        assert err == ""
        for name, summary in COMMANDS.items():
            assert f"  {name:11}{summary}" in out.splitlines()
    assert run(capsys, "--version")[0].startswith("lengthwise ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_refuses_what_it_does_not_know(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    out, _ = run(capsys, name, "--help")
    assert out.startswith(f"usage: lengthwise {name}")
    first = {
        "train": "adder-tiny",
        "sweep": "adder-tiny",
        "show": "57+48",
        "solve": "57+48",
        "list": "",
        "demo": "",
    }.get(name, "nothing")
    sentence = refused(capsys, name, *[first][: bool(first)], "--nonsense")
    assert "--nonsense" in sentence
    assert f"lengthwise {name}" in sentence


def test_a_command_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "shw") == "There is no command 'shw': did you mean 'show'?"
    assert "choose one of demo, show" in refused(capsys, "xyz")


def test_what_escapes_is_a_bug_and_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(arguments: list[str]) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("lengthwise.cli.list.run", broken)
    with pytest.raises(ZeroDivisionError):
        cli.main(["list"])


def test_ctrl_c_says_so_and_exits_130(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lengthwise.cli.list.run", interrupted)
    assert run(capsys, "list", expect=130) == ("", "\nlengthwise: stopped.\n")
    monkeypatch.setenv("RANK", "1")
    assert run(capsys, "list", expect=130) == ("", ""), "of several processes the first speaks"


def start(*arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
    """The command as a process of its own, in which every warning is an error."""
    environment = {**os.environ, "PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "1", **options.pop("environment", {})}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, "-m", "lengthwise", *arguments], env=environment, **pipes)


def test_as_a_process_with_standard_input() -> None:
    asked = start("show", "-", "--json")
    refusing = start("show", "-", "--json")
    out, err = asked.communicate(b"0101")
    assert (json.loads(out)["answer"], err, asked.returncode) == ("0", b"", 0)
    out, err = refusing.communicate(b"9" * 10**6 + b"+1")
    assert (out, refusing.returncode) == (b"", 2)
    assert err.startswith(b"lengthwise: ")
    assert b"Traceback" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here to stand for a full disk")
def test_as_a_process_whose_reader_or_disk_has_had_enough() -> None:
    with open("/dev/full", "wb") as full:
        reader, writer = start("show", "-", "--json"), start("list", "--json", stdout=full)
    assert reader.stdout is not None
    reader.stdout.close()
    _, err = reader.communicate(("+".join(["9" * 50] * 50)).encode())
    assert (err, reader.returncode) == (b"", 0)
    _, err = writer.communicate()
    assert err.decode() == "lengthwise: The output cannot be written: No space left on device.\n"
    assert writer.returncode == 2


def test_a_terminal_that_knows_few_characters() -> None:
    process = start("show", "57+48", environment={"PYTHONIOENCODING": "ascii"})
    out, err = process.communicate()
    assert (b"query" in out, err, process.returncode) == (True, b"", 0)
