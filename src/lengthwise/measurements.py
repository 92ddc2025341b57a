"""What is to be measured of a run, and the name of its file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What is measured of every run: a grid, or where its heads look."""

    lengths: tuple[int, ...]
    counts: tuple[int, ...] | None
    samples: int
    decoding: Literal["teacher-forced", "greedy"] = "teacher-forced"
    kind: Literal["grid", "attention"] = "grid"

    @property
    def file(self) -> str:
        """Its file in the run folder: what was asked, so that another question never meets it."""
        axes = [self.lengths] + ([] if self.counts is None else [self.counts])
        size = "x".join(f"{axis[0]}-{axis[-1]}" if len(axis) > 1 else str(axis[0]) for axis in axes)
        cells = "" if self.kind == "attention" else f"-{'x'.join(str(len(axis)) for axis in axes)}cells"
        decoded = "-decoded" if self.decoding == "greedy" else ""
        return f"{'focus' if self.kind == 'attention' else 'grid'}-{size}{cells}-n{self.samples}{decoded}.json"


def map_of(focus_file: Path) -> Path:
    """The attention map behind a file of scores."""
    return focus_file.with_name(focus_file.name.replace("focus-", "attention-").replace(".json", ".safetensors"))
