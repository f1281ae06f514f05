"""Clients, iterators and entities outlive a patch; nothing else outlives its client."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import datastore

import lazyentity
from tests.patches.conftest import Ports
from tests.patches.datastore.activations import LAZILY
from tests.patches.order_program import KIND, read
from tests.support.clients import close, make_client
from tests.support.describing import describe, entity_types

Client = datastore.Client


@pytest.mark.parametrize("before", ["stock", "lazy", "eager"])
@pytest.mark.parametrize("is_page", [False, True])
def test_an_iterator_goes_on(
    client: Client, stock_contents: Any, before: str, is_page: bool
) -> None:
    """A page that came through a patch stays lazy or eager, and another is converted as it is."""
    if before != "stock":
        lazyentity.patch(eager=before == "eager")
    iterator = client.query(kind=KIND, order=["__key__"]).fetch()
    entities = iter(next(iterator.pages) if is_page else iterator)
    found = [next(entities)]
    (lazyentity.patch if before == "stock" else lazyentity.unpatch)()
    found += entities
    kinds = ["LazyEntity" if before == "lazy" else "Entity"]
    kinds += ["Entity" if before == "eager" else "LazyEntity"] * 2
    assert [entity_types(entity) for entity in found] == [{kind} for kind in kinds]
    assert describe(found) == stock_contents["fetch"]


class TestEntities:
    """Lazy entities after unpatch(), never touched before."""

    def test_stay_lazy_and_readable(self, client: Client, stock_contents: Any) -> None:
        lazyentity.patch()
        entity, untouched = (client.get(client.key(KIND, 1)) for _ in range(2))
        lazyentity.unpatch()
        assert lazyentity.decoded(entity) == ()
        assert entity["number"] == 1
        assert entity["inner"]["deeper"]["at"] == entity["at"]
        assert set(lazyentity.decoded(entity)) == {"number", "inner", "at"}
        assert describe(entity) == stock_contents["get"]
        assert entity_types(entity) == {"LazyEntity"}
        for plain in map(lazyentity.materialize, (untouched, entity)):
            assert entity_types(plain) == {"Entity"}
            assert describe(plain) == stock_contents["get"]


@pytest.mark.parametrize("activate", LAZILY)
def test_clients_are_freed(
    ports: Ports, transport: str, activate: Callable[[Client], Client]
) -> None:
    """Nothing of lazyentity keeps a client alive that read with it, nor its connection."""
    client = make_client(ports[transport], transport)
    api = client._datastore_api
    read(activate(client))
    close(client)
    freed = [weakref.ref(client), weakref.ref(api)]
    del client, api
    gc.collect()
    assert [reference() for reference in freed] == [None, None]


def test_entities_do_not_keep_their_client_alive(ports: Ports, transport: str) -> None:
    """Nor does an entity keep its response, with all the other entities."""
    lazyentity.patch()
    client = make_client(ports[transport], transport)
    entity, *_others = client.get_multi([client.key(KIND, number) for number in (1, 2, 3)])
    close(client)
    freed = weakref.ref(client)
    other = weakref.ref(_others[0])
    lazyentity.unpatch()
    del client, _others
    gc.collect()
    assert other() is None
    assert freed() is None
    assert entity["number"] in (1, 2, 3)
