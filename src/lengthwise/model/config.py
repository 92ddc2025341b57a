"""What a Transformer is made of. The defaults are the paper's architecture, at the size of its smallest ablation."""

from dataclasses import dataclass
from typing import Literal

from lengthwise.errors import InputError
from lengthwise.settings import check_types

BOUNDS = {
    "layers": (1, 1_000),
    "heads": (1, 10_000),
    "width": (1, 1_000_000),
    "head_dim": (1, 100_000),
    "feedforward": (1, 1_000_000),
    "reserved_tokens": (0, 10_000),
}


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """A decoder-only Transformer; no linear map in it has a bias."""

    layers: int = 1
    """How many blocks."""
    heads: int = 4
    """Attention heads of a block."""
    width: int = 64
    """The embedding dimension."""
    head_dim: int | None = None
    """Dimensions of a head; by default the width divided by the heads, but their product need not be the width."""
    feedforward: int = 128
    """The hidden width of the feed-forward network."""
    activation: Literal["gelu", "relu"] = "gelu"
    """Its nonlinearity; gelu is the tanh approximation."""
    gated: bool = True
    """Whether a second projection is multiplied in: GEGLU with gelu."""
    norm: Literal["pre_post", "pre", "post", "none"] = "pre_post"
    """Where RMSNorm stands: before each part of a block, after its residual sum, both, or nowhere."""
    final_norm: Literal["rms", "layer", "none"] = "rms"
    """The norm before the output head; the authors had LayerNorm until November 2024."""
    scale_scores: bool = False
    """Whether attention scores are divided by √head_dim. The paper's are not: its initial queries are smaller."""
    content_scores: bool = True
    """Whether scores depend on what tokens are; else on the position encoding alone, without queries and keys."""
    tied_head: bool = True
    """Whether the output head is the embedding, scaled by 1/√width, or a matrix of its own."""
    reserved_tokens: int = 0
    """Rows of the embedding without a token. The authors' models have two, for padding and unknown tokens."""

    def __post_init__(self) -> None:
        check_types(self)
        for name, (least, most) in BOUNDS.items():
            if getattr(self, name) is not None and not least <= getattr(self, name) <= most:
                raise InputError(f"{name} must be from {least} to {most:,}, not {getattr(self, name)}.")
        if self.head_dim is None and self.width % self.heads:
            raise InputError(
                f"a width of {self.width} cannot be divided among {self.heads} heads: "
                f"take a multiple of {self.heads}, or give head_dim, the dimensions of a head."
            )

    @property
    def dim_per_head(self) -> int:
        """Dimensions of a head, as given or by division."""
        return self.width // self.heads if self.head_dim is None else self.head_dim
