"""The loopback server of Datastore, through the stock client over both transports."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import datastore
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.query import And, Or, PropertyFilter
from google.cloud.datastore.query_profile import ExplainOptions
from google.cloud.datastore_v1.types import (
    datastore as datastore_types,
    entity as entity_types,
    query as query_types,
)

from lazyentity.bench.server.process import LoopbackServer
from tests.support.servers import SMALL_BATCH

from .conftest import MakeClient, Put


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

    Ids from AllocateIds stay the caller's.
    """
    entities = [datastore.Entity(client.key("Parent", "p", "K")) for _ in range(3)]
    client.put_multi(entities)
    assert len({entity.key.id for entity in entities}) == 3
    assert all(client.get(entity.key).key == entity.key for entity in entities)
    allocated = client.allocate_ids(client.key("K"), 3)
    entity = datastore.Entity(client.key("K"))
    client.put(entity)
    assert entity.key.id not in {key.id for key in allocated}
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


@pytest.mark.parametrize(
    ("mutation", "message"),
    [
        ({}, "operation"),
        ({"upsert": {}}, "path"),
        ({"update": {"key": {"path": [{"kind": "A"}]}}}, "neither an id nor a name"),
        (
            {"delete": {"partition_id": {"project_id": "else"}, "path": [{"kind": "A", "id": 1}]}},
            "names project 'else'",
        ),
    ],
)
def test_bad_mutations_are_refused(
    client: datastore.Client, mutation: dict[str, object], message: str
) -> None:
    """Entities that can never be stored are INVALID_ARGUMENT, and the message says why."""
    with pytest.raises(exceptions.BadRequest, match=message):
        _commit(client, mutation)


@pytest.fixture
def rival(
    client: datastore.Client, make_client: MakeClient, server: LoopbackServer
) -> datastore.Client:
    """Another client of the same project."""
    return make_client(server, client.project)


def _set(client: datastore.Client, key: datastore.Key, value: int) -> None:
    entity = datastore.Entity(key)
    entity["a"] = value
    client.put(entity)


@pytest.mark.parametrize("begin_later", [False, True])
@pytest.mark.parametrize("existing", [False, True])
def test_a_changed_read_aborts(
    client: datastore.Client, rival: datastore.Client, put: Put, existing: bool, begin_later: bool
) -> None:
    """A commit fails with ABORTED when an entity that was read, or missed, has changed since."""
    key = client.key("K", 1)
    if existing:
        put("K", 1, a=1)

    def attempt() -> None:
        with client.transaction(begin_later=begin_later):
            client.get(key)
            _set(rival, key, 5)
            _set(client, key, 6)

    # HTTP has one code for ABORTED and ALREADY_EXISTS.
    with pytest.raises(exceptions.Conflict, match="changed by another commit"):
        attempt()
    assert client.get(key)["a"] == 5


def test_rollback_writes_nothing(client: datastore.Client, put: Put) -> None:
    """A transaction that is rolled back leaves all as it was, and is over."""
    key = put("K", 1, a=1).key
    transaction = client.transaction()
    transaction.begin()
    request = {"project_id": client.project, "transaction": transaction.id}
    transaction.delete(key)
    transaction.rollback()
    assert client.get(key)["a"] == 1
    with pytest.raises(exceptions.BadRequest, match="has ended"):
        client._datastore_api.rollback(request=request)


More = query_types.QueryResultBatch.MoreResultsType


def _run(client: datastore.Client, query: object, **more: object) -> Any:
    return client._datastore_api.run_query(
        request={"project_id": client.project, "query": query, **more}
    )


def _ids(entities: object) -> list[object]:
    return [entity.key.id_or_name for entity in entities]  # type: ignore[attr-defined]  # iterators are untyped


def _fill(client: datastore.Client, count: int) -> None:
    entities = []
    for number in range(1, count + 1):
        entity = datastore.Entity(client.key("K", number))
        entity.update({"a": number, "group": number % 3})
        entities.append(entity)
    client.put_multi(entities)


