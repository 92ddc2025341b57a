"""Finding what a package holds by walking it, so that adding a file is enough to add a task or an encoding."""

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import fields
from types import ModuleType
from typing import Any, TypeVar

from lengthwise.errors import InputError, instead

Base = TypeVar("Base")


def discover(package: ModuleType, base: type[Base]) -> dict[str, type[Base]]:
    """Every concrete subclass of `base` in the modules of `package`, by its `name`, in alphabetical order."""
    found: dict[str, type[Base]] = {}
    for module_info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        for _, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == module.__name__ and issubclass(member, base) and not inspect.isabstract(member):
                name = member.__dict__.get("name")
                assert isinstance(name, str), f"{member.__qualname__} needs a class attribute `name`"
                assert name not in found, f"two classes are named {name!r}"
                found[name] = member
    return dict(sorted(found.items()))


def make(kinds: Mapping[str, type[Base]], what: str, name: str, settings: Mapping[str, Any]) -> Base:
    """The one called `name`, with settings; a name or setting that does not exist is refused with the likeliest one."""
    if not isinstance(name, str) or name not in kinds:
        raise InputError(f"There is no {what} {name!r}: {instead(name, kinds)}")
    known = [field.name for field in fields(kinds[name])]  # type: ignore[arg-type]
    for setting in settings:
        if setting not in known:
            raise InputError(f"{name} has no setting {setting!r}: {instead(setting, known)}")
    return kinds[name](**{key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()})
