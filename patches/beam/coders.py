"""The coder of elements: the received bytes of an untouched element, else as Beam encodes it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from apache_beam import coders
from apache_beam.io.gcp.datastore.v1new import types

from lazyentity.patches.beam.elements import NOTHING, LazyElement, of_bytes
from lazyentity.patches.beam.workers import shipped

_RECEIVED, _ENCODED = b"\0", b"\1"
_RECEIVED_TAG = _RECEIVED[0]

_other = coders.FastPrimitivesCoder()


class ElementCoder(coders.Coder):  # type: ignore[misc]  # announces no types
    """Encodes an untouched element as the bytes that came, and any other value as Beam does.

    The coder is deterministic exactly where Beam's is.
    """

    def encode(self, value: Any) -> bytes:
        """Return the element as bytes."""
        is_received = type(value) is LazyElement and value._changes() is NOTHING
        encoded: bytes = value._raw if is_received else _other.encode(value)
        return (_RECEIVED if is_received else _ENCODED) + encoded

    def decode(self, encoded: bytes) -> Any:
        """Return the element that :meth:`encode` has encoded."""
        if encoded[0] == _RECEIVED_TAG:
            return of_bytes(encoded[1:])
        return _other.decode(encoded[1:])

    @classmethod
    def from_type_hint(cls, typehint: Any, registry: Any) -> Any:
        """Return the coder of lazy elements: the application's own for elements, if it has one."""
        others = registry.get_coder(types.Entity)
        return cls() if type(others) is coders.FastPrimitivesCoder else others

    def is_deterministic(self) -> bool:
        """As Beam's coder for elements."""
        return bool(_other.is_deterministic())

    def as_deterministic_coder(self, step_label: Any, error_message: Any = None) -> Any:
        """As Beam's coder for elements."""
        return _other.as_deterministic_coder(step_label, error_message)

    def to_type_hint(self) -> Any:
        """Return the class of the elements."""
        return types.Entity

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __reduce__(self) -> Any:
        return shipped(__name__, "ElementCoder")


def replace_get_coder(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace the method of the registry that returns the coder of a type."""

    @functools.wraps(original)
    def get_coder(registry: Any, typehint: Any) -> Any:
        coder = original(registry, typehint)
        # The application may have registered another coder.
        if typehint is types.Entity and is_active() and type(coder) is coders.FastPrimitivesCoder:
            return ElementCoder()
        return coder

    return get_coder