def test_limit_and_offset(client: datastore.Client) -> None:
    """Offset skips, then limit cuts; both may pass the end.

    The batch tells apart the end of the results and a limit that was reached before it.
    """
    _fill(client, 6)
    query = client.query(kind="K")
    for options, found, more in (
        ({}, [1, 2, 3, 4, 5, 6], More.NO_MORE_RESULTS),
        ({"limit": 0}, [], More.MORE_RESULTS_AFTER_LIMIT),
        ({"limit": 6}, [1, 2, 3, 4, 5, 6], More.MORE_RESULTS_AFTER_LIMIT),
        ({"limit": 7}, [1, 2, 3, 4, 5, 6], More.NO_MORE_RESULTS),
        ({"limit": 2, "offset": 3}, [4, 5], More.MORE_RESULTS_AFTER_LIMIT),
        ({"offset": 5}, [6], More.NO_MORE_RESULTS),
        ({"offset": 50}, [], More.NO_MORE_RESULTS),
    ):
        assert _ids(query.fetch(**options)) == found
        batch = _run(client, {"kind": [{"name": "K"}], **options}).batch
        assert int(batch.more_results) == more, options


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": ["-group", "a"]},
        {"order": ["group"], "projection": ["a", "group"]},
        {"projection": ["__key__"]},
        {"projection": ["group"], "distinct_on": ["group"]},
    ],
)
def test_paging_with_cursors(client: datastore.Client, options: dict[str, object]) -> None:
    """Pages fetched each from where the last ended give the whole result, once and in order."""
    _fill(client, 10)
    query = client.query(kind="K", **options)
    whole = [(entity.key, dict(entity)) for entity in query.fetch()]
    paged = []
    cursor = None
    while True:
        iterator = query.fetch(limit=4, start_cursor=cursor)
        paged += [(entity.key, dict(entity)) for entity in iterator]
        cursor = iterator.next_page_token
        if cursor is None:
            break
    assert paged == whole
    assert len(whole) == (3 if "distinct_on" in options else 10)


def test_small_batches_are_joined_by_the_client(small_client: datastore.Client) -> None:
    """A result of several batches reads as one, limit and offset included."""
    _fill(small_client, 10)
    query = small_client.query(kind="K", order=["-a"])
    assert _ids(query.fetch()) == list(range(10, 0, -1))
    assert _ids(query.fetch(limit=4, offset=5)) == [5, 4, 3, 2]
    batch = _run(small_client, {"kind": [{"name": "K"}]}).batch
    assert len(batch.entity_results) == SMALL_BATCH
    assert batch.more_results == More.NOT_FINISHED
    assert batch.end_cursor == batch.entity_results[-1].cursor


def test_batches_stay_below_the_receive_limit(client: datastore.Client) -> None:
    """Results of more than 4 MiB arrive in several batches, none of them too large."""
    for number in range(1, 8):
        entity = datastore.Entity(client.key("Big", number), exclude_from_indexes=["blob"])
        entity["blob"] = bytes(1_000_000)
        client.put(entity)
    response = _run(client, {"kind": [{"name": "Big"}]})
    assert len(response.batch.entity_results) == 4
    assert response.batch.more_results == More.NOT_FINISHED
    assert type(response).pb(response).ByteSize() < 4 * 1024 * 1024
    fetched = list(client.query(kind="Big").fetch())
    assert _ids(fetched) == [1, 2, 3, 4, 5, 6, 7]
    assert all(len(entity["blob"]) == 1_000_000 for entity in fetched)


