"""Attention that stays out of compiled graphs. Importing this loads the compiler: only a model being compiled does."""

import torch

from lengthwise.model import attention

attend = torch.compiler.disable(attention.attend)
