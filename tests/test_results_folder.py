"""The results in the repository: whole files, of the figures as they are defined now, and what is said of them."""

from functools import cache
from pathlib import Path

import pytest

from lengthwise import experiments
from lengthwise.jobs import Job
from lengthwise.reproduce import claims_table, jobs
from lengthwise.results import Grid
from lengthwise.runs import Run

RESULTS = Path(__file__).resolve().parents[1] / "results"
RUNS = sorted((RESULTS / "reproduce").glob("*/*-seed*"))


def test_the_table_of_claims_says_what_the_grids_say() -> None:
    said = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert claims_table(RESULTS / "reproduce") in said, "lengthwise reproduce --table --out results/reproduce prints it"


def test_there_are_runs() -> None:
    assert len(RUNS) > 50


@cache
def asked_for(scale: str, seed: int) -> dict[Path, Job]:
    figures = [kind() for kind in experiments.kinds().values()]
    return {job.folder: job for job in jobs(figures, scale, RESULTS / "reproduce", seeds=[seed])}


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_run_is_one_that_some_figure_asks_for(folder: Path) -> None:
    job = asked_for(folder.parent.name, int(folder.name.rpartition("seed")[2]))[folder]
    job.require_same()
    assert Run(folder).recipe == job.recipe
    measured = {file.name for file in (folder / "grids").glob("*.json")}
    assert measured
    assert measured <= {one.file for one in job.measurements}
    for file in (folder / "grids").glob("grid-*.json"):
        grid = Grid.load(file)
        assert grid.complete
        assert grid.model["name"] == folder.name


def test_no_weights_lie_among_the_results() -> None:
    assert not list(RESULTS.rglob("*.safetensors"))
