"""Entities split into key and content, and the compression of contents."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import zstandard
from google.cloud.datastore.key import Key

from lazyentity.codec import messages, shadow
from lazyentity.entity import LazyEntity
from lazyentity.patches.datastore.keys import encoded_key

HASH_BYTES: Final = 20
LEVEL: Final = 6
"""Of the compression. Reading takes as long at any level."""
MAX_CONTENT_BYTES: Final = 16 * 1024 * 1024
"""Bytes that a content may decompress to; an entity of Datastore has 1 MiB at most."""

DICTIONARY_BYTES: Final = 64 * 1024
SAMPLE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of contents that a dictionary is trained with, at most."""
MAX_SAMPLES: Final = 20_000
"""Contents that a dictionary is trained with, at most."""
MIN_SAMPLES: Final = 50
"""Contents without which no dictionary is trained."""


class Stored(NamedTuple):
    """An entity as it is stored.

    Attributes:
        key: the field of the key of a serialised ``Entity``, with its tag and length.
        content: the other fields as they were received. Key and content together are the entity.
        hash: of the other fields, in their own order.
    """

    key: bytes
    content: bytes
    hash: bytes


def split(raw: bytes) -> Stored:
    """Split a serialised entity.

    Raises:
        google.protobuf.message.DecodeError: ``raw`` is malformed.
        ValueError: the entity has no key, or a partial one.
    """
    parts = shadow.EntityParts.FromString(raw)
    key = messages.Key.FromString(b"".join(parts.key))
    if not key.path or key.path[-1].WhichOneof("id_type") is None:
        raise ValueError("a snapshot cannot hold an entity without a complete key")
    parts.ClearField("key")
    content: bytes = parts.SerializeToString()
    # The order of properties may change from one response to the next.
    in_order = sorted(parts.properties)
    del parts.properties[:]
    parts.properties.extend(in_order)
    digest = hashlib.blake2b(parts.SerializeToString(), digest_size=HASH_BYTES).digest()
    return Stored(_field(key), content, digest)


def stored_key(key: Key) -> bytes:
    """Return a key as :attr:`Stored.key` has it."""
    return _field(encoded_key(key)._pb)


def _field(key: Any) -> bytes:
    field: bytes = messages.Entity(key=key).SerializeToString()
    return field


def key_of(stored: Any) -> Key | bytes:
    """Return the key of :attr:`Stored.key`; the bytes themselves if they are damaged.

    A damaged column can have another type; then its text stands for the bytes.
    """
    if not isinstance(stored, bytes):
        return repr(stored).encode()
    try:
        key = LazyEntity._from_raw(stored).key
    except Exception:  # noqa: BLE001  # damaged bytes can raise anything that decoding raises
        return stored
    return stored if key is None else key


def train(samples: Sequence[bytes]) -> bytes | None:
    """Return a dictionary for contents like ``samples``; None if there are too few samples."""
    if len(samples) < MIN_SAMPLES:
        return None
    size = min(DICTIONARY_BYTES, sum(map(len, samples)) // 8)
    try:
        return zstandard.train_dictionary(size, list(samples), k=256, d=8).as_bytes()
    except zstandard.ZstdError:
        # The samples are so few bytes, or so much alike, that there is nothing to learn.
        return None


def compressor(dictionary: bytes | None) -> zstandard.ZstdCompressor:
    """Return a compressor with a dictionary. Only one thread may use it.

    Raises:
        ValueError: the dictionary is damaged; the text says how.
    """
    try:
        data = None if dictionary is None else zstandard.ZstdCompressionDict(dictionary)
        made = zstandard.ZstdCompressor(level=LEVEL, dict_data=data, write_checksum=True)
        # Only now is the dictionary parsed.
        made.compress(b"")
    except (TypeError, zstandard.ZstdError) as error:
        raise ValueError(str(error)) from error
    return made


class Decompressor:
    """Decompresses contents. Only one thread may use it.

    Args:
        dictionaries: by number; contents without one have the number 0.

    Attributes:
        dictionaries: as given.
    """

    def __init__(self, dictionaries: Mapping[int, bytes]) -> None:
        self.dictionaries = dictionaries
        # Made when a content asks for one: a damaged dictionary spoils no other contents.
        self._decompressors = {0: zstandard.ZstdDecompressor()}

    def _of(self, dictionary: int) -> zstandard.ZstdDecompressor:
        made = self._decompressors.get(dictionary)
        if made is None:
            data = zstandard.ZstdCompressionDict(self.dictionaries[dictionary])
            made = self._decompressors[dictionary] = zstandard.ZstdDecompressor(dict_data=data)
        return made

    def content(self, dictionary: int, data: bytes) -> bytes:
        """Decompress a content.

        Raises:
            ValueError: the bytes are damaged; the text says how.
        """
        try:
            size = zstandard.frame_content_size(data)
            if not 0 <= size <= MAX_CONTENT_BYTES:
                raise ValueError(f"it claims to have {size} bytes")
            return self._of(dictionary).decompress(data)
        except KeyError:
            raise ValueError(f"its dictionary {dictionary!r} is missing") from None
        except (TypeError, zstandard.ZstdError) as error:
            # A column of another type raises the former.
            raise ValueError(str(error)) from error
