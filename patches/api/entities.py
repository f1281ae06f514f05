"""Proxies of the entities in a read response: each is an entity's bytes, ready to be read."""

from __future__ import annotations

import contextlib
from typing import Any

from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2

from lazyentity._backend import EntityBytes, ResultBytes, ViewAs
from lazyentity.codec import messages
from lazyentity.codec.keys import key_message_from_raw
from lazyentity.codec.values import stock_entity
from lazyentity.patches.api.proxies import MessageProxy, Proxy
from lazyentity.profiling import observer

_get = object.__getattribute__


def _note_message(proxy: Any) -> None:
    """Note, if a profile runs, that code has a message, and may read any property of it."""
    if observer.data is not None:
        # Bytes that came with no response have no RPC; a proxy asks its message instead.
        with contextlib.suppress(AttributeError):
            _get(proxy, "rpc").is_of_query = False


class EntityMessage(Proxy, EntityBytes):
    """The bytes of an entity, as a proxy of its upb message.

    It is the ``_pb`` of an :class:`EntityHandle`, which is its origin and makes the message.
    """

    __slots__ = ()

    _real = messages.Entity

    def _whole(self) -> Any:
        return self._origin._whole()._pb

    def read(self, reader: Any) -> Any:
        """As :meth:`EntityHandle.read`."""
        return self._origin.read(reader)

    to_unboxed = read

    def SerializeToString(self, **options: Any) -> bytes:  # noqa: N802  # the name that messages have
        """Serialise; before the message is made, the result is the received bytes."""
        if not options and self._origin._made() is None:
            return self.raw
        serialised: bytes = self._whole().SerializeToString(**options)
        return serialised


class EntityHandle(MessageProxy, EntityBytes):
    """The bytes of an entity, as a proxy of the proto-plus message around its upb message.

    Code that asked for the real message may change it, so the message is read from then on.
    """

    __slots__ = ("_message",)

    _real = entity_pb2.Entity
    _view = ViewAs(EntityMessage)

    def _make(self) -> Any:
        _note_message(self)
        return entity_pb2.Entity.deserialize(self.raw)

    def _made(self) -> Any:
        """Return the message; None if it was not made."""
        try:
            return _get(self, "_message")
        except AttributeError:
            return None

    @property
    def _pb(self) -> Any:
        made = self._made()
        return self._view if made is None else made._pb

    def read(self, reader: Any) -> Any:
        """As :meth:`EntityBytes.read`, of the message if that was made."""
        made = self._made()
        if made is not None:
            if (self.rpc.reader or reader).is_stock:
                # Serialising the message might change the order of its properties.
                return stock_entity(made._pb)
            self._receive(made._pb.SerializeToString(), self.rpc)
        return EntityBytes.read(self, reader)

    def to_unboxed(self, reader: Any) -> Any:
        """As :meth:`EntityBytes.to_unboxed`; the entity, if the message was made."""
        is_made = self._made() is not None
        return self.read(reader) if is_made else EntityBytes.to_unboxed(self, reader)

    @property
    def key(self) -> Any:
        """The key, in proto-plus, without the properties being parsed."""
        made = self._made()
        if made is not None:
            return made.key
        message = key_message_from_raw(self.raw)
        return entity_pb2.Key() if message is None else entity_pb2.Key.wrap(message)


HANDLES = frozenset((EntityMessage, EntityHandle))
"""The classes of the proxies that the client gets in place of messages of entities."""


class EntityResult(MessageProxy, ResultBytes):
    """A proxy of a ``google.datastore.v1.EntityResult``."""

    __slots__ = ("_message",)

    _real = query_pb2.EntityResult
    entity_type = EntityHandle

    def _make(self) -> Any:
        _note_message(self)
        return query_pb2.EntityResult.deserialize(self.serialised())
