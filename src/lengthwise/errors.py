"""The one exception users meet: what they asked for cannot be done, and why."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """A request that cannot be met. Its message is one sentence: what was wrong and what would be right.

    The command prints it and exits with 2; anything else that escapes is a bug and keeps its traceback.
    """


def instead(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: the known one that was surely meant, or all there are."""
    known = list(known)
    close = difflib.get_close_matches(str(word), known, n=1, cutoff=0.7)
    return f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(known)}."
