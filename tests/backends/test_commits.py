"""Parts of commits: both backends write the same."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazyentity.pure import commits

pytestmark = pytest.mark.any_backend

native: Any = importlib.import_module("lazyentity.native.encoder")


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["insert", "upsert", "delete"]),
            st.binary() | st.integers(100, 20_000).map(bytes),
            max_size=1,
        )
    )
)
def test_parts(mutations: list[dict[str, bytes]]) -> None:
    """Both backends write the same."""
    parts = native.mutation_parts(iter(mutations))
    assert b"".join(parts) == b"".join(commits.mutation_parts(mutations))


@pytest.mark.parametrize("fields", [{"update": b""}, {"upsert": "text"}, {"upsert": None}])
def test_other_mutations(fields: Any) -> None:
    with pytest.raises((KeyError, TypeError)):
        native.mutation_parts([fields])
