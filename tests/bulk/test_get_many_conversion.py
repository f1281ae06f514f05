"""get_many(): by whom the entities of a response are converted."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import helpers

import lazyentity
from lazyentity import _backend
from lazyentity.bulk import get_many, reading
from lazyentity.strict import STRICT
from tests.bulk.services import stored

Client = datastore.Client

_KIND = "Item"


@pytest.mark.parametrize("kind", ["stock", "patch", "wrap", "strict"])
def test_proxies_are_converted_together(
    client: Client, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of one response, also if a wrapped client has options."""
    keys = stored(client, _KIND, 3)
    left = []

    def convert_found(*arguments: Any) -> list[Any]:
        left.append(_backend.convert_found(*arguments))
        return left[-1]

    monkeypatch.setattr(reading, "convert_found", convert_found)
    if kind == "patch":
        lazyentity.patch(strict=True)
    elif kind != "stock":
        client = lazyentity.wrap(client, strict=kind == "strict")
    try:
        entities = get_many(client, [*keys, client.key(_KIND, 99)])
    finally:
        lazyentity.unpatch()
    assert [entity and entity.key for entity in entities] == [*keys, None]
    for entity in entities[:3]:
        assert isinstance(entity, lazyentity.LazyEntity) is (kind != "stock")
        assert (getattr(entity, "_policy", None) is STRICT) is (kind == "strict")
    assert left == [[]]


def test_somebody_elses_conversion(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets each entity that a patched client reads, as with client.get()."""
    keys = stored(client, _KIND, 2)
    lazyentity.patch(strict=True)
    try:
        ours: Any = helpers.entity_from_protobuf
        seen: list[Any] = []

        def counting(message: Any) -> Any:
            seen.append(ours(message))
            return seen[-1]

        with monkeypatch.context() as patched:
            patched.setattr(helpers, "entity_from_protobuf", counting)
            entities = get_many(client, keys)
    finally:
        lazyentity.unpatch()
    assert list(map(id, entities)) == list(map(id, seen))
