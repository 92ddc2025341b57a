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
        arg(help="one for each grid; grids of the same title are seeds of one thing: medians are drawn"),
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
    if first.suffix == ".safetensors" or first.is_dir() or first.suffix == ".jsonl":
        if len(options.files) > 1:
            raise InputError("attention maps and metrics are drawn one at a time: give a single file.")
        if first.suffix == ".safetensors":
            _require_use(options, "attention", "layers", "heads")
            figure = draw_attention(AttentionMap.load(first), layers=options.layers, heads=options.heads)
        else:
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


def _grouped(options: _Figure) -> dict[str, list[Grid]]:
    """Grids by title."""
    if options.titles and len(options.titles) != len(options.files):
        raise InputError(f"--titles must give one title for each of the {len(options.files)} grids.")
    groups: dict[str, list[Grid]] = {}
    for place, file in enumerate(options.files):
        grid = Grid.load(file)
        title = options.titles[place] if options.titles else grid.model.get("name") or Path(file).stem
        if not options.titles and title in groups:
            title = f"{title}, {Path(file).stem}"
        groups.setdefault(title, []).append(grid)
    return groups
