"""Strict comparison of the lazy side's results with stock's: values and types."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from google.cloud.datastore import Entity
from google.protobuf.message import DecodeError

from lazyentity.bench.entities import EntityMessage


class OutputMismatch(Exception):
    """The lazy side gave other results than stock: its times mean nothing."""


def check_same(stock: Any, lazy: Any, where: str) -> None:
    """Compare two decoded values, nested ones to their leaves.

    An embedded entity may be any subclass of `Entity`; everything else must have stock's exact
    type. Floats are compared by their bits, so NaN equals NaN and 0.0 differs from -0.0.

    Raises:
        OutputMismatch: the values differ; the text names ``where`` and both values.
    """
    if isinstance(stock, Entity):
        if not isinstance(lazy, Entity):
            raise OutputMismatch(f"{where}: {type(lazy).__name__} in place of an Entity")
        check_same(stock.key, lazy.key, f"{where}.key")
        check_same(
            stock.exclude_from_indexes, lazy.exclude_from_indexes, f"{where}.exclude_from_indexes"
        )
        check_same(sorted(stock), sorted(lazy), f"{where} names")
        for name in stock:
            check_same(stock[name], lazy[name], f"{where}[{name!r}]")
        return
    if type(stock) is not type(lazy):
        raise OutputMismatch(
            f"{where}: {type(lazy).__name__} in place of {type(stock).__name__} {stock!r}"
        )
    if isinstance(stock, list):
        if len(stock) != len(lazy):
            raise OutputMismatch(f"{where}: {len(lazy)} items in place of {len(stock)}")
        for index, (ours, theirs) in enumerate(zip(lazy, stock, strict=True)):
            check_same(theirs, ours, f"{where}[{index}]")
    elif isinstance(stock, float):
        if struct.pack("<d", stock) != struct.pack("<d", lazy):
            raise OutputMismatch(f"{where}: {lazy!r} in place of {stock!r}")
    # datetime equality ignores the nanoseconds that DatetimeWithNanoseconds adds.
    elif stock != lazy or getattr(stock, "nanosecond", 0) != getattr(lazy, "nanosecond", 0):
        raise OutputMismatch(f"{where}: {lazy!r} in place of {stock!r}")


def check_messages(stock: Sequence[bytes], lazy: Sequence[bytes]) -> None:
    """Compare two lists of serialised entities by their parsed messages: property order is free.

    Raises:
        OutputMismatch: they differ.
    """
    check_same(len(stock), len(lazy), "messages")
    for position, (raw, lazy_raw) in enumerate(zip(stock, lazy, strict=True)):
        # Not messages by ==, which ignores unknown fields and finds NaN unequal to itself.
        check_same(_ordered(raw), _ordered(lazy_raw), f"messages[{position}]")


def _ordered(raw: bytes) -> bytes:
    try:
        message = EntityMessage.FromString(raw)
    except DecodeError as error:
        raise OutputMismatch(f"not an entity: {error}") from error
    ordered: bytes = message.SerializeToString(deterministic=True)
    return ordered
