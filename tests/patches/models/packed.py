"""The packed property in models of ndb, stock and lazy, whichever library they are of."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple
from unittest import mock

import pytest

import lazyentity
from lazyentity.packed import UnpackError, is_packed, pack, properties as packed_properties, unpack
from lazyentity.patches.clients import ClientName

AT = datetime.datetime(2024, 5, 6, tzinfo=datetime.timezone.utc)
DOCUMENT = {"lines": [{"price": 2.5}], "at": AT, "raw": b"\x00"}

Context = Callable[[], AbstractContextManager[Any]]


class Orders(NamedTuple):
    """Models of the same kind, of which the last one is ndb's model of the kind."""

    WithBytes: Any
    WithJson: Any
    PackedOrder: Any


def orders(ndb: Any, packed_property: Any) -> Orders:
    """Define orders as they were before their properties were packed, and as they are then."""

    class Before(ndb.Model):  # type: ignore[misc]
        @classmethod
        def _get_kind(cls) -> str:
            return "PackedOrder"

    class WithBytes(Before):
        number = ndb.IntegerProperty()
        result = ndb.BlobProperty()

    class WithJson(Before):
        number = ndb.IntegerProperty()
        result = ndb.JsonProperty()
        short = ndb.JsonProperty("s", compressed=True)

    class PackedOrder(ndb.Model):  # type: ignore[misc]
        number = ndb.IntegerProperty()
        result = packed_property()
        short = packed_property("s", compress_from=0, max_size=100)
        many = packed_property(repeated=True)
        with_default = packed_property(default=[1])

    return Orders(WithBytes, WithJson, PackedOrder)


class PackedCases:
    """The tests; a subclass names the library, and its module has a fixture ``context``.

    That one enters a context that caches nothing.
    """

    client: ClassVar[ClientName]
    models: ClassVar[Orders]
    packed_property: ClassVar[Any]
    shows_what_it_puts: ClassVar[bool] = False
    """Whether stock ndb makes the ``repr`` of each model that it puts."""

    @pytest.fixture(params=["stock", "lazy"], autouse=True)
    def _reads(self, request: pytest.FixtureRequest, context: Context) -> Iterator[None]:
        if request.param == "lazy":
            lazyentity.patch(self.client, strict=True)
        yield
        lazyentity.unpatch()

    @pytest.fixture
    def unpacked(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """The stored values that were unpacked."""
        values: list[Any] = []

        def counted(stored: Any, **options: Any) -> Any:
            values.append(stored)
            return unpack(stored, **options)

        monkeypatch.setattr(packed_properties, "unpack", counted)
        return values

    def _stored_bytes(self, context: Context, key: Any) -> Any:
        kinds = self.models.PackedOrder._kind_map
        with mock.patch.dict(kinds, PackedOrder=self.models.WithBytes), context():
            return key.get().result

    def test_round_trip(self, context: Context, unpacked: list[Any]) -> None:
        """A document is unpacked when its attribute is read; else its bytes go back as they are."""
        with context():
            order = self.models.PackedOrder(
                number=1, result=DOCUMENT, short=[1], many=[{"a": 1}, [2]]
            )
            key = order.put()
        assert self.shows_what_it_puts or unpacked == []
        unpacked.clear()
        with context():
            order = key.get()
            assert order.number == 1
            order.number = 2
            assert unpacked == []
            order.put()
        assert bool(unpacked) is (self.shows_what_it_puts and not lazyentity.patched())
        unpacked.clear()
        with context():
            order = key.get()
            assert order.result == DOCUMENT
            assert [*map(is_packed, unpacked)] == [True]
            assert order.result is order.result
            assert (order.number, order.short, order.many) == (2, [1], [{"a": 1}, [2]])
            assert order.with_default == [1]
            order.result["lines"].append({"price": 3})
            order.put()
        with context():
            assert key.get().result["lines"] == [{"price": 2.5}, {"price": 3}]
            assert key.get().with_default == [1]

    @pytest.mark.parametrize(
        "none", [pack(None), b"\xf5L\x01\x00\x04\x00\x00\x00null"], ids=["new", "version 1"]
    )
    def test_documents_that_are_none(self, context: Context, none: bytes) -> None:
        """A packed None, as `pack()` and lists have it, is read as None, and written as it came."""
        with context():
            key = self.models.WithBytes(number=1, result=none).put()
        with context():
            order = key.get()
            order.number = 2
            order.put()
            assert key.get().result is None
            assert key.get().to_dict()["result"] is None
            order = key.get()
            assert order.result is order.result is None
            order.put()
        assert unpack(self._stored_bytes(context, key)) is None
        with context():
            key = self.models.PackedOrder(many=[{"a": 1}, None], result=pack(None)).put()
        for _ in range(2):
            with context():
                order = key.get()
                assert order.many == [{"a": 1}, None]
                # Bytes are a document, too, even these.
                assert order.result == pack(None)
                order.put()

    def test_errors(self, context: Context) -> None:
        """A value that is no document is an error when the attribute is read, and only then."""
        with context():
            key = self.models.WithBytes(number=1, result=b"foreign").put()
        with context():
            order = key.get()
            assert order.number == 1
            with pytest.raises(UnpackError, match="and packed documents with"):
                _ = order.result
            with pytest.raises(TypeError, match=r"value\['a'\] cannot be packed"):
                self.models.PackedOrder(result={"a": 1j}).put()
            with pytest.raises(ValueError, match="more than 100; split it"):
                self.models.PackedOrder(short="x" * 100).put()
        for option in ("compressed", "indexed"):
            with pytest.raises(TypeError, match=f"takes no argument '{option}'"):
                self.packed_property(**{option: True})

    @pytest.mark.parametrize("document", [DOCUMENT["lines"], {"a": [1, None]}, "text", 80])
    def test_bytes_of_json_properties(self, context: Context, document: Any) -> None:
        """They are read as before, and written packed once they were read."""
        before = {"result": document, "short": document, "number": 1}
        with context():
            key, other = (self.models.WithJson(**before).put() for _ in range(2))
        with context():
            order, unread = key.get(), other.get()
            assert type(order) is self.models.PackedOrder
            assert (order.result, order.short) == (document, document)
            order.put()
            unread.number = 2
            unread.put()
        with context():
            order, unread = key.get(), other.get()
            assert (order.result, order.short) == (document, document)
            assert (unread.number, unread.result, unread.short) == (2, document, document)
