"""The theorem's weights in our ordinary Transformer: no norms, a ReLU feed-forward, one layer of four heads.

The theorem says that a dimension of 2⌈log₂(…)⌉ + 2⌈log₂(…)⌉ + 19 is enough to add up to m numbers of up to n digits.
What exactly stands under the logarithms decides whether it works: `Plan` has the dimensions that do, and on request
those that are printed. docs/theorem.md tells the difference.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.construction.directions import Directions, Name, corner
from lengthwise.construction.feedforward import SUBNETWORKS
from lengthwise.construction.heads import HEADS
from lengthwise.errors import InputError
from lengthwise.model.config import ModelConfig
from lengthwise.model.transformer import Block, Transformer
from lengthwise.positions.learned import Learned, LearnedTables
from lengthwise.solver import Solver
from lengthwise.tasks.addition import Addition
from lengthwise.tasks.operands import whole

Precision = Literal["float32", "float64", "bfloat16"]
TYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}
ARROW_WEIGHT, END_WEIGHT = 10.0, 100.0
"""What the output head multiplies ARROW and EOS by: an arrow beats any digit, the end beats both."""
MAX_DIGITS, MAX_OPERANDS = 100_000, 100_000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The sizes of a construction."""

    digits: int
    """n."""
    operands: int
    """m."""
    as_printed: bool = False
    """The paper's own numbers of bits, and its next id of the last one, which is the first again."""

    def __post_init__(self) -> None:
        whole(digits=self.digits, operands=self.operands)
        if not 1 <= self.digits <= MAX_DIGITS or not 2 <= self.operands <= MAX_OPERANDS:
            raise InputError(
                f"a model is built for 1 to {MAX_DIGITS:,} digits and 2 to {MAX_OPERANDS:,} operands, "
                f"not {self.digits} and {self.operands}."
            )

    @property
    def padded(self) -> int:
        """ℓ: how many digits every number is padded to."""
        return self.digits + len(str(self.operands))  # 1 + ⌊log₁₀ m⌋ is how many digits m has

    @property
    def column_bits(self) -> int:
        """P₁. A page has ℓ + 1 columns, the symbols' included; the printed formula counts ℓ."""
        return bits_for(self.padded if self.as_printed else self.padded + 1)

    @property
    def row_bits(self) -> int:
        """P₂. A page has m + 1 rows."""
        return bits_for(self.operands + 1)

    @property
    def directions(self) -> Directions:
        return Directions(self.column_bits, self.row_bits)

    @property
    def printed_width(self) -> int:
        """The dimension that the paper's formula gives."""
        return 2 * bits_for(self.padded) + 2 * bits_for(self.operands + 1) + 19

    @property
    def task(self) -> Addition:
        """The format of the proof, with as many ids as there are corners."""
        return Addition(padding_rule="theory", max_ids=(2**self.column_bits, 2**self.row_bits))

    @property
    def tokens(self) -> int:
        """N of the largest page, its end not counted: (2m + 1)(ℓ + 1)."""
        return (2 * self.operands + 1) * (self.padded + 1)

    @property
    def sharpness(self) -> float:
        """α that leaves room in float32: what leaks to keys that do not fit stays below a thousandth of what may.

        A key that does not fit gets at most e^(−2α) of the weight of one that does, and there are N of them. The most
        delicate decision is the end's: its logit is 600 times PRE_EOS, and must stay below a digit's 1. α is a square,
        so that √α is exact.
        """
        leak = 1e-3 / (2 * END_WEIGHT * 6)
        return float(math.ceil(math.sqrt(0.5 * math.log(self.tokens / leak))) ** 2)


def bits_for(count: int) -> int:
    """⌈log₂ count⌉: how many bits tell so many ids apart."""
    return max(1, (count - 1).bit_length())


