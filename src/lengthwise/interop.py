"""The authors' checkpoints, as ordinary models of ours.

    solver = lw.interop.from_authors(state_dict, config)

`state_dict` has their names; `config` is their configuration: `vocab`, `model` or `full_model_cfg`, and where known
`fixture` or `task_config`, which name the task and its format. `read_checkpoint` reads a `.pt` file of theirs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lengthwise import checkpoint
from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.transformer import Transformer
from lengthwise.positions.base import Encoding
from lengthwise.positions.fire import Fire
from lengthwise.positions.learned import Learned
from lengthwise.positions.none import NoPositions
from lengthwise.positions.rotary import Rotary
from lengthwise.solver import Solver
from lengthwise.tasks import Task, task

TASKS = {"parity": "parity", "madd": "addition", "mult": "multiplication"}
TASK_CONFIGS = {
    "parity": "parity_scratchpad",
    "multiple_addition": "madd_pad_pin_rout",
    "multiple_addition_scratchpad": "madd_scratchpad_pad_pin_rout",
    "multiplication": "mult_pad_pin_rout",
    "multiplication_scratchpad": "mult_scratchpad_pad_pin_rout",
}
"""The format each of their task configurations has in the paper's experiments."""

ATTENTION = {"q": "query", "k": "key", "v": "value", "o": "output"}
FEEDFORWARD = {"wi_0": "into", "wi_1": "gate", "wi": "into", "wo": "out"}
NORMS = {"layer_norm": "before", "layer_norm_2": "after"}
FIRE = {"c": "c", "L_sqrt": "root_length", "net.0.weight": "first", "net.2.weight": "second", "net.4.weight": "third"}
PROJECTIONS = ("gated-gelu", "gated-relu", "gelu", "relu")
REQUIRED = (
    *("num_layers", "num_heads", "d_model", "d_kv", "d_ff"),
    *("layer_norm_position", "position_encoding_type"),
)
WORDS = {"parity", "madd", "mult", "scratchpad", "reversed", "pad", "nopad", "pin", "rin", "pout", "rout", "coupled"}
"""What names of formats are made of."""
COPIES = ("decoder.embed_tokens.weight", "lm_head.weight")
"""Names under which the tied embedding stands again."""


def from_authors(state_dict: Mapping[str, Tensor], config: Mapping[str, Any]) -> Solver:
    """One of the authors' models, with its task; the vocabulary keeps their tokens."""
    settings = {**config.get("full_model_cfg", {}), **config.get("model", {})}
    if not settings or "vocab" not in config:
        raise InputError("the authors' config must have 'vocab', and 'model' or 'full_model_cfg'.")
    vocabulary = _vocabulary(config["vocab"])
    for key in REQUIRED:
        if settings.get(key) is None:
            raise InputError(f"the authors' config lacks {key!r}.")
    weights = {name.removeprefix("_orig_mod."): weight for name, weight in state_dict.items()}
    encoding, levels = _encoding(settings)
    projection = settings.get("feed_forward_proj", "gated-gelu")
    if projection not in PROJECTIONS:
        raise InputError(f"the feed-forward network {projection!r} of the authors' code is not known here.")
    for copy in COPIES:
        if copy in weights and not weights[copy].equal(weights.get("shared.weight", weights[copy])):
            raise InputError(f"{copy!r} differs from the embedding: only models with a tied head are known here.")
    model = Transformer(
        ModelConfig(
            layers=settings["num_layers"],
            heads=settings["num_heads"],
            width=settings["d_model"],
            head_dim=settings["d_kv"],
            feedforward=settings["d_ff"],
            activation="gelu" if "gelu" in projection else "relu",
            gated=projection.startswith("gated"),
            norm=settings["layer_norm_position"],
            final_norm="layer" if "decoder.final_layer_norm.bias" in weights else "rms",
        ),
        encoding,
        vocabulary_size=len(vocabulary),
        levels=levels,
    )
    checkpoint.fit(model, _renamed(weights, encoding), "the authors' state dict")
    return Solver(model, _task(config, levels, isinstance(encoding, Learned)), vocabulary).eval()


def read_checkpoint(file: str | Path) -> dict[str, Tensor]:
    """The state dict in a `.pt` file of theirs. Only tensors are read: code in the file is never run."""
    try:
        loaded = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(f"{Path(file).name!r} is not a checkpoint that holds only tensors.") from error
    loaded = loaded.get("state_dict", loaded) if isinstance(loaded, dict) else loaded
    if not isinstance(loaded, dict) or not all(isinstance(weight, Tensor) for weight in loaded.values()):
        raise InputError(f"{Path(file).name!r} does not hold a state dict.")
    return {str(name).removeprefix("_orig_mod."): weight for name, weight in loaded.items()}


