"""Looking inside a model on a page it has written, as the API says it: few numbers, the small ones left out."""

from typing import Any

import torch
from torch import Tensor

from lengthwise.inside import as_written, glance
from lengthwise.solver import Solver
from lengthwise.tasks import Page

SMALLEST_OF_QUERY = 0.001
"""Weights of one token below this are left out …"""
SMALLEST_OF_MATRIX = 0.01
"""… and those of a whole matrix below this: so no row of it has over a hundred."""


def at_token(model: Solver, page: Page, response: list[str], at: int) -> dict[str, Any]:
    """Where every head looks from one token, strongest first, and how likely each token is to follow."""
    looked = glance(model, as_written(model, page, response), at)
    likely = sorted(looked.probabilities.items(), key=lambda pair: -pair[1])
    return {
        "at": at,
        "heads": [[_strongest(head) for head in layer] for layer in looked.weights],
        "next": [{"token": token, "probability": round(rate, 6)} for token, rate in likely],
    }


def _strongest(head: Tensor) -> dict[str, Any]:
    keys = (head >= SMALLEST_OF_QUERY).nonzero()[:, 0]
    keys = keys[head[keys].argsort(descending=True, stable=True)]
    return {"keys": keys.tolist(), "weights": [round(weight, 4) for weight in head[keys].tolist()]}


class _OneHead(list[Tensor]):
    """Collects the weights of all layers and keeps those of one head of one of them."""

    def __init__(self, layer: int, head: int) -> None:
        super().__init__()
        self._layer, self._head, self._seen = layer, head, 0

    def append(self, weights: Tensor) -> None:
        if self._seen == self._layer:
            super().append(weights[0, self._head].clone())
        self._seen += 1


@torch.no_grad()
def of_head(model: Solver, page: Page, response: list[str], layer: int, head: int) -> dict[str, Any]:
    """The whole matrix of one head: for every token, the keys it looks at and by how much."""
    written = as_written(model, page, response)
    tokens, ids = model.packed(written, len(written.tokens))
    kept = _OneHead(layer, head)
    model.transformer(tokens, ids, torch.tensor([0, len(tokens)], device=model.device), captured=kept)
    (weights,) = kept
    query, key = (weights >= SMALLEST_OF_MATRIX).nonzero(as_tuple=True)
    rows: list[dict[str, Any]] = [{"keys": [], "weights": []} for _ in written.tokens]
    for row, column, weight in zip(query.tolist(), key.tolist(), weights[query, key].tolist(), strict=True):
        rows[row]["keys"].append(column)
        rows[row]["weights"].append(round(weight, 3))
    return {
        "layer": layer,
        "head": head,
        "tokens": written.tokens,
        "names": [cell.name for cell in written.cells],
        "least": SMALLEST_OF_MATRIX,
        "rows": rows,
    }
