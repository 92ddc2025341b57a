"""A sequence is a page of written numbers.

Every problem of the paper is a list of *lines*. A line is a row of *cells*: cell 0 holds the symbol that belongs to the
number (if it has one), cell 1 the units, cell 2 the tens, and so on. So the symbol stands one place below the units.
A line is written from the units up or from the top down; zero-padding is a matter of how many cells are written.

    sum 2 of 57+48+96:    cell  0  1  2  3        reversed, padded:  > 5 0 1
                                >  5  0  1        plain, padded:     > 1 0 5

Consecutive lines that are written alike form a `Block`; a page is a few blocks. Along a block every coordinate is
affine in the number of the line and the cell (`Along`), which is all that position coupling needs to know.
Blocks hold many pages at once; `Page` is one of them, for reading.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Int32, Num, UInt8
from torch import Tensor

EDGE = "$"
"""The token that begins and ends every page."""


@dataclass(frozen=True)
class Along:
    """How a coordinate runs through a block: `start + line · per_line + cell · per_cell`, all counted from 0."""

    start: int | Int32[Tensor, "samples 1"] = 0
    per_line: int = 0
    per_cell: int = 0

    def at(self, line: Tensor, cell: Tensor) -> Tensor:
        """The coordinate of a cell of a line."""
        return self.start + line * self.per_line + cell * self.per_cell


COLUMN = Along(per_cell=1)
"""The significance of a digit: symbol 0, units 1, tens 2 …"""
ROW = Along(per_line=1)
"""Which number of the block it is."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Consecutive lines of many pages, all written the same way."""

    role: str
    """What a number of this block is, for people: `operand`, `partial sum`."""
    numbered_from: int = 1
    """The number people give the first line: operand 1, but partial sum 0 where that is the empty sum."""
    digits: UInt8[Tensor, "samples lines width"]
    """Units first."""
    lengths: Int32[Tensor, "samples lines"]
    """How many digits of each line are written."""
    counts: Int32[Tensor, " samples"]
    """How many of the lines each page has."""
    bits: bool = False
    """Whether the digits are bits, counted from the left and not by significance."""
    lengths_known: bool = True
    """Whether the shape of the query alone says how long each line is written."""
    units_first: bool
    """Whether a line is written from the units up; else from the top down."""
    opens: str = ""
    """The symbol before the first line, if any."""
    joins: str = ""
    """The symbol between two lines, if any."""
    joined_after: bool = False
    """Whether the joining symbol belongs to the line before it; else to the line after it."""
    target: bool
    """Whether the model must write these lines."""
    coordinates: Mapping[str, Along] = field(default_factory=dict)
    """How each coordinate runs through the block; one that is not named is uncoupled here."""
    columns: Callable[[], Num[Tensor, "samples lines width"]] | None = None
    """What each digit was added up from before carrying, worked out when someone asks where carries were."""

    @property
    def line_numbers(self) -> Int32[Tensor, " lines"]:
        return torch.arange(self.lengths.shape[1], dtype=torch.int32, device=self.lengths.device)

    @property
    def present(self) -> Bool[Tensor, "samples lines"]:
        """Which of the lines each page has."""
        return self.line_numbers < self.counts[:, None]

    @property
    def has_symbol(self) -> Bool[Tensor, "samples lines"]:
        """Which lines have a symbol in cell 0."""
        line = self.line_numbers
        if self.joined_after:
            assert not self.opens
            return line < self.counts[:, None] - 1
        symbol = torch.where(line == 0, bool(self.opens), bool(self.joins))
        return symbol & self.present

    def cells(self, vocabulary: tuple[str, ...]) -> UInt8[Tensor, "samples lines width_and_one"]:
        """What every cell holds, as numbers of tokens; cell 0 is meaningless where a line has no symbol."""
        samples, lines, width = self.digits.shape
        cells = self.digits.new_empty(samples, lines, width + 1)
        cells[..., 0] = vocabulary.index(self.joins) if self.joins else 0
        if self.opens:
            cells[:, 0, 0] = vocabulary.index(self.opens)
        cells[..., 1:] = self.digits
        return cells


def symbol_block(
    symbol: str, samples: int, *, device: torch.device, target: bool, coordinates: Mapping[str, Along] | None = None
) -> Block:
    """A line that is one symbol and no number: `$`, or the `=` that ends the query."""
    return Block(
        role=symbol,
        digits=torch.zeros(samples, 1, 0, dtype=torch.uint8, device=device),
        lengths=torch.zeros(samples, 1, dtype=torch.int32, device=device),
        counts=torch.ones(samples, dtype=torch.int32, device=device),
        units_first=True,
        opens=symbol,
        target=target,
        coordinates=coordinates or {},
    )


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Many pages as blocks of lines, without the `$` at both ends."""

    blocks: list[Block]
    reach: dict[str, Int32[Tensor, " samples"]]
    """The largest coordinate a page has room to need, by name: what decides how far its ids may be shifted."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Where a token of a page stands."""

    role: str
    """What the line is: `operand`, `partial sum`, or the symbol itself for `$` and the `=` after the query."""
    line: int
    """Which line of that role, by its number: operand 1, partial sum 0."""
    digit: int | None
    """Which digit, units 0; None for a symbol."""
    place: int | None
    """How many places from the right it stands where lines are written under each other, as on paper: partial products
    are shifted against each other, and a bit of a scratchpad stands under the last one it covers. None for a symbol."""
    name: str
    """In words: `ones digit of partial sum 3`."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """One problem as the model sees it.

    >>> import lengthwise as lw
    >>> page = lw.task("addition").write([57, 48, 96])
    >>> "".join(page.tokens), page.answer
    ('$057+048+096=000>750>501>102$', '201')
    >>> page.levels
    ('column', 'row')
    """

    task: str
    operands: tuple[str, ...]
    answer: str
    tokens: list[str]
    levels: tuple[str, ...]
    """Names of the id levels."""
    position_ids: list[list[int]]
    """One list a level; 0 is an uncoupled token."""
    targets: list[bool]
    """Which tokens the model must write."""
    cells: list[Cell]
    """Where each token stands on the page."""

    @property
    def prompt(self) -> list[str]:
        """The tokens the model is given."""
        return self.tokens[: self.targets.index(True)]

    @property
    def parts(self) -> list[str]:
        """`query` or `response` for each token; empty for `$` at the ends and the `=` between them."""
        first, last = self.targets.index(True), len(self.tokens) - 1
        return ["", *["query"] * (first - 2), "", *["response"] * (last - first), ""]

    def breaks(self, most: int) -> Iterator[tuple[int, int]]:
        """Stretches of at most so many tokens, broken between written lines wherever one fits."""
        lines = [(cell.role, cell.line) for cell in self.cells]
        start = 0
        while start < len(self.tokens):
            stop = min(start + most, len(self.tokens))
            if stop < len(self.tokens):
                between = (place for place in range(stop, start, -1) if lines[place] != lines[place - 1])
                stop = next(between, stop)
            yield start, stop
            start = stop

    @property
    def response(self) -> list[str]:
        """The tokens the model must write."""
        return self.tokens[self.targets.index(True) :]
