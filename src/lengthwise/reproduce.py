"""The paper's figures, end to end: train what is missing, measure it, draw, and compare with what the paper says.

    reports = reproduce(["parity"], scale="smoke", out="runs/reproduce")

A folder of reproductions holds a folder for every scale: in it the runs, ordinary run folders shared by all figures
that need them, and the pictures and comparisons of figures:

    small/addition-coupling-scratchpad-seed0/    config, metrics, weights, grids/
    small/figures/addition-methods.png
    small/figures/addition-methods.json          the claims, compared

What is done is known by its files: a whole grid is never measured again, a finished run never trained again, and
weights are not needed where all grids are there. Several processes may share the work, each with runs of its own.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from lengthwise import checkpoint
from lengthwise.device import pick_device
from lengthwise.errors import InputError, instead
from lengthwise.evaluate import evaluate
from lengthwise.experiments import Case, Claim, Experiment, Measurement, experiment, kinds
from lengthwise.experiments.plans import SCALES, map_of
from lengthwise.figures.saving import save_figure
from lengthwise.focus import focus
from lengthwise.looking import average_attention
from lengthwise.processes import one_by_one, polite, side_by_side
from lengthwise.recipe import Recipe
from lengthwise.results import Grid, read_json, write_json
from lengthwise.runs import Run
from lengthwise.solver import Solver
from lengthwise.train import Observer, train

FIGURES = "figures"

Say = Callable[[str], None]
"""Told in a line what has happened."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run: to be trained, unless it is, and measured."""

    folder: Path
    recipe: Recipe
    measurements: tuple[Measurement, ...]

    @property
    def missing(self) -> tuple[Measurement, ...]:
        """What has not been measured yet."""
        return tuple(one for one in self.measurements if not _is_whole(self.folder / "grids" / one.file))

    @property
    def cost(self) -> float:
        """How long it takes, roughly, in any unit."""
        model, training = self.recipe.model, self.recipe.training
        hooks = self.recipe.encoding.build(self.recipe.shape)
        waiting, pairs = 3e7, 2 if hooks.has_bias and hooks.reach is None else 1
        return (
            training.steps * model.layers * pairs * (waiting + training.batch_size * model.width * (model.width + 512))
        )

    def require_same(self) -> None:
        """Refuse to take another recipe's run for this one."""
        if (self.folder / checkpoint.CONFIG).is_file():
            different = Run(self.folder).recipe.differences(self.recipe)
            if different:
                raise InputError(
                    f"{str(self.folder)!r} holds a run by another recipe: its {different[0]}. Move it away, or give "
                    "another folder with --out."
                )


