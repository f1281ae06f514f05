"""The results in a read response, taken out of it without parsing the entities.

The patches subclass these classes: their proxies pass for messages of the API.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from google.cloud.datastore.key import Key

from lazyentity.codec import fallback, shadow
from lazyentity.codec.interruptions import raise_if_of_handler

_new: Callable[[Any], Any] = object.__new__


class Conversion:
    """The types and functions that convert the entities of one response.

    Args:
        lazy_type: the class of lazy entities, a subclass of the backend's ``LazyMapping``.
        stock_entity: makes a stock entity of a serialised one.

    Attributes:
        eager: whether the entities become stock entities.
        is_of_query: whether they are whole entities that a query returned; for a profile.
        _counter: of a profile; None, until the first entity is counted.
    """

    __slots__ = ("_counter", "_lazy_entity", "_stock_entity", "eager", "is_of_query")

    def __init__(self, lazy_type: Any, stock_entity: Callable[[bytes], Any]) -> None:
        self._lazy_entity = lazy_type._from_raw
        self._stock_entity = stock_entity
        self.eager = False
        self.is_of_query = False
        self._counter: Any = None


class EntityBytes:
    """A serialised entity that waits for its conversion.

    Attributes:
        raw: the serialised ``google.datastore.v1.Entity``.
        conversion: makes the entity.
        _origin: the object whose :class:`Retyped` property made this one.
    """

    __slots__ = ("_origin", "conversion", "raw")

    _origin: EntityBytes | None
    conversion: Conversion
    raw: bytes

    @property
    def serialised_key(self) -> bytes | None:
        """The key as it came; None, if there is none, or if it is not in one piece.

        The native backend also gives None for an encoding that servers do not send, malformed ones
        included.

        Raises:
            google.protobuf.message.DecodeError: if the bytes are malformed; pure backend only.
        """
        occurrences = shadow.EntityKey.FromString(self.raw).key
        return occurrences[0] if len(occurrences) == 1 else None

    def _receive(self, raw: bytes, conversion: Conversion) -> None:
        """Take up an entity that did not come with a response."""
        self.raw = raw
        self.conversion = conversion
        self._origin = None

    def to_entity(self) -> Any:
        """Convert in the mode of the RPC: to a lazy entity, or to a stock one.

        Raises:
            google.protobuf.message.DecodeError: if the bytes are malformed.
            ValueError, OverflowError: if a stock entity was asked for, as the client raises them.
        """
        conversion = self.conversion
        make = conversion._stock_entity if conversion.eager else conversion._lazy_entity
        return make(self.raw)

    def to_row(self) -> Any:
        """Convert for :func:`~lazyentity.pure.columns.append_columns`: to a row, or to an entity.

        The pure backend has no rows. Those of the native one give the values and errors of the
        entities that they take the place of.

        Raises:
            As :meth:`to_entity`.
        """
        return self.to_entity()

    def to_stock_entity(self) -> Any:
        """Convert to a stock entity, whatever the mode of the RPC.

        Raises:
            As :meth:`to_entity`.
        """
        return self.conversion._stock_entity(self.raw)


class Retyped:
    """A property: the same bytes as an instance of another class.

    Args:
        kind: the other class; both are subclasses of :class:`EntityBytes`.
    """

    __slots__ = ("_kind",)

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        # Without __init__: a read of many entities makes one of these for each.
        other = _new(self._kind)
        other.raw = instance.raw
        other.conversion = instance.conversion
        other._origin = instance
        return other


class ResultBytes:
    """One result of a read response.

    Attributes:
        conversion: converts the entity of this result.
        entity_type: of the class; the class of :attr:`entity`, a subclass of :class:`EntityBytes`.
    """

    __slots__ = ("_result", "conversion")

    _result: Any
    conversion: Conversion
    entity_type: ClassVar[Any] = EntityBytes

    @property
    def entity(self) -> Any:
        """The entity of this result, still serialised."""
        entity = _new(self.entity_type)
        entity.raw = _joined(self._result.entity)
        entity.conversion = self.conversion
        entity._origin = None
        return entity

    def entity_key(self) -> Key | None:
        """Decode the key of the entity, and nothing else of it; None if there is none.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of the key are malformed.
            ValueError: as the client raises it, if it could not have converted the key.
        """
        return fallback.key(_joined(self._result.entity))

    def serialised(self) -> bytes:
        """Return the serialised ``google.datastore.v1.EntityResult``."""
        serialised: bytes = self._result.SerializeToString()
        return serialised


def _joined(occurrences: Any) -> bytes:
    # Concatenating encodings is how protobuf defines to merge them.
    joined: bytes = occurrences[0] if len(occurrences) == 1 else b"".join(occurrences)
    return joined


def convert_found(
    is_stock: bool,
    entities: dict[bytes, Any],
    results: tuple[Any, ...],
    pending: dict[bytes, Any],
) -> list[Any]:
    """Convert the entities of a look-up whose serialised keys are as in the request.

    Args:
        is_stock: whether they become stock entities, whatever the mode of the RPC.
        entities: where the entities are put, by serialised key.
        results: each a :class:`ResultBytes`.
        pending: the serialised keys that were asked for. The keys of ``entities`` are removed.

    Returns:
        The other results: their keys are not pending in this encoding, or converting them fails.
    """
    left = []
    for result in results:
        entity = result.entity
        try:
            key = entity.serialised_key
            if key not in pending:
                left.append(result)
                continue
            entities[key] = entity.to_stock_entity() if is_stock else entity.to_entity()
        except Exception as error:  # noqa: BLE001  # the caller converts it again, and reports the error
            raise_if_of_handler(error)
            left.append(result)
        else:
            del pending[key]
    return left


def _take(message: Any, field: str, conversion: Conversion, result_type: Any) -> tuple[Any, ...]:
    results = []
    for result_message in getattr(message, field):
        # Without __init__, as above.
        result = _new(result_type)
        result.conversion = conversion
        result._result = result_message
        results.append(result)
    message.ClearField(field)
    return tuple(results)


def split_lookup(
    raw: bytes, conversion: Conversion, result_type: Any
) -> tuple[bytes, tuple[Any, ...], tuple[Any, ...]]:
    """Split a serialised ``google.datastore.v1.LookupResponse``.

    Args:
        raw: the response.
        conversion: converts the entities.
        result_type: a subclass of :class:`ResultBytes`.

    Returns:
        The response without its results; the results in ``found``; those in ``missing``.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked into.
    """
    message = shadow.LookupResponse.FromString(raw)
    found = _take(message, "found", conversion, result_type)
    missing = _take(message, "missing", conversion, result_type)
    return message.SerializeToString(), found, missing


def split_query(
    raw: bytes, conversion: Conversion, result_type: Any
) -> tuple[bytes, tuple[Any, ...]]:
    """Split a serialised ``google.datastore.v1.RunQueryResponse``; arguments as for a lookup.

    Returns:
        The response without its results; the results in ``batch.entity_results``.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked into.
    """
    message = shadow.RunQueryResponse.FromString(raw)
    results: tuple[Any, ...] = ()
    # Clearing a field of a missing message would create the message.
    if message.HasField("batch"):
        results = _take(message.batch, "entity_results", conversion, result_type)
    return message.SerializeToString(), results
