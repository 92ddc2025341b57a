"""Attention that stays out of compiled graphs. Importing this loads the compiler: only a model being compiled does."""

from collections.abc import Callable

import torch
from torch import Tensor

from lengthwise.model import attention

attend: Callable[..., Tensor] = torch.compiler.disable(attention.attend)  # type: ignore[no-untyped-call]
