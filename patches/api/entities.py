"""Proxies of the entities in a read response: each is an entity's bytes, ready to be read."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2

from lazyentity._backend import EntityBytes, ResultBytes, ViewAs
from lazyentity.codec import messages
from lazyentity.codec.keys import key_message_from_raw
from lazyentity.codec.values import stock_entity
from lazyentity.patches.api.proxies import MessageProxy, Proxy
from lazyentity.profiling import observer

_set_class = vars(object)["__class__"].__set__


def _note_message(proxy: Any) -> None:
    """Note, if a profile runs, that code has a message, and may read any property of it."""
    if observer.data is not None:
        # Bytes that came with no response have no RPC; a proxy asks its message instead.
        with contextlib.suppress(AttributeError):
            object.__getattribute__(proxy, "rpc").is_of_query = False


class _EntityProxy(Proxy, EntityBytes):
    """A proxy of an entity.

    Code that asked for the real message may change it, so the message is read from then on.
    When it is made, the proxy and its handle change to :attr:`_parsed_class`. (An entity
    whose message is never made pays nothing for that.)
    """

    __slots__ = ()

    _parsed_class: ClassVar[Any]

    def _whole(self) -> Any:
        message = super()._whole()
        if type(self) is not self._parsed_class:
            _set_class(self, self._parsed_class)
            self._share(message)
        return message

    def _share(self, message: Any) -> None:
        """Hand the message on to the proxy that this one belongs to, if there is one."""


class EntityMessage(_EntityProxy):
    """The bytes of an entity, as a proxy of its upb message.

    An :class:`EntityHandle` has such a proxy as its ``_pb``; the proxy's origin is the handle.
    """

    __slots__ = ("_message",)

    _real = messages.Entity

    def _make(self) -> Any:
        _note_message(self)
        return messages.Entity.FromString(self.raw)

    def SerializeToString(self, **options: Any) -> bytes:  # noqa: N802  # the name that messages have
        """Serialise; before the message is made, the result is the received bytes."""
        try:
            message = object.__getattribute__(self, "_message")
        except AttributeError:
            if not options:
                return self.raw
            message = self._whole()
        serialised: bytes = message.SerializeToString(**options)
        return serialised

    def _share(self, message: Any) -> None:
        handle = self._origin
        if handle is None:
            return
        object.__setattr__(handle, "_message", entity_pb2.Entity.wrap(message))
        _set_class(handle, handle._parsed_class)


class _Parsed:
    """A proxy whose message was made, and may have been changed: it is read as it is now."""

    __slots__ = ()

    def read(self: Any, reader: Any) -> Any:
        """As :meth:`EntityBytes.read`."""
        message = self._whole()
        message = getattr(message, "_pb", message)
        if (self.rpc.reader or reader).is_stock:
            # Serialising the message might change the order of its properties.
            return stock_entity(message)
        self._receive(message.SerializeToString(), self.rpc)
        return EntityBytes.read(self, reader)

    # The entity.
    to_unboxed = read


class ParsedEntityMessage(_Parsed, EntityMessage):
    """A proxy of an upb message that was made."""

    __slots__ = ()


EntityMessage._parsed_class = ParsedEntityMessage


class EntityHandle(MessageProxy, _EntityProxy):
    """The bytes of an entity, as a proxy of the proto-plus message around its upb message."""

    __slots__ = ("_message",)

    _real = entity_pb2.Entity

    def _make(self) -> Any:
        _note_message(self)
        return entity_pb2.Entity.deserialize(self.raw)

    _pb = ViewAs(EntityMessage)

    @property
    def key(self) -> Any:
        """The key, in proto-plus, without the properties being parsed."""
        try:
            return object.__getattribute__(self, "_message").key
        except AttributeError:
            message = key_message_from_raw(self.raw)
        return entity_pb2.Key() if message is None else entity_pb2.Key.wrap(message)


class ParsedEntityHandle(_Parsed, EntityHandle):
    """A proxy of a proto-plus message that was made."""

    __slots__ = ()

    @property
    def _pb(self) -> Any:
        return self._whole()._pb


EntityHandle._parsed_class = ParsedEntityHandle

HANDLES = frozenset((EntityMessage, ParsedEntityMessage, EntityHandle, ParsedEntityHandle))
"""The classes of the proxies that the client gets in place of messages of entities."""


class EntityResult(MessageProxy, ResultBytes):
    """A proxy of a ``google.datastore.v1.EntityResult``."""

    __slots__ = ("_message",)

    _real = query_pb2.EntityResult
    entity_type = EntityHandle

    def _make(self) -> Any:
        _note_message(self)
        return query_pb2.EntityResult.deserialize(self.serialised())
