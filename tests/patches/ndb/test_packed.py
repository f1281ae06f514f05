"""The packed property in models of google-cloud-ndb."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import datastore, ndb

from lazyentity import packed
from lazyentity.packed import PackedProperty, is_packed
from tests.patches.models.packed import Context, PackedCases, orders
from tests.support import clients


@pytest.fixture
def context(client: Any) -> Context:
    """Enters a context of a server."""
    return functools.partial(client.context, cache_policy=False)


@pytest.fixture
def other_client(loopback_port: int) -> Iterator[datastore.Client]:
    """A client of google-cloud-datastore of the same server."""
    made = clients.make_client(loopback_port, "grpc")
    yield made
    clients.close(made)


MODELS = orders(ndb, PackedProperty)


class TestPacked(PackedCases):
    client = "ndb"
    models = MODELS
    packed_property = PackedProperty

    @staticmethod
    def _store_as_before(context: Context, other_client: datastore.Client, value: Any) -> Any:
        """Store an order as another program did; return its key."""
        with context():
            key = MODELS.PackedOrder(number=1).put()
        entity = datastore.Entity(key._key, exclude_from_indexes=("result",))
        entity.update({"number": 1, "result": value})
        other_client.put(entity)
        return key

    def test_embedded_entities_of_before(
        self, context: Context, other_client: datastore.Client
    ) -> None:
        """An embedded entity is read as a dict, stays as it is if unread, and is packed if read."""
        key = self._store_as_before(context, other_client, {"lines": [{"price": 2.5}]})
        with context():
            order = key.get()
            order.number = 2
            order.put()
        assert other_client.get(key._key)["result"] == {"lines": [{"price": 2.5}]}
        with context():
            order = key.get()
            found = order.result
            assert found == {"lines": [{"price": 2.5}]}
            assert type(found) is type(found["lines"][0]) is dict
            order.put()
        with context():
            order = key.get()
            assert (order.number, order.result) == (2, {"lines": [{"price": 2.5}]})
        assert is_packed(other_client.get(key._key)["result"])

    @pytest.mark.parametrize("stored", [b"null", zlib.compress(b"null"), zlib.compress(b"[1]")])
    def test_bytes_of_json_without_a_meaning(
        self, context: Context, other_client: datastore.Client, stored: bytes
    ) -> None:
        """As other clients write them."""
        key = self._store_as_before(context, other_client, stored)
        with context():
            expected = [1] if stored == zlib.compress(b"[1]") else None
            assert key.get().result == expected


def test_of_the_package() -> None:
    assert packed.PackedProperty is PackedProperty
    assert "PackedProperty" in packed.__all__
    with pytest.raises(AttributeError):
        _ = packed.OtherProperty  # type: ignore[attr-defined]  # as it is to be
    assert repr(MODELS.PackedOrder.short).startswith("PackedProperty(")
