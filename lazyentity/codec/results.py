"""The results in a read response, taken out of it without parsing the entities.

This is the pure backend's half of what :mod:`lazyentity.patches.responses` is built on: where the
bytes are kept. The classes are made to be subclassed by the stand-ins for the client's messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from lazyentity.codec import shadow

_new: Callable[[Any], Any] = object.__new__


class Received:
    """What the results of one response share.

    Attributes:
        eager: whether its entities are to become stock ones.
    """

    __slots__ = ("eager",)

    eager: bool


class EntityBytes:
    """A serialised entity on its way to whoever converts it.

    Attributes:
        raw: the serialised ``google.datastore.v1.Entity``.
        eager: whether a stock entity was asked for.
        inner_type: of the class; the subclass of :class:`EntityBytes` that :attr:`inner` is of.
        lazy_type: of the class; the subclass of the backend's ``LazyMapping`` that lazy entities
            are of.
        stock_entity: of the class; makes a stock entity of the serialised one.
    """

    __slots__ = ("eager", "raw")

    inner_type: ClassVar[Any]
    lazy_type: ClassVar[Any]
    stock_entity: ClassVar[Callable[[bytes], Any]]

    def __init__(self, raw: bytes, eager: bool) -> None:
        self.raw = raw
        self.eager = eager

    @property
    def inner(self) -> Any:
        """The same, as an instance of ``inner_type``."""
        # Without __init__, as below: a read of many entities makes two of these for each.
        inner = _new(self.inner_type)
        inner.raw = self.raw
        inner.eager = self.eager
        return inner

    def to_entity(self) -> Any:
        """Convert to what the RPC asked for: a lazy entity, or a stock one.

        Raises:
            google.protobuf.message.DecodeError: if the bytes are malformed.
            ValueError, OverflowError: if a stock entity was asked for, as the client raises them.
        """
        return self.stock_entity(self.raw) if self.eager else self.lazy_type._from_raw(self.raw)


def converter_of_items(otherwise: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return what converts the items of a page for ``google.api_core.page_iterator.Iterator``.

    Args:
        otherwise: converts an item that is not an :class:`EntityBytes`.
    """

    def item_to_entity(_iterator: Any, item: Any, /) -> Any:
        return item.to_entity() if isinstance(item, EntityBytes) else otherwise(item)

    return item_to_entity


class ResultBytes:
    """One result of a read response.

    Attributes:
        owner: what this has in common with the other results of its response.
        entity_type: of the class; the subclass of :class:`EntityBytes` that :attr:`entity` is of.
    """

    __slots__ = ("_result", "owner")

    entity_type: ClassVar[Any] = EntityBytes

    def __init__(self, owner: Received, result: Any) -> None:
        self.owner = owner
        self._result = result

    @property
    def entity(self) -> Any:
        """The entity of this result, still serialised."""
        entity = _new(self.entity_type)
        entity.raw = self._result.entity
        entity.eager = self.owner.eager
        return entity

    def serialised(self) -> bytes:
        """Return the serialised ``google.datastore.v1.EntityResult``."""
        serialised: bytes = self._result.SerializeToString()
        return serialised


def _take(message: Any, field: str, owner: Received, result_type: Any) -> tuple[Any, ...]:
    results = tuple([result_type(owner, result) for result in getattr(message, field)])
    message.ClearField(field)
    return results


def split_lookup(
    raw: bytes, owner: Received, result_type: Any
) -> tuple[bytes, tuple[Any, ...], tuple[Any, ...]]:
    """Split a serialised ``google.datastore.v1.LookupResponse``.

    Args:
        raw: the response.
        owner: what the results are to have as theirs; not the response, which has them.
        result_type: a subclass of :class:`ResultBytes`.

    Returns:
        The response without its results; the results in ``found``; those in ``missing``.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked into.
    """
    message = shadow.LookupResponse.FromString(raw)
    found = _take(message, "found", owner, result_type)
    missing = _take(message, "missing", owner, result_type)
    return message.SerializeToString(), found, missing


def split_query(raw: bytes, owner: Received, result_type: Any) -> tuple[bytes, tuple[Any, ...]]:
    """Split a serialised ``google.datastore.v1.RunQueryResponse``; arguments as for a lookup.

    Returns:
        The response without its results; the results in ``batch.entity_results``.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked into.
    """
    message = shadow.RunQueryResponse.FromString(raw)
    results: tuple[Any, ...] = ()
    # Clearing a field of a message that is not there would put the message there.
    if message.HasField("batch"):
        results = _take(message.batch, "entity_results", owner, result_type)
    return message.SerializeToString(), results