def _encoding(settings: Mapping[str, Any]) -> tuple[Encoding, int]:
    kind = settings["position_encoding_type"]
    if kind == "abs_learned" and settings.get("n_positions") is None:
        raise InputError("the authors' config lacks 'n_positions'.")
    if kind == "abs_learned":
        levels = settings.get("d_positions") or 1
        shared = bool(settings.get("share_pe"))
        return Learned(sizes=(settings["n_positions"] - 1,) * levels, shared=shared and levels > 1), levels
    if kind == "none":
        return NoPositions(), 1
    if kind == "fire":
        return Fire(norm="min", shared=True), 1
    if kind in ("rotary", "rotary_new"):
        return Rotary(base=float(settings.get("rotary_base") or 10_000), dims=settings["rotary_dim"]), 1
    raise InputError(f"the position encoding {kind!r} of the authors' code is not known here.")


def _renamed(weights: Mapping[str, Tensor], encoding: Encoding) -> dict[str, Tensor]:
    """Their tensors under our names; what never has an effect in their models is left out."""
    renamed: dict[str, Tensor] = {}
    for name, weight in weights.items():
        ours = _our_name(name, encoding)
        if ours in renamed:
            raise InputError(f"the tensor {name!r} of the authors' state dict stands for one that is there already.")
        if ours is not None:
            renamed[ours] = weight.clone()
    return renamed


def _our_name(name: str, encoding: Encoding) -> str | None:
    try:
        return _translated(name, encoding)
    except (KeyError, IndexError) as error:
        raise InputError(f"the tensor {name!r} of the authors' state dict is not known here.") from error


def _translated(name: str, encoding: Encoding) -> str | None:
    parts = name.split(".")
    if name in COPIES or name.startswith("decoder.rotary_embedding"):
        return None
    if name == "shared.weight":
        return "embedding"
    if name.startswith("decoder.wpe"):  # decoder.wpe.weight, or decoder.wpe.LEVEL.weight
        level = parts[2] if len(parts) == 4 else "0"
        return None if level != "0" and isinstance(encoding, Learned) and encoding.shared else f"hooks.tables.{level}"
    if name.startswith("decoder.final_layer_norm"):
        return "final_norm.bias" if parts[-1] == "bias" else "final_norm.weight"
    if name.startswith("decoder.block"):
        layer, part, module = parts[2], "attention" if parts[4] == "0" else "feedforward", parts[5]
        if module in NORMS and parts[6:] == ["scale"]:
            return f"blocks.{layer}.{part}_{NORMS[module]}.weight"
        if parts[6] == "fire_model":  # every block has one, only the first is ever used
            return f"hooks.functions.0.{FIRE['.'.join(parts[7:])]}" if layer == "0" else None
        inner = ATTENTION if part == "attention" else FEEDFORWARD
        return f"blocks.{layer}.{part}.{inner[parts[6]]}.weight"
    raise KeyError(name)


def _vocabulary(numbers: object) -> tuple[str, ...]:
    if not isinstance(numbers, Mapping) or sorted(numbers.values()) != list(range(len(numbers))):
        raise InputError("the authors' 'vocab' must number its tokens from 0 without a gap.")
    return tuple(sorted(numbers, key=numbers.__getitem__))


def _task(config: Mapping[str, Any], levels: int, coupled: bool) -> Task:
    name = config.get("fixture") or TASK_CONFIGS.get(str(config.get("task_config")), "")
    words = str(name).split("_")
    if words[0] not in TASKS or set(words) - WORDS:
        raise InputError(
            "the authors' config must name its task: a 'fixture' such as 'madd_scratchpad_pad_pin_rout', or a "
            f"'task_config' among {', '.join(TASK_CONFIGS)}."
        )
    options: dict[str, Any] = {"scratchpad": "scratchpad" in words}
    if words[0] == "parity":
        options["reverse_response"] = "reversed" in words
    else:
        options |= {
            "zero_padding": "nopad" not in words,
            "reverse_query": "rin" in words,
            "reverse_response": "pout" not in words,
        }
    if not coupled or levels != len(task(TASKS[words[0]], **options).levels):
        options["coupling"] = ("index",)
    return task(TASKS[words[0]], **options)
