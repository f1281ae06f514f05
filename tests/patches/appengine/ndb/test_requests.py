"""Loops and contexts of requests, and the hashes of options: what stock ndb says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.appengine.datastore import datastore_query, datastore_rpc
from google.appengine.ext.ndb import context, eventloop, tasklets

from tests.patches.appengine.services import lazily

# The originals are in tuples: a module that holds one by a name is patched too late.
_STOCK_HASH = (datastore_rpc.BaseConfiguration.__hash__,)
_LOOP, _CONTEXT = eventloop._EVENT_LOOP_KEY, tasklets._CONTEXT_KEY


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize(
    "make",
    [
        lambda: datastore_rpc.Configuration(deadline=3),
        lambda: context.ContextOptions(),
        lambda: context.ContextOptions(use_cache=True, max_memcache_items=3),
        lambda: context.TransactionOptions(use_cache=True),
        lambda: datastore_query.QueryOptions(limit=3).merge(context.ContextOptions(use_cache=True)),
    ],
)
def test_equal_options_have_the_hash_of_stock(make: Callable[[], Any]) -> None:
    for _ in range(2):
        assert hash(make()) == _STOCK_HASH[0](make())
        assert {make(): 1}[make()] == 1


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
@pytest.mark.parametrize(
    ("find", "variable"),
    [
        (lambda: eventloop.get_event_loop(), _LOOP),
        (lambda: tasklets.get_context(), _CONTEXT),
    ],
    ids=["loop", "context"],
)
def test_a_request_has_its_own(
    find: Callable[[], Any], variable: str, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment says when a request has begun."""
    found = find()
    assert find() is found
    if ends == "variable":
        monkeypatch.delenv(variable)
    elif ends == "empty":
        monkeypatch.setenv(variable, "")
    else:
        others = {name: value for name, value in os.environ.items() if name != variable}
        monkeypatch.setattr(os, "environ", others)
    following = find()
    assert following is not found
    assert find() is following
