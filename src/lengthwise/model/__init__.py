"""The Transformer, and decoding with it. It knows no task."""

from lengthwise.model.attention import Known
from lengthwise.model.config import ModelConfig
from lengthwise.model.decode import decode
from lengthwise.model.transformer import Transformer

__all__ = ["Known", "ModelConfig", "Transformer", "decode"]
