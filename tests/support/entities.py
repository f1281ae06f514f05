"""One entity with every type of property that the client can write."""

from __future__ import annotations

import datetime

from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud import datastore
from google.cloud.datastore.helpers import GeoPoint

NANOSECONDS = DatetimeWithNanoseconds(
    2024, 2, 29, 23, 59, 59, nanosecond=123456789, tzinfo=datetime.timezone.utc
)


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
    entity._meanings = {"meant": (15, meant), "meant items": ((None, [14, None]), meant_items)}
    return entity
