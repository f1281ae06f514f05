"""Errors of decoding that say which entity and which property, in the stock client's own types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError

from lazyentity.codec.describing import add_note, describe_entity, property_name, safe_str
from lazyentity.codec.keys import key_from_raw
from lazyentity.codec.undecoded import (
    UNDECODED,
    UndecodedType,
    holds_undecoded,
    keeps_undecoded,
)


def _describe(raw: bytes) -> str:
    return describe_entity(lambda: key_from_raw(raw))


def undecodable_entity(error: DecodeError, raw: bytes) -> DecodeError:
    """Return a DecodeError that says which entity the malformed bytes ``raw`` belong to."""
    return DecodeError(f"{_describe(raw)} could not be decoded: {safe_str(error)}")


def undecodable_property(error: DecodeError, name: str, raw: bytes) -> DecodeError:
    """Return a DecodeError that says that property ``name`` of the entity ``raw`` is malformed."""
    return undecodable_value(error, name, _describe(raw))


def undecodable_value(error: DecodeError, name: object, entity: str) -> DecodeError:
    """Return a DecodeError that says that a property is malformed; arguments as below."""
    return DecodeError(
        f"property {property_name(name)} of {entity} could not be decoded: {safe_str(error)}"
    )


def undecoded_property(name: object, raw: bytes) -> TypeError:
    """Return the error of property ``name`` if code put the sentinel there past the methods."""
    return undecoded_value(name, _describe(raw))


def undecoded_value(name: object, entity: str) -> TypeError:
    """Return the error of a value that is, or holds, the sentinel.

    Args:
        name: of the property.
        entity: as :func:`~lazyentity.codec.describing.describe_entity` names it.
    """
    return TypeError(
        f"property {property_name(name)} of {entity} is, or holds, an undecoded property that was "
        "read past the dict methods of a LazyEntity; take it from lazyentity.materialize(entity) "
        "instead"
    )


def refuse_undecoded(entity: Any, error: ValueError) -> None:
    """Name the property, if the client refused to encode the sentinel.

    Args:
        entity: the entity that was to be encoded.
        error: the client's error for it.

    Raises:
        TypeError: if ``error`` is about the sentinel.
    """
    # By identity: the client puts the type of any value there, and types may compare in any way.
    if len(error.args) != 2 or error.args[1] is not UndecodedType:
        return
    is_kept = keeps_undecoded(entity)
    # A copy: another thread may change the entity, whose error would take the place of this one.
    for name, value in list(dict.items(entity)):
        if holds_undecoded(value) and not (is_kept and value is UNDECODED):
            raise undecoded_value(name, describe_entity(lambda: entity.key)) from error


def note_property(error: Exception, name: str, raw: bytes) -> None:
    """Note on ``error``, whose text stays as it is, that it is about property ``name``."""
    note_value(error, name, lambda: _describe(raw))


def note_value(error: Exception, name: object, describe: Callable[[], str]) -> None:
    """As :func:`note_property`, of an entity that ``describe()`` names."""
    add_note(error, lambda: f"while decoding property {property_name(name)} of {describe()}")
