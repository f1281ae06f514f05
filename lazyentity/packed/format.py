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
checksum.

A tag is an object with the one key ``$``: a list of the kind of the value and its contents.

=============  ========================================================================
kind           contents
=============  ========================================================================
``datetime``   as of ``datetime.isoformat()``, with the offset from UTC
``bytes``      base64 (RFC 4648, with padding)
``set``        a list
``frozenset``  a list
``dict``       an object: a dict of the document that has the key ``$`` itself
=============  ========================================================================
"""

from __future__ import annotations

import base64
import datetime
import math
import struct
import threading
import zlib
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import orjson
import zstandard
from google.cloud.datastore.entity import Entity

from lazyentity._backend import is_json
from lazyentity.codec.describing import describe_type, safe_repr, safe_str
from lazyentity.codec.values import MAX_CONTAINERS, RESERVED
from lazyentity.plain import plain_copy

COMPRESS_FROM = 256
"""Bytes of JSON from which on a document is compressed, if that makes it smaller."""

MAX_SIZE = 64 * 1024 * 1024
"""Bytes of JSON that a document may have."""

# Higher levels of zstd save a few percent of the bytes, and take several times as long.
LEVEL = 1
MAGIC = b"\xf5L"
VERSION, UNCHECKED = 2, 1
"""The version that is written, and the one without a checksum, which is still read."""
JSON, JSON_ZSTD = 0, 1
TAGGED = 1

_HEADER = struct.Struct("<2sBBI")
_CHECKSUM = struct.Struct("<I")
# The CRC-32 of any bytes that end with their own CRC-32 in this order is this number.
_RESIDUE = 0x2144DF1C
_LARGEST = 2**32 - 1
_MIN_INT, _MAX_INT = -(2**63), 2**64 - 1
# orjson writes 254 levels at most, and the object and the list of a tag are two of them.
_TAG_DEPTH = 2
# orjson by itself writes these as JSON, without a tag.
_REFUSED = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)

_Path = tuple[Any, ...]
"""The path of a value: its container's path, and its key or index there. Empty at the top."""


class UnpackError(ValueError):
    """A stored value is not a packed document, or cannot be read; the text says why."""


class _BadTag(ValueError):
    """A tag is of an unknown kind, or its contents are malformed."""


class _Contexts(threading.local):
    """The compressor and decompressor of a thread; neither may serve two threads at once."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self.decompressor = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def pack(value: Any, *, compress_from: int = COMPRESS_FROM, max_size: int = MAX_SIZE) -> bytes:
    """Return a document as bytes, to be stored in a property that is not indexed.

    Args:
        value: dicts with string keys, lists, strings, integers of 64 bits, finite floats, booleans,
            None, datetimes with a time zone, bytes, sets and frozensets, nested in any way.
            Embedded entities without a key become dicts.
        compress_from: JSON of this many bytes or more is compressed, if that makes it smaller.
        max_size: how many bytes of JSON the document may have.

    Raises:
        TypeError: if there is a value of another type. The text names the value's type and path.
        ValueError: if the document is larger than ``max_size``.
    """
    payload, tagged = _serialised(value)
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
    """Whether a stored value is a packed document of any version, judged by its first bytes."""
    return isinstance(stored, bytes) and stored.startswith(MAGIC) and len(stored) > _HEADER.size


def unpack(stored: Any, *, max_size: int = MAX_SIZE) -> Any:
    """Return the document of a stored value.

    Args:
        stored: bytes from :func:`pack`, or an embedded entity, dict or list that was stored before,
            which is returned as plain dicts and lists.
        max_size: how many bytes of JSON to accept. The size is checked before decompression.

    Raises:
        UnpackError: if the bytes are not packed, or are truncated or damaged; if this version of
            lazyentity does not know their version, codec or flags; if the document is larger than
            ``max_size``, or nested too deep for the stack.
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
    codec, flags, size, payload = _split(data)
    if size > max_size:
        raise UnpackError(
            f"the packed document takes {size:,} bytes of JSON, more than {max_size:,}; pass a "
            "larger max_size if its source is trusted"
        )
    try:
        if codec == JSON_ZSTD:
            payload = _decompressed(payload, size)
        if len(payload) != size:
            raise UnpackError(
                f"the packed document is truncated or damaged: {len(payload):,} of {size:,} bytes "
                "of JSON are there; restore it from a copy"
            )
        document = orjson.loads(payload)
        return _restored(document) if flags & TAGGED else document
    except (orjson.JSONDecodeError, zstandard.ZstdError, _BadTag) as error:
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


