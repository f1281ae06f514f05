"""The results in a read response, taken out of it without parsing the entities.

This is the pure backend's half of what :mod:`lazyentity.patches.responses` is built on: where the bytes
are kept. The classes are made to be subclassed by the stand-ins for the client's messages.
"""

from __future__ import annotations

from typing import Any

from lazyentity.codec import shadow


class EntityBytes:
    """A serialised entity on its way to whoever converts it.

    Attributes:
        raw: the serialised ``google.datastore.v1.Entity``.
        eager: whether a stock entity was asked for.
        message: the message that it was parsed to, if it had to be; else None.
    """

    __slots__ = ("eager", "message", "raw")

    def __init__(self, raw: bytes, eager: bool) -> None:
        self.raw = raw
        self.eager = eager
        self.message: Any = None


class ResultBytes:
    """One result of a read response.

    Attributes:
        owner: the response; its ``eager`` says what its entities are to become.
        message: the message that the result was parsed to, if it had to be; else None.
    """

    __slots__ = ("_entity_type", "_result", "message", "owner")

    def __init__(self, owner: Any, entity_type: Any, result: Any) -> None:
        self.owner = owner
        self.message: Any = None
        self._entity_type = entity_type
        self._result = result

    @property
    def entity(self) -> Any:
        """The entity, as an instance of the ``entity_type`` that the response was split with."""
        return self._entity_type(self._result.entity, self.owner.eager)

    def serialised(self) -> bytes:
        """Return the serialised ``google.datastore.v1.EntityResult``."""
        serialised: bytes = self._result.SerializeToString()
        return serialised


def _take(message: Any, field: str, owner: Any, result_type: Any, entity_type: Any) -> tuple[Any, ...]:
    results = tuple(result_type(owner, entity_type, result) for result in getattr(message, field))
    message.ClearField(field)
    return results


def split_lookup(
    raw: bytes, owner: Any, result_type: Any, entity_type: Any
) -> tuple[bytes, tuple[Any, ...], tuple[Any, ...]]:
    """Split a serialised ``google.datastore.v1.LookupResponse``.

    Args:
        raw: the response.
        owner: what stands in for the response.
        result_type: a subclass of :class:`ResultBytes`.
        entity_type: a subclass of :class:`EntityBytes`.

    Returns:
        The response without its results; the results in ``found``; those in ``missing``.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked into.
    """
    message = shadow.LookupResponse.FromString(raw)
    found = _take(message, "found", owner, result_type, entity_type)
    missing = _take(message, "missing", owner, result_type, entity_type)
    return message.SerializeToString(), found, missing


def split_query(
    raw: bytes, owner: Any, result_type: Any, entity_type: Any
) -> tuple[bytes, tuple[Any, ...]]:
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
        results = _take(message.batch, "entity_results", owner, result_type, entity_type)
    return message.SerializeToString(), results
