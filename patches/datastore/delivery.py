"""How the entities that a wrapped query or client reads are handed out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity._backend import count_entity
from lazyentity._mode import is_eager
from lazyentity._types import describe_type
from lazyentity.codec import messages
from lazyentity.codec.describing import safe_repr
from lazyentity.codec.values import stock_entity
from lazyentity.entity import LazyEntity, LazyEntityBase
from lazyentity.patches.api.entities import HANDLES
from lazyentity.profiling import observer
from lazyentity.strict import make_strict


class Delivery(NamedTuple):
    """Makes entities of the messages that the client received.

    Attributes:
        to_entity: takes the message of an entity.
        item_to_entity: takes an iterator and the message of an entity, as the iterators of the
            client's pages have it.
        is_stock: how a proxy of a lazy response is converted. True: to a stock entity. False: in
            the mode of the RPC. None: further steps follow.
    """

    to_entity: Callable[[Any], Any]
    item_to_entity: Callable[[Any, Any], Any]
    is_stock: bool | None = None


def convert(entity_message: Any, original: Callable[[Any], Any]) -> Any:
    """Convert the client's message of an entity, lazily unless ``eager()`` is in effect.

    Args:
        entity_message: a proxy of a lazy response, or an entity message (proto-plus or upb).
        original: the conversion of everything that has nothing lazy about it.
    """
    if type(entity_message) in HANDLES:
        return entity_message.to_entity()
    if is_eager():
        return original(entity_message)
    if type(entity_message) is entity_pb2.Entity:
        entity_message = entity_message._pb
    if type(entity_message) is messages.Entity:
        entity = LazyEntity._from_raw(entity_message.SerializeToString())
        # An entity without a key is part of another one.
        if observer.data is not None and entity_message.HasField("key"):
            count_entity(entity, None)
        return entity
    return original(entity_message)


def convert_eagerly(entity_message: Any, original: Callable[[Any], Any]) -> Any:
    """Convert the client's message of an entity to a stock entity; arguments as for `convert`."""
    if type(entity_message) in HANDLES:
        return entity_message.to_stock_entity()
    return original(entity_message)


def _to_entity(message: Any) -> Any:
    return convert(message, helpers.entity_from_protobuf)


def _item_to_entity(_iterator: Any, message: Any) -> Any:
    return _to_entity(message)


UNTOUCHED = Delivery(_to_entity, _item_to_entity, is_stock=False)
"""Nothing is decoded, and everything may be read."""


def _to_stock_entity(message: Any) -> Any:
    return convert_eagerly(message, stock_entity)


def _item_to_stock_entity(_iterator: Any, message: Any) -> Any:
    return _to_stock_entity(message)


EAGER = Delivery(_to_stock_entity, _item_to_stock_entity, is_stock=True)
"""Entities are stock ones."""


def delivery_of(names: Sequence[str], strict: bool, eager: bool) -> Delivery:
    """Return the delivery that :func:`~lazyentity.patches.datastore.wrapping.wrap` documents.

    Args:
        names: the names in its ``prefetch``.
        strict: as there.
        eager: whether entities are stock ones.
    """
    if eager:
        return EAGER
    if not names and not strict:
        return UNTOUCHED

    def prepared(entity: Any) -> Any:
        # Inside eager() they are stock.
        if isinstance(entity, LazyEntityBase):
            for name in names:
                entity.get(name)
            if strict:
                make_strict(entity)
        return entity

    def to_entity(message: Any) -> Any:
        return prepared(UNTOUCHED.to_entity(message))

    def item_to_entity(iterator: Any, message: Any) -> Any:
        return prepared(UNTOUCHED.item_to_entity(iterator, message))

    return Delivery(to_entity, item_to_entity)


def names_of(prefetch: Any) -> tuple[str, ...]:
    """Return the names in ``prefetch`` of :func:`~lazyentity.patches.datastore.wrapping.wrap`.

    Raises:
        TypeError: if it is no iterable of names.
    """
    if isinstance(prefetch, str):
        raise TypeError(
            f"wrap() takes prefetch= as a list of names, not one: [{safe_repr(prefetch)}]"
        )
    if not isinstance(prefetch, Iterable):
        raise TypeError(f"wrap() takes prefetch= as a list of names, not {describe_type(prefetch)}")
    names = tuple(prefetch)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"wrap() takes names of type str in prefetch=, not {safe_repr(name)}")
    return names
