"""A model as a folder: `config.json`, complete and read strictly, and `model.safetensors`. Nothing is unpickled."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save
from torch import Tensor

from lengthwise import positions, tasks
from lengthwise.errors import InputError
from lengthwise.files import write_whole
from lengthwise.model.config import ModelConfig
from lengthwise.model.transformer import Transformer
from lengthwise.positions.base import Encoding
from lengthwise.settings import from_json, to_json

FORMAT = 1
"""The version of what is written here; a reader refuses newer ones."""
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
KEYS = ("format", "model", "encoding", "task", "vocabulary")
RUN = "run"
"""The key a run folder has besides: how the model was trained."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a folder says of its model, weights apart."""

    model: ModelConfig
    encoding: Encoding
    task: tasks.Task
    vocabulary: tuple[str, ...]
    run: dict[str, Any] | None = None
    """How it was trained, if it lies in a run folder."""

    @property
    def trained_on(self) -> dict[str, int] | None:
        """The largest sizes of its training, by axis, where that is known."""
        data = (self.run or {}).get("data")
        return {axis: data[axis] for axis in ("length", "count") if data.get(axis)} if isinstance(data, dict) else None

    def to_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {
            "format": FORMAT,
            "model": to_json(self.model),
            "encoding": to_json(self.encoding),
            "task": to_json(self.task),
            "vocabulary": list(self.vocabulary),
        } | ({} if self.run is None else {RUN: self.run})


def write(
    folder: Path,
    model: Transformer,
    task: tasks.Task,
    vocabulary: tuple[str, ...],
    *,
    run: dict[str, Any] | None = None,
    step: int | None = None,
) -> None:
    """Save a model and all that is needed to use it; in a run folder, how it is trained and how far it has come."""
    about = Description(model=model.config, encoding=model.encoding, task=task, vocabulary=vocabulary, run=run)
    noted = None if step is None else {"step": str(step)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / WEIGHTS, save(tensors_of(model), noted))
        write_whole(folder / CONFIG, json.dumps(about.to_json(), indent=2).encode())
        if not (folder / CARD).exists():
            write_whole(folder / CARD, _card(model, task).encode())
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be written to: {error.strerror or error}.") from error


def tensors_of(model: Transformer) -> dict[str, Tensor]:
    """The weights by name, on the CPU."""
    return {
        name.replace("_orig_mod.", ""): weight.contiguous().cpu()  # a compiled part adds that to its names
        for name, weight in model.state_dict().items()
    }


def _card(model: Transformer, task: tasks.Task) -> str:
    parameters = sum(weight.numel() for weight in model.parameters())
    return f"""---
library_name: lengthwise
tags: [arithmetic, length-generalization]
---
A Transformer of {parameters:,} parameters for {task.name}, with `{model.encoding.name}` position encoding.

    import lengthwise as lw
    model = lw.load("this folder")
"""


def find(name: str | Path, **options: Any) -> Path:
    """The folder itself, or a local copy of a repository of the hub."""
    folder = Path(name)
    if folder.is_dir():
        if options:
            raise InputError(f"{str(folder)!r} is a folder: {', '.join(options)} are for repositories of the hub.")
        return folder
    try:
        return Path(snapshot_download(str(name), allow_patterns=[CONFIG, WEIGHTS], **options))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{str(name)!r} is neither a folder nor a hub repository that can be reached.") from error


def read(folder: Path) -> tuple[Transformer, tasks.Task, tuple[str, ...]]:
    """The model of a folder, its task and its vocabulary; anything amiss is refused in a sentence."""
    about = describe(folder)
    size = len(about.vocabulary) - about.model.reserved_tokens
    try:
        model = Transformer(about.model, about.encoding, vocabulary_size=size, levels=len(about.task.levels))
    except (RuntimeError, MemoryError) as error:
        raise InputError(f"{CONFIG} of {str(folder)!r} describes a model that does not fit the memory.") from error
    _load_weights(model, folder)
    return model, about.task, about.vocabulary


