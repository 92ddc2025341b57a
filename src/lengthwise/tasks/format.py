"""The format of a task: its options, and which coordinates become ids in it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from lengthwise.errors import InputError
from lengthwise.positions.coupling import Coupling
from lengthwise.settings import check_types
from lengthwise.tasks.batch import INDEX
from lengthwise.tasks.operands import is_whole

MAX_ID = 2**30
"""The largest id there can be: ids are 32-bit."""


@dataclass(frozen=True, kw_only=True)
class Format(ABC):
    """How the problems of a task are written."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What the task is, in a line."""
    example: ClassVar[tuple[str, ...]]
    """The operands of the paper's worked example."""

    scratchpad: bool = True
    """Write every intermediate result before the answer."""
    zero_padding: bool = True
    """Pad numbers with zeros to a length that follows from the query."""
    reverse_query: bool = False
    """Write the numbers of the query backwards."""
    reverse_response: bool = True
    """Write the numbers of the response backwards, units first."""
    coupling: tuple[str, ...] | None = None
    """Coordinates that become position ids, level 1 first; by default those of the paper for this format."""
    max_ids: tuple[int, ...] | None = None
    """The largest id of each level; by default the paper's when training offsets are drawn, and no limit otherwise.
    The paper has none for `index`: without one, plain positions always count from 1."""
    id_policy: Literal["shift", "random"] = "shift"
    """How ids vary in training: counted from a random offset, or ascending random ids (randomised positions)."""

    def __post_init__(self) -> None:
        check_types(self)
        for level in self.levels:
            if level not in self.coordinates:
                raise InputError(
                    f"{self.name} in this format has no coordinate {level!r}: "
                    f"couple any of {', '.join(self.coordinates)}."
                )
        if not self.levels or len(set(self.levels)) < len(self.levels):
            raise InputError(f"coupling must name each level once, not {self.levels!r}.")
        if self.max_ids is not None and (
            len(self.max_ids) != len(self.levels) or not all(1 <= max_id <= MAX_ID for max_id in self.max_ids)
        ):
            raise InputError(
                f"max_ids must give one positive integer for each level ({', '.join(self.levels)}), "
                f"not {self.max_ids!r}."
            )

    @property
    @abstractmethod
    def vocabulary(self) -> tuple[str, ...]:
        """All tokens; a digit is its own number, `$` comes last."""

    @property
    @abstractmethod
    def paper_max_ids(self) -> Mapping[str, int]:
        """The coordinates the paper couples in this format, level 1 first, with its largest id of each."""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Every coordinate that can be coupled in this format."""
        return (*self.paper_max_ids, INDEX)

    @property
    def levels(self) -> tuple[str, ...]:
        """The coordinates that become position ids."""
        return tuple(self.paper_max_ids) if self.coupling is None else self.coupling

    def coupling_for(self, *, training: bool) -> Coupling:
        """The levels with their largest ids: the ones given, or the paper's if training offsets are to be drawn."""
        if self.max_ids is not None:
            return Coupling(levels=self.levels, max_ids=self.max_ids)
        maxima = tuple(self.paper_max_ids.get(level) if training else None for level in self.levels)
        return Coupling(levels=self.levels, max_ids=maxima)

    def checked_offsets(self, offsets: Sequence[int] | None) -> list[int]:
        """One offset a level, as given or 1."""
        if offsets is not None and not isinstance(offsets, (tuple, list)):
            raise InputError(f"offsets must be a list of integers, one for each level, not {offsets!r}.")
        chosen = [1] * len(self.levels) if offsets is None else list(offsets)
        if len(chosen) != len(self.levels) or not all(is_whole(offset) and 1 <= offset <= MAX_ID for offset in chosen):
            raise InputError(
                f"offsets must give one positive integer for each level ({', '.join(self.levels)}), not {offsets!r}."
            )
        return chosen
