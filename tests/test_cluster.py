"""A sweep on a real Ray cluster of several nodes, one of which is killed without warning."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import lengthwise as lw
from lengthwise.engines import Engine
from lengthwise.jobs import Job
from lengthwise.measurements import Measurement
from lengthwise.recipe import Recipe
from lengthwise.results import Grid
from lengthwise.sweep import sweep

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install -e '.[cluster]'"
)
MEASUREMENT = Measurement(lengths=(3, 6), counts=None, samples=20)


def recipe() -> Recipe:
    """A run of some seconds that is saved all the time."""
    base = lw.presets.get("parity-tiny")
    watch = replace(base.watch, log_every=20, validate_every=0, save_seconds=0.2)
    return replace(base, training=replace(base.training, steps=250, batch_size=64), watch=watch)


KILLED = """
import json, sys
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from lengthwise.engines import Engine
from lengthwise.sweep import sweep
from test_cluster import MEASUREMENT, recipe

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
first, second = (cluster.add_node(num_cpus=1) for _ in range(2))
cluster.wait_for_nodes()
ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
steps, lines, killed = {}, [], []

def hear(job, news):
    steps[job.folder.name] = news.step
    if not killed and len(steps) == 2 and min(steps.values()) > 40:
        killed.append(dict(steps))
        cluster.remove_node(first, allow_graceful=False)
        cluster.add_node(num_cpus=1)

found = sweep(recipe(), seeds=range(3), measurement=MEASUREMENT, out=sys.argv[1], engine=Engine(on="ray", device="cpu"),
              say=lines.append, hear=hear)
print(json.dumps({"failed": found.failed, "seeds": found.rows[0].seeds, "lines": lines, "killed": killed}))
ray.shutdown()
cluster.shutdown()
"""


@needs_ray
def test_a_node_that_dies_takes_nothing_with_it(tmp_path: Path) -> None:
    """Every run ends, and with the same numbers as on this machine alone, though one had to move."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "ray")],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=Path(__file__).parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert (said["failed"], said["seeds"]) == ({}, 3)
    assert said["killed"], "the node was killed while two runs were at work"
    last = {line.split()[1].rstrip(":"): int(line.split()[2]) for line in said["lines"][1:]}
    moved = [name for name, steps in last.items() if steps < 250]
    assert len(moved) == 1, "one run went on elsewhere from its last state, and the others never stopped"
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
    with pytest.raises(lw.InputError, match=r"pip install 'lengthwise\[cluster\]'"):
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
