"""Proofs that a read of a snapshot returns the data that a refresh wrote.

From version 2 on:

- Each entity has a checksum of its key and its compressed content together. A content under the
  key of another entity does not match it. The frame of zstd has its own checksum, of what it
  decompresses to; so a damaged dictionary is found.
- Each entity has a link: a checksum of its key and the next one. So keys cannot be lost, and an
  absent key is known to lie between two others.
- Each setting has a checksum of its name and value.

A checksum of an entity has 64 bits, of BLAKE2b: even if every row of a large file is wrong, none
passes by chance, as some would with 32 bits. Links and settings have CRC-32, which is faster.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Any, Final

CHECKSUM_BYTES: Final = 8
END: Final = b""
"""Stands for the key before the first one, and for the key after the last one."""


def checksum(key: bytes, data: bytes) -> bytes:
    """Return the checksum of a stored key and the frame of zstd that is its content."""
    # A stored key says how long it is. So no other pair has these bytes.
    return hashlib.blake2b(key + data, digest_size=CHECKSUM_BYTES).digest()


def link(key: bytes, following: bytes) -> int:
    """Return the checksum of a stored key and the next one."""
    return zlib.crc32(key + following)


def of_setting(name: str, value: bytes) -> int:
    """Return the checksum of a setting."""
    return zlib.crc32(value, zlib.crc32(f"{name}=".encode()))


class Chain:
    """Follows the links of keys in their order.

    Args:
        last: the key before the first one to come.
        successor: the link of the two; a damaged one can have any type.
        has_links: whether the version of the file has links; else every key is the next one.

    Attributes:
        is_whole: whether each key so far was the next one.
    """

    def __init__(self, last: Any, successor: Any, *, has_links: bool = True) -> None:
        self._last = last
        self._successor = successor
        self._has_links = has_links
        self.is_whole = True

    def follow(self, key: Any, successor: Any) -> bool:
        """Go on to a key with its link; say whether it is the next one."""
        try:
            is_next = not self._has_links or link(self._last, key) == self._successor
        except TypeError:
            # Cells of other types.
            is_next = False
        self.is_whole &= is_next
        self._last = key
        self._successor = successor
        return is_next

    def end(self) -> bool:
        """Say whether each key was the next one, and the last one has no other behind it."""
        self.follow(END, None)
        return self.is_whole
