"""Errors of decoding that say which entity and which property, in the stock client's own types."""

from __future__ import annotations

import sys
from collections.abc import Callable

from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec.key import key_from_raw


def describe_entity(read_key: Callable[[], Key | None]) -> str:
    """Name an entity by its key, which may be unreadable."""
    try:
        key = read_key()
    except (DecodeError, ValueError):
        return "an entity whose key cannot be read"
    return "an entity without a key" if key is None else f"the entity {key!r}"


def _describe(raw: bytes) -> str:
    return describe_entity(lambda: key_from_raw(raw))


def undecodable_entity(error: DecodeError, raw: bytes) -> DecodeError:
    """Return a DecodeError that says which entity the malformed bytes ``raw`` belong to."""
    return DecodeError(f"{_describe(raw)} could not be decoded: {error}")


def undecodable_property(error: DecodeError, name: str, raw: bytes) -> DecodeError:
    """Return a DecodeError that says that property ``name`` of the entity ``raw`` is malformed."""
    return DecodeError(f"property {name!r} of {_describe(raw)} could not be decoded: {error}")


def note_property(error: Exception, name: str, raw: bytes) -> None:
    """Note on ``error``, whose text stays as it is, that it is about property ``name``.

    Python 3.10 has no notes; there the error stays without one.
    """
    if sys.version_info >= (3, 11):
        error.add_note(f"while decoding property {name!r} of {_describe(raw)}")
