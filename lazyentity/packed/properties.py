"""The property that stores packed documents, over the ``BlobProperty`` of either ndb."""

from __future__ import annotations

import json
import zlib
from typing import Any

from lazyentity.codec.describing import safe_repr
from lazyentity.packed.format import (
    COMPRESS_FROM,
    MAGIC,
    MAX_SIZE,
    UnpackError,
    is_packed,
    pack,
    unpack,
)

# In each version of the format, and as a JsonProperty stores it, compressed or not.
_NULLS = frozenset(
    (pack(None), b"\xf5L\x01\x00\x04\x00\x00\x00null", b"null", zlib.compress(b"null"))
)


class PackedValues:
    """A mixin that makes a class of blob properties store packed documents.

    The document is unpacked when you read the attribute. If you do not read it, the bytes are
    written back as they were received. Two forms that were stored before can be read, and are
    packed in the next write after a read: an embedded entity, which is read as a dict, and the
    bytes of a ``JsonProperty``, compressed or not. Lists have to be packed before the model has
    the property, because google-cloud-ndb refuses an entity with a list where the model has one
    value.

    Args:
        name: the stored name of the property; by default the name of the attribute.
        compress_from: as for :func:`lazyentity.packed.pack`.
        max_size: as for :func:`lazyentity.packed.pack` and :func:`lazyentity.packed.unpack`.
        options: as for ``BlobProperty``, without ``compressed`` and ``indexed``.

    Raises:
        TypeError: in the constructor, if an option is not accepted; when a model is put, if a value
            cannot be packed.
        UnpackError: when the attribute is read, as in :func:`lazyentity.packed.unpack`.
    """

    _base_value: type
    """ndb's class around a stored value."""

    def __init__(
        self,
        name: str | None = None,
        *,
        compress_from: int = COMPRESS_FROM,
        max_size: int = MAX_SIZE,
        **options: Any,
    ) -> None:
        for option in ("compressed", "indexed"):
            if option in options:
                raise TypeError(
                    f"PackedProperty() takes no argument {option!r}: packed documents are "
                    "compressed by themselves, and are not indexed"
                )
        super().__init__(name, **options)  # type: ignore[call-arg]  # of the blob property
        self._compress_from = compress_from
        self._max_size = max_size

    def _to_base_type(self, value: Any) -> bytes:
        return pack(value, compress_from=self._compress_from, max_size=self._max_size)

    def _from_base_type(self, value: Any) -> Any:
        if isinstance(value, bytes) and not is_packed(value):
            return document_of_json(value, max_size=self._max_size)
        return unpack(value, max_size=self._max_size)

    # To ndb, a conversion that returns None leaves its value as it is: the attribute would be the
    # bytes of None.

    def _call_from_base_type(self, value: Any) -> Any:
        is_null = isinstance(value, bytes) and value in _NULLS
        return None if is_null else super()._call_from_base_type(value)  # type: ignore[misc]

    def _get_user_value(self, entity: Any) -> Any:
        value = super()._get_user_value(entity)  # type: ignore[misc]  # as above
        return None if isinstance(value, self._base_value) else value


def document_of_json(stored: bytes, *, max_size: int = MAX_SIZE) -> Any:
    """Return the document in bytes that a ``JsonProperty`` stored, as that property reads it.

    Args:
        stored: JSON, or a zlib stream of JSON.
        max_size: bytes of JSON to accept.

    Raises:
        UnpackError: the bytes are neither, or more than ``max_size``.
    """
    try:
        return json.loads(_bounded(stored, max_size))
    except UnpackError:
        raise
    except ValueError as error:
        # Some JSON, as 80, begins as zlib streams do.
        refusal = error
    try:
        stream = zlib.decompressobj()
        # One byte more, by which it is noticed that there are too many.
        text = _bounded(stream.decompress(stored, max_size + 1), max_size)
        if not stream.eof:
            raise zlib.error("the stream is truncated")
        # Not orjson: it refuses numbers that ndb stores.
        return json.loads(text)
    except UnpackError:
        raise
    except (zlib.error, ValueError) as error:
        raise UnpackError(
            f"these bytes begin with {safe_repr(stored[:4])}, and packed documents with {MAGIC!r}; "
            f"they are no JSON either, compressed or not ({refusal}); check that pack() or a "
            "JsonProperty made the value of this property"
        ) from error


def _bounded(text: bytes, max_size: int) -> bytes:
    if len(text) > max_size:
        raise UnpackError(
            f"the JSON has more than {max_size:,} bytes; pass a larger max_size if its source is "
            "trusted"
        )
    return text
