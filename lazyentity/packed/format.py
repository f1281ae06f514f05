"""The stored form of a document: a header of 8 bytes, then JSON, compressed or not, and a checksum.

========  ====  ============================================================================
offset    size  content
========  ====  ============================================================================
0         2     ``F5 4C``; no text in UTF-8 begins with ``F5``
2         1     the version of the format, 2
3         1     low four bits: codec, 0 for JSON, 1 for JSON in one zstd frame;
                high four bits: flags, 1 for a document with tags, the others 0
4         4     the size of the JSON in bytes, little-endian
8         rest  the payload
the end   4     CRC-32 of everything before, little-endian
========  ====  ============================================================================

CRC-32 is that of zlib: it finds every change of up to 32 bits in a row, and misses one of 2**32
other changes. A zstd frame has a checksum, too, and states the size of its contents, which must
equal the size in the header. So a truncated or torn document is an error, and its memory is bounded
before anything is decompressed. Version 1 has no CRC-32: there, JSON that is not compressed has no
checksum. :mod:`lazyentity.packed.documents` describes the JSON.
"""

from __future__ import annotations

import struct
import threading
import zlib
from typing import Any

import orjson
import zstandard

from lazyentity._types import describe_type
from lazyentity.packed.documents import BadTag, restored, serialised
from lazyentity.plain import plain_copy

COMPRESS_FROM = 256
"""Bytes of JSON from which on a document is compressed, if that makes it smaller."""

MAX_SIZE = 64 * 1024 * 1024
"""Bytes of JSON that a document may have."""

LEVEL = 1
"""Of zstd. Higher levels save a few percent of the bytes, and take several times as long."""

MAGIC = b"\xf5L"
VERSION = 2
UNCHECKED = 1
"""The version without a checksum, which is still read."""
JSON, JSON_ZSTD = 0, 1
TAGGED = 1

_HEADER = struct.Struct("<2sBBI")
_CHECKSUM = struct.Struct("<I")
# The CRC-32 of any bytes that end with their own CRC-32 in this order is this number.
_RESIDUE = 0x2144DF1C
_LARGEST = 2**32 - 1


class UnpackError(ValueError):
    """A stored value is no packed document, or one that cannot be read; the text says why."""


