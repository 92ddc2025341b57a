"""Files that are written whole or not at all, and by one process at a time."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".part"
"""How the names of files end that are being written."""


def write_whole(file: Path, content: bytes) -> None:
    """Write a file so that a reader, or a power cut, finds the old content or the new, never a part."""
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=UNFINISHED)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the rename itself must reach the disk
    finally:
        os.close(folder)


def sweep(folder: Path) -> None:
    """Remove what processes that were killed while writing have left. Only for who has the folder for himself."""
    for leftover in folder.glob(f".*{UNFINISHED}"):
        leftover.unlink(missing_ok=True)


@contextmanager
def locked(file: Path, patience: float = 0.0) -> Iterator[bool]:
    """Hold a lock file, or say False where another process does, still after so many seconds.

    The lock goes with its process, however that ends.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + patience
    with file.open("w") as stream:
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    yield False
                    return
                time.sleep(0.1)
        yield True