def test_projected_arrays_are_spread(client: datastore.Client, put: Put) -> None:
    """A projection gives one result for each combination of distinct array elements.

    Distinct keeps the first result, in the query's order, of each combination.
    """
    put("K", 1, a=[2, 1, 2], b=["x", "y"])

    def found(**options: list[str]) -> list[tuple[object, object]]:
        query = client.query(kind="K", projection=["a", "b"], **options)
        return [(entity["a"], entity["b"]) for entity in query.fetch()]

    assert found() == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert found(order=["-b", "a"]) == [(1, "y"), (2, "y"), (1, "x"), (2, "x")]
    put("K", 2, a=[1, 3], b="w")
    distinct = found(distinct_on=["a"], order=["a", "-b"])
    assert distinct == [(1, "y"), (2, "y"), (3, "w")]


@pytest.mark.parametrize(
    ("request_fields", "message"),
    [
        ({"gql_query": {"query_string": "SELECT *"}}, "gql_query"),
        ({"query": {}, "property_mask": {"paths": ["a"]}}, "property_mask"),
        ({"query": {"find_nearest": {"vector_property": {"name": "v"}}}}, "find_nearest"),
        ({"query": {"kind": [{"name": "__kind__"}]}}, "__kind__"),
        ({"query": {}, "read_options": {"read_time": {"seconds": 1}}}, "read_time"),
    ],
)
def test_unsupported_queries_are_said_to_be(
    client: datastore.Client, request_fields: dict[str, object], message: str
) -> None:
    """Unsupported features are UNIMPLEMENTED, by name."""
    with pytest.raises(exceptions.MethodNotImplemented, match=message):
        client._datastore_api.run_query(request={"project_id": client.project, **request_fields})


Find = Callable[..., list[object]]


@pytest.fixture
def find(client: datastore.Client) -> Find:
    """The ids and names that a query of kind K with some filters finds, in its order."""

    def run(*filters: object, **options: object) -> list[object]:
        query = client.query(**{"kind": "K", **options})
        for one in filters:
            query.add_filter(filter=PropertyFilter(*one) if isinstance(one, tuple) else one)
        return [entity.key.id_or_name for entity in query.fetch()]

    return run


@pytest.mark.parametrize(
    ("operator", "operand", "found"),
    [
        ("=", 2, [2]),
        ("!=", 2, [1, 3, 4]),
        ("<", 2, [1]),
        ("<=", 2, [1, 2]),
        (">", 2, [3, 4]),
        (">=", 2, [2, 3, 4]),
        ("IN", [4, 1, 9], [1, 4]),
        ("NOT_IN", [4, 1, 9], [2, 3]),
    ],
)
def test_operators(find: Find, put: Put, operator: str, operand: object, found: object) -> None:
    """Each operator finds the right entities, and none without the property."""
    for number in (1, 2, 3, 4):
        put("K", number, a=number)
    put("K", 5, b=2)
    put("Other", 6, a=2)
    assert find(("a", operator, operand)) == found


def test_what_is_indexed(find: Find, put: Put) -> None:
    """A property excluded from indexes matches no filter and no order.

    An embedded entity's properties are indexed under its own name and theirs. Without orders, an
    inequality does not decide the order.
    """
    inner = datastore.Entity(exclude_from_indexes=["zip"])
    inner.update({"city": "Bern", "zip": 3000})
    put("K", 1, a=2, address=inner)
    put("K", 2, a=1, b=1, exclude=("b",))
    assert find(("b", "=", 1)) == find(order=["b"]) == []
    assert find() == [1, 2]
    assert find(("address.city", "=", "Bern")) == [1]
    assert find(("address.zip", "=", 3000)) == []
    assert find(("a", ">", 0)) == [1, 2]


def test_composite_filters(find: Find, put: Put) -> None:
    """AND and OR combine, nested too, and an entity is found once."""
    for number in range(1, 7):
        put("K", number, a=number, even=number % 2 == 0)
    assert find(("a", ">", 1), ("a", "<", 5), ("even", "=", True)) == [2, 4]
    either = Or([PropertyFilter("a", "=", 1), PropertyFilter("a", "=", 4)])
    assert find(either) == [1, 4]
    assert find(either, ("even", "=", True)) == [4]
    overlapping = Or([PropertyFilter("a", "<", 3), PropertyFilter("even", "=", True)])
    assert sorted(map(str, find(overlapping))) == ["1", "2", "4", "6"]
    nested = Or([And([PropertyFilter("a", ">", 2), PropertyFilter("a", "<", 5)]), either])
    assert find(nested) == [1, 3, 4]


