"""Reads of ``api.datastore`` over the in-memory service, lazy and stock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.api import datastore, datastore_types, users
from google.appengine.ext import ndb
from hypothesis import given

import lazyentity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine.entities import LazyEntity
from lazyentity.profiling.report import Report
from tests.patches.appengine.messages import (
    described,
    entity_protos,
    is_made,
    malformed,
    outcome,
    stock,
)
from tests.patches.appengine.services import fresh, lazily

pytestmark = pytest.mark.usefixtures("bed")


def stored(name: str = "one", **values: Any) -> Any:
    """Put an entity of many types; return its key."""
    entity = datastore.Entity("Kind", name=name, unindexed_properties=["hidden"])
    entity.update(
        {
            "text": datastore_types.Text("é" * 2000),
            "blob": datastore_types.Blob(b"\0\xff"),
            "when": datastore_types.datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
            "point": datastore_types.GeoPt(1.5, -2.5),
            "user": users.User("someone@example.com", _auth_domain="example.com"),
            "key": datastore_types.Key.from_path("Other", 7, "Kind", "x"),
            "link": datastore_types.Link("http://example.com/"),
            "category": datastore_types.Category("c"),
            "rating": datastore_types.Rating(5),
            "numbers": [3, 1, 2],
            "nothing": None,
            "none": [],
            "dotted.name": 1.5,
            "hidden": 7,
            "flag": True,
            **values,
        }
    )
    return datastore.Put(entity)


READS: dict[str, Callable[[Any], Any]] = {
    "Get": lambda key: datastore.Get(key),
    "Get of several": lambda key: datastore.Get([key, datastore_types.Key.from_path("Kind", "no")]),
    "GetAsync": lambda key: datastore.GetAsync(key).get_result(),
    "query": lambda _: list(datastore.Query("Kind").Run()),
    "query of some": lambda _: datastore.Query("Kind", {"flag =": True}).Get(5),
    "keys": lambda _: list(datastore.Query("Kind", keys_only=True).Run()),
    "projection": lambda _: list(datastore.Query("Kind", projection=["flag", "rating"]).Run()),
    "several queries": lambda _: list(
        datastore.MultiQuery(
            [datastore.Query("Kind", {"rating =": 5}), datastore.Query("Kind", {"flag =": True})],
            [],
        ).Run()
    ),
    "transaction": lambda key: datastore.RunInTransaction(datastore.Get, key),
    "bytes": lambda key: datastore.Entity.FromPb(datastore.Get(key).ToPb().SerializeToString()),
}


@pytest.mark.parametrize("read", list(READS))
def test_gives_what_stock_gives(read: str) -> None:
    key = stored()
    stored("two", flag=False)
    expected = READS[read](key)
    with lazily():
        found = READS[read](key)
        assert _is_lazy(found) == (read != "keys")
        assert described(found) == described(expected)
        assert found == expected
    assert not _is_lazy(READS[read](key))


def _is_lazy(found: Any) -> bool:
    entities = found if isinstance(found, list) else [found]
    return any(type(each) is LazyEntity for each in entities)


@pytest.mark.usefixtures("patched")
def test_reads_and_writes() -> None:
    key = stored()
    with lazyentity.eager():
        plain = datastore.Get(key)
    entity = datastore.Get(key)
    assert dict.__getitem__(entity, "text") is UNDECODED
    entity["rating"] = plain["rating"] = datastore_types.Rating(1)
    assert described(entity._ToPb()) == described(plain._ToPb())
    assert datastore.Put(entity) == key
    assert dict.__getitem__(entity, "text") is UNDECODED
    assert dict(datastore.Get(key)) == dict(plain)
    del entity["text"]
    datastore.Put([entity])
    assert "text" not in datastore.Get(key)


@pytest.mark.usefixtures("patched")
def test_eager_is_of_the_time_of_sending() -> None:
    key = stored()
    with lazyentity.eager():
        sent_inside = datastore.GetAsync(key)
        assert type(datastore.Get(key)) is datastore.Entity
        query = datastore.Query("Kind").Run()
        assert type(next(query)) is datastore.Entity
    sent_outside = datastore.GetAsync(key)
    assert type(sent_inside.get_result()) is datastore.Entity
    with lazyentity.eager():
        assert type(sent_outside.get_result()) is LazyEntity


@pytest.mark.usefixtures("patched")
@given(message=entity_protos() | malformed)
def test_conversion(message: Any) -> None:
    """A lazy entity, or what the client makes, or its error; in eager mode always the latter."""
    expected = outcome(lambda: stock(message))
    with lazyentity.eager():
        assert outcome(lambda: datastore.Entity._FromPb(message)) == expected
        assert type(outcome(lambda: datastore.Entity.FromPb(message))) is tuple
    if is_made(expected):
        found = datastore.Entity._FromPb(message)
        assert isinstance(found, LazyEntity)
        assert described(found) == expected


class Profiled(ndb.Model):
    name = ndb.StringProperty()
    number = ndb.IntegerProperty()
    tags = ndb.StringProperty(repeated=True)


def _profiled(read: Callable[[], Any]) -> Report:
    with lazily(), lazyentity.profile() as profile:
        read()
    return profile.report()


def test_decoding_everything() -> None:
    key = stored()
    size = len(datastore.Get(key).ToPb().SerializePartialToString())
    report = _profiled(lambda: datastore.Get(key).items())
    assert report.received[0].site.file == __file__
    assert [(kind.entities, kind.bytes) for kind in report.kinds] == [(1, size)]
    (line,) = report.decoded
    assert (line.kind, line.times) == ("Kind", len(datastore.Get(key)))


def test_models_of_ndb() -> None:
    for number in range(3):
        Profiled(name="one", number=number, tags=["a", "b"]).put()
    fresh()

    def read() -> None:
        for each in Profiled.query().fetch():
            _ = each.number, each.number, each.tags

    report = _profiled(read)
    (kind,) = report.kinds
    assert (kind.kind, kind.entities) == ("Profiled", 3)
    decoded = {each.name: each.decoded for each in kind.properties if each.decoded}
    assert decoded == {"number": 3, "tags": 3}
    assert not report.advice
