"""A profile of reads by google-cloud-datastore's clients."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import datastore

import lazyentity
from tests.patches.order_program import COUNT, KIND


def _keys(client: Any) -> list[Any]:
    return [client.key(KIND, number + 1) for number in range(COUNT)]


READS: dict[str, Any] = {
    "get": lambda client: [client.get(_keys(client)[0])],
    "get_multi": lambda client: client.get_multi(_keys(client)),
    "fetch": lambda client: [entity for entity in client.query(kind=KIND).fetch()],  # noqa: C416  # a loop, as of an application
}


@pytest.mark.parametrize("activation", ["patch", "wrap"])
@pytest.mark.parametrize("name", READS)
def test_reads(client: datastore.Client, activation: str, name: str) -> None:
    """Entities are counted at the line that asked for them, by kind, with their bytes."""
    if activation == "patch":
        lazyentity.patch("datastore")
    reading = client if activation == "patch" else lazyentity.wrap(client)
    with lazyentity.profile() as profile:
        entities = READS[name](reading)
        for entity in entities:
            entity["number"], entity["parity"]
    report = profile.report()
    (kind,) = report.kinds
    assert (kind.kind, kind.entities) == (KIND, len(entities))
    assert kind.bytes == sum(len(lazyentity.raw(entity)) for entity in entities)
    assert {each.name for each in kind.properties if each.decoded} == {"number", "parity"}
    (received,) = report.received
    assert received.site.file == __file__
    (advice,) = report.advice
    assert "prefetch=['number', 'parity'], strict=True" in advice.call


def test_the_options_that_are_suggested_hold(client: datastore.Client) -> None:
    """Wrapped with them, the query gives what is read, and refuses nothing."""

    def read(query: Any) -> list[Any]:
        return [(entity["number"], entity["text"]) for entity in query.fetch()]

    with lazyentity.profile() as profile:
        expected = read(lazyentity.wrap(client.query(kind=KIND)))
    (advice,) = profile.report().advice
    wrapped = lazyentity.wrap(client.query(kind=KIND), prefetch=advice.prefetch, strict=True)
    assert read(wrapped) == expected


def test_a_message_that_came_another_way(client: datastore.Client) -> None:
    """An entity that is made of a real message is counted, too."""
    from google.cloud.datastore import helpers

    stock = client.get(_keys(client)[0])
    message = helpers.entity_to_protobuf(stock)
    lazyentity.patch("datastore")
    with lazyentity.profile() as profile:
        entity = helpers.entity_from_protobuf(message)
        assert entity["number"] == stock["number"]
    (kind,) = profile.report().kinds
    assert (kind.kind, kind.entities, kind.properties_decoded) == (KIND, 1, 1)
