"""Patching App Engine's client, whenever it is imported."""

from __future__ import annotations

from typing import Any

import pytest
from google.appengine.api import datastore, datastore_types
from hypothesis import given

import lazyentity
from lazyentity.patches.appengine.entities import LazyEntity
from tests.patches.appengine.sides import described, outcome, stock
from tests.patches.appengine.strategies import entity_protos, malformed
from tests.support.subprocesses import answer

_PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import lazyentity
"""


@pytest.mark.parametrize(
    "before",
    [
        "import lazyentity.auto\nfrom google.appengine.api import datastore",
        "import lazyentity.auto\nfrom google.appengine.ext import ndb",
        "from google.appengine.ext import ndb\nimport lazyentity.auto",
    ],
)
def test_the_client_of_the_cloud_is_patched_as_well(before: str) -> None:
    """Patching App Engine's client imports it."""
    program = f"{_PROGRAM}warnings.simplefilter('error', RuntimeWarning)\n{before}\n"
    patched = answer("-c", f"{program}print(json.dumps(lazyentity.patched()))", warnings="ignore")
    assert {"datastore", "appengine"} <= set(patched)


@pytest.mark.usefixtures("patched")
@given(message=entity_protos() | malformed)
def test_conversion(message: Any) -> None:
    """A lazy entity, or what the client makes, or its error; in eager mode always the latter."""
    expected = outcome(lambda: stock(message))
    with lazyentity.eager():
        assert outcome(lambda: datastore.Entity._FromPb(message)) == expected
        assert type(outcome(lambda: datastore.Entity.FromPb(message))) is tuple
    found = datastore.Entity._FromPb(message) if type(expected[0]) is list else None
    if found is not None:
        assert isinstance(found, LazyEntity)
        assert described(found) == expected


@pytest.mark.parametrize("lack", ["path", "id", "kind", "app", "zero"])
def test_keys_that_the_client_refuses(patched: None, lack: str) -> None:
    message = stock_message()
    element = message.key.path.element[0]
    if lack == "path":
        message.key.path.Clear()
    elif lack == "id":
        element.ClearField("id")
    elif lack == "kind":
        element.type = ""
    elif lack == "app":
        message.key.app = ""
    else:
        element.id = 0
    expected = outcome(lambda: stock(message))
    assert outcome(lambda: datastore.Entity._FromPb(message)) == expected
    raw = message.SerializePartialToString()
    lazily = outcome(lambda: datastore.Entity.FromPb(raw))
    lazyentity.unpatch("appengine")
    assert lazily == outcome(lambda: datastore.Entity.FromPb(raw))


def stock_message() -> Any:
    """Make an entity of one property."""
    entity = datastore.Entity("Kind", id=1, _app="app", namespace="")
    entity["a"] = datastore_types.Text("text")
    return entity._ToPb()
