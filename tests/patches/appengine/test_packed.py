"""The packed property in models of App Engine's ndb, stock and lazy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.appengine.ext import ndb

import lazyentity
from lazyentity.packed import UnpackError, is_packed, pack, unpack
from lazyentity.packed import properties as packed_properties
from lazyentity.packed.appengine import PackedProperty

pytestmark = pytest.mark.usefixtures("reads")

DOCUMENT = {"lines": [{"price": 2.5}], "raw": b"\x00"}


class PackedOrder(ndb.Model):
    number = ndb.IntegerProperty()
    result = PackedProperty()
    short = PackedProperty("s", compress_from=0, max_size=100)
    many = PackedProperty(repeated=True)


class OldOrder(ndb.Model):
    """An order as its entity was before."""

    result = ndb.BlobProperty()

    @classmethod
    def _get_kind(cls) -> str:
        return "PackedOrder"


@pytest.fixture(params=["stock", "lazy"])
def reads(request: pytest.FixtureRequest, bed: Any) -> Iterator[None]:
    """Reads by stock ndb, and lazy ones, of services in memory and without caches."""
    ndb.Model._kind_map["PackedOrder"] = PackedOrder
    context = ndb.get_context()
    context.set_cache_policy(lambda _: False)
    context.set_memcache_policy(lambda _: False)
    if request.param == "lazy":
        lazyentity.patch("appengine", strict=True)
    yield
    lazyentity.unpatch()


def test_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document is unpacked when its attribute is read; else its bytes go back as they came."""
    unpacked: list[Any] = []

    def counted(stored: Any, **options: Any) -> Any:
        unpacked.append(stored)
        return unpack(stored, **options)

    monkeypatch.setattr(packed_properties, "unpack", counted)
    key = PackedOrder(number=1, result=DOCUMENT, short=[1], many=[{"a": 1}, [2]]).put()
    unpacked.clear()
    order = key.get()
    order.number = 2
    assert unpacked == []
    order.put()
    # Stock ndb makes the repr of each model that it puts.
    assert bool(unpacked) is not bool(lazyentity.patched())
    order = key.get()
    assert order.result == DOCUMENT
    assert all(map(is_packed, unpacked))
    assert (order.number, order.short, order.many) == (2, [1], [{"a": 1}, [2]])
    order.result["lines"].append({"price": 3})
    order.put()
    assert key.get().result["lines"] == [{"price": 2.5}, {"price": 3}]


def test_documents_that_are_none() -> None:
    """A packed None, as `pack()` and lists have it, is read as None, and written as it came."""
    key = OldOrder(result=pack(None)).put()
    ndb.Model._kind_map["PackedOrder"] = PackedOrder
    order = key.get()
    assert order.result is order.result is None
    order.put()
    assert key.get().result is None
    key = PackedOrder(many=[{"a": 1}, None], result=pack(None)).put()
    for _ in range(2):
        order = key.get()
        assert order.many == [{"a": 1}, None]
        # Bytes are a document, too, even these.
        assert order.result == pack(None)
        order.put()


def test_foreign_bytes() -> None:
    """A value that is no document is an error when the attribute is read."""
    key = OldOrder(result=b"foreign").put()
    ndb.Model._kind_map["PackedOrder"] = PackedOrder
    order = key.get()
    with pytest.raises(UnpackError, match="and packed documents with"):
        _ = order.result


def test_values_that_cannot_be_packed() -> None:
    with pytest.raises(TypeError, match=r"value\['a'\] cannot be packed"):
        PackedOrder(result={"a": 1j}).put()
    with pytest.raises(ValueError, match="more than 100; split it"):
        PackedOrder(short="x" * 100).put()
    with pytest.raises(TypeError, match="takes no argument 'indexed'"):
        PackedProperty(indexed=True)


class JsonOrder(ndb.Model):
    """An order as it was before its properties were packed."""

    result = ndb.JsonProperty()
    short = ndb.JsonProperty("s", compressed=True)
    number = ndb.IntegerProperty()

    @classmethod
    def _get_kind(cls) -> str:
        return "PackedOrder"


@pytest.mark.parametrize("document", [{"a": [1, None]}, [{"price": 2.5}], "text", 80])
def test_bytes_of_json_properties(document: Any) -> None:
    """They are read as before, and written packed once they were read."""
    keys = [JsonOrder(result=document, short=document, number=1).put() for _ in range(2)]
    ndb.Model._kind_map["PackedOrder"] = PackedOrder
    order, unread = ndb.get_multi(keys)
    assert type(order) is PackedOrder
    assert (order.result, order.short) == (document, document)
    order.put()
    unread.number = 2
    unread.put()
    order, unread = ndb.get_multi(keys)
    assert (order.result, order.short) == (document, document)
    assert (unread.number, unread.result, unread.short) == (2, document, document)
