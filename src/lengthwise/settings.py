"""Settings: frozen dataclasses whose fields are checked against their types, and which go to JSON and back strictly."""

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, fields
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union

from lengthwise.errors import InputError

Settings = TypeVar("Settings")


def check_types(settings: Any) -> None:
    """Refuse a field whose value is not of its type. A list given for a tuple becomes one: settings can be hashed."""
    hints = typing.get_type_hints(type(settings))
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, list):
            value = tuple(value)
            object.__setattr__(settings, field.name, value)
        if not _fits(value, hints[field.name]):
            raise InputError(f"{field.name} must be {_in_words(hints[field.name])}, not {value!r}.")


def _fits(value: object, kind: Any) -> bool:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return any(_fits(value, choice) for choice in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, arguments[0]) for item in value)
    if kind in (bool, str, type(None)):
        return isinstance(value, kind)
    if isinstance(value, bool):
        return False
    if kind is int:
        return isinstance(value, Integral)
    assert kind is float, f"no rule for settings of the type {kind}"
    return isinstance(value, Real) and math.isfinite(value)


def _in_words(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(_in_words(choice) for choice in arguments)
    if origin is Literal:
        return "one of " + ", ".join(repr(choice) for choice in arguments)
    if origin is tuple:
        return {int: "a tuple of integers", str: "a tuple of names"}.get(arguments[0], "a tuple")
    names = {bool: "True or False", int: "a whole number", float: "a number", str: "a text", type(None): "None"}
    return names[kind]


def to_json(settings: Any) -> dict[str, Any]:
    """The fields of a dataclass, preceded by its `name` where it has one."""
    name = getattr(type(settings), "name", None)
    return ({} if name is None else {"name": name}) | asdict(settings)


LATER = {"content_scores", "staircase"}
"""Settings that files of the first format may lack: they came later, and their defaults are what was done before."""


def from_json(kind: type[Settings], data: Mapping[str, Any], where: str) -> Settings:
    """A dataclass from the fields `to_json` gave. `where` says in messages what is being read."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    own = {key: value for key, value in data.items() if key != "name" or not hasattr(kind, "name")}
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in own.items()}
    for key in given:
        if key not in known:
            raise InputError(f"{where} has an unknown setting {key!r}: it knows {', '.join(sorted(known))}.")
    for key in sorted(known):
        if key not in given and key not in LATER:
            raise InputError(f"{where} lacks the setting {key!r}: it is not complete.")
    try:
        return kind(**given)
    except InputError as error:
        raise InputError(f"{where} cannot be used: {error}") from error
