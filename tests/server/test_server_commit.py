"""Lookup, Commit, AllocateIds and ReserveIds, through the stock client over both transports."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import datastore
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore_v1.types import datastore as datastore_types
from google.cloud.datastore_v1.types import entity as entity_types

from lazyentity.bench.server.process import LoopbackServer

from .conftest import MakeClient, Put

pytestmark = pytest.mark.any_backend


def _commit(
    client: datastore.Client, *mutations: object, mode: str = "NON_TRANSACTIONAL", **selector: bytes
) -> Any:
    return client._datastore_api.commit(
        request=datastore_types.CommitRequest(
            project_id=client.project, mode=mode, mutations=mutations, **selector
        )
    )


def _entity(key: datastore.Key, **values: int) -> entity_types.Entity:
    return entity_types.Entity(
        key=key.to_protobuf(),
        properties={name: {"integer_value": value} for name, value in values.items()},
    )


def test_every_value_type_comes_back(client: datastore.Client) -> None:
    """A read gives the stored values, of every type that the client can write."""
    inner = datastore.Entity()
    inner.update({"a": 1, "deep": [1, "x"]})
    entity = datastore.Entity(client.key("Parent", "p", "Kind", 7), exclude_from_indexes=["text"])
    entity.update(
        {
            "null": None,
            "bool": True,
            "int": -(2**63),
            "float": 1.5,
            "time": datetime.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc),
            "key": client.key("Other", "name"),
            "text": "x" * 2000,
            "é": "ü",
            "blob": b"\x00\xff",
            "geo": GeoPoint(1.0, -2.0),
            "entity": inner,
            "array": [1, "two", None],
            "empty": [],
        }
    )
    client.put(entity)
    found = client.get(entity.key)
    assert found == entity
    assert found.exclude_from_indexes == {"text"}


def test_a_lookup_tells_versions_and_times(client: datastore.Client, put: Put) -> None:
    """Results carry version, creation and update time; an update keeps the creation time.

    A key without an entity comes back as missing, with the key alone.
    """
    entity = put("K", 1, a=1)
    keys = [entity.key, client.key("K", 2)]

    def look() -> Any:
        raw_keys = [key.to_protobuf() for key in keys]
        return client._datastore_api.lookup(
            request={"project_id": client.project, "keys": raw_keys}
        )

    first = look()
    entity["a"] = 2
    client.put(entity)
    second = look()
    before, after = first.found[0], second.found[0]
    assert 0 < before.version < after.version
    assert before.create_time == before.update_time
    assert after.create_time == before.create_time
    assert after.update_time > before.update_time
    assert second.read_time >= after.update_time
    missing: list[datastore.Entity] = []
    assert client.get_multi(keys, missing=missing) == [entity]
    assert [(each.key.id, dict(each)) for each in missing] == [(2, {})]


def test_deferred_keys_are_asked_for_again(
    small_client: datastore.Client, client: datastore.Client
) -> None:
    """A lookup of more keys than the server answers at a time gives the rest as deferred.

    Entities of more than 4 MiB together are answered in several responses.
    """
    for asking, count, size, answered in ((small_client, 5, 1, 2), (client, 7, 1_000_000, 4)):
        keys = [asking.key("K", number) for number in range(1, count + 1)]
        for key in keys:
            entity = datastore.Entity(key, exclude_from_indexes=["blob"])
            entity["blob"] = bytes(size)
            asking.put(entity)
        deferred: list[datastore.Key] = []
        found = asking.get_multi(keys, deferred=deferred)
        assert [entity.key for entity in found] == keys[:answered]
        assert deferred == keys[answered:]
        assert [len(entity["blob"]) for entity in asking.get_multi(keys)] == [size] * count


def test_incomplete_keys_are_completed(client: datastore.Client) -> None:
    """Storing under an incomplete key allocates an id that the client learns.

    Ids from AllocateIds and ReserveIds, and ids of existing entities, stay the caller's.
    """
    entities = [datastore.Entity(client.key("Parent", "p", "K")) for _ in range(3)]
    client.put_multi(entities)
    assert len({entity.key.id for entity in entities}) == 3
    assert all(client.get(entity.key).key == entity.key for entity in entities)
    allocated = client.allocate_ids(client.key("K"), 3)
    last = allocated[-1].id
    assert last is not None
    client.reserve_ids_multi([client.key("K", last + 1)])
    client.put(datastore.Entity(client.key("K", last + 2)))
    entity = datastore.Entity(client.key("K"))
    client.put(entity)
    assert entity.key.id not in {*(key.id for key in allocated), last + 1, last + 2}
    with pytest.raises(exceptions.BadRequest):
        client._datastore_api.allocate_ids(
            request={"project_id": client.project, "keys": [client.key("K", 1).to_protobuf()]}
        )


def test_operations(client: datastore.Client) -> None:
    """An insert makes an entity, an update replaces it whole, a delete removes it.

    An insert of an existing entity is ALREADY_EXISTS, an update of a missing one NOT_FOUND, and a
    commit with one bad mutation applies none.
    """
    key, other = client.key("K", 1), client.key("K", 2)
    _commit(client, {"insert": _entity(key, a=1, b=1)})
    with pytest.raises(exceptions.Conflict):
        _commit(client, {"insert": _entity(key, a=2)})
    assert client.get(key)["a"] == 1
    _commit(client, {"update": _entity(key, a=2)})
    assert dict(client.get(key)) == {"a": 2}
    client.delete_multi([key, client.key("K", "never there")])
    assert client.get(key) is None
    with pytest.raises(exceptions.NotFound):
        _commit(client, {"upsert": _entity(key)}, {"update": _entity(other, a=1)})
    assert client.get(key) is None


def test_a_transaction_may_change_an_entity_twice(client: datastore.Client) -> None:
    """Mutations of a transactional commit build on each other; others must not meet."""
    key = client.key("K", 1)
    mutations = {"insert": _entity(key, a=1)}, {"update": _entity(key, a=2)}
    with pytest.raises(exceptions.BadRequest, match="one mutation of each entity"):
        _commit(client, *mutations)
    with client.transaction() as transaction:
        begun = transaction.id
        _commit(client, *mutations, mode="TRANSACTIONAL", transaction=begun)
        transaction._status = transaction._ABORTED
    assert client.get(key)["a"] == 2


@pytest.mark.parametrize(
    ("mutation", "message"),
    [
        ({}, "operation"),
        ({"upsert": {}}, "must have a key"),
        ({"upsert": {"key": {}}}, "path"),
        ({"upsert": {"key": {"path": [{"kind": ""}]}}}, "kind"),
        ({"upsert": {"key": {"path": [{"kind": "A"}, {"kind": "B"}]}}}, "neither an id nor a name"),
        ({"update": {"key": {"path": [{"kind": "A"}]}}}, "neither an id nor a name"),
        ({"delete": {"path": [{"kind": "A"}]}}, "neither an id nor a name"),
        (
            {"delete": {"partition_id": {"project_id": "else"}, "path": [{"kind": "A", "id": 1}]}},
            "names project 'else'",
        ),
        (
            {"delete": {"partition_id": {"database_id": "d"}, "path": [{"kind": "A", "id": 1}]}},
            "database 'd'",
        ),
        (
            {
                "upsert": {
                    "key": {"path": [{"kind": "A", "id": 1}]},
                    "properties": {"b": {"blob_value": bytes(1024 * 1024)}},
                }
            },
            "more than the 1048572 allowed",
        ),
    ],
)
def test_bad_mutations_are_refused(
    client: datastore.Client, mutation: dict[str, object], message: str
) -> None:
    """Entities that can never be stored are INVALID_ARGUMENT, and the message says why."""
    with pytest.raises(exceptions.BadRequest, match=message):
        _commit(client, mutation)


@pytest.mark.parametrize(
    "field",
    [
        {"base_version": 1},
        {"property_mask": {"paths": ["a"]}},
        {"property_transforms": [{"property": "a", "increment": {"integer_value": 1}}]},
    ],
)
def test_unsupported_mutations_are_said_to_be(
    client: datastore.Client, field: dict[str, object]
) -> None:
    """A mutation that asks for more than is done here is UNIMPLEMENTED, and not half applied."""
    key = client.key("K", 1)
    for operation in ({"upsert": _entity(key)}, {}):
        with pytest.raises(exceptions.MethodNotImplemented, match=f"Mutation.{next(iter(field))}"):
            _commit(client, {**operation, **field})
    assert client.get(key) is None


@pytest.mark.parametrize(
    ("mode", "selector", "message"),
    [
        ("MODE_UNSPECIFIED", {}, "transactional or non-transactional"),
        ("TRANSACTIONAL", {}, "must name a transaction"),
        ("NON_TRANSACTIONAL", {"transaction": b"x"}, "must not name a transaction"),
        ("TRANSACTIONAL", {"transaction": b"x"}, "unknown"),
    ],
)
def test_mode_and_transaction_must_agree(
    client: datastore.Client, mode: str, selector: dict[str, bytes], message: str
) -> None:
    """A commit's mode decides whether it names a transaction."""
    with pytest.raises(exceptions.BadRequest, match=message):
        _commit(client, mode=mode, **selector)


