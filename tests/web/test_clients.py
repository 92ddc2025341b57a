"""The benchmark with many clients, in short: nothing goes wrong, and memory does not run away."""

import json
import os
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "clients.py"


def test_eight_people_for_three_seconds(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(BENCHMARK), "--clients", "8", "--seconds", "3", "--out", str(tmp_path / "found.json")],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    assert "0 errors" in ended.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["errors"] == []
    assert found["requests"] >= 8
    assert found["seconds"]["watch to the end"][0] >= 1
    start, _, end = found["memory_mib"]
    assert end < start + 200
