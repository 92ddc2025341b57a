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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from lengthwise.device import pick_device
from lengthwise.engines import Engine
from lengthwise.errors import InputError, instead
from lengthwise.experiments import Case, Claim, Experiment, experiment, kinds
from lengthwise.experiments.plans import SCALES
from lengthwise.figures.saving import save_figure
from lengthwise.jobs import Job, runs
from lengthwise.processes import Hear
from lengthwise.results import write_json
from lengthwise.session import Observer

FIGURES = "figures"

Say = Callable[[str], None]
"""Told in a line what has happened."""


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
    engine: Engine | None = None,
    run: bool = True,
    say: Say = lambda line: None,
    hear: Hear[Job] | None = None,
    observer: Callable[[], Observer] | None = None,
) -> list[Report]:
    """Do what is missing of some figures, by default one run after the other; then draw and compare them.

    `seeds` are those of the scale unless given, `only` keeps to runs whose names match a pattern such as parity-*.
    With `run` false nothing is trained or measured. Runs that fail do not stop the others; they are named in the end.
    """
    experiments = [experiment(one) if isinstance(one, str) else one for one in dict.fromkeys(figures)]
    folder = Path(out)
    engine = engine or Engine(workers=1)
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
            pick_device(engine.device)
            _require_room(folder / scale)
        begun = sum(job.folder.is_dir() for job in todo)
        going_on = f", {begun} begun" if begun else ""
        say(f"{runs(len(asked))}, {len(asked) - len(todo)} of them done already{going_on}")
        failed = engine.do_all(todo, say, hear, observer)
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
