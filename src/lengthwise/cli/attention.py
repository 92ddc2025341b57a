"""lengthwise attention: where the heads of a model look, averaged over many problems."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

import lengthwise as lw
from lengthwise.cli.parsing import console_for_people, parse
from lengthwise.device import pick_device
from lengthwise.figures.attention import draw_attention
from lengthwise.figures.saving import save_figure
from lengthwise.looking import average_attention
from lengthwise.recipe import parse_cell


@dataclass(frozen=True)
class _Attention:
    model: Annotated[Positional[str], arg(metavar="MODEL", help="a run folder or model folder")]
    size: Annotated[str, arg(help="of the problems: length x count, or a length alone")] = "11x11"
    samples: Annotated[int, arg(help="how many problems")] = 1000
    seed: Annotated[int, arg(help="of the problems")] = 0
    device: Annotated[str, arg(help="cpu, cuda, or auto for the best there is")] = "auto"
    out: Annotated[Path | None, arg(metavar="FILE", help="the map's file (MODEL/grids/…)")] = None
    save: Annotated[Path | None, arg(metavar="FILE", help="the picture (MODEL/figures/…): .png, .svg or .pdf")] = None


def run(arguments: list[str]) -> None:
    """Average, save and draw."""
    options = parse(_Attention, "attention", arguments)
    folder = Path(options.model)
    model = lw.load(folder).to(pick_device(options.device))
    length, count = parse_cell(options.size)
    found = average_attention(
        model, length=length, count=count, samples=options.samples, seed=options.seed, name=folder.name
    )
    name = f"attention-{options.size}-n{options.samples}"
    file = options.out or folder / "grids" / f"{name}.safetensors"
    picture = options.save or folder / "figures" / f"{name}.png"
    found.save(file)
    picture.parent.mkdir(parents=True, exist_ok=True)
    save_figure(draw_attention(found), picture)
    console_for_people().print(f"map: {file}\npicture: {picture}", soft_wrap=True)
