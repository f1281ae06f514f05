"""Aggregation queries, through the stock client over both transports."""

from __future__ import annotations

import math

import pytest
from google.api_core import exceptions
from google.cloud import datastore
from google.cloud.datastore.query import PropertyFilter
from google.cloud.datastore.query_profile import ExplainOptions

from lazyentity.bench.server.process import LoopbackServer

from .conftest import MakeClient, Put

pytestmark = pytest.mark.any_backend


def _values(aggregation: object) -> dict[str, object]:
    (results,) = aggregation.fetch()  # type: ignore[attr-defined]  # the client's are untyped
    return {result.alias: result.value for result in results}


def test_count_sum_and_average(client: datastore.Client, put: Put) -> None:
    """Sums and averages take the numbers among a property's values, counts take the entities."""
    for number, value in enumerate([1, 2, 6, "text", None], 1):
        put("K", number, a=value)
    put("K", 9, b=1)
    aggregation = client.aggregation_query(client.query(kind="K"))
    aggregation.count("all").sum("a", "sum").avg("a", "avg").sum("missing", "none")
    assert _values(aggregation) == {"all": 6, "sum": 9, "avg": 3.0, "none": 0}


def test_aggregations_see_what_the_query_finds(client: datastore.Client, put: Put) -> None:
    """The nested query's filter and limit bound the aggregation; it is explained as queries are."""
    for number in range(1, 6):
        put("K", number, a=number)
    query = client.query(kind="K")
    query.add_filter(filter=PropertyFilter("a", ">", 1))
    assert _values(client.aggregation_query(query).sum("a", "sum")) == {"sum": 14}
    (results,) = client.aggregation_query(query).count("n").fetch(limit=2)
    assert results[0].value == 2
    for analyze, count in ((False, 0), (True, 1)):
        options = ExplainOptions(analyze=analyze)
        aggregation = client.aggregation_query(query, explain_options=options)
        iterator = aggregation.count("n").fetch()
        assert len(list(iterator)) == count
        assert iterator.explain_metrics.plan_summary.indexes_used


def test_doubles_and_overflow(client: datastore.Client, put: Put) -> None:
    """A sum outside 64-bit integers is a double, and follows IEEE-754."""
    put("K", 1, big=2**63 - 1, mixed=0.5, inf=math.inf)
    put("K", 2, big=2**63 - 1, mixed=1, inf=-math.inf)
    aggregation = client.aggregation_query(client.query(kind="K"))
    aggregation.sum("big", "big").sum("mixed", "mixed").sum("inf", "inf")
    values = _values(aggregation)
    assert math.isnan(values.pop("inf"))  # type: ignore[arg-type]  # a double by the line above
    assert values == {"big": float(2**64 - 2), "mixed": 1.5}


def test_aliases_and_bounds(client: datastore.Client, put: Put) -> None:
    """Counts stop at up_to, averages of nothing are null, results without an alias are numbered."""
    for number in range(1, 6):
        put("K", number, a=number)
    response = client._datastore_api.run_aggregation_query(
        request={
            "project_id": client.project,
            "aggregation_query": {
                "nested_query": {"kind": [{"name": "K"}]},
                "aggregations": [
                    {"count": {}},
                    {"count": {"up_to": 2}, "alias": "two"},
                    {"count": {"up_to": 9}},
                    {"avg": {"property": {"name": "missing"}}, "alias": "none"},
                ],
            },
        }
    )
    (result,) = response.batch.aggregation_results
    values = dict(result.aggregate_properties)
    # The client's own iterator would read the null as 0.0.
    assert "null_value" in values.pop("none")
    counts = {alias: value.integer_value for alias, value in values.items()}
    assert counts == {"property_1": 5, "two": 2, "property_2": 5}


def test_inside_a_transaction(
    client: datastore.Client, make_client: MakeClient, server: LoopbackServer, put: Put
) -> None:
    """An aggregation counts among a transaction's reads: it sees its state, and may conflict."""
    put("K", 1, a=1)
    rival = make_client(server, client.project)
    count = client.aggregation_query(client.query(kind="K")).count("n")

    def count_twice() -> None:
        with client.transaction():
            before = _values(count)
            rival.put(datastore.Entity(rival.key("K", 2)))
            assert _values(count) == before == {"n": 1}
            client.put(datastore.Entity(client.key("Other", 1)))

    with pytest.raises(exceptions.Conflict):
        count_twice()
    assert _values(count) == {"n": 2}


@pytest.mark.parametrize(
    ("aggregations", "message"),
    [
        ([], "1 to 5 aggregations"),
        ([{"count": {}}] * 6, "1 to 5 aggregations"),
        ([{"count": {}, "alias": "n"}] * 2, "alias 'n'"),
        ([{"alias": "n"}], "operator"),
        ([{"sum": {}}], "sum must name a property"),
        ([{"count": {"up_to": -1}}], "negative"),
    ],
)
def test_bad_aggregations_are_refused(
    client: datastore.Client, aggregations: list[object], message: str
) -> None:
    """An aggregation that Datastore would not accept is INVALID_ARGUMENT."""
    with pytest.raises(exceptions.BadRequest, match=message):
        client._datastore_api.run_aggregation_query(
            request={
                "project_id": client.project,
                "aggregation_query": {
                    "nested_query": {"kind": [{"name": "K"}]},
                    "aggregations": aggregations,
                },
            }
        )
