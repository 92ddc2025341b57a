"""What is said of an answer: whether Python's own integers agree with it, and where the response first went wrong."""

from dataclasses import dataclass
from typing import Any

from lengthwise.integers import right_answer
from lengthwise.tasks import Page, Reading
from lengthwise.tasks.reading import Mistake
from lengthwise.tasks.text import OPERATORS, typed

LONGEST_SHOWN = 60
"""A longer equation is left out, and a longer number cut, where the answer stands in full already."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A model's answer beside the right one."""

    task: str
    problem: str
    """As one types it."""
    answer: str | None
    """What the model says; None where it gives no answer that can be read."""
    right_answer: str
    checked_by: str
    """Where the right answer is from: Python's integers, or the right page for a task that they know nothing of."""
    mistake: Mistake | None
    """The first token that is wrong, scratchpad included."""

    @classmethod
    def on(cls, page: Page, reading: Reading) -> "Verdict":
        """Compare what was read with what is right."""
        right = right_answer(page.task, page.operands)
        return cls(
            task=page.task,
            problem=typed(page.task, page.operands),
            answer=reading.answer,
            right_answer=page.answer if right is None else right,
            checked_by="the right page" if right is None else "Python's integers",
            mistake=reading.mistake,
        )

    @property
    def right(self) -> bool:
        """Whether the answer is right."""
        return self.answer == self.right_answer

    def sentence(self, name: str) -> str:
        """For one problem, after its response."""
        asked = self.problem if self.task in OPERATORS else f"{self.task} of {self.problem}"
        equation = f"{asked} = {self.right_answer}"
        checked = f"{equation} by {self.checked_by}" if len(equation) <= LONGEST_SHOWN else f"by {self.checked_by}"
        words = f"answer {self.answer or 'none'}, written by {name}: {'right' if self.right else 'wrong'} ({checked})"
        if self.mistake is None:
            return f"{words}, every token as it should be"
        return f"{words}, but {self.mistake}" if self.right else f"{words}: {self.mistake}"

    def line(self) -> str:
        """For one problem of many."""
        words = f"{self.problem} = {self.answer or 'none'}  "
        if self.right:
            return words + ("right" if self.mistake is None else f"right, but {self.mistake}")
        return f"{words}wrong: {_cut(self.right_answer)} by {self.checked_by}"

    def to_json(self) -> dict[str, Any]:
        """As a JSON object says it."""
        return {
            "answer": self.answer,
            "correct": self.right and self.mistake is None,
            "answer_correct": self.right,
            "right_answer": self.right_answer,
            "mistake": None if self.mistake is None else str(self.mistake),
        }


def _cut(number: str) -> str:
    if len(number) <= LONGEST_SHOWN:
        return number
    return f"{number[:20]}…{number[-20:]} ({len(number):,} digits)"
