"""Settings to JSON and back, strictly: an unknown or missing key is refused, never ignored."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from lengthwise.errors import InputError

Settings = TypeVar("Settings")


def to_json(settings: Any) -> dict[str, Any]:
    """The fields of a dataclass, preceded by its `name` where it has one."""
    name = getattr(type(settings), "name", None)
    return ({} if name is None else {"name": name}) | asdict(settings)


def from_json(kind: type[Settings], data: Mapping[str, Any], where: str) -> Settings:
    """A dataclass from the fields `to_json` gave. `where` says in messages what is being read."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items() if key != "name"}
    for key in given:
        if key not in known:
            raise InputError(f"{where} has an unknown setting {key!r}: it knows {', '.join(sorted(known))}.")
    for key in sorted(known):
        if key not in given:
            raise InputError(f"{where} lacks the setting {key!r}: it is not complete.")
    try:
        return kind(**given)
    except TypeError as error:
        raise InputError(f"{where} cannot be read: {error}.") from error
