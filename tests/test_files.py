"""Files are whole or not there, and a folder has one writer at a time."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lengthwise import files
from lengthwise.files import UNFINISHED, locked, sweep, write_whole

ALONE = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parent)}
"""For processes that import `files` without the rest of lengthwise: they start at once."""


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("content", [b"", b"new", b"x" * 1_000_000])
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_file_is_written_and_nothing_else(content: bytes, old: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    if old is not None:
        file.write_bytes(old)
    write_whole(file, content)
    assert file.read_bytes() == content
    assert names(tmp_path) == ["file.json"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o644, "others may read results, unlike temporary files"


@pytest.mark.parametrize("broken", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_alone(
    broken: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(f"lengthwise.files.os.{broken}", fail)
    with pytest.raises(type(error)):
        write_whole(file, b"new")
    monkeypatch.undo()
    assert file.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_reader_finds_the_old_or_the_new(tmp_path: Path) -> None:
    file = tmp_path / "file"
    versions = [bytes([number]) * 200_000 for number in range(40)]
    write_whole(file, versions[0])

    def write_all() -> None:
        for version in versions:
            write_whole(file, version)

    writer = threading.Thread(target=write_all)
    writer.start()
    seen = set()
    while writer.is_alive():
        seen.add(file.read_bytes())
    writer.join()
    assert seen <= set(versions)
    assert file.read_bytes() == versions[-1]


KILL_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
import files
def die(descriptor):
    os.ftruncate(descriptor, 3)
    os.kill(os.getpid(), signal.SIGKILL)
files.os.fsync = die
files.write_whole(Path(sys.argv[1]), b"new content")
"""


def test_a_killed_writer_leaves_the_old_file_and_what_can_be_swept(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    (tmp_path / ".hidden").write_bytes(b"mine")
    (tmp_path / "report.part").write_bytes(b"mine")
    died = subprocess.run([sys.executable, "-c", KILL_WHILE_WRITING, str(file)], env=ALONE, check=False)
    assert died.returncode == -signal.SIGKILL
    assert file.read_bytes() == b"old"
    (leftover,) = set(names(tmp_path)) - {"file", ".hidden", "report.part"}
    assert leftover.startswith(".file.")
    assert leftover.endswith(UNFINISHED)
    sweep(tmp_path)
    assert names(tmp_path) == [".hidden", "file", "report.part"]
    sweep(tmp_path / "no such folder")


def test_the_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        write_whole(tmp_path / "none" / "file", b"")


def test_one_has_the_lock_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / "deep" / "lock"
    with locked(lock) as first:
        assert first
        with locked(lock) as second:
            assert not second
        with locked(tmp_path / "other") as other:
            assert other
        with locked(lock) as third:
            assert not third, "who is refused must not free the lock"
    with locked(lock) as later:
        assert later


def test_an_error_frees_the_lock(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), locked(tmp_path / "lock"):
        raise RuntimeError
    with locked(tmp_path / "lock") as again:
        assert again


HOLD = """
import sys, time
from pathlib import Path
import files
with files.locked(Path(sys.argv[1])) as alone:
    print(alone, flush=True)
    time.sleep(60)
"""


def test_the_lock_goes_with_its_process(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], env=ALONE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        with locked(lock) as alone:
            assert not alone
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        with locked(lock) as alone:
            assert alone
    finally:
        holder.kill()
        holder.communicate()
