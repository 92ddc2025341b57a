"""Threads sleep sooner than torch has it, unless someone has said otherwise."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("given", "found"), [(None, "1000"), ("7", "7")])
def test_waiting_is_set_before_torch_is_loaded(given: str | None, found: str) -> None:
    program = """
import os, sys
seen = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            seen.append(os.environ.get("GOMP_SPINCOUNT"))
sys.meta_path.insert(0, Watch())
import lengthwise
print(seen[0])
"""
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    environment |= {} if given is None else {"GOMP_SPINCOUNT": given}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == [found]
