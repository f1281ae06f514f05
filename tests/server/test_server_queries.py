"""Queries beyond filters: order, cursors, batches, projections, explanations, refusals."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import datastore
from google.cloud.datastore.query import PropertyFilter
from google.cloud.datastore.query_profile import ExplainOptions
from google.cloud.datastore_v1.types import query as query_types

from tests.support.servers import SMALL_BATCH

from .conftest import Put

pytestmark = pytest.mark.any_backend

More = query_types.QueryResultBatch.MoreResultsType
Type = query_types.EntityResult.ResultType


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


def test_orders(client: datastore.Client) -> None:
    """Several orders apply in turn, each in its direction, and the key settles ties."""
    _fill(client, 6)
    assert _ids(client.query(kind="K", order=["group"]).fetch()) == [3, 6, 1, 4, 2, 5]
    assert _ids(client.query(kind="K", order=["-group", "a"]).fetch()) == [2, 5, 1, 4, 3, 6]
    assert _ids(client.query(kind="K", order=["group", "-a"]).fetch()) == [6, 3, 4, 1, 5, 2]
    assert _ids(client.query(kind="K", order=["-__key__"]).fetch()) == [6, 5, 4, 3, 2, 1]


def test_scatter(client: datastore.Client) -> None:
    """A query in that order finds a sample of the keys, in another order than theirs."""
    _fill(client, 500)
    query = client.query(kind="K", order=["__scatter__"])
    query.keys_only()
    sample = _ids(query.fetch())
    assert 0 < len(sample) < 50
    assert sample == _ids(query.fetch())
    assert sample != sorted(sample, key=str)
    assert sample[:2] == _ids(query.fetch(limit=2))


def test_arrays_are_ordered_by_their_ends(client: datastore.Client, put: Put) -> None:
    """An array sorts by its least element ascending, by its greatest descending.

    Where an inequality applies, only the elements that satisfy it count.
    """
    put("K", 1, a=[1, 9])
    put("K", 2, a=[5])
    assert _ids(client.query(kind="K", order=["a"]).fetch()) == [1, 2]
    assert _ids(client.query(kind="K", order=["-a"]).fetch()) == [1, 2]
    query = client.query(kind="K", order=["a"])
    query.add_filter(filter=PropertyFilter("a", ">", 2))
    assert _ids(query.fetch()) == [2, 1]


def test_limit_and_offset(client: datastore.Client) -> None:
    """Offset skips, then limit cuts; both may pass the end.

    The batch tells apart the end of the results and a limit that was reached before it.
    """
    _fill(client, 6)
    query = client.query(kind="K")
    for options, found, more in (
        ({}, [1, 2, 3, 4, 5, 6], More.NO_MORE_RESULTS),
        ({"limit": 0}, [], More.MORE_RESULTS_AFTER_LIMIT),
        ({"limit": 2}, [1, 2], More.MORE_RESULTS_AFTER_LIMIT),
        ({"limit": 6}, [1, 2, 3, 4, 5, 6], More.MORE_RESULTS_AFTER_LIMIT),
        ({"limit": 7}, [1, 2, 3, 4, 5, 6], More.NO_MORE_RESULTS),
        ({"limit": 2, "offset": 3}, [4, 5], More.MORE_RESULTS_AFTER_LIMIT),
        ({"offset": 5}, [6], More.NO_MORE_RESULTS),
        ({"offset": 6}, [], More.NO_MORE_RESULTS),
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


def test_a_cursor_outlives_its_entity(client: datastore.Client) -> None:
    """A cursor marks a place in the order, so deleting the entity there loses nothing.

    Every result carries the cursor behind it, which starts or ends another query.
    """
    _fill(client, 6)
    batch = _run(client, {"kind": [{"name": "K"}]}).batch
    second, fourth = batch.entity_results[1].cursor, batch.entity_results[3].cursor
    between = _run(
        client, {"kind": [{"name": "K"}], "start_cursor": second, "end_cursor": fourth}
    ).batch
    assert [result.entity.key.path[0].id for result in between.entity_results] == [3, 4]
    assert between.more_results == More.MORE_RESULTS_AFTER_CURSOR
    assert between.end_cursor == fourth
    descending = client.query(kind="K", order=["-a"])
    iterator = descending.fetch(limit=3)
    assert _ids(iterator) == [6, 5, 4]
    client.delete(client.key("K", 4))
    assert _ids(descending.fetch(start_cursor=iterator.next_page_token)) == [3, 2, 1]


@pytest.mark.parametrize("cursor", [b"\xff", b"nonsense", b"\x0a\x02\x10\x01"])
def test_foreign_cursors_are_refused(client: datastore.Client, cursor: bytes) -> None:
    """A cursor that the query cannot have returned is INVALID_ARGUMENT."""
    with pytest.raises(exceptions.BadRequest, match="cursor"):
        _run(client, {"kind": [{"name": "K"}], "start_cursor": cursor})


def test_small_batches_are_joined_by_the_client(small_client: datastore.Client) -> None:
    """A result of several batches reads as one, limit and offset included."""
    _fill(small_client, 10)
    query = small_client.query(kind="K", order=["-a"])
    assert _ids(query.fetch()) == list(range(10, 0, -1))
    assert _ids(query.fetch(limit=7)) == list(range(10, 3, -1))
    assert _ids(query.fetch(limit=4, offset=5)) == [5, 4, 3, 2]
    batch = _run(small_client, {"kind": [{"name": "K"}]}).batch
    assert len(batch.entity_results) == SMALL_BATCH
    assert batch.more_results == More.NOT_FINISHED
    assert batch.end_cursor == batch.entity_results[-1].cursor


def test_offsets_are_skipped_in_steps(client: datastore.Client) -> None:
    """No batch skips more than 1000 results; the client adds the steps up."""
    client.put_multi([datastore.Entity(client.key("K", number)) for number in range(1, 1204)])
    assert _ids(client.query(kind="K").fetch(offset=1200)) == [1201, 1202, 1203]
    batch = _run(client, {"kind": [{"name": "K"}], "offset": 1200}).batch
    assert (batch.skipped_results, batch.more_results) == (1000, More.NOT_FINISHED)
    assert batch.skipped_cursor == batch.end_cursor
    assert not batch.entity_results


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


def test_full_results_carry_everything(client: datastore.Client, put: Put) -> None:
    """A full result has version, times and cursor; the batch has its snapshot and read time.

    A query for keys answers with nothing else.
    """
    put("K", 1, a=1)
    batch = _run(client, {"kind": [{"name": "K"}]}).batch
    (result,) = batch.entity_results
    assert batch.entity_result_type == Type.FULL
    assert result.entity.properties["a"].integer_value == 1
    assert 0 < result.version <= batch.snapshot_version
    assert result.create_time == result.update_time <= batch.read_time
    assert result.cursor == batch.end_cursor
    query = client.query(kind="K")
    query.keys_only()
    assert [(entity.key, dict(entity)) for entity in query.fetch()] == [(client.key("K", 1), {})]
    assert _projected(client, "__key__").entity_result_type == Type.KEY_ONLY


def test_projections(client: datastore.Client, put: Put) -> None:
    """A projection has the named properties only, of entities that have them all indexed."""
    put("K", 1, a=1, b="x", c=0)
    put("K", 2, a=2, c=0)
    put("K", 3, a=3, b="y", c=0, exclude=("b",))
    put("K", 4, a=None, b="z", c=0)
    query = client.query(kind="K", projection=["a", "b"])
    assert [(entity.key.id, dict(entity)) for entity in query.fetch()] == [
        (1, {"a": 1, "b": "x"}),
        (4, {"a": None, "b": "z"}),
    ]
    batch = _projected(client, "a", "__key__")
    assert batch.entity_result_type == Type.PROJECTION
    assert [list(result.entity.properties) for result in batch.entity_results] == [["a"]] * 4


def _projected(client: datastore.Client, *names: str) -> Any:
    projection = [{"property": {"name": name}} for name in names]
    return _run(client, {"kind": [{"name": "K"}], "projection": projection}).batch


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


def test_explain(client: datastore.Client, small_client: datastore.Client) -> None:
    """Explained without analysis a query is not run; with it, statistics come with the results.

    Only the last of several batches carries the metrics.
    """
    _fill(client, 5)
    planned = client.query(kind="K", order=["-a"], explain_options=ExplainOptions()).fetch()
    assert list(planned) == []
    (index,) = planned.explain_metrics.plan_summary.indexes_used
    assert index["properties"] == "(a DESC, __key__ ASC)"
    analysed = client.query(kind="K", explain_options=ExplainOptions(analyze=True)).fetch(limit=3)
    assert _ids(analysed) == [1, 2, 3]
    stats = analysed.explain_metrics.execution_stats
    assert (stats.results_returned, stats.read_operations) == (3, 3)
    assert stats.debug_stats["documents_scanned"] == "5"
    _fill(small_client, SMALL_BATCH + 1)
    options = {"explain_options": {"analyze": True}}
    first = _run(small_client, {"kind": [{"name": "K"}]}, **options)
    assert first.batch.entity_results
    assert not first.explain_metrics
    rest = {"kind": [{"name": "K"}], "start_cursor": first.batch.end_cursor}
    assert _run(small_client, rest, **options).explain_metrics.execution_stats.results_returned == 1


def test_results_follow_commits(client: datastore.Client, put: Put) -> None:
    """The same query and lookup, asked again after a commit, give the new state."""
    for value in (1, 2, 3):
        put("K", 1, a=value)
        for _ in range(2):
            assert [entity["a"] for entity in client.query(kind="K").fetch()] == [value]
            assert client.get(client.key("K", 1))["a"] == value


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"kind": [{"name": "A"}, {"name": "B"}]}, "one kind"),
        ({"kind": [{"name": "A"}], "offset": -1}, "negative"),
        ({"kind": [{"name": "A"}], "limit": -1}, "negative"),
        ({"kind": [{"name": "A"}], "order": [{}]}, "order must name"),
        ({"kind": [{"name": "A"}], "distinct_on": [{"name": "a"}]}, "not in the projection"),
        (
            {
                "kind": [{"name": "A"}],
                "projection": [{"property": {"name": "a"}}],
                "filter": {
                    "property_filter": {
                        "property": {"name": "a"},
                        "op": "EQUAL",
                        "value": {"integer_value": 1},
                    }
                },
            },
            "projected and filtered",
        ),
        ({"kind": [{"name": "A"}], "filter": {"composite_filter": {"op": "AND"}}}, "composite"),
    ],
)
def test_bad_queries_are_refused(
    client: datastore.Client, query: dict[str, object], message: str
) -> None:
    """A query that Datastore would not accept is INVALID_ARGUMENT."""
    with pytest.raises(exceptions.BadRequest, match=message):
        _run(client, query)


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
