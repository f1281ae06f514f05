"""One entity with every type of property that the client can write."""

from __future__ import annotations

import datetime
from typing import Any

from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore_v1.types.entity import Value

NANOSECONDS = DatetimeWithNanoseconds(
    2024, 2, 29, 23, 59, 59, nanosecond=123456789, tzinfo=datetime.timezone.utc
)


# Before 2.20.2, the client keeps the meanings of a list's elements, and not that of the list.
_KEEPS_MEANINGS_OF_LISTS = helpers._get_meaning(Value(meaning=1)._pb, is_list=True) is not None


def meaning_of_list(of_list: int | None, of_elements: list[int | None] | None) -> Any:
    """Return the meanings of a list and of its elements as ``Entity._meanings`` has them."""
    return (of_list, of_elements) if _KEEPS_MEANINGS_OF_LISTS else of_elements


def fill(entity: datastore.Entity, number: int = 0) -> datastore.Entity:
    """Give ``entity`` properties of every type; ``number`` tells one such entity from another."""
    inner = datastore.Entity(exclude_from_indexes=("hidden",))
    inner.update({"hidden": "s", "numbers": [1, 2], "deeper": datastore.Entity()})
    inner["deeper"]["at"] = NANOSECONDS
    meant = f"text {number}"
    meant_items = [b"one", b"two"]
    entity.update(
        {
            "number": number,
            "parity": "odd" if number % 2 else "even",
            "double": number / 3,
            "true": True,
            "null": None,
            "blob": bytes([number % 256, 0, 255]),
            "text": "é 漢 🜁" * (number % 5),
            "empty text": "",
            "at": NANOSECONDS,
            "place": GeoPoint(-12.5, 170.25),
            "reference": datastore.Key("Other", "name", "Child", 5, project="elsewhere"),
            "list": [number, "two", 3.0, None, inner],
            "empty list": [],
            "excluded list": [1, 2, 3],
            "inner": inner,
            "excluded": "x" * 1000,
            "größe": 1,
            "meant": meant,
            "meant items": meant_items,
        }
    )
    entity.exclude_from_indexes = {"excluded", "excluded list"}
    meaning_of_items = meaning_of_list(None, [14, None])
    entity._meanings = {"meant": (15, meant), "meant items": (meaning_of_items, meant_items)}
    return entity
