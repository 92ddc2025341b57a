"""The authors' architecture, number by number: their weights and inputs must give their outputs and gradients."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

from lengthwise import interop

NAMES = [
    *("ape1_madd", "ape1_parity_scratchpad", "ape2_1L4H_madd_scratchpad", "ape2_final_layernorm_madd_scratchpad"),
    *("ape2_madd_scratchpad", "ape2_prenorm_madd_scratchpad", "ape2_share_madd_scratchpad", "ape3_mult_scratchpad"),
    *("fire_long_parity", "fire_madd_scratchpad", "nope_madd_scratchpad", "rope_halfdim_parity"),
    "rope_parity_scratchpad",
]


class Reference:
    """One model of theirs: ours with its weights, and what theirs computed, packed as we pack."""

    def __init__(self, folder: Path, name: str) -> None:
        self.config: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
        self.tensors = load_file(folder / f"{name}.safetensors")
        self.state = {key[3:]: value for key, value in self.tensors.items() if key.startswith("sd.")}
        self.solver = interop.from_authors(self.state, self.config)
        self.mask = self.tensors["attention_mask"].bool()
        self.sizes = self.mask.sum(1)
        self.boundaries = torch.cat([torch.zeros(1, dtype=torch.long), self.sizes.cumsum(0)])
        self.tokens = self.tensors["input_ids"][self.mask]
        ids = self.tensors.get("position_ids")
        if ids is None:
            ids = torch.arange(self.mask.shape[1]).expand(1, *self.mask.shape)
        self.ids = ids.reshape(-1, *self.mask.shape)[:, self.mask]

    def run(self, **options: Any) -> Tensor:
        logits: Tensor = self.solver.transformer(self.tokens, self.ids, self.boundaries, **options)
        return logits

    def loss(self) -> Tensor:
        """Cross-entropy over the labels, each predicted from the token before it."""
        labels = self.tensors["labels"].clone()
        labels[:, 0] = -100
        wanted = (labels[self.mask] != -100).nonzero()[:, 0]
        return functional.cross_entropy(self.run(wanted=wanted - 1), labels[self.mask][wanted])


@pytest.fixture(scope="module", params=NAMES)
def model(reference: Path, request: pytest.FixtureRequest) -> Reference:
    return Reference(reference / "models", request.param)


def test_no_file_is_left_out(reference: Path) -> None:
    assert sorted(file.stem for file in (reference / "models").glob("*.json")) == sorted(NAMES)


def test_logits(model: Reference) -> None:
    assert (model.run() - model.tensors["logits"][model.mask]).abs().max() < 1e-4


def test_attention_and_states_of_the_first_sample(model: Reference) -> None:
    captured: list[Tensor] = []
    states: list[Tensor] = []
    model.run(captured=captured, states=states)
    size = int(model.sizes[0])
    for layer, weights in enumerate(captured):
        theirs = model.tensors[f"attn_probs.{layer}"][0, :, :size, :size]
        assert (weights[0, :, :size, :size] - theirs).abs().max() < 1e-4
    states[-1] = model.solver.transformer.final_norm(states[-1])  # theirs are taken after it
    for number, state in enumerate(states):
        assert (state[:size] - model.tensors[f"hidden.{number}"][0, :size]).abs().max() < 1e-4


def test_loss_and_gradients(model: Reference) -> None:
    model.solver.zero_grad()
    loss = model.loss()
    assert abs(float(loss.detach()) - model.config["loss"]) < 1e-5
    torch.autograd.backward(loss)
    encoding = model.solver.transformer.encoding
    gradients = {name: weight.grad for name, weight in model.solver.transformer.named_parameters()}
    compared = 0
    for name, norm in model.config["grad_norms"].items():
        ours = interop._our_name(name, encoding)
        if ours is None or norm is None:
            continue
        gradient = gradients[ours]
        assert gradient is not None
        assert float(gradient.norm()) == pytest.approx(norm, rel=0.01, abs=1e-7), name
        compared += 1
    assert compared == len(gradients)
    for name in ("shared.weight", "decoder.block.0.layer.0.SelfAttention.q.weight"):
        gradient = gradients[interop._our_name(name, encoding) or ""]
        assert gradient is not None
        assert (gradient - model.tensors[f"grad.{name}"]).abs().max() < 1e-4


def test_a_page_of_ours_scores_as_theirs(model: Reference) -> None:
    """By names of tokens, from the problem itself: the format, the ids and the vocabulary fit together."""
    operands = model.config["problems"][0]
    size = int(model.sizes[0])
    ids = model.ids[:, :size]
    offsets = [int(level[level > 0].min()) for level in ids] if "position_ids" in model.tensors else None
    page = model.solver.task.write(operands, offsets=offsets)
    assert page.position_ids == ids.tolist()
    logits = model.solver.score(page.tokens, page.position_ids)
    assert len(page.tokens) == size
    assert (logits - model.tensors["logits"][0, :size]).abs().max() < 1e-4
    theirs = [token.replace("$", "[EOS]") for token in page.tokens]
    assert model.solver.score(theirs, page.position_ids).equal(logits)
    assert model.solver.vocabulary[:3] == ("[PAD]", "[UNK]", "[EOS]")
    solution = model.solver.solve(operands)  # random weights solve nothing, but they decode
    assert solution.correct is False
    assert len(solution.response) > 0
