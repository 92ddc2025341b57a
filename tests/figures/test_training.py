"""How a run went."""

from pathlib import Path
from typing import Any

import pytest
from made import points
from matplotlib.axes import Axes

import lengthwise as lw
from lengthwise.figures.saving import save_figure
from lengthwise.figures.training import draw_training

METRICS: list[dict[str, Any]] = [
    {"step": 0, "loss": 2.0, "token_accuracy": 0.1, "exact_match": 0.0, "learning_rate": 0.1},
    {"step": 100, "loss": 0.5, "validation_loss": 0.6, "validation_exact_match": 0.2, "cells": {"20x20": 0.1}},
    {"step": 200, "loss": 0.25, "token_accuracy": 0.9, "exact_match": 0.8, "cells": {"20x20": 0.4, "5x5": 1}},
]


def lines(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    return {str(line.get_label()): points(line) for line in axes.lines}


def test_losses_and_accuracies_are_drawn_by_step() -> None:
    left, right = draw_training(METRICS).axes
    assert left.get_yscale() == "log"
    assert lines(left) == {"training": [(0, 2.0), (100, 0.5), (200, 0.25)], "validation": [(100, 0.6)]}
    assert lines(right) == {
        "tokens": [(0, 0.1), (200, 0.9)],
        "whole responses": [(0, 0.0), (200, 0.8)],
        "whole responses, validation": [(100, 0.2)],
        "5×5": [(200, 1.0)],
        "20×20": [(100, 0.1), (200, 0.4)],
    }
    assert list(lines(right))[-2:] == ["5×5", "20×20"]


def test_a_step_written_again_after_a_resumption_counts_once_and_in_its_place() -> None:
    losses = [(2, 9.0), (4, 0.3), (2, 0.5), (3, 0.4)]
    left, _ = draw_training([{"step": step, "loss": loss} for step, loss in losses]).axes
    assert lines(left) == {"training": [(2, 0.5), (3, 0.4), (4, 0.3)]}


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ([{"step": 1, "exact_match": 0.5}], "no loss recorded"),
        ([{"step": 1, "loss": 0.5}], "no accuracy recorded"),
        ([{"step": 1, "loss": 0.0, "exact_match": 1.0}], "no loss recorded"),
        ([{"step": 1, "loss": float("nan"), "exact_match": 1.0}], "no loss recorded"),
    ],
)
def test_a_panel_without_anything_says_so(metrics: list[dict[str, Any]], said: str, tmp_path: Path) -> None:
    figure = draw_training(metrics)
    save_figure(figure, tmp_path / "training.png")
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == [said]


@pytest.mark.parametrize(
    ("metrics", "sentence"),
    [
        ([], "empty"),
        ([{"step": 1, "loss": 1.0}, {"loss": 1.0}], "Record 2 of the metrics has no step"),
        ([{"step": "1", "loss": 1.0}], "Record 1 of the metrics has no step"),
        ([{"step": 1, "learning_rate": 0.1}], "neither a loss nor an accuracy"),
        ([{"step": 1, "loss": "high"}], "'high' for loss"),
        ([{"step": 1, "cells": {"5x5": None}}], "neither a loss nor an accuracy"),
        ([{"step": 1, "cells": {"5x5": "all"}}], "'all' for 5x5"),
        ([{"step": 1, "cells": [1.0]}], "accuracies by size are meant"),
    ],
)
def test_what_are_no_metrics_is_refused(metrics: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(lw.InputError, match=sentence):
        draw_training(metrics)
