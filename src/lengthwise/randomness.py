"""Where every random number comes from.

A draw is named by a seed and a purpose, so it never depends on what was drawn before it:
two purposes under one seed are independent, and the same name gives the same numbers again.

>>> first = torch.rand(1, generator=generator(0, "problems"))
>>> again = torch.rand(1, generator=generator(0, "problems"))
>>> other = torch.rand(1, generator=generator(0, "offsets"))
>>> bool(first == again), bool(first == other)
(True, False)
"""

import hashlib

import torch


def generator(seed: int, *purpose: str | int, device: str | torch.device = "cpu") -> torch.Generator:
    """A generator on `device` for one purpose, for example `generator(seed, "offsets", step)`."""
    return torch.Generator(device=device).manual_seed(derive(seed, *purpose))


def derive(seed: int, *purpose: str | int) -> int:
    """A seed of its own for one purpose."""
    name = repr((int(seed), *purpose)).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") >> 1  # manual_seed takes 63 bits
