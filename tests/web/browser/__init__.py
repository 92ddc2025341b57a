"""The page in a real browser, as people use it."""

import pytest

pytest.register_assert_rewrite("browser.tab")
