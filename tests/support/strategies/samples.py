"""Serialised entities chosen by hand, for tests that need one of known content."""

from __future__ import annotations

import datetime
from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key

from tests.support.entities import meaning_of_list
from tests.support.strategies import wire


def plain_properties() -> dict[str, Any]:
    """Properties that every encoder of JSON accepts."""
    return {
        "text": "Grüße",
        "number": 42,
        "ratio": 1.5,
        "yes": True,
        "nothing": None,
        "list": [1, "two", 3.0],
        "empty": [],
        "inner": {"deep": "value"},
    }


def rich_properties() -> dict[str, Any]:
    """One property of each further type, with names that are identifiers."""
    inner = Entity(exclude_from_indexes=("deep",))
    inner["deep"] = [b"bytes", None]
    return {
        "when": datetime.datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=datetime.timezone.utc),
        "where": GeoPoint(47.5, -122.25),
        "who": Key("Person", 1, "Child", "c", project="p", namespace="n"),
        "blob": b"\x00\xff",
        "inner": inner,
        "inners": [inner, inner],
        "text": "words",
    }


def serialise(
    properties: dict[str, Any],
    excluded: tuple[str, ...] = (),
    meanings: dict[str, Any] | None = None,
    kind: str = "Kind",
) -> bytes:
    """Serialise an entity as the client does.

    Args:
        properties: names and values.
        excluded: the names excluded from indexes.
        meanings: meanings by name; of a list, that of the list and a list of its elements' or None.
        kind: the entity's.
    """
    entity = Entity(key=Key(kind, "name", project="p"), exclude_from_indexes=excluded)
    entity.update(properties)
    entity._meanings = {
        name: (meaning_of_list(*meaning) if type(meaning) is tuple else meaning, properties[name])
        for name, meaning in (meanings or {}).items()
    }
    serialised: bytes = helpers.entity_to_protobuf(entity)._pb.SerializeToString()
    return serialised


PLAIN = serialise(plain_properties(), excluded=("text",), meanings={"number": 9})
RICH = serialise(rich_properties(), excluded=("blob", "inners"), meanings={"text": 15})

SAMPLES = {"plain": PLAIN, "rich": RICH, "large": RICH + wire.BALLAST.encode()}
"""``rich`` and ``large`` have values that most encoders refuse."""
