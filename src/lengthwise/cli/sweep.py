"""lengthwise sweep: one preset with some settings varied, each with several seeds, on this machine or on a cluster."""

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from rich.console import Console
from rich.table import Column, Table
from tyro.conf import arg

import lengthwise as lw
from lengthwise.cli.parsing import Flag, console_for_people, numbers, parse
from lengthwise.cli.train import PARTS, Asked
from lengthwise.engines import Engine
from lengthwise.errors import InputError
from lengthwise.jobs import runs
from lengthwise.measurements import Measurement
from lengthwise.progress import RunsTable
from lengthwise.sweep import Comparison, Setting, sweep, usual_measurement

VARIED = (*(f"--{part}." for part in PARTS), "--encoding", "--steps")
"""How options begin that belong to the recipe, and may have several values."""


@dataclass(frozen=True)
class _Sweep:
    seeds: Annotated[str, arg(help="0:7 (eight of them) or 0,2,5")] = "0"
    out: Annotated[
        str | None, arg(metavar="FOLDER|ADDRESS", help="where runs go (runs/sweep-PRESET), or s3://bucket/runs …")
    ] = None
    on: Annotated[Literal["local", "ray"], arg(help="this machine, or a Ray cluster; needs the extra [cluster]")] = (
        "local"
    )
    address: Annotated[str | None, arg(help="of the Ray cluster; by default RAY_ADDRESS, or one started here")] = None
    workers: Annotated[int | None, arg(help="runs at a time on this machine (its GPUs, or its cores)")] = None
    per_gpu: Annotated[int, arg(help="runs at a time on each GPU: small models leave a large one idle")] = 1
    together: Annotated[int, arg(help="seeds of a setting that are trained as one model, where it is windowed")] = 1
    lengths: Annotated[str | None, arg(help="of the grid: 10:30:5 …; by default up to three times as in training")] = (
        None
    )
    counts: Annotated[str | None, arg(help="likewise")] = None
    samples: Annotated[int, arg(help="problems a cell")] = 100
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "auto"
    report: Annotated[Flag, arg(help="run nothing: compare what is there")] = False
    json: Annotated[Flag, arg(help="print as JSON")] = False


def run(arguments: list[str]) -> None:
    """Do what is missing, and compare."""
    varied, own = _part(arguments)
    about = (
        "lengthwise sweep PRESET --seeds 0:7 --model.width 32,64,128: every setting of the preset may have several "
        "values, parted by commas, and all combinations are run; lengthwise train PRESET --help lists them. What is "
        "there already is not done again."
    )
    if any(argument in ("-h", "--help") for argument in own):
        parse(_Sweep, "sweep", ["--help"], about)
    if not own or own[0].startswith("-"):
        raise InputError("The preset is missing: lengthwise sweep adder-tiny --seeds 0:3, for one.")
    preset = lw.presets.get(own[0])
    options = parse(_Sweep, "sweep", own[1:], about)
    settings = _settings(preset.name, varied)
    console = Console(stderr=True, highlight=False) if options.json else console_for_people()
    out = options.out or str(Path("runs") / f"sweep-{preset.name}")
    try:
        with RunsTable(console) as table:
            found = sweep(
                preset,
                seeds=numbers(options.seeds, "--seeds", least=0),
                settings=settings,
                measurement=_measurement(options, settings[0]),
                out=out,
                engine=Engine(
                    on=options.on,
                    workers=options.workers,
                    per_gpu=options.per_gpu,
                    together=options.together,
                    address=options.address,
                    device=None if options.device == "auto" else options.device,
                ),
                run=not options.report,
                say=table.say,
                hear=table.hear,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; what is done is kept in {out}, and the same command goes on.") from None
    if options.json:
        print(json.dumps({"rows": [vars(row) for row in found.rows], "failed": found.failed, "out": out}))
    else:
        _print(console, found)
        others = sorted({file.name for file in Path(out).glob("*-seed*/grids/grid-*.json")})
        if not any(row.seeds for row in found.rows) and others:
            console.print(f"Nothing was measured like this; there is {', '.join(others)}.", soft_wrap=True)
    if found.failed:
        name, reason = next(iter(found.failed.items()))
        raise InputError(f"{runs(len(found.failed))} failed; {name}: {reason}")


def _part(arguments: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The options of the recipe with their values, and the rest."""
    varied: dict[str, list[str]] = {}
    own: list[str] = []
    place = 0
    while place < len(arguments):
        name, equals, value = arguments[place].partition("=")
        if not name.startswith(VARIED):
            own.append(arguments[place])
        elif equals:
            varied[name] = value.split(",")
        elif place + 1 < len(arguments) and not arguments[place + 1].startswith("--"):
            place += 1
            varied[name] = arguments[place].split(",")
        else:
            varied[name] = [""]  # a flag, such as --task.no-zero-padding
        place += 1
    return varied, own


def _settings(preset: str, varied: dict[str, list[str]]) -> list[Setting]:
    """Every combination, read as `lengthwise train` reads its options; named by what has several values."""
    settings = []
    several = [name for name, values in varied.items() if len(values) > 1]
    for values in itertools.product(*varied.values()):
        chosen = dict(zip(varied, values, strict=True))
        given = [word for name, value in chosen.items() for word in ((name, value) if value else (name,))]
        asked = Asked.of([preset, *given])
        recipe, _ = asked.read(lw.presets.get(asked.preset))
        words = [f"{_short(name)}{chosen[name]}" for name in several]
        settings.append(Setting(name="-".join([preset, *words]), recipe=recipe))
    return settings


def _short(name: str) -> str:
    word = name.lstrip("-").rpartition(".")[2]
    return "" if word == "encoding" else word.replace("-", "_")


def _measurement(options: _Sweep, setting: Setting) -> Measurement:
    usual = usual_measurement(setting.recipe)
    if options.counts is not None and usual.counts is None:
        raise InputError(f"{setting.recipe.task.name} has lengths only: leave --counts out.")
    lengths = usual.lengths if options.lengths is None else tuple(numbers(options.lengths, "--lengths"))
    counts = usual.counts if options.counts is None else tuple(numbers(options.counts, "--counts"))
    return Measurement(lengths=lengths, counts=counts, samples=options.samples)


def _print(console: Console, found: Comparison) -> None:
    table = Table(Column("setting", overflow="fold", no_wrap=False), "seeds", "beyond training", "largest size")
    table.title, table.title_justify = "Exact match, %: median (quartiles) over seeds", "left"
    for row in found.rows:
        rates = ["–" if three is None else _rates(three) for three in (row.beyond, row.farthest)]
        table.add_row(row.setting, str(row.seeds), *rates)
    console.print(table)
    if found.picture is not None:
        console.print(f"picture: {found.picture}", soft_wrap=True)


def _rates(three: tuple[float, float, float]) -> str:
    low, middle, high = (f"{100 * rate:.1f}" for rate in three)
    return f"{middle} ({low}–{high})"
