"""lengthwise construct: the theorem's model, built and at work."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from lengthwise.cli.parsing import Flag, console_for_people, parse
from lengthwise.cli.watching import watch
from lengthwise.construction import Plan, construct
from lengthwise.construction.build import Precision
from lengthwise.construction.limits import describe, worst_margin
from lengthwise.errors import InputError
from lengthwise.solver import Solver
from lengthwise.tasks.text import recognise

MAX_MEASURED = 20_000
"""Pages of up to so many tokens are gone through to measure how sure decisions are."""


@dataclass(frozen=True)
class _Construct:
    problem: Annotated[Positional[str | None], arg(metavar="PROBLEM", help="a sum to solve, such as 57+48+96")] = None
    digits: Annotated[int, arg(help="the most digits of a number: n")] = 30
    operands: Annotated[int, arg(help="the most numbers: m")] = 30
    alpha: Annotated[float | None, arg(help="how sharp attention is; by default enough for the largest page")] = None
    precision: Annotated[Precision, arg(help="what the model computes in")] = "float32"
    as_printed: Annotated[Flag, arg(help="the paper's own dimensions, which do not always suffice")] = False
    out: Annotated[Path | None, arg(metavar="FOLDER", help="save the model, for evaluate, attention and solve")] = None
    json: Annotated[Flag, arg(help="print sizes and solution as JSON")] = False


def run(arguments: list[str]) -> None:
    """Build the model, say how large it is, and solve a problem with it or say how sure it is."""
    options = parse(
        _Construct,
        "construct",
        arguments,
        "The theorem's 1-layer 4-head model: its weights are written down, not trained.",
    )
    plan = Plan(digits=options.digits, operands=options.operands, as_printed=options.as_printed)
    operands = None if options.problem is None else _operands(options.problem, plan)
    model = construct(
        digits=options.digits,
        operands=options.operands,
        alpha=options.alpha,
        precision=options.precision,
        as_printed=options.as_printed,
    )
    about: dict[str, Any] = describe(plan) | {"parameters": sum(weight.numel() for weight in model.parameters())}
    if options.alpha is not None:
        about["alpha"] = options.alpha
    if options.out is not None:
        model.save_pretrained(options.out)
    if options.json:
        print(json.dumps(about | _solved(model, operands, plan)))
        return
    console = console_for_people()
    console.print(
        f"adds up to {plan.operands:,} numbers of up to {plan.digits:,} digits: 1 layer, 4 heads, "
        f"dimension {about['width']}, {about['parameters']:,} parameters, none of them trained "
        f"(α = {about['alpha']:g}, {options.precision})",
        soft_wrap=True,
    )
    console.print(
        f"the theorem's formula gives the dimension {plan.printed_width}: "
        f"2·⌈log₂ {plan.padded}⌉ + 2·⌈log₂ {plan.operands + 1}⌉ + 19; "
        f"here 2·{plan.column_bits} + 2·{plan.row_bits} + 19, as a page has {plan.padded + 1} columns",
        soft_wrap=True,
    )
    if operands is not None:
        watch(console, model, operands, "the construction")
    elif plan.tokens <= MAX_MEASURED:
        margin = worst_margin(model, plan.digits, plan.operands)
        console.print(
            f"largest page: {plan.tokens:,} tokens; of its decisions on random numbers, nines, carry chains and zeros "
            f"the least sure has a margin of {margin:.4f} (1 in exact arithmetic; 0 would be a mistake)",
            soft_wrap=True,
        )
    else:
        console.print(f"largest page: {plan.tokens:,} tokens: too long to try here; give a problem", soft_wrap=True)
    if options.out is not None:
        console.print(f"saved: {options.out}", soft_wrap=True)


def _operands(problem: str, plan: Plan) -> list[str]:
    """The numbers of a sum, if the model is built for as many and as long ones."""
    task, operands = recognise(problem)
    if task != "addition":
        raise InputError(f"the construction adds: give a sum such as 57+48+96, not a problem of {task}.")
    numbers = [operand.lstrip("0") or "0" for operand in operands]
    digits, count = max(len(number) for number in numbers), len(numbers)
    if digits > plan.digits or count > plan.operands:
        raise InputError(
            f"this needs a model for {count} numbers of {digits} digits, but it is to be built for {plan.operands} of "
            f"{plan.digits}: --digits {max(digits, plan.digits)} --operands {max(count, plan.operands)} would do."
        )
    plan.task.write(operands)  # refuses here, before anything is printed, what has too few ids as printed
    return operands


def _solved(model: Solver, operands: list[str] | None, plan: Plan) -> dict[str, Any]:
    if operands is None:
        return {"margin": worst_margin(model, plan.digits, plan.operands)} if plan.tokens <= MAX_MEASURED else {}
    solution = model.solve(operands)
    return {
        "problem": solution.page.operands,
        "response": solution.response,
        "answer": solution.answer,
        "correct": solution.correct,
        "right_answer": solution.page.answer,
    }
