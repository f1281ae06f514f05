"""Rows of the native backend; :mod:`tests.entity.test_columns` compares them with entities."""

from __future__ import annotations

import pytest

from tests.backends.columns import columns_of, row
from tests.support.strategies.samples import PLAIN

pytestmark = pytest.mark.any_backend


def test_rows_of_no_entity() -> None:
    """They are empty."""
    made = row("native", PLAIN)
    empty = type(made)()
    assert columns_of("native", [empty, made], ("number",)) == {"number": [None, 42]}
