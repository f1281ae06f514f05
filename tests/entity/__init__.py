"""Tests of lazy entities against the entities that the stock client makes of the same bytes."""

from __future__ import annotations

import pytest

# Their assertions are to show what differs, as those in test modules do.
for _helper in ("consumption", "parts", "snapshots", "stock"):
    pytest.register_assert_rewrite(f"{__name__}.{_helper}")
