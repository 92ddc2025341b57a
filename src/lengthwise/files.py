"""Files that are written whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(file: Path, content: bytes) -> None:
    """Write a file so that a reader, or a power cut, finds the old content or the new, never a part."""
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
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
