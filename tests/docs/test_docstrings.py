"""The docstrings of the public functions open with an example that runs."""

from __future__ import annotations

import doctest
import inspect

import pytest

import lazyentity
from lazyentity.bench.server.process import LoopbackServer

NAMES = [name for name in lazyentity.__all__ if callable(getattr(lazyentity, name))]
LIBRARIES = {"to_pandas": "pandas", "to_arrow": "pyarrow"}


@pytest.mark.parametrize("name", NAMES)
def test_example(name: str, emulated: LoopbackServer) -> None:
    """It comes after the first line, and needs nothing but a server."""
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    text = inspect.getdoc(getattr(lazyentity, name))
    assert text is not None
    opening = text.split("\n\n")[1]
    assert opening.startswith(">>> import lazyentity\n")
    example = doctest.DocTestParser().get_doctest(opening + "\n", {}, name, None, 0)
    outcome = doctest.DocTestRunner().run(example)
    assert outcome.attempted > 1
    assert outcome.failed == 0
