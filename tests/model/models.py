"""Small models for tests: one of every encoding, with the task whose ids it takes."""

from typing import Any

import torch

import lengthwise as lw
from lengthwise.positions import Encoding
from lengthwise.positions.alibi import Alibi
from lengthwise.positions.fire import Fire
from lengthwise.positions.learned import Learned
from lengthwise.positions.none import NoPositions
from lengthwise.positions.rotary import Rotary
from lengthwise.positions.sinusoidal import Sinusoidal
from lengthwise.positions.t5 import T5
from lengthwise.positions.windowed import Windowed

INDEX: dict[str, Any] = {"coupling": ("index",)}

CASES: dict[str, tuple[Encoding, dict[str, Any]]] = {
    "none": (NoPositions(), {}),
    "learned": (Learned(sizes=(40, 40)), {}),
    "learned shared": (Learned(sizes=(40, 40), shared=True), {}),
    "learned plain": (Learned(sizes=(300,)), INDEX),
    "sinusoidal": (Sinusoidal(), {}),
    "rotary": (Rotary(), INDEX),
    "rotary coupled": (Rotary(), {}),
    "alibi": (Alibi(), INDEX),
    "t5": (T5(), INDEX),
    "fire": (Fire(), INDEX),
    "fire min shared": (Fire(norm="min", shared=True), INDEX),
    "windowed hard": (Windowed(), {}),
    "windowed soft": (Windowed(window=2, hard=False), {}),
    "windowed soft sharpened": (Windowed(hard=False, train_length=20), {}),
}


def solver(case: str, *, seed: int = 0, task: str = "addition", **config: Any) -> lw.Solver:
    encoding, options = CASES[case]
    written = lw.task(task, **options)
    shape = {"layers": 2, "heads": 2, "width": 32, "head_dim": 8, "feedforward": 48, **config}
    return lw.Solver.new(written, encoding, lw.ModelConfig(**shape), seed=seed).eval()


def train(model: lw.Solver, batch: lw.Batch, steps: int, rate: float) -> float:
    """Fit one batch; the last loss."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    targets = batch.targets.nonzero()[:, 0]
    loss = torch.zeros(())
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(batch, wanted=targets - 1), model.numbers(batch.tokens)[targets])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return float(loss.detach())
