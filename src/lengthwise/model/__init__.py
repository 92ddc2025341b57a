"""The Transformer, and decoding with it. It knows no task."""

from lengthwise.model.config import ModelConfig
from lengthwise.model.decode import decode
from lengthwise.model.transformer import Transformer

__all__ = ["ModelConfig", "Transformer", "decode"]
