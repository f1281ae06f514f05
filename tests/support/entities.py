"""One entity with every type of property that the client can write, and changes of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
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


def _remove(*names: str) -> Callable[[Any], object]:
    return lambda entity: [entity.pop(name) for name in names]


def _in_place(entity: Any) -> None:
    entity["inner"]["hidden"] = "no more"
    entity["inner"]["deeper"]["new"] = 1
    entity["list"].append("four")
    entity["list"][4]["numbers"].append(3)
    entity["empty list"].append("no more")
    entity["excluded list"].clear()


CHANGES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda e: None,
    "reads": lambda e: (dict(e), repr(e)),
    "one property": lambda e: e.update(number=e["number"] + 1),
    "other types": lambda e: e.update(
        {"number": "a text", "list": 5, "text": ["a"], "inner": None}
    ),
    "properties added": lambda e: e.update(added="a", another=1.5, more=datastore.Entity()),
    "properties removed": _remove("number", "inner", "excluded"),
    "everything removed": lambda e: (e.clear(), e.update(alone=1)),
    "removed and added again": lambda e: e.update(number=e.pop("number"), meant=e.pop("meant")),
    "in place": _in_place,
    "exclusion inside": lambda e: setattr(e["inner"], "exclude_from_indexes", {"numbers"}),
    # A value that is not the one that was read is written without its meaning.
    "meant values replaced": lambda e: e.update(
        {"meant": "another text", "meant items": [*e["meant items"]]}
    ),
    "meant value changed in place": lambda e: e["meant items"].append(b"three"),
    "meanings dropped": lambda e: e._meanings.clear(),
    "no meanings": lambda e: setattr(e, "_meanings", {}),
    "meanings changed": lambda e: e._meanings.update(
        meant=(9, e["meant"]), number=(7, e["number"])
    ),
    "exclusions added": lambda e: setattr(
        e, "exclude_from_indexes", {*e.exclude_from_indexes, "number", "list", "inner", "meant"}
    ),
    "exclusions removed": lambda e: setattr(e, "exclude_from_indexes", set()),
    "exclusions in place": lambda e: (
        e.exclude_from_indexes.add("text"),
        e.exclude_from_indexes.discard("excluded list"),
    ),
    "exclusion of nothing": lambda e: e.exclude_from_indexes.add("no such property"),
}
"""Changes of an entity as :func:`fill` makes it, or of that which a client reads of it."""
