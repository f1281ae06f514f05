"""The contexts of requests are those of stock ndb."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from google.appengine.ext.ndb import tasklets

from tests.patches.appengine.services import lazily


@pytest.fixture(params=["stock", "lazy"])
def side(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stock ndb, and a patched one."""
    if request.param == "stock":
        yield
        return
    with lazily():
        yield


@pytest.mark.usefixtures("bed", "side")
@pytest.mark.parametrize("ends", ["variable", "empty", "mapping"])
def test_a_request_has_its_own(ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment says when a request has begun."""
    variable = tasklets._CONTEXT_KEY
    found = tasklets.get_context()
    assert tasklets.get_context() is found
    if ends == "variable":
        monkeypatch.delenv(variable)
    elif ends == "empty":
        monkeypatch.setenv(variable, "")
    else:
        others = {name: value for name, value in os.environ.items() if name != variable}
        monkeypatch.setattr(os, "environ", others)
    following = tasklets.get_context()
    assert following is not found
    assert tasklets.get_context() is following
