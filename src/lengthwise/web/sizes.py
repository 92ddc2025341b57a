"""How large a random problem may be: the sizes that a model has ids for, within the limits of the page.

    longest_by_count(adder.task, adder.max_ids, Limits())     (0, 0, 38, 37, 37, …): two numbers of up to 38 digits …

The page offers no others, so that no draw is refused.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from lengthwise.errors import InputError
from lengthwise.tasks import Task
from lengthwise.tasks.batch import INDEX
from lengthwise.web.limits import Limits

MOST, MOST_BITS = 100, 200
"""How many digits or numbers are drawn, and how many bits: what takes longer to watch is rather typed."""


@lru_cache(maxsize=256)
def longest_by_count(task: Task, max_ids: tuple[int | None, ...], limits: Limits) -> tuple[int, ...]:
    """The longest numbers that can be drawn of each count from 0 up, 0 where there are none of that count.

    Of a task that has lengths only, the longest alone. It takes some tenths of a second the first time.
    """
    room = _Room(task, max_ids, limits)
    longest = MOST_BITS if task.leading_zeros else MOST
    if room.is_size(1, None):
        return (_last(0, longest, lambda length: room.has(length, None)),)
    least = next(count for count in range(1, MOST) if room.is_size(1, count))
    most = _last(least - 1, MOST, lambda count: room.has(1, count))
    found: dict[int, int] = {}

    def find(count: int, low: int, high: int) -> None:
        found[count] = _last(low, high, lambda length: room.has(length, count))

    def find_between(low: int, high: int) -> None:
        """More numbers are never longer: where two counts have the same length, those between them have it, too."""
        if found[low] == found[high]:
            found.update(dict.fromkeys(range(low, high), found[low]))
        elif high - low > 1:
            middle = (low + high) // 2
            find(middle, found[high], found[low])
            find_between(low, middle)
            find_between(middle, high)

    if most >= least:
        find(least, 1, longest)
        find(most, 1, found[least])
        find_between(least, most)
    return tuple(found.get(count, 0) for count in range(most + 1))


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The last number up to the higher for which something holds that holds for all before it, as for the lower.

    >>> _last(0, 100, lambda number: number * number < 50)
    7
    """
    if high > low and holds(high):
        return high
    return low + bisect_left(range(low + 1, high), True, key=lambda number: not holds(number))


class _Room:
    """Whether there is room for the problems of a size: told from the largest of them."""

    def __init__(self, task: Task, max_ids: tuple[int | None, ...], limits: Limits) -> None:
        levels = task.levels if INDEX in task.levels else (*task.levels, INDEX)
        self._task, self._limits = replace(task, max_ids=None, coupling=levels), limits
        self._max_ids = dict(zip(task.levels, max_ids, strict=True))

    def is_size(self, length: int, count: int | None) -> bool:
        """Whether the task has such problems at all."""
        try:
            self._task.page_cells(length, count)
        except InputError:
            return False
        return True

    def has(self, length: int, count: int | None) -> bool:
        """Whether they are within the limits, and have no id that the model does not know."""
        task, limits = self._task, self._limits
        sizes = task.sizes(length, count)
        if (
            len(sizes) > limits.numbers
            or max(sizes) > (limits.bits if task.leading_zeros else limits.digits)
            or sum(sizes) + len(sizes) - 1 > limits.characters
            or task.page_cells(length, count) > 4 * limits.tokens
        ):
            return False
        ids = dict(zip(task.levels, task.largest_ids(length, count), strict=True))
        within = all(most is None or ids[level] <= most for level, most in self._max_ids.items())
        return within and ids[INDEX] < limits.tokens  # the `$` before the first index is a token, too
