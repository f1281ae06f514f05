"""Patching App Engine's client, whenever it is imported."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType
from typing import Any

import pytest
from google.appengine.api import datastore, datastore_types
from hypothesis import given

import lazyentity
from lazyentity.patches.appengine.entities import LazyEntity
from lazyentity.patches.appengine.seams import CLIENT
from tests.patches.appengine.sides import described, outcome, stock
from tests.patches.appengine.strategies import entity_protos, malformed
from tests.support.subprocesses import answer

_PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import lazyentity
"""

_READ = """
from google.appengine.api import datastore
from google.appengine.datastore.entity_bytes_pb2 import EntityProto
message = EntityProto()
message.key.app = "app"
message.key.path.element.add(type="Kind", id=1)
read = type(datastore.Entity._FromPb(message)).__name__
print(json.dumps([read, lazyentity.patched()]))
"""


_IS_LAZY = ["LazyEntity", ["appengine"]]
_IS_STOCK: list[Any] = ["Entity", []]


@pytest.mark.parametrize(
    ("before", "environment", "expected"),
    [
        ("import lazyentity.auto", {}, _IS_LAZY),
        ("from google.appengine.api import datastore\nimport lazyentity.auto", {}, _IS_LAZY),
        ("lazyentity.patch('appengine'); lazyentity.unpatch()", {}, _IS_STOCK),
        ("import lazyentity.auto", {"LAZYENTITY_DISABLE": "1"}, _IS_STOCK),
        ("import lazyentity.auto", {"LAZYENTITY_EAGER": "1"}, ["Entity", ["appengine"]]),
    ],
)
def test_orders(before: str, environment: dict[str, str], expected: list[Any]) -> None:
    read, patched = answer("-c", _PROGRAM + before + _READ, warnings="ignore", **environment)
    assert [read, [name for name in patched if name == "appengine"]] == expected


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


def test_an_unsupported_version_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CLIENT, "supported", ">=9.8,<9.9")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lazyentity.patch("appengine")
        lazyentity.patch("appengine")
    told = [str(each.message) for each in caught if "lazyentity" in str(each.message)]
    assert len(told) == 1
    assert "is not supported (supported: >=9.8,<9.9)" in told[0]
    assert lazyentity.patched() == ()
    assert not any(part.patch.active for part in CLIENT.with_parts())
    with pytest.raises(RuntimeError, match="not supported"):
        lazyentity.patch("appengine", strict=True)


def test_is_taken_back() -> None:
    original = datastore.Entity.__dict__["_FromPb"]
    lazyentity.patch("appengine", strict=True)
    lazyentity.patch("appengine", strict=True)
    assert datastore.Entity.__dict__["_FromPb"] is not original
    lazyentity.unpatch("appengine")
    assert datastore.Entity.__dict__["_FromPb"] is original


def test_a_conversion_replaced_before_stays_in_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        datastore.Entity, "_FromPb", staticmethod(lambda pb, *args, **kwargs: "theirs")
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lazyentity.patch("appengine")
    try:
        assert datastore.Entity._FromPb(None) == "theirs"
        assert any("stays in charge" in str(each.message) for each in caught)
    finally:
        lazyentity.unpatch("appengine")


@pytest.mark.usefixtures("searched_modules")
def test_modules_that_hold_the_conversion_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("holder")
    module.from_pb = datastore.Entity._FromPb
    monkeypatch.setitem(sys.modules, "holder", module)
    with pytest.warns(RuntimeWarning, match=r"patched too late.*Entity\._FromPb.*holder"):
        lazyentity.patch("appengine", strict=True)
    lazyentity.unpatch("appengine")


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
