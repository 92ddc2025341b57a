"""Sweeps: one recipe with some settings varied, each with several seeds; what is missing is done, then all is compared.

    report = sweep("adder-tiny", seeds=range(4), vary={"model.width": [32, 64]}, out="runs/widths")
    report.rows                      median and quartiles of every setting
    report.spread("adder-tiny-width32")      the same for every cell of the grid

Runs are ordinary run folders, named by what is varied: runs/widths/adder-tiny-width32-seed0. A sweep that is started
again does only what is missing.
"""

import itertools
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from lengthwise import presets
from lengthwise.engines import Engine
from lengthwise.errors import InputError, instead
from lengthwise.figures.curves import Line, draw_curves
from lengthwise.figures.heatmap import Panel, draw_heatmaps
from lengthwise.figures.saving import save_figure
from lengthwise.jobs import Job, runs
from lengthwise.measurements import Measurement
from lengthwise.processes import Hear
from lengthwise.recipe import Recipe, require_cell
from lengthwise.results import Grid, Spread, over_seeds, read_json, write_json
from lengthwise.session import Observer
from lengthwise.storage import Mirror, is_elsewhere

FARTHER = (1, 1.5, 2, 3)
"""How many times as long as in training the problems of the grid are, where none is asked for."""
SAMPLES = 100
SUMMARY = "sweep.json"
KEPT = ("config.json", ".json", ".jsonl")
"""What is fetched of runs that are kept elsewhere to compare them: everything but weights."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One choice of what is varied."""

    name: str
    """Such as width32-learning_rate0.003; the preset's own name where nothing is varied."""
    recipe: Recipe
    """With seed 0; other seeds differ in nothing else."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """How the runs of a setting came out."""

    setting: str
    seeds: int
    """How many have been measured."""
    beyond: tuple[float, float, float] | None
    """Lower quartile, median and upper quartile of the mean accuracy over all sizes beyond those of training."""
    farthest: tuple[float, float, float] | None
    """The same at the largest size."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A sweep, as far as it has come."""

    rows: list[Row]
    grids: dict[str, list[Grid]]
    """The grids of every setting, by seed."""
    failed: dict[str, str]
    """Why runs failed, by their names."""
    picture: Path | str | None

    def spread(self, setting: str) -> Spread:
        """Median and quartiles of every cell."""
        if setting not in self.grids:
            raise InputError(f"the sweep has no setting {setting!r}: {instead(setting, self.grids)}")
        if not self.grids[setting]:
            raise InputError(f"no run of {setting!r} has been measured.")
        return over_seeds(self.grids[setting])


def sweep(
    recipe: Recipe | str,
    *,
    seeds: Iterable[int] = (0,),
    vary: Mapping[str, Sequence[Any]] | None = None,
    settings: Sequence[Setting] | None = None,
    measurement: Measurement | None = None,
    out: str | Path = "runs/sweep",
    engine: Engine | None = None,
    run: bool = True,
    say: Callable[[str], None] = lambda line: None,
    hear: Hear[Job] | None = None,
    observer: Callable[[], Observer] | None = None,
) -> Comparison:
    """Train and measure every setting with every seed, as far as that is missing, and compare them.

    `vary` names settings of the recipe and their values; all combinations are taken. `settings` may be given instead.
    `out` is a folder, or an address such as s3://bucket/runs. With `run` false nothing is trained or measured.
    """
    base = presets.get(recipe) if isinstance(recipe, str) else recipe
    chosen = list(settings) if settings is not None else combinations(base, vary or {})
    if len({setting.name for setting in chosen}) < len(chosen):
        raise InputError("a value is named twice: every setting of a sweep must be another.")
    asked = measurement or usual_measurement(base)
    with ExitStack() as stack:
        folder, mirror = _open(out, stack)
        wanted = _jobs(chosen, list(seeds), asked, folder, str(out) if mirror else None)
        for job in wanted:
            job.recipe.check()
            job.require_same()
        for setting in chosen:
            _require_measurable(setting.recipe, asked)
        todo = [job for job in wanted if job.missing]
        failed = _failed_before(folder, todo)
        if run:
            say(f"{runs(len(wanted))}, {len(wanted) - len(todo)} of them done already")
            failed = (engine or Engine()).do_all(todo, say, hear, observer)
            if mirror:
                mirror.fetch(only=KEPT)
        return _compare(chosen, wanted, asked, folder, failed, mirror)


def _require_measurable(recipe: Recipe, asked: Measurement) -> None:
    """Refuse what could not be measured, before anything is trained."""
    if asked.samples < 1:
        raise InputError(f"samples must be 1 or more, not {asked.samples}.")
    known = recipe.encoding.max_ids(recipe.shape)
    for end in (min, max):
        require_cell(recipe.task, known, end(asked.lengths), None if asked.counts is None else end(asked.counts))


def _failed_before(folder: Path, todo: Sequence[Job]) -> dict[str, str]:
    """Why runs that are missing failed when they were last tried."""
    file, missing = folder / SUMMARY, {job.folder.name for job in todo}
    failed: dict[str, str] = read_json(file).get("failed", {}) if file.is_file() else {}
    return {name: reason for name, reason in failed.items() if name in missing}