class _Contexts(threading.local):
    """The compressor and decompressor of a thread; neither may serve two threads at once."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self.decompressor = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def pack(value: Any, *, compress_from: int = COMPRESS_FROM, max_size: int = MAX_SIZE) -> bytes:
    """Return a document as bytes, to be stored in a property that is not indexed.

    Args:
        value: of dicts with string keys, lists, strings, integers of 64 bits, finite floats,
            booleans, None, datetimes with a time zone, bytes, sets and frozensets. Embedded
            entities without a key become dicts.
        compress_from: JSON of so many bytes or more is compressed, if that makes it smaller.
        max_size: bytes of JSON that the document may have.

    Raises:
        TypeError: if there is a value of any other type. The text names the value's type and path.
        ValueError: if the document is larger than ``max_size``.
    """
    payload, tagged = serialised(value)
    size = len(payload)
    bound = min(max_size, _LARGEST)
    if size > bound:
        raise ValueError(
            f"the document takes {size:,} bytes of JSON, more than {bound:,}; split it, or pass a "
            "larger max_size"
        )
    codec = JSON
    if size >= compress_from:
        compressed = _contexts.compressor.compress(payload)
        if len(compressed) < size:
            codec, payload = JSON_ZSTD, compressed
    made = _HEADER.pack(MAGIC, VERSION, codec | (TAGGED if tagged else 0) << 4, size) + payload
    return made + _CHECKSUM.pack(zlib.crc32(made))


def is_packed(stored: Any) -> bool:
    """Say whether a stored value is a packed document of any version, going by its first bytes."""
    return isinstance(stored, bytes) and stored.startswith(MAGIC) and len(stored) > _HEADER.size


def unpack(stored: Any, *, max_size: int = MAX_SIZE) -> Any:
    """Return the document of a stored value.

    Args:
        stored: bytes from :func:`pack`; or the embedded entity, dict or list that the property held
            before: it is returned with plain dicts and lists inside.
        max_size: bytes of JSON to accept. They are compared before anything is decompressed.

    Raises:
        UnpackError: if the bytes are not packed, truncated or damaged, if this version of
            lazyentity does not know their version, codec or flags, if the document is larger than
            ``max_size``, or if it is deeper than the stack has room for.
        TypeError: if ``stored`` is of another type.
    """
    if isinstance(stored, (dict, list)):
        return plain_copy(stored)
    if not isinstance(stored, (bytes, bytearray, memoryview)):
        raise TypeError(
            "unpack() takes bytes, an embedded entity, a dict or a list, not "
            f"{describe_type(stored)}"
        )
    data = memoryview(stored).cast("B")
    codec, flags, size = _header(data)
    if size > max_size:
        raise UnpackError(
            f"the packed document takes {size:,} bytes of JSON, more than {max_size:,}; pass a "
            "larger max_size if its source is trusted"
        )
    payload = _payload(data)
    try:
        return _document(payload if codec == JSON else _decompressed(payload, size), size, flags)
    except (orjson.JSONDecodeError, zstandard.ZstdError, BadTag) as error:
        raise UnpackError(
            f"the packed document of {len(data):,} bytes is truncated or damaged ({error}); "
            "restore it from a copy"
        ) from error
    except RecursionError as error:
        # It may be in order: pack() writes as many levels as orjson does, and each takes two calls.
        raise UnpackError(
            "the packed document has more containers inside each other than the stack has room for "
            f"({error}); unpack it where fewer calls are under way"
        ) from error


def _header(data: memoryview) -> tuple[int, int, int]:
    """Return codec, flags and the size of the JSON.

    Raises:
        UnpackError: if these bytes have no header, or one of another version, codec or flag.
    """
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise UnpackError(
            f"these bytes begin with {bytes(data[:4])!r}, and packed documents with {MAGIC!r}; "
            "check that pack() made the value of this property"
        )
    if len(data) < _HEADER.size:
        raise UnpackError(
            f"the packed document is truncated: {len(data)} bytes, and a header has {_HEADER.size}"
        )
    _, version, codec_and_flags, size = _HEADER.unpack_from(data)
    if version not in (UNCHECKED, VERSION):
        raise UnpackError(
            f"the packed document is of version {version}, and this lazyentity reads version "
            f"{VERSION} and version {UNCHECKED}; install a newer one"
        )
    codec, flags = codec_and_flags & 0xF, codec_and_flags >> 4
    if codec not in (JSON, JSON_ZSTD):
        raise UnpackError(
            f"the packed document has the unknown codec {codec}; install a newer lazyentity"
        )
    if flags & ~TAGGED:
        raise UnpackError(
            f"the packed document has the unknown flags {flags:#x}; install a newer lazyentity"
        )
    return codec, flags, size


def _payload(data: memoryview) -> memoryview:
    """Return the bytes between a header and the checksum.

    Raises:
        UnpackError: if they have another checksum than was written.
    """
    if data[len(MAGIC)] == UNCHECKED:
        return data[_HEADER.size :]
    if zlib.crc32(data) != _RESIDUE:
        raise UnpackError(
            f"the packed document of {len(data):,} bytes is truncated or damaged (it has another "
            "checksum); restore it from a copy"
        )
    return data[_HEADER.size : -_CHECKSUM.size]


def _decompressed(payload: memoryview, size: int) -> bytes:
    # A frame that states no size, or another one, could fill the memory.
    stated = zstandard.get_frame_parameters(payload).content_size
    if stated != size:
        raise UnpackError(
            f"the packed document is damaged: its header says {size:,} bytes of JSON, and its zstd "
            f"frame {'nothing' if stated > _LARGEST else f'{stated:,}'}; restore it from a copy"
        )
    return _contexts.decompressor.decompress(payload, allow_extra_data=False)


def _document(payload: Any, size: int, flags: int) -> Any:
    if len(payload) != size:
        raise UnpackError(
            f"the packed document is truncated or damaged: {len(payload):,} of {size:,} bytes of "
            "JSON are there; restore it from a copy"
        )
    document = orjson.loads(payload)
    return restored(document) if flags & TAGGED else document
