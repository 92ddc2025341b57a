"""What the documents say works."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import lengthwise as lw
from lengthwise.reproduce import reproduce

ROOT = Path(__file__).resolve().parents[1]


def python_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), re.DOTALL)


def test_the_readme_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in python_blocks("README.md"):
        exec(block, names)
    assert names["page"].answer == "201"
    assert names["reading"].answer == "200"
    assert "tens digit of partial sum 2" in str(names["reading"].mistake)
    assert names["solution"].correct is False


def test_the_encoding_in_contributing_is_one() -> None:
    block, _ = python_blocks("CONTRIBUTING.md")
    imports = """
from dataclasses import dataclass
from typing import ClassVar
from jaxtyping import Float
from torch import Tensor
from lengthwise.positions.base import Encoding, Hooks, Place, Shape, distances
"""
    names: dict[str, Any] = {"__name__": "recency"}
    exec(imports + block, names)
    model = lw.Solver.new(lw.task("addition", coupling=("index",)), names["Recency"](slope=0.5))
    batch = model.task.sample(3, length=3, count=3, seed=0)
    logits = model(batch)
    assert logits.isfinite().all()
    assert not torch.allclose(
        logits, lw.Solver.new(model.task, lw.encoding("none"), model.transformer.config)(batch), atol=1e-3
    )
    assert model.exact_matches(batch).equal(model.exact_matches(batch, "greedy"))


def test_the_figure_in_contributing_is_one(tmp_path: Path) -> None:
    _, block = python_blocks("CONTRIBUTING.md")
    imports = """
from typing import ClassVar
from matplotlib.figure import Figure
from lengthwise.experiments.base import Experiment, Found
from lengthwise.experiments.plans import Case, Scale
from lengthwise.experiments.verdicts import Claim, compared, per_cent
from lengthwise.experiments.setups import addition_scales, case
"""
    names: dict[str, Any] = {"__name__": "heads"}
    exec(imports + block, names)
    figure = names["AdditionHeads"]()
    reports = reproduce([figure], scale="smoke", out=tmp_path)
    assert [(report.name, report.state.runs, list(report.pictures)) for report in reports] == [
        ("addition-heads", 2, ["addition-heads"])
    ]
    (claim,) = figure.claims(figure.found("smoke", tmp_path))
    assert (claim.verdict, claim.seeds) == ("not run", 1), "at smoke nothing lies beyond 10 × 10"


def test_linked_files_exist() -> None:
    documents = ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/paper-differences.md", "docs/results.md")
    for document in (*documents, "docs/performance.md", "docs/web.md", "docs/scaling.md", "results/README.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert ((ROOT / document).parent / target).exists(), f"{document} links to {target}"
