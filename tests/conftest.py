"""Shapes in signatures are checked while the tests run, and `../shared/reference` is found where it exists."""

from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
from jaxtyping import install_import_hook

with install_import_hook("lengthwise", "beartype.beartype"):
    import lengthwise  # noqa: F401

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference"


@pytest.fixture
def as_users_run() -> Iterator[None]:
    """Without the type checks of the tests: what users give wrongly must be refused by the code itself."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def reference() -> Path:
    """What the authors' code does, as data; tests that compare with it are skipped where it is absent."""
    if not REFERENCE.is_dir():
        pytest.skip("no ../shared/reference beside this checkout: nothing to compare the authors' formats with")
    return REFERENCE
