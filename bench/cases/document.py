"""A large property value as JSON data comes: dicts and lists, many small values, a few levels."""

from __future__ import annotations

from typing import Any

_GROUPS, _RECORDS = 30, 32
RECORDS = _GROUPS * _RECORDS
"""How many records a document has."""


def _line(number: int) -> dict[str, Any]:
    return {
        "sku": f"item-{number % 997:04d}",
        "quantity": number % 9 + 1,
        "price": number % 400 * 0.25,
        "gift": number % 5 == 0,
    }


def _record(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"customer {number}",
        "score": number * 0.5,
        "active": number % 2 == 0,
        "comment": None,
        "address": {
            "street": f"{number % 300} Main Street",
            "city": f"city {number % 40}",
            "zip": f"{number % 100_000:05d}",
            "location": {"latitude": number % 90 + 0.25, "longitude": number % 180 + 0.5},
        },
        "tags": [f"tag {number % 17}", f"tag {number % 19}"],
        "lines": [_line(number + step) for step in range(3)],
    }


_VALUES = 24
VALUES = RECORDS * _VALUES
"""How many values a document holds that are neither dicts nor lists."""


def values_of(records: int) -> int:
    """The number of such values in a document of ``records`` records."""
    return records * _VALUES


def make(records: int = RECORDS) -> dict[str, Any]:
    """The document: a dict of groups of records, about 500 KB on the wire, the same every time.

    ``records`` makes it larger or smaller.
    """
    return {
        f"group_{start // _RECORDS:02d}": {
            f"record_{number - start:02d}": _record(number)
            for number in range(start, min(start + _RECORDS, records))
        }
        for start in range(0, records, _RECORDS)
    }
