"""Where many runs are done: on this machine, or on a Ray cluster.

Engine(workers=8)                        eight processes of this machine
Engine(per_gpu=4)                        four on each of its GPUs; without a GPU, one on each core
Engine(on="ray", address="auto")         a Ray cluster that is there already
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch

from lengthwise.cluster import on_cluster
from lengthwise.errors import InputError
from lengthwise.jobs import Job, News, Team, teams, work, work_as_one
from lengthwise.processes import Hear, Outcome, Piece, Said, one_by_one, polite, side_by_side
from lengthwise.session import Observer

PATIENCE = 120.0
"""How many seconds a run that has moved to another machine waits for the old one to let go of its folder."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A way to do many runs."""

    on: Literal["local", "ray"] = "local"
    """This machine, or a Ray cluster."""
    workers: int | None = None
    """How many at a time on this machine; by default as many as its GPUs take, or as it has cores."""
    per_gpu: int = 1
    """How many share a GPU: small models leave a large one idle."""
    address: str | None = None
    """Of the Ray cluster; by default that of RAY_ADDRESS, or one on this machine."""
    together: int = 1
    """How many runs that differ in their seeds alone are trained as one model, where it is a small one."""
    device: str | None = None
    """cpu, cuda, or None for the best there is."""

    def __post_init__(self) -> None:
        if self.on not in ("local", "ray"):
            raise InputError(f"runs are done on local or ray, not {self.on!r}.")
        if self.workers is not None and self.workers < 1:
            raise InputError(f"workers must be 1 or more, not {self.workers}.")
        if self.per_gpu < 1:
            raise InputError(f"per_gpu must be 1 or more, not {self.per_gpu}.")
        if self.together < 1:
            raise InputError(f"together must be 1 or more, not {self.together}.")
        if self.on == "ray" and self.workers is not None:
            raise InputError("a Ray cluster takes as many runs as it has room for: leave workers out.")
        if self.on == "local" and self.address is not None:
            raise InputError("an address is that of a Ray cluster: say on='ray' as well.")

    def do(
        self,
        jobs: Sequence[Job],
        hear: Hear[Job] | None = None,
        observer: Callable[[], Observer] | None = None,
    ) -> Iterator[Outcome[Job, str]]:
        """All jobs; outcomes as they come. `observer` watches closely where runs are done one by one."""
        patience = PATIENCE if self.on == "ray" else 0.0
        if self.together == 1:
            watched = observer if self.on == "local" and self._workers(jobs) == 1 else None
            single = partial(work, device=self.device, observer=watched, patience=patience)
            yield from self._spread(jobs, single, hear)
            return

        def hear_one(team: Team, news: tuple[int, News]) -> None:
            if hear is not None:
                hear(team[news[0]], news[1])

        as_one = partial(work_as_one, device=self.device, patience=patience)
        for team, said, _ in self._spread(teams(jobs, self.together), as_one, hear_one):
            for place, job in enumerate(team):
                yield (job, said, False) if isinstance(said, str) else (job, *said[place])

    def _spread(
        self, pieces: Sequence[Piece], work: Callable[[Piece], Said], hear: Hear[Piece] | None
    ) -> Iterator[Outcome[Piece, Said]]:
        if self.on == "ray":
            return on_cluster(pieces, work, address=self.address, per_gpu=self.per_gpu, hear=hear)
        workers = self._workers(pieces)
        if workers == 1:
            return one_by_one(pieces, work, hear)
        return side_by_side(pieces, work, workers, hear, self._gpus())

    def _workers(self, pieces: Sequence[object]) -> int:
        return min(self.room, max(1, len(pieces)))

    def do_all(
        self,
        jobs: Sequence[Job],
        say: Callable[[str], None],
        hear: Hear[Job] | None = None,
        observer: Callable[[], Observer] | None = None,
    ) -> dict[str, str]:
        """All jobs, with a line for each; the reasons of those that failed, by the names of their runs."""
        failed: dict[str, str] = {}
        with polite():
            for done, (job, words, well) in enumerate(self.do(jobs, hear, observer), start=1):
                if not well:
                    failed[job.folder.name] = words
                say(f"{done}/{len(jobs)} {job.folder.name}: {words if well else f'failed: {words}'}")
        return failed

    @property
    def room(self) -> int:
        """How many runs this machine does at a time."""
        if self.workers is not None:
            return self.workers
        return len(self._gpus()) * self.per_gpu or max(1, os.cpu_count() or 1)

    def _gpus(self) -> list[str]:
        if self.device not in (None, "auto", "cuda") or not torch.cuda.is_available():
            return []
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return visible.split(",") if visible else [str(number) for number in range(torch.cuda.device_count())]
