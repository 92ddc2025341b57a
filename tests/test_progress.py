"""How work is shown: a bar that moves on a terminal, plain lines elsewhere, and nothing that is not known."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import lengthwise as lw
from lengthwise.jobs import Job, News
from lengthwise.progress import RunsTable, TrainingProgress, grid_progress, in_words, problem_progress
from lengthwise.results import Grid
from lengthwise.runs import Record, Run
from lengthwise.session import Observer


def console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    written = io.StringIO()
    return Console(file=written, force_terminal=terminal, width=120, highlight=False, color_system=None), written


def test_a_record_in_words() -> None:
    record: Record = {"step": 1200, "loss": 0.123456, "token_accuracy": 0.99, "exact_match": 0.5, "learning_rate": 1e-3}
    assert in_words(record) == "step 1,200 · loss 0.1235 · tokens 99.0% · exact match 50.0%"
    record = {"step": 5, "validation_loss": 1.0, "validation_exact_match": 1.0, "cells": {"20x15": 0.25, "40": 1.0}}
    assert in_words(record) == "step 5 · validation loss 1.0000 · validation exact match 100.0% · 20×15 25% · 40 100%"


@pytest.mark.parametrize("terminal", [False, True])
def test_a_run_is_told_from_beginning_to_end(terminal: bool, tmp_path: Path) -> None:
    recipe = replace(lw.presets.get("adder-tiny"), seed=5)
    model = lw.Solver.new(recipe.task, recipe.encoding, recipe.model)
    shown, written = console(terminal=terminal)
    progress = TrainingProgress(shown)
    assert isinstance(progress, Observer)
    progress.begin(recipe, Run(tmp_path), model, 0)
    for step in range(1, 4):
        progress.advance(step, tokens_per_second=12345.6)
    progress.note({"step": 3, "loss": 2.5, "token_accuracy": 0.25, "exact_match": 0.0})
    progress.advance(4, tokens_per_second=12345.6)
    progress.note({"step": 4, "validation_loss": 2.0, "validation_exact_match": 0.5, "cells": {"20x20": 0.1}})
    progress.end(4, seconds=1.0)
    text = written.getvalue()
    parameters = sum(weight.numel() for weight in model.parameters())
    for word in ("adder-tiny", f"{parameters:,} parameters", "windowed", "addition up to 10×10", "seed 5", "on cpu"):
        assert word in text
    assert "going on" not in text
    assert "loss 2.5000" in text
    assert "validation loss 2.0000 · validation exact match 50.0% · 20×20 10%" in text
    assert "12,346 tokens/s" in text
    assert (f"4/{recipe.training.steps}" in text) == terminal  # how far it is
    assert ("s left" in text) != terminal
    assert ("\x1b" in text) == terminal  # only a terminal is drawn over


def test_a_resumed_run_says_so(tmp_path: Path) -> None:
    recipe = lw.presets.get("parity-tiny")
    shown, written = console(terminal=False)
    progress = TrainingProgress(shown)
    progress.begin(recipe, Run(tmp_path), lw.Solver.new(recipe.task, recipe.encoding, recipe.model), 120)
    assert "parity up to 20, seed 0, on cpu, going on after step 120" in " ".join(written.getvalue().split())
    progress.note({"step": 121, "loss": 2.5})  # before any speed is known
    assert written.getvalue().endswith("step 121 · loss 2.5000\n")


def filled(axes: dict[str, list[int]]) -> Grid:
    grid = Grid.blank(axes, task={"name": "addition"}, seed=0, samples=50)
    for row, column, *_ in grid.cells:
        grid.correct[row][column], grid.total[row][column] = 40 + row, 50
    return grid


@pytest.mark.parametrize(
    ("axes", "last"),
    [({"length": [5, 10], "count": [2, 3]}, "10×3: 41 of 50"), ({"length": [5, 10]}, "10: 41 of 50")],
)
def test_a_grid_is_shown_cell_by_cell_on_a_terminal(axes: dict[str, list[int]], last: str) -> None:
    grid = filled(axes)
    cells = list(grid.cells)
    shown, written = console(terminal=True)
    with grid_progress(shown, len(cells), "random") as done:
        for row, column, *_ in cells:
            done(grid, row, column)
    for word in ("random", f"{len(cells)}/{len(cells)}", last):
        assert word in written.getvalue()


def test_a_grid_is_quiet_elsewhere() -> None:
    shown, written = console(terminal=False)
    with grid_progress(shown, 4) as done:
        done(filled({"length": [5]}), 0, 0)
    assert written.getvalue() == ""


@pytest.mark.parametrize(("terminal", "problems"), [(True, 20), (True, 0), (False, 20)])
def test_problems_being_solved(terminal: bool, problems: int) -> None:
    shown, written = console(terminal=terminal)
    with problem_progress(shown, problems) as progress:
        progress(5)
        progress(2)
    assert (" 7/20" in written.getvalue()) == (terminal and problems > 0)
    assert terminal or written.getvalue() == ""


def test_where_there_is_no_terminal_runs_at_work_are_told_of_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, written = console(terminal=False)
    jobs = [
        Job(folder=Path(f"run{number}"), recipe=lw.presets.get("adder-tiny"), measurements=()) for number in range(6)
    ]
    with RunsTable(shown) as table:
        table.say("6 runs, 0 of them done already")
        for job in jobs:
            table.hear(job, News(step=10, steps=1000, words=""))
        assert written.getvalue() == "6 runs, 0 of them done already\n"
        monkeypatch.setattr(RunsTable, "SECONDS", 0.0)
        table.hear(jobs[0], News(step=20, steps=1000, words=""))
    told = "at work: run0 20 of 1,000, run1 10 of 1,000, run2 10 of 1,000, run3 10 of 1,000, 2 more\n"
    assert written.getvalue().endswith(told)