def combinations(recipe: Recipe, vary: Mapping[str, Sequence[Any]]) -> list[Setting]:
    """Every combination of the values, in order, the last named varying fastest.

    >>> [setting.name for setting in combinations(presets.get("adder-tiny"), {"model.width": [32, 64]})]
    ['adder-tiny-width32', 'adder-tiny-width64']
    """
    found = []
    for values in itertools.product(*vary.values()):
        varied = recipe
        for name, value in zip(vary, values, strict=True):
            varied = _with(varied, name, value)
        words = [_word(name, value) for name, value in zip(vary, values, strict=True)]
        found.append(Setting(name="-".join([recipe.name, *words]), recipe=varied))
    return found


def usual_measurement(recipe: Recipe) -> Measurement:
    """A grid from the sizes of training to three times as long and as many."""
    lengths, counts = (
        None if size is None else tuple(dict.fromkeys(round(size * factor) for factor in FARTHER))
        for size in (recipe.data.length, recipe.data.count)
    )
    assert lengths is not None
    return Measurement(lengths=lengths, counts=counts, samples=SAMPLES)


def _with(recipe: Recipe, name: str, value: Any) -> Recipe:
    if name == "encoding":
        return presets.with_encoding(recipe, value)
    part, _, field = name.partition(".")
    held: Any = getattr(recipe, part, None)
    if not field or not is_dataclass(held):
        raise InputError(f"{name!r} is no setting of a recipe: write model.width, training.learning_rate or the like.")
    known = [entry.name for entry in fields(held)]
    if field not in known:
        raise InputError(f"{part} has no setting {field!r}: {instead(field, known)}")
    changed: Any = held
    varied: dict[str, Any] = {part: replace(changed, **{field: value})}
    return replace(recipe, **varied)


def _word(name: str, value: Any) -> str:
    word = name.rpartition(".")[2]
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{word if name != 'encoding' else ''}{shown}".replace("/", "-").replace(" ", "")


def _open(out: str | Path, stack: ExitStack) -> tuple[Path, Mirror | None]:
    if not is_elsewhere(out):
        folder = Path(out)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{str(folder)!r} cannot be written to: {error.strerror or error}.") from error
        return folder, None
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lengthwise-")))
    mirror = Mirror(str(out), folder)
    mirror.fetch(only=KEPT)
    return folder, mirror


def _jobs(
    settings: Sequence[Setting], seeds: Sequence[int], asked: Measurement, folder: Path, address: str | None
) -> list[Job]:
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError(f"seeds must be different whole numbers, one or more, not {list(seeds)}.")
    jobs = []
    for seed, setting in itertools.product(seeds, settings):
        name = f"{setting.name}-seed{seed}"
        recipe = replace(setting.recipe, seed=seed)
        kept_at = None if address is None else f"{address.rstrip('/')}/{name}"
        jobs.append(Job(folder=folder / name, recipe=recipe, measurements=(asked,), kept_at=kept_at))
    return sorted(jobs, key=lambda job: (job.recipe.seed, -job.cost))


# Comparing.


def _compare(
    settings: Sequence[Setting],
    jobs: Sequence[Job],
    asked: Measurement,
    folder: Path,
    failed: dict[str, str],
    mirror: Mirror | None,
) -> Comparison:
    grids: dict[str, list[Grid]] = {}
    for setting in settings:
        files = [
            job.folder / "grids" / asked.file for job in jobs if job.folder.name.startswith(f"{setting.name}-seed")
        ]
        grids[setting.name] = [grid for file in files if file.is_file() and (grid := Grid.load(file)).complete]
    rows = [_row(setting, grids[setting.name]) for setting in settings]
    picture: Path | None = None
    measured = {name: found for name, found in grids.items() if found}
    if measured:
        picture = folder / "figures" / "sweep.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        if asked.counts is None:
            save_figure(draw_curves([Line(name, found) for name, found in measured.items()]), picture)
        else:
            save_figure(draw_heatmaps([Panel(name, grids[name]) for name in grids]), picture)
    if measured or failed:
        write_json(folder / SUMMARY, _as_json(rows, failed))
    if mirror is not None:
        mirror.push()
    if mirror is not None and picture is not None:
        return Comparison(rows=rows, grids=grids, failed=failed, picture=f"{mirror.address}/figures/sweep.png")
    return Comparison(rows=rows, grids=grids, failed=failed, picture=picture)


def _row(setting: Setting, grids: Sequence[Grid]) -> Row:
    data = setting.recipe.data
    beyond = [
        [
            rate
            for row, column, length, count in grid.cells
            if (rate := grid.accuracy[row][column]) is not None
            and (length > data.length or (count is not None and count > (data.count or 0)))
        ]
        for grid in grids
    ]
    means = [sum(rates) / len(rates) for rates in beyond if rates]
    farthest = [rate for grid in grids if (rate := grid.accuracy[-1][-1]) is not None]
    return Row(setting=setting.name, seeds=len(grids), beyond=quartiles(means), farthest=quartiles(farthest))


def quartiles(values: Sequence[float]) -> tuple[float, float, float] | None:
    """Lower quartile, median and upper quartile; None of nothing.

    >>> quartiles([0.2, 0.4, 1.0])
    (0.30000000000000004, 0.4, 0.7)
    """
    if not values:
        return None
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, median(values), high


def _as_json(rows: Sequence[Row], failed: Mapping[str, str]) -> dict[str, Any]:
    return {"kind": "sweep", "rows": [vars(row) for row in rows], "failed": dict(failed)}
