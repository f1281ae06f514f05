"""The bytes of ndb's ``JsonProperty``: JSON, compressed by zlib or not."""

from __future__ import annotations

import json
import zlib
from typing import Any

from lazyentity.codec.describing import safe_repr
from lazyentity.packed.format import MAGIC, MAX_SIZE, UnpackError

NULL = b"null"
COMPRESSED_NULL = zlib.compress(NULL)
"""As ndb compresses it."""


def document_of_json(stored: bytes, *, max_size: int = MAX_SIZE) -> Any:
    """Return the document in bytes that a ``JsonProperty`` stored, as that property reads it.

    Args:
        stored: JSON, or a zlib stream of JSON.
        max_size: bytes of JSON to accept.

    Raises:
        UnpackError: the bytes are neither, or more than ``max_size``.
    """
    try:
        return _parsed(stored, max_size)
    except ValueError as error:
        if isinstance(error, UnpackError):
            raise
        # Some JSON, as 80, begins as zlib streams do.
        refusal = error
    try:
        return _parsed(_decompressed(stored, max_size), max_size)
    except (zlib.error, ValueError) as error:
        if isinstance(error, UnpackError):
            raise
        raise UnpackError(
            f"these bytes begin with {safe_repr(stored[:4])}, and packed documents with {MAGIC!r}; "
            f"they are no JSON either, compressed or not ({refusal}); check that pack() or a "
            "JsonProperty made the value of this property"
        ) from error


def _parsed(text: bytes, max_size: int) -> Any:
    if len(text) > max_size:
        raise UnpackError(
            f"the JSON has more than {max_size:,} bytes; pass a larger max_size if its source is "
            "trusted"
        )
    # Not orjson: it refuses numbers that ndb stores.
    return json.loads(text)


def _decompressed(stored: bytes, max_size: int) -> bytes:
    stream = zlib.decompressobj()
    # One byte more, by which the caller notices that there are too many.
    text = stream.decompress(stored, max_size + 1)
    if len(text) <= max_size and not stream.eof:
        raise zlib.error("the stream is truncated")
    return text
