"""What every task shares: options, writing one page, sampling many, reading back.

A task is one file that says which operands it takes (`parse`, `draw`, `draw_chains`, and their sizes), how they are
laid out as lines and how far their coordinates reach (`lay_out`), and how an answer is read off a response (`answer`).
The rest is here.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import torch
from jaxtyping import Bool, Int32, Int64
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.positions.coupling import Coupling, Numbering
from lengthwise.randomness import generator
from lengthwise.tasks.batch import INDEX, Batch, join, pack
from lengthwise.tasks.format import Format
from lengthwise.tasks.operands import DIGITS, whole
from lengthwise.tasks.page import EDGE, Layout, Page, symbol_block
from lengthwise.tasks.problems import Problems, uniform
from lengthwise.tasks.reading import Reading, first_mistake
from lengthwise.tasks.runs import Runs, cells
from lengthwise.tasks.text import typed
from lengthwise.tasks.writing import IdWriter

MAX_DIGITS = 100_000
"""The longest number that is written down."""
MAX_PAGE_CELLS = 20_000_000
"""The largest page that is worked out, in cells: digits and symbols, written or not."""
CHUNK_CELLS = {"cpu": 2**21, "cuda": 2**25}
"""About how many cells are worked out at a time: few enough for a CPU's cache, enough to fill a GPU."""