def test_keys_are_filtered(client: datastore.Client, find: Find, put: Put) -> None:
    """``__key__`` compares by path, ids before names."""
    for identifier in (2, "a", 10, "b"):
        put("K", identifier, a=1)
    assert find() == [2, 10, "a", "b"]
    assert find(("__key__", ">", client.key("K", 2))) == [10, "a", "b"]
    assert find(("__key__", "=", client.key("K", "a"))) == ["a"]


def test_ancestors(client: datastore.Client, find: Find, put: Put) -> None:
    """An ancestor query finds the ancestor itself and all below it, of the kind or of any.

    A query without a kind finds all.
    """
    put("K", 1, a=1)
    put("K", 1, "K", 2, a=1)
    put("K", 1, "L", 3, "K", 4, a=1)
    put("K", 9, "K", 5, a=1)
    ancestor = client.key("K", 1)
    assert find(ancestor=ancestor) == [1, 2, 4]
    assert find(ancestor=ancestor, kind=None) == [1, 2, 4]
    assert find(("a", "=", 1), ancestor=client.key("K", 1, "L", 3)) == [4]
    put("A", 7, a=1)
    assert find(kind=None) == [7, 1, 2, 4, 5]


def test_types_have_one_order(client: datastore.Client, find: Find, put: Put) -> None:
    """Values of all types sort in Datastore's documented order, and within each by value."""
    early, late = (
        datetime.datetime(year, 1, 1, tzinfo=datetime.timezone.utc) for year in (1960, 2020)
    )
    ascending = [
        None,
        -5,
        2**40,
        early,
        late,
        False,
        True,
        b"",
        b"\xff",
        "",
        "Z",
        "a",
        "é",
        "\U0001f600",
        float("nan"),
        float("-inf"),
        -0.5,
        2.0,
        GeoPoint(-1.0, 5.0),
        GeoPoint(1.0, -5.0),
        client.key("A", 5),
        client.key("A", 5, "B", 1),
        client.key("A", "name"),
    ]
    for place, value in reversed(list(enumerate(ascending, 1))):
        put("K", place, a=value)
    places = list(range(1, len(ascending) + 1))
    assert find(order=["a"]) == places
    assert find(order=["-a"]) == places[::-1]
    assert find(("a", "<", 0)) == [1, 2]
    assert find(("a", "=", 2)) == []
    assert find(("a", "=", 2.0)) == [18]
    assert find(("a", "=", None)) == [1]
    assert find(("a", ">", client.key("A", 5))) == [22, 23]


def test_aggregations(client: datastore.Client, put: Put) -> None:
    """Sums and averages take the numbers among a property's values, counts take the entities.

    They are of the results of the query, whose filter bounds them.
    """

    def values(aggregation: Any) -> dict[str, object]:
        (results,) = aggregation.fetch()
        return {result.alias: result.value for result in results}

    for number, value in enumerate([1, 2, 6, "text", None], 1):
        put("K", number, a=value)
    put("K", 9, b=1)
    query = client.query(kind="K")
    aggregation = client.aggregation_query(query)
    aggregation.count("all").sum("a", "sum").avg("a", "avg").sum("missing", "none")
    assert values(aggregation) == {"all": 6, "sum": 9, "avg": 3.0, "none": 0}
    query.add_filter(filter=PropertyFilter("a", "=", 2))
    assert values(client.aggregation_query(query).sum("a", "sum")) == {"sum": 2}
    explained = client.aggregation_query(query, explain_options=ExplainOptions()).count("n")
    with pytest.raises(exceptions.MethodNotImplemented, match="explain_options"):
        list(explained.fetch())
