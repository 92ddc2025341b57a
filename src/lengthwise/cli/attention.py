"""lengthwise attention: where the heads of a model look, averaged over many problems."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

import lengthwise as lw
from lengthwise.cli.folders import find_model
from lengthwise.cli.parsing import console_for_people, parse
from lengthwise.cli.pictures import require_picture, save_picture
from lengthwise.device import pick_device
from lengthwise.figures.attention import draw_attention
from lengthwise.looking import average_attention
from lengthwise.recipe import parse_cell


@dataclass(frozen=True)
class _Attention:
    model: Annotated[Positional[str], arg(metavar="MODEL", help="a run folder or model folder, or a model in the box")]
    size: Annotated[str | None, arg(help="of the problems: length x count (11x11), or for parity a length (11)")] = None
    samples: Annotated[int, arg(help="how many problems")] = 1000
    seed: Annotated[int, arg(help="of the problems")] = 0
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "auto"
    out: Annotated[
        Path | None,
        arg(metavar="FILE", help="the map's file (MODEL/grids/…, for a model in the box runs/box/MODEL/grids/…)"),
    ] = None
    save: Annotated[
        Path | None, arg(metavar="FILE", help="the picture (figures/… beside grids): .png, .svg or .pdf")
    ] = None


def run(arguments: list[str]) -> None:
    """Average, save and draw."""
    options = parse(_Attention, "attention", arguments)
    require_picture(options.save)
    source, folder = find_model(options.model)
    model = lw.load(source).to(pick_device(options.device))
    size = options.size or ("11" if model.task.name == "parity" else "11x11")
    length, count = parse_cell(size)
    found = average_attention(
        model, length=length, count=count, samples=options.samples, seed=options.seed, name=folder.resolve().name
    )
    name = f"attention-{size}-n{options.samples}" + (f"-seed{options.seed}" if options.seed else "")
    file = options.out or folder / "grids" / f"{name}.safetensors"
    picture = options.save or folder / "figures" / f"{name}.png"
    found.save(file)
    save_picture(draw_attention(found), picture)
    console_for_people().print(f"map: {file}\npicture: {picture}", soft_wrap=True)