def describe(folder: Path) -> Description:
    """What config.json says; anything amiss is refused in a sentence."""
    config = _read_config(folder)
    where = f"{CONFIG} of {str(folder)!r}"
    task = from_json(_kind(tasks.kinds(), config["task"], "task", where), config["task"], f"the task in {where}")
    encoding = from_json(
        _kind(positions.encodings(), config["encoding"], "encoding", where),
        config["encoding"],
        f"the encoding in {where}",
    )
    settings = from_json(ModelConfig, config["model"], f"the model in {where}")
    vocabulary = tuple(config["vocabulary"])
    size = len(vocabulary) - settings.reserved_tokens
    if size < 1:
        raise InputError(f"{where} reserves {settings.reserved_tokens} of its {len(vocabulary)} tokens: none is left.")
    return Description(model=settings, encoding=encoding, task=task, vocabulary=vocabulary, run=config.get(RUN))


def _read_config(folder: Path) -> dict[str, Any]:
    file = folder / CONFIG
    if not file.is_file():
        raise InputError(f"{str(folder)!r} has no {CONFIG}: it is not a model folder, or not a whole one.")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{CONFIG} of {str(folder)!r} is not JSON that can be read: {error}.") from error
    if not isinstance(config, dict) or "format" not in config:
        raise InputError(f"{CONFIG} of {str(folder)!r} is not a model's: it does not say its format.")
    if type(config["format"]) is not int or config["format"] < 1:
        raise InputError(f"{CONFIG} of {str(folder)!r} has the format {config['format']!r}: formats count from 1.")
    if config["format"] > FORMAT:
        raise InputError(
            f"{str(folder)!r} was saved in format {config['format']}, this version reads up to {FORMAT}: "
            "install a newer lengthwise."
        )
    unknown, missing = [key for key in config if key not in (*KEYS, RUN)], [key for key in KEYS if key not in config]
    if unknown or missing:
        amiss = f"has an unknown key {unknown[0]!r}" if unknown else f"lacks the key {missing[0]!r}"
        raise InputError(f"{CONFIG} of {str(folder)!r} {amiss}: its keys are {', '.join(KEYS)}.")
    if not all(isinstance(config[part], dict) for part in ("model", "encoding", "task", RUN) if part in config):
        raise InputError(f"{CONFIG} of {str(folder)!r} must describe model, encoding and task as objects.")
    if not isinstance(config["vocabulary"], list) or not all(isinstance(token, str) for token in config["vocabulary"]):
        raise InputError(f"{CONFIG} of {str(folder)!r} must give its vocabulary as a list of tokens.")
    return config


def _kind(kinds: dict[str, Any], data: dict[str, Any], what: str, where: str) -> Any:
    name = data.get("name")
    if not isinstance(name, str) or name not in kinds:
        raise InputError(f"{where} names an unknown {what} {name!r}: there are {', '.join(kinds)}.")
    return kinds[name]


def _load_weights(model: Transformer, folder: Path) -> None:
    file = folder / WEIGHTS
    if not file.is_file():
        raise InputError(f"{str(folder)!r} has no {WEIGHTS}: it is not a whole model folder.")
    try:
        weights = load(file.read_bytes())
    except (SafetensorError, OSError, KeyError) as error:
        raise InputError(f"{WEIGHTS} of {str(folder)!r} is cut short or not a safetensors file.") from error
    fit(model, weights, f"{WEIGHTS} of {str(folder)!r}")


def count_parameters(folder: Path) -> int:
    """How many numbers a model's weights are, told from the head of its file."""
    try:
        with safe_open(folder / WEIGHTS, framework="numpy") as stored:
            return sum(math.prod(stored.get_slice(name).get_shape()) for name in stored.keys())  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(f"{WEIGHTS} of {str(folder)!r} is missing or not a safetensors file.") from error


def fit(model: Transformer, weights: dict[str, Tensor], where: str) -> None:
    """Put weights into a model: each exactly once, each of the right shape."""
    expected = model.state_dict()
    for name in expected:
        if name not in weights:
            raise InputError(f"{where} lacks the tensor {name!r}: it belongs to another model or is not whole.")
    for name, weight in weights.items():
        if name not in expected:
            raise InputError(f"{where} has a tensor {name!r} that the model does not have.")
        if not weight.is_floating_point():
            raise InputError(f"{name!r} in {where} holds {weight.dtype}, not floating-point numbers.")
        shapes = tuple(weight.shape), tuple(expected[name].shape)
        if shapes[0] != shapes[1]:
            raise InputError(f"{name!r} in {where} has the shape {shapes[0]}, the model's is {shapes[1]}.")
    model.to(weights["embedding"].dtype).load_state_dict(weights)
