"""One run on several processes, as torchrun starts them: the same numbers as one process, and one that writes."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import lengthwise as lw
from lengthwise.data import Feed
from lengthwise.ranks import ALONE, Ranks, joined, own_rank
from lengthwise.results import Grid
from lengthwise.runs import Run

TRAIN = ("train", "adder-tiny", "--device", "cpu", "--training.batch-size", "14", "--training.accumulate", "2")
QUIET = ("--watch.log-every", "5", "--watch.validate-every", "0")


def torchrun(*arguments: str, restarts: int = 0) -> subprocess.Popen[str]:
    """Two processes that share their work."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"]
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", "--max-restarts", str(restarts)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    return subprocess.Popen(
        [*command, "-m", "lengthwise", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def finish(process: subprocess.Popen[str], expect: int = 0) -> tuple[str, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == expect, err
    return out, err


def one_process(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "lengthwise", *arguments], check=True, capture_output=True)


def same_up_to_rounding(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    assert [record["step"] for record in ours] == [record["step"] for record in theirs]
    for left, right in zip(ours, theirs, strict=True):
        assert left["loss"] == pytest.approx(right["loss"], rel=1e-4)
        assert {key: left[key] for key in left if key != "loss"} == {key: right[key] for key in right if key != "loss"}


def test_two_processes_have_the_loss_curve_of_one_and_one_of_them_writes(tmp_path: Path) -> None:
    asked = (*TRAIN, *QUIET, "--steps", "20")
    one_process(*asked, "--out", str(tmp_path / "one"))
    out, err = finish(torchrun(*asked, "--out", str(tmp_path / "two")))
    same_up_to_rounding(Run(tmp_path / "two").metrics, Run(tmp_path / "one").metrics)
    assert out.count("training adder-tiny") == out.count("done:") == 1, "only the first process speaks"
    weights = [Run(tmp_path / name).model.transformer.state_dict() for name in ("one", "two")]
    for name, weight in weights[0].items():
        assert torch.allclose(weight, weights[1][name], atol=1e-4), name
    out, err = finish(torchrun(*asked, "--out", str(tmp_path / "two")), expect=1)
    assert err.count("holds a run already: resume it, or give another folder.") == 1, "both refuse, and one says why"


def test_a_killed_process_is_started_again_and_the_run_goes_on(tmp_path: Path) -> None:
    asked = (*TRAIN, *QUIET, "--steps", "200", "--watch.save-seconds", "0.1")
    one_process(*asked, "--out", str(tmp_path / "one"))
    run = Run(tmp_path / "two")
    process = torchrun(*asked, "--out", str(run.folder), restarts=1)
    until = time.monotonic() + 60
    while not (run.exists and run.step >= 48) and time.monotonic() < until:
        time.sleep(0.02)
    assert process.poll() is None, "it was over before it could be disturbed"
    os.kill(last_child(process.pid), signal.SIGKILL)
    out, _ = finish(process)
    assert "going on after step" in " ".join(out.split())
    assert run.finished
    same_up_to_rounding(run.metrics, Run(tmp_path / "one").metrics)


def last_child(parent: int) -> int:
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=True)
    return max(int(line) for line in children.stdout.split())


def test_a_grid_is_shared_cell_by_cell(tmp_path: Path) -> None:
    asked = ("evaluate", "parity-tiny", "--lengths", "3,5,8", "--samples", "7", "--device", "cpu")
    pictures = ("--save", str(tmp_path / "grid.png"))
    one_process(*asked, *pictures, "--out", str(tmp_path / "one.json"))
    out, _ = finish(torchrun(*asked, *pictures, "--out", str(tmp_path / "two.json")))
    ours, theirs = (json.loads((tmp_path / name).read_text()) for name in ("two.json", "one.json"))
    assert {key for key in ours if ours[key] != theirs[key]} <= {"seconds", "made"}
    assert Grid.load(tmp_path / "two.json").complete
    assert out.count("grid:") == 1


# What a process among others does.


@pytest.mark.parametrize("policy", ["shift", "random"])
def test_the_shares_of_a_batch_are_the_batch(policy: str) -> None:
    recipe = lw.presets.get("parity-tiny")
    task = lw.task("parity", id_policy=policy, max_ids=(40,))
    model = lw.Solver.new(task, recipe.encoding, recipe.model)
    recipe = replace(recipe, task=task, training=replace(recipe.training, batch_size=7, steps=3))
    (whole,) = Feed(recipe, model).at(2)
    parts = [Feed(recipe, model, AmongThree(rank, 3)).at(2)[0] for rank in range(3)]
    assert [len(part) for part in parts] == [2, 2, 3]
    assert torch.cat([part.tokens for part in parts]).equal(whole.tokens)
    assert torch.cat([part.position_ids for part in parts], dim=1).equal(whole.position_ids)
    assert torch.cat([part.expected for part in parts]).equal(whole.expected)


class AmongThree(Ranks):
    """A process whose fellows are not there: what it sums is its own."""

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor


def test_shares_are_even_and_leave_nothing_out() -> None:
    shares = [Ranks(rank, 4).share(10) for rank in range(4)]
    assert shares == [(0, 2), (2, 5), (5, 7), (7, 10)]


def test_alone_nothing_is_asked_of_anyone() -> None:
    tensor = torch.ones(3)
    assert ALONE.sum(tensor) is tensor
    assert ALONE.gather([1, 2]) == [[1, 2]]
    assert ALONE.tell("words") == "words"
    with joined("cpu") as ranks:
        assert (ranks.rank, ranks.size, ranks.device.type) == (0, 1, "cpu")
    assert own_rank() == 0


def test_who_is_alone_refuses_for_himself() -> None:
    def refuse() -> None:
        raise lw.InputError("no.")

    with pytest.raises(lw.InputError, match=r"^no\.$"):
        ALONE.settle(refuse)
