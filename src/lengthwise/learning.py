"""One step of training: the learning rate, the loss and its gradients, the optimizer. The loop is in `train.py`."""

import math
from contextlib import nullcontext

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from lengthwise.device import autocast
from lengthwise.pages import Examples
from lengthwise.recipe import Training
from lengthwise.solver import Solver


def learning_rate(training: Training, step: int) -> float:
    """A linear rise from 0, then a cosine down to the floor.

    >>> training = Training(steps=100, learning_rate=1.0, warm_up=0.1, floor=0.1)
    >>> [round(learning_rate(training, step), 3) for step in (0, 9, 10, 55, 100)]
    [0.1, 1.0, 1.0, 0.55, 0.1]
    """
    rising = math.ceil(training.warm_up * training.steps)
    if step < rising:
        return training.learning_rate * (step + 1) / rising
    along = (step - rising) / max(1, training.steps - rising)
    height = 0.5 * (1 + math.cos(math.pi * along))
    return training.learning_rate * (training.floor + (1 - training.floor) * height)


def learn(
    model: Solver,
    optimizer: torch.optim.Optimizer,
    training: Training,
    parts: list[Examples],
    *,
    forward: torch.nn.Module | None = None,
    targets: int | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """One step: its loss, the mean over all target tokens of the batch, and which of them were right.

    `targets` is how many the whole batch has, where these parts are a process's share of it; `forward` is then what
    averages gradients over processes, and the loss is this share's part of the whole. Nothing here waits for the
    device.
    """
    targets = targets or sum(part.expected.shape[0] for part in parts)
    total, right = torch.zeros((), device=model.device), []
    shared = forward if isinstance(forward, DistributedDataParallel) else None
    processes = 1 if shared is None else torch.distributed.get_world_size()
    for place, part in enumerate(parts, start=1):
        alone = nullcontext() if shared is None or place == len(parts) else shared.no_sync()
        with alone:
            with autocast(model.device, training.precision):
                logits = (forward or model.transformer)(
                    part.tokens, part.position_ids, part.boundaries, wanted=part.wanted, known=part.known
                )
            loss = functional.cross_entropy(logits.float(), part.expected, reduction="sum") / targets
            torch.autograd.backward(loss * processes)  # of which the mean over processes is taken
        total += loss.detach()
        right.append(logits.detach().argmax(-1) == part.expected)
    if training.clip is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), training.clip)
    optimizer.step()
    optimizer.zero_grad()
    return total, right


def make_optimizer(model: torch.nn.Module, training: Training) -> torch.optim.Optimizer:
    """Adam as the recipe has it."""
    kind = torch.optim.AdamW if training.optimizer == "adamw" else torch.optim.Adam
    first, second = training.betas
    return kind(
        model.parameters(),
        lr=training.learning_rate,
        betas=(first, second),
        weight_decay=training.weight_decay,
        fused=True,
    )