def _split(data: memoryview) -> tuple[int, int, int, Any]:
    """Return codec, flags, the size of the JSON, and the payload.

    Raises:
        UnpackError: if these bytes have no header, or one of another version, codec or flag, or
            another checksum than was written.
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
    if codec not in (JSON, JSON_ZSTD) or flags & ~TAGGED:
        raise UnpackError(
            f"the packed document has the unknown codec {codec} or the unknown flags {flags:#x}; "
            "install a newer lazyentity"
        )
    if version == UNCHECKED:
        return codec, flags, size, data[_HEADER.size :]
    if zlib.crc32(data) != _RESIDUE:
        raise UnpackError(
            f"the packed document of {len(data):,} bytes is truncated or damaged (it has another "
            "checksum); restore it from a copy"
        )
    return codec, flags, size, data[_HEADER.size : -_CHECKSUM.size]


def _decompressed(payload: memoryview, size: int) -> bytes:
    # A frame that states no size, or another one, could fill the memory.
    stated = zstandard.get_frame_parameters(payload).content_size
    if stated != size:
        raise UnpackError(
            f"the packed document is damaged: its header says {size:,} bytes of JSON, and its zstd "
            f"frame {'nothing' if stated > _LARGEST else f'{stated:,}'}; restore it from a copy"
        )
    return _contexts.decompressor.decompress(payload, allow_extra_data=False)


def _serialised(value: Any) -> tuple[bytes, bool]:
    """Return the JSON of a document, and whether there are tags in it."""
    if is_json(value):
        try:
            return orjson.dumps(value, option=_REFUSED), False
        except orjson.JSONEncodeError:
            # An integer of more than 64 bits or a lone surrogate, refused below; or a value that
            # another thread has put there since is_json() looked.
            pass
    return orjson.dumps(_tagged(value, (), 0)), True


def _tagged(value: Any, path: _Path, depth: int) -> Any:
    """Return a copy of a value in which every value that JSON lacks is tagged.

    Args:
        value: any value.
        path: of the value.
        depth: of the containers around it in JSON, where a tag is two.
    """
    kind = type(value)
    if kind is str:
        return _text(value, path)
    if value is None or kind is bool:
        return value
    if kind is int:
        if not _MIN_INT <= value <= _MAX_INT:
            _refuse(path, "an int of more than 64 bits")
        return value
    if kind is float:
        if not math.isfinite(value):
            _refuse(path, f"the float {value}")
        return value
    if depth >= MAX_CONTAINERS:
        _refuse(path, f"a value more than {MAX_CONTAINERS} containers deep")
    if kind is list:
        return _items(value, path, depth)
    if kind is dict:
        return _dict(value, path, depth)
    if isinstance(value, Entity):
        if value.key is not None:
            _refuse(path, "an entity with a key, which would be lost")
        return _dict(dict(value.items()), path, depth)
    return {RESERVED: list(_tag(value, path, depth))}


# Each container is copied first: time zones and other threads can change it while its values are
# tagged, and going on in a changed one can skip values without an error.


def _items(items: Any, path: _Path, depth: int) -> list[Any]:
    return [_tagged(item, (path, index), depth + 1) for index, item in enumerate(list(items))]


def _dict(value: dict[Any, Any], path: _Path, depth: int) -> dict[str, Any]:
    made = {}
    taken = value.copy()
    is_tag = RESERVED in taken
    inside = depth + 1 + (_TAG_DEPTH if is_tag else 0)
    for key, item in taken.items():
        where = path, key
        if type(key) is not str:
            _refuse(where, f"under a key of type {describe_type(key)}")
        made[_text(key, where)] = _tagged(item, where, inside)
    return {RESERVED: ["dict", made]} if is_tag else made


def _text(value: str, path: _Path) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            _refuse(path, "a string with a lone surrogate")
    return value


def _tag(value: Any, path: _Path, depth: int) -> tuple[str, Any]:
    # The missing timestamp of pandas, which is equal to nothing, is a datetime by its class alone.
    if isinstance(value, datetime.datetime) and value == value:
        offset = value.utcoffset()
        if offset is None:
            _refuse(path, "a datetime without a time zone")
        # fromisoformat() of CPython 3.11 loses an offset below a second.
        if offset % datetime.timedelta(seconds=1):
            _refuse(path, "a datetime whose offset from UTC is not of whole seconds")
        # The client's own class of timestamps counts nanoseconds.
        if getattr(value, "nanosecond", 0) % 1000:
            _refuse(path, "a timestamp with digits beyond microseconds")
        return "datetime", datetime.datetime.isoformat(value)
    kind = type(value)
    if kind is bytes:
        return "bytes", base64.b64encode(value).decode()
    if kind is not set and kind is not frozenset:
        _refuse(path, f"a value of type {describe_type(value)}")
    return kind.__name__, _items(value, path, depth + _TAG_DEPTH)


def _refuse(path: _Path, described: str) -> NoReturn:
    keys: list[Any] = []
    while path:
        path, key = path
        keys.append(key)
    where = "".join(f"[{safe_repr(key)}]" for key in reversed(keys))
    raise TypeError(
        f"value{where} cannot be packed: it is {described}; pack() takes JSON types, datetimes "
        "with a time zone, bytes and sets"
    )


def _restored(value: Any) -> Any:
    """Put values in place of the tags in a parsed document, which is changed, and return it."""
    if type(value) is dict:
        if len(value) == 1 and RESERVED in value:
            return _untagged(value[RESERVED])
        return _restored_items(value, value.items())
    return _restored_items(value, enumerate(value)) if type(value) is list else value


def _restored_items(container: Any, items: Iterable[tuple[Any, Any]]) -> Any:
    for place, item in items:
        if type(item) is dict or type(item) is list:
            container[place] = _restored(item)
    return container


def _datetime(text: str) -> datetime.datetime:
    made = datetime.datetime.fromisoformat(text)
    if made.utcoffset() is None:
        raise ValueError("a datetime without an offset from UTC")
    return made


def _list(items: Any) -> Any:
    # A string is iterable, too.
    if type(items) is not list:
        raise TypeError("the items are no list")
    return _restored(items)


_RESTORERS: dict[str, Callable[[Any], Any]] = {
    "datetime": _datetime,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "set": lambda items: set(_list(items)),
    "frozenset": lambda items: frozenset(_list(items)),
    "dict": lambda contents: _restored_items(contents, contents.items()),
}


def _untagged(tag: Any) -> Any:
    try:
        kind, contents = tag
        return _RESTORERS[kind](contents)
    except _BadTag:
        raise
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise _BadTag(f"the tag {safe_str(tag)[:80]} is unknown or malformed") from error
