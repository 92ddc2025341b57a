"""What a request asks, checked against the limits: a model of the catalogue and a problem it can take."""

from dataclasses import dataclass, replace
from typing import Any

from lengthwise.errors import InputError, instead
from lengthwise.randomness import derive
from lengthwise.solver import Solver
from lengthwise.tasks import Page, Task
from lengthwise.tasks.operands import shown
from lengthwise.tasks.text import recognise, typed
from lengthwise.web.catalogue import Catalogue, Offer
from lengthwise.web.limits import Limits


class RefusedError(Exception):
    """A request that cannot be met, with what is answered: a status and a sentence."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.sentence, self.status = sentence, status


@dataclass(frozen=True, kw_only=True)
class Question:
    """A problem for a model, on its page."""

    offer: Offer
    operands: list[str]
    page: Page
    """The right page."""

    @property
    def problem(self) -> str:
        """As one types it."""
        return typed(self.offer.task.name, self.page.operands)

    def to_json(self) -> dict[str, Any]:
        """The page as the API says it: a list of tokens, and lists of the same length for what is known of each."""
        page = self.page
        return {
            "model": self.offer.name,
            "task": page.task,
            "problem": self.problem,
            "operands": list(page.operands),
            "answer": page.answer,
            "prompt": len(page.prompt),
            "tokens": page.tokens,
            "levels": list(page.levels),
            "ids": page.position_ids,
            "roles": [cell.role for cell in page.cells],
            "lines": [cell.line for cell in page.cells],
            "places": [cell.place for cell in page.cells],
            "names": [cell.name for cell in page.cells],
        }


class Desk:
    """Reads requests: looks models up, recognises problems, and refuses what is beyond the limits."""

    def __init__(self, catalogue: Catalogue, limits: Limits) -> None:
        self._catalogue, self._limits = catalogue, limits

    def question(self, model: str | None, problem: str | None) -> Question:
        """A problem as typed, for a model by name, or for the first choice of the box."""
        limits = self._limits
        if problem is None:
            raise RefusedError("There is no problem: give problem=57+48+96, problem=37*925 or problem=0110.")
        if len(problem) > limits.characters:
            raise RefusedError(
                f"This problem has {len(problem):,} characters: up to {limits.characters:,} are taken here.", 413
            )
        try:
            offer = self.offer(model or self._catalogue.first_choice(recognise(problem)[0]))
            operands = recognise(problem, offer.task.name)[1]
            self._require_operands(offer.task, operands)
            self._require_cells(offer.task, *offer.task.extent(offer.task.parse(operands)))
            page = _unlimited(offer.task).write(operands)
        except InputError as error:
            raise RefusedError(str(error)) from error
        self._require_tokens(len(page.tokens))
        _require_ids(offer, page)
        return Question(offer=offer, operands=operands, page=page)

    def offer(self, name: str | None) -> Offer:
        """A model by name."""
        if name is None:
            raise RefusedError("There is no model: give model=adder-tiny, or another of /api/models.")
        try:
            return self._catalogue.offer(name)
        except KeyError:
            known = tuple(self._catalogue.offers)
            raise RefusedError(f"There is no model {shown(name)} here: {instead(name[:80], known)}", 404) from None

    def surprise(self, model: str | None, length: str | None, count: str | None, seed: str | None) -> dict[str, Any]:
        """A random problem of exactly one size, and the size."""
        offer = self.offer(model)
        task = offer.task
        sizes = {"length": _whole(length, "length")} | ({} if count is None else {"count": _whole(count, "count")})
        own = derive(_whole(seed or "0", "seed", least=0), "page")
        try:
            self._require_cells(task, sizes["length"], sizes.get("count"))
            self._require_sizes(task, task.sizes(sizes["length"], sizes.get("count")))
            _unlimited(task).require_size(sizes["length"], sizes.get("count"), random_offsets=False)
            problems = _unlimited(task).sample_problems(
                1, length=sizes["length"], count=sizes.get("count"), seed=own, fixed=True
            )
            operands = [task.operand_text(digits) for digits in problems.operands(0)]
            page = _unlimited(task).write(operands)
        except InputError as error:
            raise RefusedError(str(error)) from error
        self._require_tokens(len(page.tokens))
        _require_ids(offer, page)
        return {"model": offer.name, "problem": typed(task.name, page.operands), **sizes}

    def response(self, tokens: Any, model: Solver) -> list[str]:
        """What a model is said to have written, as the API takes it back: a list of its tokens."""
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise RefusedError('response must be a list of tokens, such as ["0", "0", "0", ">"].')
        if len(tokens) > self._limits.tokens:
            self._require_tokens(len(tokens))
        known = set(model.vocabulary) | set(model.task.vocabulary)
        odd = next((token for token in tokens if token not in known), None)
        if odd is not None:
            raise RefusedError(f"{shown(odd)} is not in the model's vocabulary: {' '.join(model.vocabulary)}.")
        return tokens

    def _require_operands(self, task: Task, operands: list[str]) -> None:
        self._require_sizes(task, [len(operand) for operand in operands])

    def _require_sizes(self, task: Task, sizes: list[int]) -> None:
        limits = self._limits
        longest, what = (limits.bits, "bits") if task.leading_zeros else (limits.digits, "digits")
        if len(sizes) > limits.numbers:
            raise RefusedError(f"This has {len(sizes):,} numbers: up to {limits.numbers:,} are taken here.")
        if max(sizes, default=0) > longest:
            whose = "This" if task.leading_zeros else "A number of this"
            raise RefusedError(f"{whose} has {max(sizes):,} {what}: up to {longest:,} are taken here.")

    def _require_cells(self, task: Task, length: int, count: int | None) -> None:
        """Refuse what cannot be short enough, before a page is made of it."""
        cells = task.page_cells(length, count)
        if cells > 4 * self._limits.tokens:
            self._require_tokens(cells)

    def _require_tokens(self, tokens: int) -> None:
        if tokens > self._limits.tokens:
            raise RefusedError(
                f"This page would take about {tokens:,} tokens: up to {self._limits.tokens:,} are taken here, "
                "so take fewer or shorter numbers."
            )


def _unlimited(task: Task) -> Task:
    """The task without a limit of ids: what a model lacks is said in words of its own, not of its settings."""
    return replace(task, max_ids=None)


def _require_ids(offer: Offer, page: Page) -> None:
    for level, most, ids in zip(page.levels, offer.max_ids, page.position_ids, strict=True):
        if most is not None and max(ids) > most:
            raise RefusedError(
                f"This needs {level} ids up to {max(ids)}, but those of {offer.name} go up to {most}: "
                "take shorter or fewer numbers, or another model."
            )


def _whole(text: str | None, name: str, least: int = 1) -> int:
    if text is None or not (text.isascii() and text.isdigit() and len(text) <= 9) or int(text) < least:
        raise RefusedError(f"{name} must be a whole number from {least} up, not {shown(text or 'nothing')}.")
    return int(text)
