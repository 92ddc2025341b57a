"""How work in progress is shown: bars that move on a terminal, plain lines elsewhere."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from lengthwise.evaluate import Progress as CellDone
from lengthwise.jobs import Job, News
from lengthwise.recipe import Recipe
from lengthwise.results import Grid
from lengthwise.runs import Record, Run
from lengthwise.solver import Solver


class _Field(ProgressColumn):
    """A text that the work itself sets."""

    def render(self, task: Task) -> Text:
        return Text(task.fields.get("status", ""), style="cyan")


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        _Field(),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=False,
    )


def in_words(record: Record) -> str:
    """A line of the metrics as people read it."""
    words = [f"step {record['step']:,}"]
    names = {"loss": "loss", "validation_loss": "validation loss"}
    words += [f"{name} {record[key]:.4f}" for key, name in names.items() if key in record]
    rates = {
        "token_accuracy": "tokens",
        "exact_match": "exact match",
        "validation_exact_match": "validation exact match",
    }
    words += [f"{name} {record[key]:.1%}" for key, name in rates.items() if key in record]
    words += [f"{cell.replace('x', '×')} {rate:.0%}" for cell, rate in record.get("cells", {}).items()]
    return " · ".join(words)


class TrainingProgress:
    """Shows a training run: an observer for `lw.train`."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._live = self._console.is_terminal
        self._status = ""

    def begin(self, recipe: Recipe, run: Run, model: Solver, step: int) -> None:
        """Say what is being trained."""
        parameters = sum(weight.numel() for weight in model.parameters())
        going_on = f", going on after step {step:,}" if step else ""
        self._console.print(
            f"training {recipe.name}: {parameters:,} parameters, {recipe.encoding.name} positions, "
            f"{recipe.task.name} up to {'×'.join(map(str, recipe.data.size.values()))}, seed {recipe.seed}, "
            f"on {model.device.type}{going_on}"
        )
        self._steps = recipe.training.steps
        self._begun, self._first = time.monotonic(), step
        if self._live:
            self._bar = _bar(self._console)
            self._task = self._bar.add_task("training", total=self._steps, completed=step)
            self._bar.start()

    def advance(self, step: int, tokens_per_second: float) -> None:
        """Move the bar."""
        self._speed = tokens_per_second
        if self._live:
            status = f"{self._status} · {tokens_per_second:,.0f} tokens/s" if self._status else ""
            self._bar.update(self._task, completed=step, status=status)

    def note(self, record: Record) -> None:
        """Keep the newest numbers beside the bar, or print them."""
        line = in_words(record)
        if self._live and "loss" in record:
            self._status = line.partition(" · ")[2]
        elif self._live:
            self._bar.console.print(f"  {line}", style="dim")
        else:
            done = record["step"] - self._first
            left = (time.monotonic() - self._begun) / max(1, done) * (self._steps - record["step"])
            speed = f" · {self._speed:,.0f} tokens/s · {left:.0f} s left" if hasattr(self, "_speed") else ""
            self._console.print(line + (speed if "loss" in record else ""), soft_wrap=True)

    def end(self, step: int, seconds: float) -> None:
        """Put the bar away."""
        if self._live:
            self._bar.stop()


@contextmanager
def grid_progress(console: Console, cells: int, description: str = "cells") -> Iterator[CellDone]:
    """Shows a grid being filled; quiet where there is no terminal."""
    if not console.is_terminal:
        yield lambda grid, row, column: None
        return
    with _bar(console) as bar:
        task = bar.add_task(description, total=cells)

        def done(grid: Grid, row: int, column: int) -> None:
            size = "×".join(str(axis[place]) for axis, place in zip(grid.axes.values(), (row, column), strict=False))
            right, total = grid.correct[row][column], grid.total[row][column]
            bar.update(task, advance=1, status=f"{size}: {right} of {total}")

        yield done


@contextmanager
def problem_progress(console: Console, problems: int) -> Iterator[Callable[[int], None]]:
    """Shows problems being solved; quiet where there is no terminal, or nothing to wait for."""
    if not console.is_terminal or not problems:
        yield lambda solved: None
        return
    with _bar(console) as bar:
        task = bar.add_task("problems", total=problems)
        yield lambda solved: bar.advance(task, solved)


class RunsTable:
    """Shows many runs: on a terminal a table of those at work; elsewhere lines of what `say` is told, and once a minute
    one of how those at work have come along."""

    SHOWN, NAMED, SECONDS = 24, 4, 60.0

    def __init__(self, console: Console) -> None:
        self._console = console
        self._news: dict[str, News] = {}
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._told = time.monotonic()

    def __enter__(self) -> "RunsTable":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def hear(self, job: Job, news: News) -> None:
        """How far a run has come."""
        self._news[job.folder.name] = news
        self._draw()

    def say(self, line: str) -> None:
        """A run has ended, or something else has happened."""
        ended = line.partition(" ")[2].partition(":")[0]
        self._news.pop(ended, None)
        self._console.print(line, soft_wrap=True)
        self._draw()

    def _draw(self) -> None:
        if self._live is None:
            if self._news and time.monotonic() - self._told >= self.SECONDS:
                self._told = time.monotonic()
                first = itertools.islice(self._news.items(), self.NAMED)
                named = [f"{name} {news.step:,} of {news.steps:,}" for name, news in first]
                more = [f"{len(self._news) - len(named)} more"] if len(self._news) > len(named) else []
                self._console.print(f"at work: {', '.join(named + more)}", soft_wrap=True)
            return
        table = Table("run", "step", "of", "", title=f"{len(self._news)} at work", title_justify="left")
        for name, news in itertools.islice(self._news.items(), self.SHOWN):
            table.add_row(name, f"{news.step:,}", f"{news.steps:,}", news.words)
        self._live.update(table)
