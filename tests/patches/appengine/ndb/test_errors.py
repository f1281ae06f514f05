"""The errors of values: stock's own, with a note of key and property that never replaces them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.api import datastore, datastore_types
from google.appengine.datastore.entity_bytes_pb2 import Property
from google.appengine.ext import ndb
from google.appengine.ext.ndb import context

from tests.patches.appengine.ndb.pairs import lazy_model, stock_model
from tests.patches.appengine.ndb.services import fresh
from tests.patches.appengine.services import lazily
from tests.patches.models.pairs import is_lazy
from tests.support import hostile
from tests.support.snapshots import Raised, outcome

Make = Callable[[], Exception]
_to_raise: list[Make] = []


class Failing(ndb.StringProperty):
    """A property whose conversion raises any error."""

    def _from_base_type(self, value: Any) -> Any:
        if _to_raise:
            raise _to_raise[0]()
        return value


class Inner(ndb.Model):
    document = ndb.JsonProperty()
    name = ndb.StringProperty()


class Outer(ndb.Model):
    document = ndb.JsonProperty()
    name = ndb.StringProperty("n")
    failing = Failing("f")
    failing_list = Failing("fs", repeated=True)
    inner = ndb.LocalStructuredProperty(Inner)
    inners = ndb.LocalStructuredProperty(Inner, repeated=True)
    with_keys = ndb.LocalStructuredProperty(Inner, keep_keys=True)


MALFORMED = b"{not JSON"


def _replace(message: Any, name: str, contents: bytes, **options: Any) -> None:
    kept = [each for each in message.raw_property if each.name != name]
    del message.raw_property[:]
    message.raw_property.extend(kept)
    added = message.raw_property.add(name=name, **{"multiple": False, **options})
    added.value.stringValue = contents


def _broken(made: Any) -> bytes:
    """Serialise a model, with a document that is not JSON."""
    message = made._to_pb()
    _replace(message, "document", MALFORMED)
    raw: bytes = message.SerializePartialToString()
    return raw


def _outer() -> bytes:
    """Serialise a model with such a document, and such models inside."""
    message = Outer(id=5, name="outer", failing="f", failing_list=["f"])._to_pb()
    _replace(message, "document", MALFORMED)
    inner = _broken(Inner(name="inner"))
    encoded = Property.ENTITY_PROTO
    _replace(message, "inner", inner, meaning=encoded)
    _replace(message, "inners", inner, meaning=encoded, multiple=True)
    _replace(message, "with_keys", _broken(Inner(id="k", name="inner")), meaning=encoded)
    raw: bytes = message.SerializeToString()
    return raw


READS: dict[str, Callable[[Any], Any]] = {
    "document": lambda outer: outer.document,
    "inner": lambda outer: outer.inner.document,
    "inners": lambda outer: outer.inners[0].document,
    "with_keys": lambda outer: outer.with_keys.document,
}


@pytest.mark.parametrize("read", READS)
def test_models_inside_of_models(read: str) -> None:
    """An inner model has a key of its own, or none."""
    raw = _outer()
    stock, lazy = stock_model(raw), lazy_model(raw)
    expected = outcome(READS[read], stock)
    assert isinstance(expected, Raised)
    assert expected.kind is json.JSONDecodeError
    assert is_lazy(lazy)
    for _ in range(2):
        with lazily():
            assert outcome(READS[read], lazy) == expected
            with pytest.raises(json.JSONDecodeError) as caught:
                READS[read](lazy)
    (note,) = caught.value.__notes__
    owner = {
        "document": "the entity Key('Outer', 5)",
        "with_keys": "the entity Key('Inner', 'k')",
    }.get(read, "an entity without a key")
    assert note == f"while decoding property 'document' of {owner}"


@pytest.mark.usefixtures("bed")
def test_models_from_memcache() -> None:
    """The entities in memcache have no keys; the note has the key that was asked for."""
    stored = datastore.Entity("Outer", id=5)
    stored.update({"document": datastore_types.Blob(MALFORMED), "n": "outer"})
    datastore.Put(stored)

    def read() -> tuple[Any, Exception]:
        key = ndb.Key("Outer", 5)
        assert context.memcache.get(context.Context._memcache_prefix + key.urlsafe()) is not None
        fresh()
        found = key.get()
        with pytest.raises(json.JSONDecodeError) as caught:
            _ = found.document
        return found, caught.value

    fresh()
    ndb.Key("Outer", 5).get()
    _, stock = read()
    with lazily():
        found, error = read()
        assert is_lazy(found)
        assert found.name == "outer"
    assert str(error) == str(stock)
    assert error.__notes__ == ["while decoding property 'document' of the entity Key('Outer', 5)"]


def _read_all(model: Any) -> list[Any]:
    return [
        outcome(lambda: model.failing),
        outcome(lambda: model.failing_list),
        outcome(lambda: model.name),
    ]


@pytest.mark.parametrize("sort", hostile.ERRORS)
def test_errors_of_any_class(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they take notes or not, and at each read."""
    monkeypatch.setattr(hostile.Unsayable, "__str__", lambda self: "said")
    raw = _outer()
    _to_raise.append(hostile.ERRORS[sort])
    try:
        stock, lazy = stock_model(raw), lazy_model(raw)
        expected = _read_all(stock)
        assert {type(each) for each in expected[:2]} == {Raised}
        with lazily():
            for _ in range(2):
                assert _read_all(lazy) == expected
    finally:
        _to_raise.clear()


def test_an_error_that_is_raised_again_and_again() -> None:
    """It has one note of each property."""
    error = ValueError("always the same")
    _to_raise.append(lambda: error)
    try:
        lazy = lazy_model(_outer())
        with lazily():
            for _ in range(3):
                with pytest.raises(ValueError, match="always the same"):
                    _ = lazy.failing
    finally:
        _to_raise.clear()
    assert len(error.__notes__) == 1


@pytest.mark.parametrize("sort", hostile.VALUES)
def test_keys_without_a_text(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An application may give keys any text, or none."""
    expected = outcome(READS["document"], stock_model(_outer()))
    lazy = lazy_model(_outer())
    monkeypatch.setattr(ndb.Key, "__repr__", lambda self: repr(hostile.VALUES[sort]()))
    with lazily():
        assert outcome(READS["document"], lazy) == expected
