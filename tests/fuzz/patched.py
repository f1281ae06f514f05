"""Patched clients for a batch of cases, which the stock clients do afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import Phase, settings

import lazyentity
from tests.fuzz import material

few = settings(
    max_examples=settings().max_examples // 5,
    phases=[phase for phase in Phase if phase is not Phase.explain],
)
"""Each example has several cases, as patching takes longer than a case does."""


@contextmanager
def clients() -> Iterator[None]:
    """Patch all clients while inside."""
    # The corpus is read by the stock client.
    material.entities()
    lazyentity.patch(strict=True)
    try:
        yield
    finally:
        lazyentity.unpatch()
