"""A sweep on a real Ray cluster of several nodes, one of which is killed without warning."""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import lengthwise as lw
from lengthwise import cluster
from lengthwise.engines import Engine
from lengthwise.jobs import Job
from lengthwise.measurements import Measurement
from lengthwise.recipe import Recipe
from lengthwise.results import Grid
from lengthwise.sweep import sweep

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install -e '.[cluster]'"
)
STEPS = 500
MEASUREMENT = Measurement(lengths=(3, 6), counts=None, samples=20)


def recipe() -> Recipe:
    """A run of some seconds that is saved all the time."""
    base = lw.presets.get("parity-tiny")
    watch = replace(base.watch, log_every=20, validate_every=0, save_seconds=0.2)
    return replace(base, training=replace(base.training, steps=STEPS, batch_size=64), watch=watch)


KILLED = """
import json, sys
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from lengthwise.engines import Engine
from lengthwise.sweep import sweep
from lengthwise.runs import STATE
from test_cluster import MEASUREMENT, recipe

out = Path(sys.argv[1])
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
first, second = (cluster.add_node(num_cpus=1) for _ in range(2))
cluster.wait_for_nodes()
ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
steps, lines, killed = {}, [], []

def hear(job, news):
    steps[job.folder.name] = news.step
    saved = all((out / name / STATE).is_file() for name in steps)
    if not killed and len(steps) == 2 and saved and min(steps.values()) > 40:
        killed.append(dict(steps))
        cluster.remove_node(first, allow_graceful=False)
        cluster.add_node(num_cpus=1)

found = sweep(recipe(), seeds=range(3), measurement=MEASUREMENT, out=out, engine=Engine(on="ray", device="cpu"),
              say=lines.append, hear=hear)
said = {"failed": found.failed, "seeds": found.rows[0].seeds, "lines": lines, "killed": killed}
Path(sys.argv[2]).write_text(json.dumps(said))  # a file: what Ray prints when a node dies goes to the same output
ray.shutdown()
cluster.shutdown()
"""


@needs_ray
def test_a_node_that_dies_takes_nothing_with_it(tmp_path: Path) -> None:
    """Every run ends, and with the same numbers as on this machine alone, though one had to move."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "ray"), str(tmp_path / "said.json")],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=Path(__file__).parent,
        # Ray's workers give way to everything else on the machine: beside other tests they would hardly move
        env={**os.environ, "RAY_worker_niceness": "0"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads((tmp_path / "said.json").read_text())
    assert (said["failed"], said["seeds"]) == ({}, 3)
    assert said["killed"], "the node was killed while two runs were at work"
    last = {line.split()[1].rstrip(":"): int(line.split()[2]) for line in said["lines"][1:]}
    moved = [name for name, steps in last.items() if steps < STEPS]
    assert 1 <= len(moved) < 3, "what was at work on that node went on elsewhere from its last state, the rest stayed"
    here = Engine(workers=1, device="cpu")
    sweep(recipe(), seeds=range(3), measurement=MEASUREMENT, out=tmp_path / "here", engine=here)
    for folder in sorted((tmp_path / "here").glob("*-seed*")):
        other = tmp_path / "ray" / folder.name
        assert (other / "metrics.jsonl").read_bytes() == (folder / "metrics.jsonl").read_bytes()
        ours, theirs = (Grid.load(one / "grids" / MEASUREMENT.file) for one in (other, folder))
        assert ours.correct == theirs.correct


def test_without_ray_one_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    job = Job(folder=tmp_path / "run", recipe=recipe(), measurements=(MEASUREMENT,))
    with pytest.raises(lw.InputError, match=r"with its extra \[cluster\]"):
        list(Engine(on="ray").do([job]))


@needs_ray
def test_a_cluster_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    program = (
        "import sys; from lengthwise.cli import main; "
        "main(['sweep', 'parity-tiny', '--on', 'ray', '--address', '127.0.0.1:1', '--out', sys.argv[1]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2, done.stderr[-2000:]
    assert "the Ray cluster at '127.0.0.1:1' cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("kept", "given", "expected"), [(True, None, "token"), (False, None, None), (True, "disabled", "disabled")]
)
def test_the_token_of_this_machine_is_given_to_clusters(
    kept: bool, given: str | None, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    if given is not None:
        monkeypatch.setenv("RAY_AUTH_MODE", given)
    monkeypatch.setenv("HOME", str(tmp_path))
    if kept:
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text("secret")
    monkeypatch.setattr(importlib, "import_module", lambda name: name)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    assert cluster._ray() == "ray"
    assert os.environ.get("RAY_AUTH_MODE") == expected
