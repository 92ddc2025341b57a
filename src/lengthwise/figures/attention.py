"""Where heads look: a square for each head, queries downward and keys rightward as in the paper, a row for each layer.

Thin lines part the written numbers of the page, whose names stand at the left and below; weights under `clip` are
black.

>>> import numpy as np
>>> from lengthwise.results import AttentionMap
>>> attention = AttentionMap(
...     weights=np.eye(3, dtype=np.float32)[None, None],
...     tokens=["$", "1", "$"],
...     labels=["start", "bit 1", "end"],
...     lines=["$", "query", "$"],
...     targets=[False, False, True],
... )
>>> figure = draw_attention(attention)
"""

import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, PowerNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lengthwise.errors import InputError
from lengthwise.figures.canvas import add_axes, blank_figure, write
from lengthwise.figures.palette import FAINT
from lengthwise.figures.saving import DOTS_PER_INCH
from lengthwise.results import AttentionMap

MAX_TOKENS_NAMED = 45
"""A page of at most so many tokens has them written along the edges."""
FEW_HEADS = 4
"""So many heads in a row get large panels; more get small ones."""
NAME_SIZE = 6.5

# inches
GAP, HEAD, SCALE, TOKEN_ROOM = 0.12, 0.24, 0.8, 0.12


def draw_attention(
    attention: AttentionMap | Mapping[str, AttentionMap],
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    clip: float = 0.01,
) -> Figure:
    """The heads of these layers, both counted from 1; all of them unless told otherwise.

    Several maps, by name, stand above each other: models with as many heads, on pages of the same shape.
    """
    maps = {"": attention} if isinstance(attention, AttentionMap) else dict(attention)
    attention = _require_alike(maps)
    heads = _chosen("head", heads, attention.weights.shape[1])
    rows = [
        [
            (f"{name}, layer {layer}, head {head}" if name else f"layer {layer}, head {head}", weights[head - 1])
            for head in heads
        ]
        for name, found in maps.items()
        for layer in _chosen("layer", layers, found.weights.shape[0])
        for weights in [found.weights[layer - 1]]
    ]
    return _draw(rows, attention, clip)


def _draw(rows: Sequence[Sequence[tuple[str, NDArray[np.float32]]]], attention: AttentionMap, clip: float) -> Figure:
    """Rows of titled squares, all of the same page."""
    if not 0 < clip < 1:
        raise InputError(f"Weights cannot be clipped under {clip}: choose a number between 0 and 1, such as 0.01.")
    tokens, columns = len(attention.tokens), len(rows[0])
    side, margin = _side(tokens, columns), _margin(attention)
    across, down = side + GAP, side + GAP + HEAD
    width = margin + columns * across + SCALE
    caption = _caption(attention, clip, width - margin)
    above = 0.12 + 0.13 * len(caption)
    figure = blank_figure(width, above + len(rows) * down + margin)
    write(figure, margin, 0.08, "\n".join(caption), ha="left", fontsize=7.5, color=FAINT)
    norm, colours = PowerNorm(0.5, clip, 1), _colours()
    interpolation = "nearest" if tokens <= side * DOTS_PER_INCH else "auto"  # thin lines neither fade nor vanish
    for row, squares in enumerate(rows):
        for column, (title, weights) in enumerate(squares):
            axes = add_axes(figure, margin + column * across, above + HEAD + row * down, side, side)
            axes.imshow(weights, cmap=colours, norm=norm, aspect="auto", interpolation=interpolation)
            axes.set_title(title, fontsize=8, pad=3)
            _part_lines(axes, attention)
            _name(axes.yaxis, attention, side, shown=column == 0)
            _name(axes.xaxis, attention, side, shown=row == len(rows) - 1)
    _draw_scale(figure, ScalarMappable(norm, colours), width - SCALE + 0.05, above + HEAD, side, clip)
    return figure


def draw_heads(attention: AttentionMap, chosen: Sequence[tuple[int, int]], *, clip: float = 0.01) -> Figure:
    """Some heads side by side, named by layer and head, both counted from 1."""
    _require_sound(attention)
    if not chosen:
        raise InputError("There is nothing to draw: choose one head or more.")
    layers, heads = attention.weights.shape[:2]
    for layer, head in chosen:
        _chosen("layer", [layer], layers)
        _chosen("head", [head], heads)
    row = [(f"layer {layer}, head {head}", attention.weights[layer - 1, head - 1]) for layer, head in chosen]
    return _draw([row], attention, clip)


def _require_alike(maps: Mapping[str, AttentionMap]) -> AttentionMap:
    """The first of the maps, if all are sound and fit above each other."""
    if not maps:
        raise InputError("There is nothing to draw: give an attention map.")
    for found in maps.values():
        _require_sound(found)
    first, *others = maps.values()
    for other in others:
        if other.lines != first.lines or other.weights.shape[1] != first.weights.shape[1]:
            raise InputError("These attention maps do not fit above each other: their pages or their heads differ.")
    return first


def _require_sound(attention: AttentionMap) -> None:
    weights, tokens = attention.weights, len(attention.tokens)
    if not tokens or weights.ndim != 4 or weights.shape[2:] != (tokens, tokens) or not weights.size:
        shape = " × ".join(map(str, weights.shape))
        raise InputError(
            f"This attention map is not sound: its weights are {shape}, layers × heads × {tokens} × {tokens} are meant."
        )
    if len(attention.lines) != tokens or len(attention.targets) != tokens:
        raise InputError("This attention map is not sound: every token needs its line and whether it is a target.")
    if not np.isfinite(weights).all():
        raise InputError("This attention map is not sound: some of its weights are no finite numbers.")