@dataclass(frozen=True, kw_only=True)
class Task(Format):
    """A kind of problem in one of its written formats. Frozen: two equal tasks write equal pages."""

    count_varies: ClassVar[bool] = False
    """Whether a problem has `count` operands of any length up to `length`; else a size says the length of each."""
    leading_zeros: ClassVar[bool] = False
    """Whether operands are strings, which may begin with zeros; else they are numbers."""

    # What a task defines.

    @abstractmethod
    def parse(self, operands: Sequence[int | str]) -> Problems:
        """One problem from operands as a person gives them."""

    @abstractmethod
    def draw(self, samples: int, length: int, count: int | None, fixed: bool, generator: torch.Generator) -> Problems:
        """Random problems: of the training distribution up to this size, or of exactly this size if `fixed`."""

    @abstractmethod
    def draw_chains(self, samples: int, length: int, count: int | None, generator: torch.Generator) -> Problems:
        """Different problems of exactly this size in which something is carried on through all of a number.

        As many as asked for, or as there are.
        """

    @abstractmethod
    def page_cells(self, length: int, count: int | None) -> int:
        """How many cells are worked out for the largest problem of this size. Refuses a size the task does not have."""

    @abstractmethod
    def sizes(self, length: int, count: int | None) -> list[int]:
        """The lengths of the operands of the largest problems of this size."""

    @abstractmethod
    def extent(self, problems: Problems) -> tuple[int, int | None]:
        """The length and count that these problems do not exceed."""

    @abstractmethod
    def lay_out(self, problems: Problems) -> Layout:
        """The pages of these problems as blocks of lines."""

    @abstractmethod
    def answer(self, response: Sequence[str]) -> str | None:
        """The answer that a response gives, or None where it gives none."""

    # What follows from that.

    def lay_out_pages(self, problems: Problems) -> Layout:
        """The pages of these problems as blocks of lines, with the `$` at both ends."""
        layout, samples, device = self.lay_out(problems), len(problems), problems.digits.device
        begin = symbol_block(EDGE, samples, device=device, target=False)
        end = symbol_block(EDGE, samples, device=device, target=True)
        return Layout(blocks=[begin, *layout.blocks, end], reach=layout.reach)

    def largest(self, length: int, count: int | None) -> Problems:
        """One problem of this size with the largest operands there are."""
        highest = sum(token in DIGITS for token in self.vocabulary) - 1
        return Problems.of([[[highest] * size for size in self.sizes(length, count)]])

    @property
    def written_example(self) -> str:
        """The example as one types it."""
        return typed(self.name, self.example)

    def write(self, operands: Sequence[int | str], offsets: Sequence[int] | None = None) -> Page:
        """The page of one problem, its ids counted from 1 or from the given offsets, one a level."""
        problems = self.parse(operands)
        self._require_page(*self.extent(problems))
        layout = self.lay_out_pages(problems)
        starts = torch.tensor(self.checked_offsets(offsets), dtype=torch.int32)[:, None]
        self.coupling_for(training=False).require_room(self._reach(layout) + starts - 1, "This page")
        batch = self._pack(layout, problems, Numbering(offsets=starts))
        tokens = batch.text(0)
        targets = batch.targets.tolist()
        answer = self.answer(tokens[targets.index(True) :])
        assert answer is not None
        return Page(
            task=self.name,
            operands=tuple(self.operand_text(digits) for digits in problems.operands(0)),
            answer=answer,
            tokens=tokens,
            levels=self.levels,
            position_ids=batch.position_ids.tolist(),
            targets=targets,
            cells=cells(layout.blocks),
        )

    def sample(
        self,
        samples: int,
        *,
        length: int,
        count: int | None = None,
        seed: int,
        fixed: bool = False,
        random_offsets: bool | None = None,
        device: str | torch.device = "cpu",
    ) -> Batch:
        """Random pages: the paper's training distribution, or its test distribution of one exact size (`fixed`).

        Training pages get random id offsets, test pages offset 1, unless `random_offsets` says otherwise.
        The result depends on the seed (and the device) alone.
        """
        shift = not fixed if random_offsets is None else random_offsets
        problems = self.sample_problems(samples, length=length, count=count, seed=seed, fixed=fixed, device=device)
        _require_size(self, length, count, shift)
        return self.write_all(problems, offsets_seed=seed if shift else None)

    def sample_problems(
        self,
        samples: int,
        *,
        length: int,
        count: int | None = None,
        seed: int,
        fixed: bool = False,
        device: str | torch.device = "cpu",
    ) -> Problems:
        """The problems of `sample`, not yet written down."""
        self.require_draw(samples, length, count, seed)
        return self.draw(samples, length, count, fixed, generator(seed, "problems", device=device))

    def require_draw(self, samples: int, length: int, count: int | None, seed: int) -> None:
        """Refuse to draw a number of problems there cannot be, or a size the task does not have."""
        whole(samples=samples, length=length, seed=seed, **({} if count is None else {"count": count}))
        if not 1 <= samples < 2**31:
            raise InputError(f"samples must be 1 or more, and fit the memory, not {samples}.")
        _require_size(self, length, count, False)

    def require_size(self, length: int, count: int | None, *, random_offsets: bool) -> None:
        """Refuse a size the task does not have, whose largest page is too long or needs larger ids than there are."""
        whole(length=length, **({} if count is None else {"count": count}))
        _require_size(self, length, count, random_offsets)

    def largest_ids(self, length: int, count: int | None) -> tuple[int, ...]:
        """The largest id of each level on the largest page of this size, ids counted from 1."""
        reach = self._reach(self.lay_out_pages(self.largest(length, count)))
        return tuple((reach[:, 0] + 1).tolist())

    def page_tokens(self, length: int, count: int | None) -> int:
        """How many tokens the largest page of this size has."""
        return len(self.write_all(self.largest(length, count)).tokens)

    def write_prompts(self, problems: Problems, numbering: Numbering | None = None) -> Batch:
        """What a model is given of each page: everything up to the `=`, ids counted from 1 or as given."""
        layout, _ = self._lay_out_within(self.coupling_for(training=False), problems)
        given = [block for block in layout.blocks if not block.target]
        return self._pack(Layout(blocks=given, reach=layout.reach), problems, numbering or self._from_one(problems))

    def write_all(
        self, problems: Problems, *, offsets_seed: int | None = None, only: Int64[Tensor, " chosen"] | None = None
    ) -> Batch:
        """The pages of many problems, packed; with random id offsets drawn from the seed if one is given.

        `only` names those that are wanted: they come out as they would among all.
        """
        if only is not None and offsets_seed is not None and self.id_policy != "shift":
            return self.write_all(problems, offsets_seed=offsets_seed).chosen(only)  # ids are drawn page after page
        samples, device = len(problems), problems.digits.device
        source = None if offsets_seed is None else generator(offsets_seed, "offsets", device=device)
        draws: Tensor | None = None
        if source is not None and self.id_policy == "shift":
            draws = uniform(0, 2**62, (len(self.levels), samples), source, torch.int64)
        elif source is not None and None in self.coupling_for(training=True).max_ids:
            raise InputError(
                f"random ids are drawn up to a maximum: give max_ids, one for each level ({', '.join(self.levels)})."
            )
        if only is not None:
            problems, draws = problems[only], None if draws is None else draws[:, only]
        parts = (
            self._write_chunk(problems[pages], source, None if draws is None else draws[:, pages])
            for pages in self.chunks(problems)
        )
        return join(parts, problems)

    def answers(self, batch: Batch) -> Bool[Tensor, " tokens"]:
        """Which tokens of pages are the answer: the digits of the last number, never the `$`."""
        place = torch.arange(len(batch.tokens), device=batch.tokens.device)
        symbol = batch.tokens >= sum(token in DIGITS for token in self.vocabulary)
        ends = batch.boundaries[1:]
        before = torch.where(symbol, place, 0).cummax(0).values[ends - 2]  # the last symbol before the `$`
        sizes = batch.boundaries.diff()
        before, end = (x.repeat_interleave(sizes, output_size=len(place)) for x in (before, ends - 1))
        return (before < place) & (place < end)

    def chunks(self, problems: Problems) -> Iterator[slice]:
        """All of these problems in turn, as many at a time as are best laid out at once."""
        cells = self.page_cells(*self.extent(problems))
        chunk = max(1, CHUNK_CELLS.get(problems.digits.device.type, CHUNK_CELLS["cuda"]) // cells)
        return (slice(start, start + chunk) for start in range(0, len(problems), chunk))

    def read(self, operands: Sequence[int | str], written: str | Iterable[str | int]) -> Reading:
        """What a model wrote after the query, compared with the right page: tokens or their numbers, any nonsense."""
        page = self.write(operands)
        if not isinstance(written, Iterable):
            raise InputError(f"{written!r} is not a response: give its tokens, as a string or a list.")
        response = [self._token(token) for token in written]
        if EDGE in response:
            response = response[: response.index(EDGE) + 1]
        mistake = first_mistake(page, self.lay_out(self.parse(operands)).blocks, response)
        return Reading(answer=self.answer(response), mistake=mistake)

    @property
    def ids_given(self) -> bool:
        """Whether ids cannot be told while writing, because the first id of a number gives away its length."""
        return any(
            block.target
            and not block.units_first
            and not block.lengths_known
            and any(level in block.coordinates and block.coordinates[level].per_cell for level in self.levels)
            for block in self.lay_out(self.parse(self.example)).blocks
        )

    def id_writer(
        self,
        problems: Problems,
        numbering: Numbering | None = None,
        max_ids: tuple[int | None, ...] | None = None,
    ) -> IdWriter:
        """The rule that gives each newly written token its ids, from the shape of the query and what was written.

        Ids never pass `max_ids`, or else the task's, however long a model goes on writing.
        """
        if self.ids_given:
            raise InputError(
                f"{self.name} with plain, unpadded responses gives a number's length away in its first id: "
                "use zero_padding=True, reverse_response=True or coupling=('index',), or read ids off the right page."
            )
        layout = self.lay_out_pages(problems.blank())  # the digits cannot leak: they are not there
        numbering = numbering or self._from_one(problems)
        return IdWriter(layout.blocks, self.vocabulary, self.levels, numbering, max_ids or self.max_ids)

    def operand_text(self, digits: Sequence[int]) -> str:
        """An operand as people write it, from its digits as they are stored."""
        return "".join(map(str, reversed(digits)))

    # Details.

    def _token(self, token: str | int) -> str:
        if isinstance(token, str):
            return token
        number = int(token)
        return self.vocabulary[number] if 0 <= number < len(self.vocabulary) else str(number)

    def _reach(self, layout: Layout) -> Int32[Tensor, "levels samples"]:
        reach = dict(layout.reach)
        if INDEX in self.levels:
            reach[INDEX] = Runs.of(layout.blocks).tokens.sum(1, dtype=torch.int32) - 2  # `$` comes before the first
        return torch.stack([reach[level].to(torch.int32) for level in self.levels])

    def _write_chunk(
        self, problems: Problems, source: torch.Generator | None, draws: Int64[Tensor, "levels samples"] | None
    ) -> Batch:
        coupling, numbering = self.coupling_for(training=source is not None), self._from_one(problems)
        layout, reach = self._lay_out_within(coupling, problems)
        if source is not None and reach is not None:
            numbering = coupling.randomised(reach, source) if draws is None else coupling.shifted(reach, draws)
        return self._pack(layout, problems, numbering)

    def _lay_out_within(
        self, coupling: Coupling, problems: Problems
    ) -> tuple[Layout, Int32[Tensor, "levels samples"] | None]:
        """The pages with their edges, and how far their coordinates reach, if that is limited at all."""
        layout = self.lay_out_pages(problems)
        if all(max_id is None for max_id in coupling.max_ids):
            return layout, None
        reach = self._reach(layout)
        coupling.require_room(reach, "A page of these problems")
        return layout, reach

    def _from_one(self, problems: Problems) -> Numbering:
        ones = torch.ones(len(self.levels), len(problems), dtype=torch.int32, device=problems.digits.device)
        return Numbering(offsets=ones)

    def _pack(self, layout: Layout, problems: Problems, numbering: Numbering) -> Batch:
        return pack(
            layout.blocks, vocabulary=self.vocabulary, levels=self.levels, numbering=numbering, problems=problems
        )

    def _require_page(self, length: int, count: int | None) -> None:
        cells = self.page_cells(length, count)
        if length > MAX_DIGITS:
            raise InputError(f"A length of {length:,} is too long: up to {MAX_DIGITS:,} digits or bits are written.")
        if cells > MAX_PAGE_CELLS:
            raise InputError(
                f"This page would take {cells:,} digits and symbols: up to {MAX_PAGE_CELLS:,} are worked out, "
                "so take fewer or shorter numbers."
            )


@lru_cache(maxsize=256)
def _require_size(task: Task, length: int, count: int | None, random_offsets: bool) -> None:
    task._require_page(length, count)
    coupling = task.coupling_for(training=random_offsets)
    if any(max_id is not None for max_id in coupling.max_ids):
        largest = task.lay_out_pages(task.largest(length, count))
        coupling.require_room(task._reach(largest), f"{task.name} of this size")