@dataclass(frozen=True, kw_only=True)
class State:
    """How far a figure has come at a scale."""

    runs: int
    """How many runs have been trained and measured."""
    wanted: int
    """How many it takes."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """A figure, drawn and compared."""

    name: str
    scale: str
    state: State
    pictures: dict[str, Path]
    claims: list[Claim]


def reproduce(
    figures: Sequence[str | Experiment],
    *,
    scale: str = "small",
    out: str | Path = "runs/reproduce",
    seeds: Iterable[int] | None = None,
    only: Sequence[str] = (),
    workers: int = 1,
    device: str | None = None,
    run: bool = True,
    say: Say = lambda line: None,
    observer: Callable[[], Observer] | None = None,
) -> list[Report]:
    """Do what is missing of some figures, several runs at a time if asked to; then draw and compare them.

    `seeds` are those of the scale unless given, `only` keeps to runs whose names match a pattern such as parity-*.
    With `run` false nothing is trained or measured. Runs that fail do not stop the others; they are named in the end.
    """
    experiments = [experiment(one) if isinstance(one, str) else one for one in dict.fromkeys(figures)]
    folder = Path(out)
    if workers < 1:
        raise InputError(f"workers must be 1 or more, not {workers}.")
    failed: dict[str, str] = {}
    if run:
        asked = jobs(experiments, scale, folder, seeds, only)
        if only and not asked:
            known = sorted({case.key for one in experiments for case in one.plan(scale)})
            names = ", ".join(one.name for one in experiments)
            raise InputError(f"no run of {names} matches {', '.join(only)}: {instead(only[0], known)}")
        for job in asked:
            job.require_same()
        todo = [job for job in asked if job.missing]
        if todo:  # refused here, not in every run
            pick_device(device)
            _require_room(folder / scale)
        begun = sum(job.folder.is_dir() for job in todo)
        going_on = f", {begun} begun" if begun else ""
        say(f"{len(asked)} runs, {len(asked) - len(todo)} of them done already{going_on}")
        with polite():
            failed = _work(todo, workers, device, say, observer)
    reports = [_report(one, scale, folder) for one in experiments]
    if failed:
        name, reason = next(iter(failed.items()))
        raise InputError(f"{len(failed)} of {len(todo)} runs failed; {name}: {reason}")
    return reports


def _require_room(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be written to: {error.strerror or error}.") from error


def jobs(
    experiments: Sequence[Experiment],
    scale: str,
    out: Path,
    seeds: Iterable[int] | None = None,
    only: Sequence[str] = (),
) -> list[Job]:
    """The runs that figures need, each once, first seeds first and long runs before short ones."""
    found: dict[Path, Job] = {}
    wanted = None if seeds is None else list(seeds)
    for one in experiments:
        for case in one.plan(scale):
            if only and not any(fnmatch(case.key, pattern) for pattern in only):
                continue
            for seed in range(one.scale(scale).seeds) if wanted is None else wanted:
                job = _job(case, seed, out / scale)
                before = found.get(job.folder)
                if before is not None:
                    assert before.recipe.differences(job.recipe) == [], f"{case.key} means two things"
                    both = tuple(dict.fromkeys((*before.measurements, *job.measurements)))
                    job = replace(before, measurements=both)
                found[job.folder] = job
    return sorted(found.values(), key=lambda job: (job.recipe.seed, -job.cost))


def _job(case: Case, seed: int, folder: Path) -> Job:
    return Job(folder=folder / case.run_name(seed), recipe=case.seeded(seed), measurements=case.measurements)


def state(one: Experiment, scale: str, out: str | Path) -> State:
    """How far a figure has come."""
    asked = jobs([one], scale, Path(out))
    return State(runs=sum(not job.missing for job in asked), wanted=len(asked))


def claims_table(out: str | Path) -> str:
    """All claims of the paper, each compared at the largest scale it has been judged at, in Markdown."""
    lines = [
        "| figure | the paper says | its number | here | scale | seeds | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, kind in kinds().items():
        one = kind()
        by_scale = [(scale, _claims(one, scale, Path(out))) for scale in SCALES[1:]]
        for versions in zip(*([(scale, claim) for claim in claims] for scale, claims in by_scale), strict=True):
            judged = [version for version in versions if version[1].verdict != "not run"]
            scale, claim = judged[-1] if judged else versions[0]
            told = "–" if claim.verdict == "not run" else scale
            seeds = str(claim.seeds) if claim.seeds else "–"
            ours = "–" if claim.verdict == "not run" else claim.ours
            lines.append(
                f"| `{name}`, {kind.figure} | {claim.says} | {claim.paper} | {ours} | {told} | {seeds} "
                f"| {claim.verdict} |"
            )
    return "\n".join(lines) + "\n"


def _work(
    todo: Sequence[Job], workers: int, device: str | None, say: Say, observer: Callable[[], Observer] | None
) -> dict[str, str]:
    """All jobs; the reasons of those that failed, by the names of their runs."""

    def alone(job: Job) -> str:
        return work(job, device, None if observer is None else observer())

    failed: dict[str, str] = {}
    outcomes = one_by_one(todo, alone) if workers == 1 else side_by_side(todo, partial(work, device=device), workers)
    for done, (job, words, well) in enumerate(outcomes, start=1):
        if not well:
            failed[job.folder.name] = words
        say(f"{done}/{len(todo)} {job.folder.name}: {words if well else f'failed: {words}'}")
    return failed


# One run.


def work(job: Job, device: str | None = None, observer: Observer | None = None) -> str:
    """Train and measure a run, as far as that is missing; says in a line how it went."""
    begun = time.monotonic()
    chosen = pick_device(device)
    if not job.missing:
        return "done already"
    done = Run(job.folder).step if Run(job.folder).exists else 0
    run = train(job.recipe, job.folder, resume=True, device=chosen, observer=observer)
    trained, steps = time.monotonic() - begun, job.recipe.training.steps - done
    model = run.model.to(chosen).eval()
    words = [f"{steps:,} steps in {trained:.0f} s" if steps else "trained already"]
    for one in job.missing:
        words.append(measure(model, one, job.folder))
    return f"{', '.join(words)}; {time.monotonic() - begun:.0f} s in all"


def measure(model: Solver, asked: Measurement, folder: Path) -> str:
    """One measurement of a model, into its run folder; says in a few words what came out."""
    file = folder / "grids" / asked.file
    if asked.kind == "attention":
        assert asked.counts is not None
        found = average_attention(
            model, length=asked.lengths[0], count=asked.counts[0], samples=asked.samples, name=folder.name
        )
        found.save(map_of(file))
        scores = focus(found)
        write_json(file, {"kind": "focus", "focus": scores.to_json(), "about": found.about})
        return f"most on what matters {max(max(layer) for layer in scores.weight):.0%}"
    grid = evaluate(
        model,
        lengths=asked.lengths,
        counts=asked.counts,
        samples=asked.samples,
        decoding=asked.decoding,
        out=file,
        name=folder.name,
    )
    rates = [rate for row in (grid.answer_accuracy if asked.counts is None else grid.accuracy) for rate in row]
    return f"mean {sum(rate or 0 for rate in rates) / len(rates):.1%}" + (
        " decoded" if asked.decoding == "greedy" else ""
    )


def _is_whole(file: Path) -> bool:
    if not file.is_file():
        return False
    return "focus" in read_json(file) if file.name.startswith("focus") else Grid.load(file).complete


# Drawing and comparing.


def _report(one: Experiment, scale: str, out: Path) -> Report:
    found = one.found(scale, out)
    folder = out / scale / FIGURES
    claims = _claims(one, scale, out)
    if scale == "smoke":  # it shows that everything runs, nothing more
        claims = [replace(claim, verdict="not run") for claim in claims]
    how_far = state(one, scale, out)
    pictures: dict[str, Path] = {}
    if how_far.runs or any(found.files(case, case.measurements[0]) for case in found.cases):
        folder.mkdir(parents=True, exist_ok=True)
        for name, picture in one.draw(found).items():
            pictures[name] = folder / f"{name}.png"
            save_figure(picture, pictures[name])
        write_json(folder / f"{one.name}.json", _as_json(one, scale, how_far, claims))
    return Report(name=one.name, scale=scale, state=how_far, pictures=pictures, claims=claims)


def _claims(one: Experiment, scale: str, out: Path) -> list[Claim]:
    """The claims, compared; refused where a run is not what the figure asks for."""
    found = one.found(scale, out)
    for case in found.cases:
        for measurement in case.measurements:
            for file in found.files(case, measurement):
                folder = file.parents[1]
                recipe = case.seeded(int(folder.name.rpartition("seed")[2]))
                Job(folder=folder, recipe=recipe, measurements=()).require_same()
    return one.claims(found)


def _as_json(one: Experiment, scale: str, how_far: State, claims: Sequence[Claim]) -> dict[str, Any]:
    return {
        "kind": "claims",
        "name": one.name,
        "figure": one.figure,
        "scale": scale,
        "runs": how_far.runs,
        "wanted": how_far.wanted,
        "claims": [asdict(claim) for claim in claims],
    }
