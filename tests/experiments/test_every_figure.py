"""Every figure end to end, at the scale smoke: trained, measured, drawn and compared. Whatever breaks, breaks here."""

import os
import struct
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from lengthwise.experiments import experiment, kinds
from lengthwise.reproduce import State, jobs, reproduce, state
from lengthwise.results import AttentionMap, Grid, read_json
from lengthwise.runs import Run

PICTURES = {
    "addition-embedding-dim": ["addition-embedding-dim", "addition-embedding-dim-rates"],
    "addition-architecture": ["addition-architecture", "addition-architecture-windowed"],
    "attention-patterns": [
        "attention-focus",
        *(f"attention-{case.key}" for case in experiment("attention-patterns").plan("smoke")),
    ],
    "windowed": ["windowed-addition", "windowed-multiplication", "windowed-parity"],
}
"""By figure, where it is not one that has its name."""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for all figures: runs that several of them show are trained once. Nothing waits for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        yield tmp_path_factory.mktemp("reproduced")


def size(png: Path) -> tuple[int, int]:
    """Width and height, as the file says."""
    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:])
    return width, height


@pytest.mark.parametrize("name", kinds())
def test_a_figure_is_trained_measured_drawn_and_compared(name: str, out: Path) -> None:
    cases = experiment(name).plan("smoke")
    (report,) = reproduce([name], scale="smoke", out=out)
    assert (report.name, report.scale) == (name, "smoke")

    assert report.state == State(runs=len(cases), wanted=len(cases)) == state(experiment(name), "smoke", out)
    for case in cases:
        run = Run.at(out / "smoke" / f"{case.key}-seed0")
        assert run.finished
        assert run.step == 2
        for asked in case.measurements:
            file = run.folder / "grids" / asked.file
            if asked.kind == "attention":
                looked = AttentionMap.load(
                    file.with_name(file.name.replace("focus", "attention")).with_suffix(".safetensors")
                )
                assert looked.weights.shape[:2] == (case.recipe.model.layers, case.recipe.model.heads)
                assert looked.about["samples"] == asked.samples
            else:
                grid = Grid.load(file)
                assert grid.complete
                assert (grid.samples, grid.decoding, grid.model["name"]) == (
                    asked.samples,
                    asked.decoding,
                    run.folder.name,
                )

    assert list(report.pictures) == PICTURES.get(name, [name])
    for title, picture in report.pictures.items():
        assert picture == out / "smoke" / "figures" / f"{title}.png"
        assert all(400 <= side <= 8000 for side in size(picture)), size(picture)

    assert report.claims
    assert {claim.verdict for claim in report.claims} == {"not run"}, "two steps show that it runs, and nothing more"
    assert read_json(out / "smoke" / "figures" / f"{name}.json") == {
        "kind": "claims",
        "name": name,
        "figure": kinds()[name].figure,
        "scale": "smoke",
        "runs": len(cases),
        "wanted": len(cases),
        "claims": [asdict(claim) for claim in report.claims],
    }
    assert not any(run.missing for run in jobs([experiment(name)], "smoke", out))
