"""The packed property in models of google-cloud-ndb, stock and lazy."""

from __future__ import annotations

import datetime
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.cloud import datastore, ndb

import lazyentity
from lazyentity import packed
from lazyentity.packed import PackedProperty, UnpackError, is_packed, unpack
from lazyentity.packed import properties as packed_properties
from tests.patches.ndb.conftest import Server
from tests.support import clients

AT = datetime.datetime(2024, 5, 6, tzinfo=datetime.timezone.utc)
DOCUMENT = {"lines": [{"price": 2.5}], "at": AT, "raw": b"\x00"}


class PackedOrder(ndb.Model):
    number = ndb.IntegerProperty()
    result = PackedProperty()
    short = PackedProperty("s", compress_from=0, max_size=100)
    many = PackedProperty(repeated=True)
    with_default = PackedProperty(default=[1])


@pytest.fixture(params=["stock", "lazy"])
def reads(request: pytest.FixtureRequest) -> Iterator[None]:
    """Reads by stock ndb, and lazy ones."""
    if request.param == "lazy":
        lazyentity.patch("ndb", strict=True)
    yield
    lazyentity.unpatch()


@contextmanager
def _context(client: Any) -> Iterator[None]:
    with client.context(cache_policy=False):
        yield


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The stored values that were unpacked."""
    values: list[Any] = []

    def counted(stored: Any, **options: Any) -> Any:
        values.append(stored)
        return unpack(stored, **options)

    monkeypatch.setattr(packed_properties, "unpack", counted)
    return values


@pytest.mark.usefixtures("reads")
def test_round_trip(client: Any, unpacked: list[Any]) -> None:
    """A document is unpacked when its attribute is read; else its bytes go back as they came."""
    with _context(client):
        key = PackedOrder(number=1, result=DOCUMENT, short=[1], many=[{"a": 1}, [2]]).put()
    with _context(client):
        order = key.get()
        assert order.number == 1
        order.number = 2
        order.put()
        assert unpacked == []
    with _context(client):
        order = key.get()
        assert order.result == DOCUMENT
        assert len(unpacked) == 1
        assert order.result is order.result
        assert (order.number, order.short, order.many) == (2, [1], [{"a": 1}, [2]])
        assert order.with_default == [1]
        order.result["lines"].append({"price": 3})
        order.put()
    with _context(client):
        assert key.get().result["lines"] == [{"price": 2.5}, {"price": 3}]
        assert key.get().with_default == [1]


@pytest.fixture
def other_client(loopback: Server) -> Iterator[datastore.Client]:
    """A client of google-cloud-datastore of the same server."""
    port = int(loopback.host.rpartition(":")[2])
    made = clients.make_client(port, "grpc")
    yield made
    clients.close(made)


def _store_as_before(client: Any, other_client: datastore.Client, value: Any) -> Any:
    """Store an order as an application did before it packed anything; returns its key."""
    with _context(client):
        key = PackedOrder(number=1).put()
    entity = datastore.Entity(key._key, exclude_from_indexes=("result",))
    entity.update({"number": 1, "result": value})
    other_client.put(entity)
    return key


@pytest.mark.usefixtures("reads")
def test_embedded_entities_of_before(client: Any, other_client: datastore.Client) -> None:
    """An embedded entity is read as a dict, stays as it is if unread, and is packed if read."""
    key = _store_as_before(client, other_client, {"lines": [{"price": 2.5}]})
    with _context(client):
        order = key.get()
        order.number = 2
        order.put()
    assert other_client.get(key._key)["result"] == {"lines": [{"price": 2.5}]}
    with _context(client):
        order = key.get()
        found = order.result
        assert found == {"lines": [{"price": 2.5}]}
        assert type(found) is type(found["lines"][0]) is dict
        order.put()
    with _context(client):
        order = key.get()
        assert (order.number, order.result) == (2, {"lines": [{"price": 2.5}]})
    assert is_packed(other_client.get(key._key)["result"])


@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize(
    "none", [packed.pack(None), b"\xf5L\x01\x00\x04\x00\x00\x00null"], ids=["new", "version 1"]
)
def test_documents_that_are_none(client: Any, other_client: datastore.Client, none: bytes) -> None:
    """A packed None, as `pack()` and lists have it, is read as None, and written as it came."""
    key = _store_as_before(client, other_client, none)
    with _context(client):
        order = key.get()
        order.number = 2
        order.put()
        assert key.get().result is None
        assert key.get().to_dict()["result"] is None
        order = key.get()
        assert order.result is order.result is None
        order.put()
    assert unpack(other_client.get(key._key)["result"]) is None
    with _context(client):
        key = PackedOrder(many=[{"a": 1}, None], result=packed.pack(None)).put()
    for _ in range(2):
        with _context(client):
            order = key.get()
            assert order.many == [{"a": 1}, None]
            # Bytes are a document, too, even these.
            assert order.result == packed.pack(None)
            order.put()


@pytest.mark.usefixtures("reads")
def test_foreign_bytes(client: Any, other_client: datastore.Client) -> None:
    """A value that is no document is an error when the attribute is read, and only then."""
    key = _store_as_before(client, other_client, b"foreign")
    with _context(client):
        order = key.get()
        assert order.number == 1
        with pytest.raises(UnpackError, match="and packed documents with"):
            _ = order.result


def test_values_that_cannot_be_packed(client: Any) -> None:
    with _context(client), pytest.raises(TypeError, match=r"value\['a'\] cannot be packed"):
        PackedOrder(result={"a": 1j}).put()
    with _context(client), pytest.raises(ValueError, match="more than 100; split it"):
        PackedOrder(short="x" * 100).put()


@pytest.mark.parametrize("option", ["compressed", "indexed"])
def test_options_that_make_no_sense(option: str) -> None:
    options: dict[str, Any] = {option: True}
    with pytest.raises(TypeError, match=f"takes no argument '{option}'"):
        PackedProperty(**options)


def test_of_the_package() -> None:
    assert packed.PackedProperty is PackedProperty
    assert "PackedProperty" in packed.__all__
    with pytest.raises(AttributeError):
        _ = packed.OtherProperty  # type: ignore[attr-defined]  # as it is to be
    assert repr(PackedOrder.short).startswith("PackedProperty(")


class JsonOrder(ndb.Model):
    """The stored form of :class:`MovedOrder` before it was changed."""

    result = ndb.JsonProperty()
    compressed = ndb.JsonProperty(compressed=True)
    number = ndb.IntegerProperty()

    @classmethod
    def _get_kind(cls) -> str:
        return "MovedOrder"


class MovedOrder(ndb.Model):
    result = PackedProperty()
    compressed = PackedProperty()
    number = ndb.IntegerProperty()


@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize("document", [DOCUMENT["lines"], {"a": [1, None]}, "text", 80])
def test_bytes_of_json_properties(client: Any, document: Any) -> None:
    """They are read as before, and written packed once they were read."""
    with _context(client):
        key = JsonOrder(result=document, compressed=document, number=1).put()
        other = JsonOrder(result=document, compressed=document).put()
    with _context(client):
        order = MovedOrder.get_by_id(key.id())
        assert (order.result, order.compressed) == (document, document)
        order.put()
        unread = MovedOrder.get_by_id(other.id())
        unread.number = 2
        unread.put()
    with _context(client):
        order = MovedOrder.get_by_id(key.id())
        assert (order.result, order.compressed) == (document, document)
        unread = MovedOrder.get_by_id(other.id())
        assert (unread.number, unread.result, unread.compressed) == (2, document, document)


@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize("stored", [b"null", zlib.compress(b"null"), zlib.compress(b"[1]")])
def test_bytes_of_json_without_a_meaning(
    client: Any, other_client: datastore.Client, stored: bytes
) -> None:
    """As other clients write them."""
    key = _store_as_before(client, other_client, stored)
    with _context(client):
        expected = [1] if stored == zlib.compress(b"[1]") else None
        assert key.get().result == expected