def construct(
    *,
    digits: int,
    operands: int,
    alpha: float | None = None,
    precision: Precision = "float32",
    as_printed: bool = False,
) -> Solver:
    """The theorem's model for up to `operands` numbers of up to `digits` digits. Nothing in it is trained."""
    plan = Plan(digits=digits, operands=operands, as_printed=as_printed)
    if alpha is not None and not (isinstance(alpha, (int, float)) and math.isfinite(alpha) and alpha > 0):
        raise InputError(f"alpha must be a number above 0, not {alpha!r}.")
    if precision not in TYPES:
        raise InputError(f"precision must be one of {', '.join(TYPES)}, not {precision!r}.")
    directions, task = plan.directions, plan.task
    subnetworks = [subnetwork(directions) for subnetwork in SUBNETWORKS]
    config = ModelConfig(
        layers=1,
        heads=len(HEADS),
        width=directions.width,
        head_dim=directions.bits + 1,
        feedforward=sum(units.into.shape[0] for units in subnetworks),
        activation="relu",
        gated=False,
        norm="none",
        final_norm="none",
        tied_head=False,
    )
    assert task.max_ids is not None
    model = Transformer(config, Learned(sizes=task.max_ids), vocabulary_size=len(task.vocabulary), levels=2)
    model.to(torch.float64)
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        model.embedding.copy_(token_vectors(directions, task.vocabulary))
        _fill_positions(model, plan)
        _fill_heads(model, directions, plan.sharpness if alpha is None else float(alpha))
        block = model.blocks[0]
        assert isinstance(block, Block)
        block.feedforward.into.weight.copy_(torch.cat([units.into for units in subnetworks]))
        block.feedforward.out.weight.copy_(torch.cat([units.out for units in subnetworks], dim=1))
        assert model.head is not None
        model.head.copy_(readout(directions, task.vocabulary))
    return Solver(model.to(TYPES[precision]), task).eval()


def token_vectors(directions: Directions, vocabulary: tuple[str, ...]) -> Float[Tensor, "tokens width"]:
    """A token brings its digit, whether it is `$`, and a one."""
    vectors = torch.zeros(len(vocabulary), directions.width, dtype=torch.float64)
    for row, token in enumerate(vocabulary):
        vectors[row, directions.at(Name.NUM)] = int(token) if token.isdigit() else 0
        vectors[row, directions.at(Name.IS_BOS)] = token == "$"
        vectors[row, directions.at(Name.FULL_ONES)] = 1
    return vectors


def readout(directions: Directions, vocabulary: tuple[str, ...]) -> Float[Tensor, "tokens width"]:
    """W_out: a digit by its place in SUM, arrow and end by their marks, so weighted that the end beats the arrow."""
    head = torch.zeros(len(vocabulary), directions.width, dtype=torch.float64)
    first = directions.of(Name.SUM).start
    for row, token in enumerate(vocabulary):
        if token.isdigit():
            head[row, first + int(token)] = 1.0
    head[vocabulary.index(">"), directions.at(Name.ARROW)] = ARROW_WEIGHT
    head[vocabulary.index("$"), directions.at(Name.EOS)] = END_WEIGHT
    return head


def _fill_positions(model: Transformer, plan: Plan) -> None:
    """An id brings its own corner and that of the id after it; id 0 brings nothing."""
    assert isinstance(model.hooks, LearnedTables)
    directions = plan.directions
    levels = ((Name.POS_1, Name.POS_1_NEXT, plan.column_bits), (Name.POS_2, Name.POS_2_NEXT, plan.row_bits))
    for table, (own, after, bits) in zip(model.hooks.tables, levels, strict=True):
        for number in range(1, 2**bits + 1):
            table[number, directions.of(own)] = corner(number, bits)
            if number < 2**bits:
                table[number, directions.of(after)] = corner(number + 1, bits)
            elif plan.as_printed:
                table[number, directions.of(after)] = corner(1, bits)
            # Paper: the id after the last is the first. Then the topmost digit of a page that uses all columns takes
            # the symbols for its next column. Nothing at all fits no key, and costs no dimension.


def _fill_heads(model: Transformer, directions: Directions, alpha: float) -> None:
    block = model.blocks[0]
    assert isinstance(block, Block)
    attention, size = block.attention, directions.bits + 1
    for place, make in enumerate(HEADS):
        head = make(directions, alpha)
        start = place * size
        rows = slice(start, start + head.query.shape[0])  # head 3 has fewer dimensions: the others stay 0
        assert attention.query is not None
        assert attention.key is not None
        attention.query.weight[rows], attention.key.weight[rows] = head.query, head.key
        attention.value.weight[start] = head.value[0]
        attention.output.weight[:, start] = head.output[:, 0]
