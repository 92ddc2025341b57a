"""Problems as people type them: `57+48+96`, `37*925`, `0101`.

>>> recognise("57 + 48 + 96")
('addition', ['57', '48', '96'])
>>> recognise("37×925")
('multiplication', ['37', '925'])
>>> recognise("0101")
('parity', ['0101'])
"""

import re
from collections.abc import Sequence

from lengthwise.errors import InputError
from lengthwise.tasks.operands import shown

OPERATORS = {"addition": "+", "multiplication": "*×"}
EXAMPLES = "a sum such as 57+48+96, a product such as 37*925, or bits such as 0101"


def recognise(text: str, task: str | None = None) -> tuple[str, list[str]]:
    """The task a typed problem belongs to, and its operands; the task may be given."""
    problem = re.sub(r"(?<!\s)\s*([+*×])\s*", r"\1", text.strip())  # looked back, or many spaces would take a square
    if not problem:
        raise InputError(f"There is no problem to write: give {EXAMPLES}.")
    if any(character.isspace() for character in problem):
        raise InputError(f"{shown(problem)} has a space inside a number, or several lines: write one problem.")
    if "=" in problem:
        raise InputError(f"{shown(problem)} has an equals sign: write the problem alone, without its result.")
    used = [name for name, operators in OPERATORS.items() if set(problem) & set(operators)]
    if len(used) > 1:
        raise InputError(f"{shown(problem)} mixes operators: write either a sum (57+48+96) or a product (37*925).")
    if used and (problem[0] in OPERATORS[used[0]] or problem[-1] in OPERATORS[used[0]]):
        raise InputError(f"{shown(problem)} has an operator without a number beside it: write a number on both sides.")
    if used and task in OPERATORS and task != used[0]:
        raise InputError(f"{shown(problem)} is written with the operator of {used[0]}, but the task is {task}.")
    if task is None:
        task = used[0] if used else _without_operator(problem)
    operators = OPERATORS.get(task)
    return task, [problem] if operators is None else re.split(f"[{re.escape(operators)}]", problem)


def typed(task: str, operands: Sequence[str]) -> str:
    """A problem as one would type it."""
    return OPERATORS.get(task, " ")[0].join(operands)


def _without_operator(problem: str) -> str:
    if not set(problem) - {"0", "1"}:
        return "parity"
    if problem.isascii() and problem.isdigit():
        raise InputError(f"{shown(problem)} is a single number: give {EXAMPLES}.")
    raise InputError(f"{shown(problem)} is not a problem: give {EXAMPLES}.")