def _chosen(kind: str, wanted: Sequence[int] | None, available: int) -> list[int]:
    if wanted is None:
        return list(range(1, available + 1))
    if not wanted:
        raise InputError(f"There is nothing to draw: choose one {kind} or more.")
    for number in wanted:
        if not 1 <= number <= available:
            raise InputError(f"There is no {kind} {number}: they are counted from 1 to {available}.")
    return list(wanted)


def _side(tokens: int, heads: int) -> float:
    """The side of a panel: room for every token where they are few, and a dot for every token wherever possible."""
    per_token, least, most = (0.1, 2.2, 4.4) if heads <= FEW_HEADS else (0.07, 1.9, 2.5)
    return min(max(per_token * tokens, least), max(most, min(tokens / DOTS_PER_INCH, 2 * most)))


def _colours() -> Colormap:
    """Black for what is clipped, then from a purple that stands off from it to light yellow."""
    return ListedColormap(colormaps["inferno"](np.linspace(0.28, 1, 256)), "attention").with_extremes(under="black")


def _stretches(attention: AttentionMap) -> list[tuple[str, int, int]]:
    """Each line's name with its first token and the one after its last."""
    stretches, start = [], 0
    for name, tokens in groupby(attention.lines):
        stop = start + len(list(tokens))
        stretches.append((name, start, stop))
        start = stop
    return stretches


def _part_lines(axes: Axes, attention: AttentionMap) -> None:
    """A thin line between two lines of the page, a stronger one where the response begins."""
    tokens = len(attention.tokens)
    response = attention.targets.index(True) if True in attention.targets else 0
    for strong in (False, True):
        places = [start - 0.5 for _, start, _ in _stretches(attention) if start and (start == response) == strong]
        style: dict[str, Any] = {"colors": "white", "alpha": 0.6 if strong else 0.22, "linewidth": 0.35 + 0.25 * strong}
        axes.hlines(places, -0.5, tokens - 0.5, **style)
        axes.vlines(places, -0.5, tokens - 0.5, **style)
    axes.set(xlim=(-0.5, tokens - 0.5), ylim=(tokens - 0.5, -0.5))


def _tokens_named(attention: AttentionMap) -> bool:
    return len(attention.tokens) <= MAX_TOKENS_NAMED


def _margin(attention: AttentionMap) -> float:
    """Room for the longest name and the token beside it."""
    longest = max(map(len, attention.lines))
    return 0.15 + longest * 0.53 * NAME_SIZE / 72 + (TOKEN_ROOM if _tokens_named(attention) else 0)


def _name(axis: Axis, attention: AttentionMap, side: float, *, shown: bool) -> None:
    """Names of lines as major labels, tokens (nearer the panel) as minor ones."""
    axis.set_ticks([])
    if not shown:
        return
    tokens, pitch = len(attention.tokens), 72 * side / len(attention.tokens)  # points
    places = names_with_room(_stretches(attention), 1.1 * NAME_SIZE / pitch, symbols=not _tokens_named(attention))
    turned = 90 if isinstance(axis, XAxis) else 0
    axis.set_ticks([place for place, _ in places], [name for _, name in places], fontsize=NAME_SIZE, rotation=turned)
    axis.set_tick_params(length=0, pad=3)
    if _tokens_named(attention):
        axis.remove_overlapping_locs = False  # a token in the middle of its line keeps its label
        axis.set_tick_params(which="major", pad=3 + 72 * TOKEN_ROOM)
        axis.set_tick_params(which="minor", length=0, pad=2)
        axis.set_ticks(range(tokens), attention.tokens, minor=True, fontsize=min(7.0, 0.95 * pitch))


def names_with_room(
    stretches: Sequence[tuple[str, int, int]], room: float, *, symbols: bool
) -> list[tuple[float, str]]:
    """The middles of lines with their names, those left out that would stand closer than `room` tokens to another.

    Lines of several tokens come first; `symbols`, such as `=`, have what is left between them.

    >>> names_with_room([("$", 0, 1), ("operand 1", 1, 4), ("operand 2", 4, 8), ("=", 8, 9)], 3, symbols=True)
    [(2.0, 'operand 1'), (5.5, 'operand 2')]
    """
    middles = [((start + stop - 1) / 2, name, stop - start > 1) for name, start, stop in stretches if name]
    kept: list[tuple[float, str]] = []
    for long in (True, False) if symbols else (True,):
        for middle, name, is_long in middles:
            if is_long == long and all(abs(middle - other) >= room for other, _ in kept):
                kept.append((middle, name))
    return sorted(kept)


def _draw_scale(figure: Figure, colours: ScalarMappable, left: float, top: float, side: float, clip: float) -> None:
    axes = add_axes(figure, left, top, 0.12, side)
    figure.colorbar(colours, cax=axes, extend="min", extendfrac=0.04)
    ticks = [clip, *(tick for tick in (0.01, 0.05, 0.1, 0.25, 0.5, 1) if tick > 1.5 * clip)]
    axes.yaxis.set_ticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=7)
    axes.yaxis.set_ticks([], minor=True)
    axes.set_ylabel("attention weight", fontsize=8)


def _caption(attention: AttentionMap, clip: float, width: float) -> list[str]:
    samples = attention.about.get("samples")
    pages = (
        f" · average over {samples:,} pages, the digits of the first"
        if isinstance(samples, int) and samples > 1
        else ""
    )
    text = f"rows: queries, columns: keys{pages} · weights under {clip:g} black"
    return textwrap.wrap(text, max(20, int(width / 0.055)))
