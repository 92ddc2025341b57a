"""lengthwise reproduce: a figure of the paper, end to end; without a name, what there is and how far it has come."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from rich.console import Console
from rich.table import Column, Table
from tyro.conf import Positional, arg

from lengthwise import experiments
from lengthwise import reproduce as reproducing
from lengthwise.cli.parsing import Flag, console_for_people, numbers, parse
from lengthwise.engines import Engine
from lengthwise.errors import InputError
from lengthwise.experiments.plans import SCALES
from lengthwise.progress import RunsTable, TrainingProgress
from lengthwise.reproduce import Report


@dataclass(frozen=True)
class _Reproduce:
    names: Annotated[
        Positional[tuple[str, ...]], arg(metavar="NAME …", help="figures, or all; without one, they are listed")
    ] = ()
    scale: Annotated[
        Literal["smoke", "small", "paper"],
        arg(help="smoke: seconds on a CPU · small: minutes on a GPU · paper: the paper's own steps, seeds and samples"),
    ] = "small"
    out: Annotated[Path, arg(metavar="FOLDER", help="runs, grids and figures; what is there is not done again")] = Path(
        "runs/reproduce"
    )
    seeds: Annotated[str | None, arg(help="0:4 (five of them) or 0,2,5; those of the scale unless given")] = None
    only: Annotated[
        tuple[str, ...], arg(help="only runs whose names, seeds apart, match one of these: 'windowed-*'")
    ] = ()
    workers: Annotated[
        int | None, arg(help="runs at a time, a process each (1; with --per-gpu as many as the GPUs take)")
    ] = None
    per_gpu: Annotated[int | None, arg(help="runs at a time on each GPU: small models leave a large one idle")] = None
    together: Annotated[int, arg(help="seeds of a case that are trained as one model, where it is windowed")] = 1
    on: Annotated[Literal["local", "ray"], arg(help="this machine, or a Ray cluster; needs the extra [cluster]")] = (
        "local"
    )
    address: Annotated[str | None, arg(help="of the Ray cluster; by default RAY_ADDRESS, or one started here")] = None
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "auto"
    report: Annotated[Flag, arg(help="run nothing: draw and compare what is there")] = False
    table: Annotated[Flag, arg(help="run nothing: print all claims of the paper, compared, as Markdown")] = False
    json: Annotated[Flag, arg(help="print as JSON")] = False


def run(arguments: list[str]) -> None:
    """List, or reproduce and compare."""
    options = parse(_Reproduce, "reproduce", arguments)
    if options.table and (options.names or options.report or options.json):
        raise InputError("--table compares all figures, as Markdown: leave names, --report and --json out.")
    if options.report and (options.seeds or options.only or not options.names):
        raise InputError("--report draws what is there of the figures it names: leave --seeds and --only out.")
    if options.table:
        print(reproducing.claims_table(options.out), end="")
        return
    if not options.names:
        _list(options)
        return
    names = list(experiments.kinds()) if "all" in options.names else list(options.names)
    console = Console(stderr=True, highlight=False) if options.json else console_for_people()
    engine = Engine(
        on=options.on,
        workers=1 if options.workers is None and options.per_gpu is None and options.on == "local" else options.workers,
        per_gpu=1 if options.per_gpu is None else options.per_gpu,
        together=options.together,
        address=options.address,
        device=None if options.device == "auto" else options.device,
    )
    alone = engine.workers == 1 and not options.json
    try:
        with RunsTable(console) as table:
            reports = reproducing.reproduce(
                names,
                scale=options.scale,
                out=options.out,
                seeds=None if options.seeds is None else numbers(options.seeds, "--seeds", least=0),
                only=options.only,
                engine=engine,
                run=not options.report,
                say=table.say,
                hear=table.hear,
                observer=(lambda: TrainingProgress(console)) if alone else None,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"stopped; what is done is kept in {options.out}, and the same command goes on."
        ) from None
    if options.json:
        print(json.dumps([_as_json(report) for report in reports]))
        return
    for report in reports:
        _print(console, report)


def _list(options: _Reproduce) -> None:
    states = {
        name: {scale: reproducing.state(kind(), scale, options.out) for scale in SCALES}
        for name, kind in experiments.kinds().items()
    }
    if options.json:
        print(
            json.dumps(
                {
                    name: {"figure": kind.figure, "summary": kind.summary}
                    | {scale: asdict(states[name][scale]) for scale in SCALES}
                    for name, kind in experiments.kinds().items()
                }
            )
        )
        return
    columns = [Column(scale, no_wrap=True, justify="right") for scale in SCALES]
    table = Table(Column("figure", no_wrap=True), "what it compares", *columns)
    table.title, table.title_justify = f"Runs done of runs wanted, in {options.out}", "left"
    for name, kind in experiments.kinds().items():
        shown = [f"{state.runs}/{state.wanted}" for state in states[name].values()]
        table.add_row(name, f"{kind.figure}: {kind.summary}", *shown)
    console_for_people().print(table)


def _print(console: Console, report: Report) -> None:
    far = f"{report.state.runs} of {report.state.wanted} runs"
    table = Table("claim", "the paper's number", "here", "verdict", title=f"{report.name}, {report.scale}: {far}")
    table.title_justify = "left"
    for claim in report.claims:
        seeds = "" if claim.verdict == "not run" else f" ({claim.seeds} seed{'s' if claim.seeds != 1 else ''})"
        verdict = "not judged" if report.scale == "smoke" else claim.verdict
        table.add_row(claim.says, claim.paper, "–" if claim.verdict == "not run" else claim.ours + seeds, verdict)
    console.print(table)
    if report.scale == "smoke":
        console.print("The scale smoke shows that everything runs; nothing is learned, so nothing is judged.")
    for picture in report.pictures.values():
        console.print(f"picture: {picture}", soft_wrap=True)


def _as_json(report: Report) -> dict[str, object]:
    return {
        "name": report.name,
        "scale": report.scale,
        **asdict(report.state),
        "pictures": {name: str(file) for name, file in report.pictures.items()},
        "claims": [asdict(claim) for claim in report.claims],
    }
