"""lengthwise figure: pictures of saved results. Nothing is measured here."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from lengthwise.cli.parsing import Flag, console_for_people, parse
from lengthwise.cli.pictures import require_picture
from lengthwise.errors import InputError
from lengthwise.figures.attention import draw_attention
from lengthwise.figures.curves import Line, draw_curves
from lengthwise.figures.heatmap import Panel, draw_heatmaps
from lengthwise.figures.saving import save_figure
from lengthwise.figures.training import draw_training
from lengthwise.results import AttentionMap, Grid
from lengthwise.runs import METRICS, Record, read_lines


@dataclass(frozen=True)
class _Figure:
    files: Annotated[
        Positional[tuple[str, ...]],
        arg(metavar="FILE …", help="grids (.json), an attention map (.safetensors), or metrics (.jsonl, a run folder)"),
    ]
    save: Annotated[Path, arg(metavar="FILE", help="the picture: .png, .svg or .pdf")] = Path("figure.png")
    kind: Annotated[
        Literal["auto", "heatmap", "curves"], arg(help="how grids are drawn; auto: by whether they have two axes")
    ] = "auto"
    titles: Annotated[
        tuple[str, ...],
        arg(help="one for each file; grids of the same title are seeds of one thing: medians are drawn"),
    ] = ()
    count: Annotated[int | None, arg(help="curves: this column instead of the diagonal")] = None
    answers: Annotated[Flag, arg(help="curves: answers alone instead of whole responses")] = False
    layers: Annotated[tuple[int, ...] | None, arg(help="attention: these layers only, from 1")] = None
    heads: Annotated[tuple[int, ...] | None, arg(help="attention: these heads only, from 1")] = None


def run(arguments: list[str]) -> None:
    """Draw what the files hold."""
    options = parse(_Figure, "figure", arguments)
    require_picture(options.save)
    if not options.files:
        raise InputError("The results are missing: lengthwise figure runs/adder-tiny/grids/random*.json, for one.")
    first = Path(options.files[0])
    if first.suffix == ".safetensors":
        _require_use(options, "attention", "layers", "heads", "titles")
        maps = [AttentionMap.load(file) for file in options.files]
        titles = _titles(options, [found.about.get("model", {}).get("name") for found in maps])
        named = dict(zip(titles, maps, strict=True))
        if len(named) < len(maps):
            raise InputError("attention maps above each other need titles that differ: give --titles.")
        figure = draw_attention(named if len(maps) > 1 else maps[0], layers=options.layers, heads=options.heads)
    elif first.is_dir() or first.suffix == ".jsonl":
        if len(options.files) > 1:
            raise InputError("metrics are drawn one at a time: give a single file.")
        _require_use(options, "training")
        figure = draw_training(_metrics(first / METRICS if first.is_dir() else first))
    else:
        groups = _grouped(options)
        two_axes = all("count" in grid.axes for grids in groups.values() for grid in grids)
        if options.kind == "heatmap" or (options.kind == "auto" and two_axes):
            _require_use(options, "a heatmap", "kind", "titles")
            figure = draw_heatmaps([Panel(title, grids) for title, grids in groups.items()])
        else:
            _require_use(options, "curves", "kind", "titles", "count", "answers")
            lines = [Line(title, grids) for title, grids in groups.items()]
            figure = draw_curves(lines, count=options.count, answers=options.answers)
    save_figure(figure, options.save)
    console_for_people().print(f"picture: {options.save}", soft_wrap=True)


def _require_use(options: _Figure, picture: str, *used: str) -> None:
    """Refuse an option that would change nothing in this picture."""
    for entry in fields(options):
        if entry.name not in ("files", "save", *used) and getattr(options, entry.name) != entry.default:
            raise InputError(f"--{entry.name} has no use in a picture of {picture}: leave it out.")


def _metrics(file: Path) -> list[Record]:
    if not file.is_file():
        raise InputError(f"There is no file {str(file)!r}: lengthwise train makes one in every run folder.")
    return read_lines(file)


def _titles(options: _Figure, names: list[str | None]) -> list[str]:
    """A title for each file: as given, or the model's name, with the file's where two models have the same."""
    if options.titles:
        if len(options.titles) != len(options.files):
            raise InputError(f"--titles must give one title for each of the {len(options.files)} files.")
        return list(options.titles)
    stems = [Path(file).stem for file in options.files]
    return [
        stem if name is None else f"{name}, {stem}" if names.count(name) > 1 else name
        for name, stem in zip(names, stems, strict=True)
    ]


def _grouped(options: _Figure) -> dict[str, list[Grid]]:
    """Grids by title."""
    grids = [Grid.load(file) for file in options.files]
    groups: dict[str, list[Grid]] = {}
    for title, grid in zip(_titles(options, [grid.model.get("name") for grid in grids]), grids, strict=True):
        groups.setdefault(title, []).append(grid)
    return groups
