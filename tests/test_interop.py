"""The authors' checkpoints; how their numbers compare is in tests/model/test_reference_models.py."""

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from models import solver
from torch import Tensor

import lengthwise as lw
from lengthwise import interop


def their_state(model: lw.Solver) -> dict[str, Tensor]:
    """A model of ours under their names."""
    state, theirs = model.transformer.state_dict(), {}
    parts = {"attention": "layer.0.SelfAttention", "feedforward": "layer.1.DenseReluDense"}
    inner = {"query": "q", "key": "k", "value": "v", "output": "o", "into": "wi_0", "gate": "wi_1", "out": "wo"}
    for name, weight in state.items():
        words = name.split(".")
        if words[0] == "blocks" and words[2] in parts:
            theirs[f"decoder.block.{words[1]}.{parts[words[2]]}.{inner[words[3]]}.weight"] = weight
        elif words[0] == "blocks":
            part, side = words[2].split("_")
            norm = "layer_norm" if side == "before" else "layer_norm_2"
            theirs[f"decoder.block.{words[1]}.layer.{0 if part == 'attention' else 1}.{norm}.scale"] = weight
    theirs["shared.weight"] = theirs["lm_head.weight"] = theirs["decoder.embed_tokens.weight"] = state["embedding"]
    theirs["decoder.final_layer_norm.scale"] = state["final_norm.weight"]
    for level in range(2):
        theirs[f"decoder.wpe.{level}.weight"] = state[f"hooks.tables.{level}"]
    return theirs


CONFIG: dict[str, Any] = {
    "task_config": "multiple_addition_scratchpad",
    "vocab": {token: number for number, token in enumerate([*"0123456789+=>", "[EOS]"])},
    "model": {
        "d_model": 32,
        "num_layers": 2,
        "num_heads": 2,
        "d_kv": 8,
        "d_ff": 48,
        "feed_forward_proj": "gated-gelu",
        "layer_norm_position": "pre_post",
        "position_encoding_type": "abs_learned",
        "n_positions": 41,
        "d_positions": 2,
        "share_pe": False,
    },
}


def test_a_checkpoint_file_of_theirs(tmp_path: Path) -> None:
    model = solver("learned", seed=4)
    state = {f"_orig_mod.{name}": weight for name, weight in their_state(model).items()}
    torch.save(state, tmp_path / "last.pt")
    again = interop.from_authors(interop.read_checkpoint(tmp_path / "last.pt"), CONFIG)
    page = model.task.write([57, 48, 96])
    assert again.score(page.tokens, page.position_ids).equal(model.score(page.tokens, page.position_ids))
    assert again.vocabulary[-1] == "[EOS]"
    again.save_pretrained(tmp_path / "ours")
    assert lw.load(tmp_path / "ours").vocabulary == again.vocabulary


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("harm-was-done"),))


def test_code_in_a_checkpoint_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"weight": Harmful()}, "harmful.pt")
    Path("plain.pt").write_bytes(pickle.dumps(Harmful()))
    Path("text.pt").write_text("nothing")
    torch.save([1, 2], "list.pt")
    for name in ("harmful.pt", "plain.pt", "text.pt", "list.pt", "missing.pt"):
        with pytest.raises(lw.InputError):
            interop.read_checkpoint(name)
    assert not Path("harm-was-done").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vocab": None}, "must have 'vocab'"),
        ({"task_config": "sorting"}, "must name its task"),
        ({"model": {**CONFIG["model"], "position_encoding_type": "magic"}}, "'magic'"),
        ({"model": {**CONFIG["model"], "d_model": 64}}, "has the shape"),
        ({"model": {**CONFIG["model"], "d_model": None}}, "lacks 'd_model'"),
        ({"model": {**CONFIG["model"], "n_positions": None}}, "lacks 'n_positions'"),
        ({"model": {**CONFIG["model"], "feed_forward_proj": "gated-silu"}}, "'gated-silu'"),
        ({"vocab": {**CONFIG["vocab"], "[EOS]": 50}}, "without a gap"),
        ({"vocab": ["a", "b"]}, "without a gap"),
        ({"fixture": "madd_foo_scratchpad"}, "must name its task"),
        ({"fixture": 5}, "must name its task"),
        ({"task_config": ["x"]}, "must name its task"),
    ],
)
def test_what_is_not_theirs_is_refused(change: dict[str, Any], words: str) -> None:
    config = {key: value for key, value in {**CONFIG, **change}.items() if value is not None}
    with pytest.raises(lw.InputError, match=words):
        interop.from_authors(their_state(solver("learned")), config)


def test_an_unknown_tensor_is_refused() -> None:
    state = their_state(solver("learned"))
    with pytest.raises(lw.InputError, match=r"'decoder\.extra'"):
        interop.from_authors({**state, "decoder.extra": torch.zeros(1)}, CONFIG)
    block = "decoder.block.0.layer.0"
    for name in (
        f"{block}.layer_norm.bias",
        f"{block}.SelfAttention.relative_attention_bias.weight",
        "decoder.block.0",
    ):
        with pytest.raises(lw.InputError, match="is not known here"):
            interop.from_authors({**state, name: torch.zeros(32)}, CONFIG)
    with pytest.raises(lw.InputError, match="differs from the embedding"):
        interop.from_authors({**state, "lm_head.weight": torch.zeros(14, 32)}, CONFIG)
    del state["decoder.wpe.1.weight"]
    with pytest.raises(lw.InputError, match="lacks the tensor"):
        interop.from_authors(state, CONFIG)
