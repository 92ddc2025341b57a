"""Run folders that are kept elsewhere: in any place fsspec knows, such as s3://bucket/runs or gs://bucket/runs.

A run works in a folder of its own machine. It is fetched before the work and brought back whenever it has been saved,
so that another machine can go on with it.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lengthwise.errors import InputError

ORDER = ("config.json", "metrics.jsonl", "timing.jsonl", "state", "model.safetensors")
"""What is brought back first: a state never stands without what led to it."""


def is_elsewhere(place: str | Path) -> bool:
    """Whether a place is an address and not a folder of this machine.

    >>> is_elsewhere("s3://bucket/runs"), is_elsewhere("runs/sweep")
    (True, False)
    """
    return "://" in str(place)


class Mirror:
    """A folder here and its counterpart elsewhere."""

    def __init__(self, address: str, folder: Path) -> None:
        try:
            import fsspec  # type: ignore[import-untyped]  # noqa: PLC0415  # only where an address is given

            self._system, self._root = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise InputError(f"{address!r} cannot be reached: {error}.") from error
        self.address, self.folder = address, folder
        self._pushed: dict[str, tuple[int, int]] = {}

    def fetch(self, *, only: tuple[str, ...] = ()) -> None:
        """Bring what is elsewhere here: all of it, or files whose names end so."""
        try:
            found: list[str] = self._system.find(self._root) if self._system.exists(self._root) else []
            for remote in found:
                name = remote[len(self._root) :].lstrip("/")
                if only and not name.endswith(only):
                    continue
                here = self.folder / name
                here.parent.mkdir(parents=True, exist_ok=True)
                self._system.get_file(remote, str(here))
                self._pushed[name] = _version(here)
        except OSError as error:
            raise InputError(f"{self.address!r} cannot be read: {error}.") from error

    def push(self) -> None:
        """Bring what has changed here since the last time there, and remove what is gone."""
        files = {
            str(file.relative_to(self.folder)): file
            for file in self.folder.rglob("*")
            if file.is_file() and not file.name.startswith(".") and file.name != "lock"
        }
        try:
            for name in sorted(files, key=_turn):
                version = _version(files[name])
                if self._pushed.get(name) != version:
                    self._put(files[name], f"{self._root}/{name}")
                    self._pushed[name] = version
            for name in set(self._pushed) - set(files):
                self._system.rm_file(f"{self._root}/{name}")
                del self._pushed[name]
        except OSError as error:
            raise InputError(f"{self.address!r} cannot be written: {error}.") from error

    def _put(self, file: Path, remote: str) -> None:
        """Whole or not at all, also where a place has real files: other places do that by themselves."""
        self._system.makedirs(remote.rpartition("/")[0], exist_ok=True)
        if "file" in _protocols(self._system):
            self._system.put_file(str(file), f"{remote}.part")
            self._system.mv(f"{remote}.part", remote)
        else:
            self._system.put_file(str(file), remote)


@contextmanager
def mirrored(address: str) -> Iterator[Mirror]:
    """A folder on this machine for a run that is kept elsewhere, fetched now and brought back in the end."""
    with tempfile.TemporaryDirectory(prefix="lengthwise-") as scratch:
        mirror = Mirror(address, Path(scratch) / address.rstrip("/").rpartition("/")[2])
        mirror.folder.mkdir()
        mirror.fetch()
        try:
            yield mirror
        finally:
            mirror.push()


def _turn(name: str) -> tuple[int, str]:
    first = name.split("/", maxsplit=1)[0]
    return (ORDER.index(first) if first in ORDER else len(ORDER)), name


def _version(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_mtime_ns, status.st_size


def _protocols(system: Any) -> tuple[str, ...]:
    return (system.protocol,) if isinstance(system.protocol, str) else tuple(system.protocol)
