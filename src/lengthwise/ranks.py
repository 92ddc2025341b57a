"""One piece of work on several processes: who this one is, what all agree on, and what is summed over all of them.

    torchrun --nproc-per-node 4 -m lengthwise train addition-coupling-scratchpad

Every process runs the same program, and torchrun tells each its rank. The first, rank 0, is the one that reads and
writes files and speaks to people. A process that torchrun did not start is alone: then nothing here costs anything.

>>> ALONE.first, ALONE.share(10), ALONE.any(False, True)
(True, (0, 10), (False, True))
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import Tensor, distributed

from lengthwise.device import pick_device
from lengthwise.errors import InputError

CPU = torch.device("cpu")
PATIENCE = timedelta(hours=2)
"""How long a process waits for the others, at most: the first may be measuring."""


@dataclass(frozen=True)
class Ranks:
    """This process among those that share a piece of work."""

    rank: int = 0
    size: int = 1
    device: torch.device = CPU
    """Where this process computes, and where what is exchanged lies."""

    @property
    def first(self) -> bool:
        """Whether this process is the one that reads, writes and speaks."""
        return self.rank == 0

    def share(self, total: int) -> tuple[int, int]:
        """From where to where this process's part of so many things goes."""
        return total * self.rank // self.size, total * (self.rank + 1) // self.size

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum of everyone's tensor."""
        if self.size == 1:
            return tensor
        total = tensor.detach().clone().to(self.device)
        distributed.all_reduce(total)
        return total.to(tensor.device)

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Which of these are true for anyone."""
        if self.size == 1:
            return flags
        return tuple(bool(count) for count in self.sum(torch.tensor(flags, dtype=torch.int32)).tolist())

    def spread(self, tensor: Tensor) -> None:
        """Everyone's tensor becomes the first's, in place."""
        if self.size > 1:
            held = tensor.data.to(self.device)
            distributed.broadcast(held, 0)
            tensor.data.copy_(held)

    def gather(self, numbers: Sequence[int]) -> list[list[int]]:
        """Everyone's numbers, which must be equally many, by rank."""
        if self.size == 1:
            return [list(numbers)]
        own = torch.tensor(numbers, dtype=torch.int64, device=self.device)
        parts = [torch.empty_like(own) for _ in range(self.size)]
        distributed.all_gather(parts, own)
        return [part.tolist() for part in parts]

    def tell(self, text: str) -> str:
        """What the first says, to everyone."""
        if self.size == 1:
            return text
        size = torch.tensor(len(text.encode()))
        self.spread(size)
        written = torch.zeros(int(size), dtype=torch.uint8)
        if self.first:
            written = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8) if text else written
        self.spread(written)
        return bytes(written.tolist()).decode()

    def settle(self, decide: Callable[[], None]) -> None:
        """The first decides; if it refuses, everyone refuses for the same reason."""
        reason = ""
        if self.first:
            try:
                decide()
            except InputError as error:
                reason = str(error)
        reason = self.tell(reason)
        if reason:
            raise InputError(reason)


ALONE = Ranks()


def own_rank() -> int:
    """The rank that torchrun gave this process; 0 for one it did not start."""
    return int(os.environ.get("RANK", "0")) if started_together() else 0


def started_together() -> bool:
    """Whether torchrun, or something like it, started this process."""
    return all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


def restarted() -> bool:
    """Whether torchrun has started all processes again, because one of them had died."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


@contextmanager
def joined(device: str | torch.device | None) -> Iterator[Ranks]:
    """This process among those that torchrun started with it, each on a GPU of its own if there are any; or alone."""
    if not started_together():
        yield Ranks(device=pick_device(device))
        return
    chosen = pick_device(device)
    if chosen.type == "cuda" and chosen.index is None:
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if local >= torch.cuda.device_count():
            raise InputError(f"there are {torch.cuda.device_count()} GPUs here: start no more processes than that.")
        chosen = torch.device("cuda", local)
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    begun = not distributed.is_initialized()
    if begun:
        distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield Ranks(distributed.get_rank(), distributed.get_world_size(), chosen)
    finally:
        if begun:
            distributed.destroy_process_group()
