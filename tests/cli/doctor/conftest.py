from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import lazyentity
from lazyentity._choice import REQUEST
from lazyentity.cli.doctor import variables


@pytest.fixture(autouse=True)
def _nothing_is_set_and_nothing_patched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The doctor sees the environment and the patches of the test alone."""
    for name in [name for name in os.environ if name.startswith("LAZYENTITY_")]:
        if name != REQUEST:
            monkeypatch.delenv(name)
    monkeypatch.delenv(variables.EMULATOR, raising=False)
    assert lazyentity.patched() == ()
    yield
    lazyentity.unpatch()
