"""Shapes in signatures are checked while the tests run, and `../shared/reference` is found where it exists."""

from pathlib import Path

import pytest
from jaxtyping import install_import_hook

with install_import_hook("lengthwise", "beartype.beartype"):
    import lengthwise  # noqa: F401

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference"


@pytest.fixture(scope="session")
def reference() -> Path:
    """What the authors' code does, as data; tests that compare with it are skipped where it is absent."""
    if not REFERENCE.is_dir():
        pytest.skip("no ../shared/reference beside this checkout: nothing to compare the authors' formats with")
    return REFERENCE
