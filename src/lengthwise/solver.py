"""A Transformer together with the task it was made for: what `lw.load` returns.

It can solve (write a response token by token), score a page, show its attention, and be saved to a folder.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from huggingface_hub import PyTorchModelHubMixin
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor, nn

from lengthwise import checkpoint, models
from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.decode import Decoded, decode, stream
from lengthwise.model.transformer import Transformer
from lengthwise.positions.base import Encoding
from lengthwise.tasks import Batch, Page, Problems, Reading, Task
from lengthwise.tasks.format import MAX_ID
from lengthwise.tasks.operands import is_whole
from lengthwise.tasks.page import EDGE
from lengthwise.tasks.text import recognise

ALIASES = {"[EOS]": EDGE}
"""What other vocabularies call our tokens."""
LOOKING = threading.Lock()
"""Held while hooks sit on a model's modules."""
SPARE_TOKENS = 8
"""How many tokens more than the right response has a model may write before it is stopped."""


@dataclass(frozen=True, kw_only=True)
class Solution:
    """What a model wrote to solve a problem."""

    page: Page
    """The right page."""
    response: list[str]
    """What the model wrote after the `=`, its end included if it wrote one."""
    answer: str | None
    """The answer it gives; None where it gives none that can be read, or never stopped."""
    reading: Reading
    """Where it first went wrong, if it did."""
    ended: bool
    """Whether it stopped by itself."""
    ids: Literal["rule", "given"]
    """Whether ids came from the rule of the task, or had to be taken from the right page."""

    @property
    def correct(self) -> bool:
        """Whether every token is right."""
        return self.reading.correct


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Where every head of every layer looked."""

    weights: Float[Tensor, "layers heads queries keys"]
    labels: list[str]
    """What each token is, in words."""
    tokens: list[str]


@dataclass(frozen=True, kw_only=True)
class Step:
    """A token that a model has just written."""

    token: str
    ids: list[int]
    """The ids it got, one a level."""
    probabilities: dict[str, float]
    """How likely the model held each token of its vocabulary to be, at this place."""


class Solver(nn.Module, PyTorchModelHubMixin):
    """A Transformer and its task."""

    model_numbers: Tensor
    task_numbers: Tensor

    def __init__(self, transformer: Transformer, task: Task, vocabulary: tuple[str, ...] | None = None) -> None:
        super().__init__()
        self.trained_on: dict[str, int] | None = None  # the largest sizes of its training, by axis, where that is known
        self._hub_mixin_config = None  # config.json is ours: complete, and read strictly
        reserved = tuple(f"[{number}]" for number in range(1, transformer.config.reserved_tokens + 1))
        self.transformer, self.task = transformer, task
        self.vocabulary = (*task.vocabulary, *reserved) if vocabulary is None else vocabulary
        rows = transformer.embedding.shape[0]
        if len(self.vocabulary) != rows:
            raise InputError(
                f"the model has {rows} rows of embeddings for a vocabulary of {len(self.vocabulary)} tokens."
            )
        if transformer.shape.levels != len(task.levels):
            raise InputError(
                f"the model takes {transformer.shape.levels} levels of ids, the task gives {len(task.levels)}: "
                f"{', '.join(task.levels)}."
            )
        self._names = names = [ALIASES.get(token, token) for token in self.vocabulary]
        missing = [token for token in task.vocabulary if token not in names]
        if missing:
            raise InputError(f"the model's vocabulary lacks {', '.join(missing)}, which {task.name} is written with.")
        to_model = torch.tensor([names.index(token) for token in task.vocabulary])
        back = [task.vocabulary.index(token) if token in task.vocabulary else len(task.vocabulary) for token in names]
        self.register_buffer("model_numbers", to_model, persistent=False)
        self.register_buffer("task_numbers", torch.tensor(back), persistent=False)

    @classmethod
    def new(cls, task: Task, encoding: Encoding, config: ModelConfig | None = None, *, seed: int = 0) -> "Solver":
        """An untrained model for a task."""
        if not isinstance(task, Task) or not isinstance(encoding, Encoding):
            raise InputError(
                'a model is made from a task and an encoding: lw.task("addition"), lw.encoding("learned").'
            )
        transformer = Transformer(
            config or ModelConfig(),
            encoding,
            vocabulary_size=len(task.vocabulary),
            levels=len(task.levels),
            seed=seed,
        )
        return cls(transformer, task)

    @property
    def device(self) -> torch.device:
        return self.transformer.embedding.device

    def numbers(self, tokens: Integer[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
        """Tokens of the task as the model numbers them."""
        return self.model_numbers.to(tokens.device)[tokens.long()]

    def forward(self, batch: Batch, **options: Any) -> Float[Tensor, "outputs vocabulary"]:
        """Logits of a batch of pages."""
        self.require_ids(batch.position_ids)
        logits: Tensor = self.transformer(self.numbers(batch.tokens), batch.position_ids, batch.boundaries, **options)
        return logits

    @contextmanager
    def compiled(self) -> Iterator[None]:
        """Within, the model is compiled: up to half a minute at first, which large models pay back."""
        if self.transformer.is_compiled:
            yield
            return
        self.transformer.compile()
        try:
            yield
        finally:
            self.transformer.uncompile()

    def require_ids(self, position_ids: Int[Tensor, "levels tokens"]) -> None:
        """Refuse ids beyond those the encoding knows."""
        maxima = self.transformer.encoding.max_ids(self.transformer.shape)
        if all(max_id is None for max_id in maxima):
            return
        lowest, highest = (bound.tolist() for bound in position_ids.aminmax(dim=1))
        for level, max_id, low, high in zip(self.task.levels, maxima, lowest, highest, strict=True):
            if max_id is not None and (high > max_id or low < 0):
                raise InputError(
                    f"This needs {level} ids from {low} to {high}, but the model's are 0 to {max_id}: "
                    "give it shorter or fewer numbers, or smaller offsets."
                )

    @torch.no_grad()
    def score(
        self,
        tokens: Sequence[str | int] | Integer[Tensor, " tokens"],
        position_ids: Sequence[Sequence[int]] | Integer[Tensor, "levels tokens"] | None = None,
    ) -> Float[Tensor, "tokens vocabulary"]:
        """The logits after every token of one page. Without ids, tokens are numbered one after the other."""
        if not isinstance(tokens, Iterable) or not list(tokens):
            raise InputError("there is nothing to score: give the tokens of a page.")
        numbers = [self.number(token) for token in (tokens.tolist() if isinstance(tokens, Tensor) else tokens)]
        ids = [list(range(len(numbers)))] * self.transformer.shape.levels if position_ids is None else position_ids
        ids = ids.tolist() if isinstance(ids, Tensor) else ids
        lists = isinstance(ids, Sequence) and all(isinstance(level, Sequence) for level in ids)
        if not lists or len(ids) != self.transformer.shape.levels or any(len(level) != len(numbers) for level in ids):
            raise InputError(
                f"position_ids must be {self.transformer.shape.levels} lists of {len(numbers)} ids, one a level."
            )
        if not all(is_whole(number) and abs(number) <= MAX_ID for level in ids for number in level):
            raise InputError("position_ids must be whole numbers.")
        packed = torch.tensor([list(level) for level in ids], device=self.device)
        self.require_ids(packed)
        boundaries = torch.tensor([0, len(numbers)], device=self.device)
        logits: Tensor = self.transformer(torch.tensor(numbers, device=self.device), packed, boundaries)
        return logits

    def number(self, token: str | int) -> int:
        """How the model numbers a token, which is given by its name or by that number."""
        known = ALIASES.get(token, token) if isinstance(token, str) else token
        if known in self._names:
            return self._names.index(known)
        if isinstance(known, int) and 0 <= known < len(self._names):
            return known
        raise InputError(f"{token!r} is not in the model's vocabulary: {' '.join(self.vocabulary)}.")

    def solve(self, problem: str | Sequence[int | str]) -> Solution:
        """Write a problem out, token by token: `solve("57+48+96")` or `solve([57, 48, 96])`."""
        return self.solve_all([problem])[0]

    def solve_all(self, problems: Sequence[str | Sequence[int | str]]) -> list[Solution]:
        """Write several problems out side by side; best those of similar size, as many as fit the memory."""
        if not problems:
            return []
        asked = [self._operands(problem) for problem in problems]
        pages = [self.task.write(operands) for operands in asked]
        together = Problems.of([self.task.parse(operands).operands(0) for operands in asked])
        written = self.responses(self.task.write_all(together.to(self.device)))
        return [self._solution(page, response) for page, response in zip(pages, written, strict=True)]

    def _solution(self, page: Page, response: list[str]) -> Solution:
        right = response == page.response
        reading = Reading(answer=page.answer, mistake=None) if right else self.task.read(page.operands, response)
        return Solution(
            page=page,
            response=response,
            answer=reading.answer,
            reading=reading,
            ended=response[-1:] == [EDGE],
            ids="given" if self.task.ids_given else "rule",
        )

    def _operands(self, problem: str | Sequence[int | str]) -> Sequence[int | str]:
        return recognise(problem, self.task.name)[1] if isinstance(problem, str) else problem

    def stream(self, problem: str | Sequence[int | str]) -> Iterator[str]:
        """The tokens of `solve` as they are written."""
        return (step.token for step in self.steps(problem))

    def steps(self, problem: str | Sequence[int | str]) -> Iterator[Step]:
        """The tokens of `solve` as they are written, with their ids and how likely the model held each token to be."""
        operands = self._operands(problem)
        batch = self.task.write_all(self.task.parse(operands).to(self.device))
        for step in stream(self.transformer, **self._to_decode(batch)):
            token, likely = self._names[int(step.tokens[0])], self.likely(step.logits[0])
            yield Step(token=token, ids=step.ids[:, 0].tolist(), probabilities=likely)

    def likely(self, logits: Float[Tensor, " vocabulary"]) -> dict[str, float]:
        """How likely each token of the vocabulary is, by its logits."""
        exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return dict(zip(self._names, exact.softmax(0).tolist(), strict=True))

    def decode(self, batch: Batch) -> Decoded:
        """Write responses to the queries of a batch, token by token, numbered as the model numbers tokens."""
        return decode(self.transformer, **self._to_decode(batch))

    def responses(self, batch: Batch) -> list[list[str]]:
        """What the model writes after the query of every page, its end included where it writes one."""
        written = self.decode(batch)
        return [[self._names[number] for number in written.response(sample)] for sample in range(len(batch))]

    def _to_decode(self, batch: Batch) -> dict[str, Any]:
        prompts = self.task.write_prompts(batch.problems, batch.numbering)
        sizes = batch.boundaries.diff() - prompts.boundaries.diff()
        limits = sizes + SPARE_TOKENS
        self.require_ids(batch.position_ids)
        rule, state = self._given_ids(batch, prompts) if self.task.ids_given else self._told_ids(batch)
        return {
            "tokens": self.numbers(prompts.tokens),
            "position_ids": prompts.position_ids,
            "boundaries": prompts.boundaries,
            "rule": rule,
            "state": state,
            "end": int(self.model_numbers[self.task.vocabulary.index(EDGE)]),
            "limits": limits,
        }

    def _told_ids(self, batch: Batch) -> tuple[Any, Any]:
        maxima = self.transformer.encoding.max_ids(self.transformer.shape)
        writer = self.task.id_writer(batch.problems, batch.numbering, maxima)
        return lambda state, tokens: writer.step(state, self.task_numbers.to(tokens.device)[tokens]), writer.begin()

    @staticmethod
    def _given_ids(batch: Batch, prompts: Batch) -> tuple[Any, Any]:
        first, last = batch.boundaries[:-1] + prompts.boundaries.diff(), batch.boundaries[1:] - 1
        return lambda step, tokens: (step + 1, batch.position_ids[:, torch.minimum(first + step, last)]), 0

    @torch.no_grad()
    def exact_matches(
        self, batch: Batch, decoding: Literal["teacher-forced", "greedy"] = "teacher-forced"
    ) -> Bool[Tensor, " samples"]:
        """Which pages of a batch the model writes without a single mistake.

        Both ways give the same: up to the first mistake, a greedy decoder has written what the page says.
        """
        if decoding not in ("teacher-forced", "greedy"):
            raise InputError(f"decoding must be 'teacher-forced' or 'greedy', not {decoding!r}.")
        numbers = self.numbers(batch.tokens)
        targets = batch.targets.nonzero()[:, 0]
        sample = torch.repeat_interleave(torch.arange(len(batch), device=self.device), batch.boundaries.diff())
        if decoding == "teacher-forced":
            right = self(batch, wanted=targets - 1).argmax(-1) == numbers[targets]
        else:
            written = self.decode(batch)
            prompts = batch.boundaries[1:] - torch.bincount(sample[targets], minlength=len(batch))
            step = targets - prompts[sample[targets]]
            got = written.tokens[sample[targets], step.clamp(max=written.tokens.shape[1] - 1)]
            right = (step < written.lengths[sample[targets]]) & (got == numbers[targets])
        wrong = torch.bincount(sample[targets][~right], minlength=len(batch))
        return wrong == 0

    @torch.no_grad()
    def attention(self, page: Page) -> Attention:
        """Where every head looks on a page."""
        captured: list[Tensor] = []
        self._run(page, captured=captured)
        weights = torch.stack([layer[0] for layer in captured])
        return Attention(weights=weights, labels=[cell.name for cell in page.cells], tokens=page.tokens)

    @torch.no_grad()
    def states(self, page: Page) -> dict[str, Float[Tensor, "tokens _"]]:
        """What every part of the model makes of a page, by the part's name.

        `embedding` is what enters the first block, `blocks.0` what leaves it, `blocks.0.attention` what its attention
        adds, `blocks.0.feedforward.into` the hidden layer before the nonlinearity, and so on.
        """
        residual: list[Tensor] = []
        states: dict[str, Tensor] = {}

        def keep(name: str) -> Callable[[nn.Module, object, Tensor], None]:
            def hook(module: nn.Module, given: object, made: Tensor) -> None:
                states[name] = made

            return hook

        parts = [
            (name, part) for name, part in self.transformer.named_modules() if name.startswith(("blocks", "final"))
        ]
        with LOOKING:  # the hooks sit on modules that other threads may be running, too
            handles = [part.register_forward_hook(keep(name)) for name, part in parts]
            try:
                self._run(page, states=residual)
            finally:
                for handle in handles:
                    handle.remove()
        return {"embedding": residual[0], **states}

    def _run(self, page: Page, **options: Any) -> None:
        tokens, ids = self.packed(page, len(page.tokens))
        self.transformer(tokens, ids, torch.tensor([0, len(tokens)], device=self.device), **options)

    def packed(self, page: Page, count: int) -> tuple[Int[Tensor, " tokens"], Int[Tensor, "levels tokens"]]:
        """The first tokens of a page and their ids, as the model takes them."""
        if not isinstance(page, Page) or page.task != self.task.name or page.levels != self.task.levels:
            raise InputError(f"this model takes pages of its own task: model.task.write(…), which is {self.task.name}.")
        if any(token not in self._names for token in page.tokens):
            raise InputError("this page is written in another format than the model's: use model.task.write(…).")
        tokens = torch.tensor([self.number(token) for token in page.tokens[:count]], device=self.device)
        ids = torch.tensor([level[:count] for level in page.position_ids], device=self.device)
        self.require_ids(ids)
        return tokens, ids

    # Saving and loading.

    def save_pretrained(
        self,
        save_directory: str | Path,
        *,
        config: object = None,
        repo_id: str | None = None,
        push_to_hub: bool = False,
        model_card_kwargs: object = None,
        **push_options: Any,
    ) -> str | None:
        """Save to a folder: each file that was there stays whole until it is replaced.

        The keywords are the hub's. `config` and `model_card_kwargs` come from its `push_to_hub` and have no use here:
        config.json and the card are written from the model itself.
        """
        if push_options and not push_to_hub:
            raise InputError(f"{', '.join(push_options)} can only be given with push_to_hub=True.")
        checkpoint.write(Path(save_directory), self.transformer, self.task, self.vocabulary)
        return self.push_to_hub(repo_id or Path(save_directory).name, **push_options) if push_to_hub else None

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | Path, **options: Any) -> "Solver":
        """A solver from a folder, or from a repository of the hub: `options` are those of `snapshot_download`."""
        folder = checkpoint.find(pretrained_model_name_or_path, **options)
        solver = cls(*checkpoint.read(folder)).eval()
        solver.trained_on = checkpoint.describe(folder).trained_on
        return solver


def load(name: str | Path) -> Solver:
    """A model, ready to solve: from a folder that it was saved or trained into, or by its name from the box.

    A model folder that is there wins over a model in the box of the same name; nothing is ever downloaded.
    """
    return Solver.from_pretrained(models.find(name))