def test_mutation_results_tell_keys_only_when_allocated(client: datastore.Client) -> None:
    """A result has a key only where the id was chosen here, and no times for a deletion."""
    response = _commit(
        client,
        {"upsert": _entity(client.key("K"))},
        {"upsert": _entity(client.key("K", 1))},
        {"delete": client.key("K", 2).to_protobuf()},
    )
    allocated, named, deleted = response.mutation_results
    assert allocated.key.path[0].id
    assert not named.key
    assert named.create_time == named.update_time == response.commit_time
    assert not deleted.update_time
    assert allocated.version == named.version == deleted.version > 0


def test_namespaces_and_databases_do_not_mix(
    client: datastore.Client, make_client: MakeClient, server: LoopbackServer, put: Put
) -> None:
    """The same path in another namespace or database is another entity."""
    put("K", 1, where="default")
    for options in ({"namespace": "n"}, {"database": "d"}, {"namespace": "n", "database": "d"}):
        other = make_client(server, client.project, **options)
        assert other.get(other.key("K", 1)) is None
        assert list(other.query(kind="K").fetch()) == []
        entity = datastore.Entity(other.key("K", 1))
        entity["where"] = str(options)
        other.put(entity)
        assert [found["where"] for found in other.query(kind="K").fetch()] == [str(options)]
        assert other.get(entity.key) == entity
    assert client.get(client.key("K", 1))["where"] == "default"
