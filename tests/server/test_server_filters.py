"""Filters of queries, of every operator and type, and aggregations of what they find."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable

import pytest
from google.api_core import exceptions
from google.cloud import datastore
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.query import And, Or, PropertyFilter
from google.cloud.datastore.query_profile import ExplainOptions

from .conftest import Put

pytestmark = pytest.mark.any_backend

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


def _found(client: datastore.Client, name: str, operator: str, value: object) -> list[object]:
    """Like ``find``, for filters that the client itself would not make."""
    one = {"property": {"name": name}, "op": operator, "value": value}
    response = client._datastore_api.run_query(
        request={
            "project_id": client.project,
            "query": {"kind": [{"name": "K"}], "filter": {"property_filter": one}},
        }
    )
    keys = [result.entity.key for result in response.batch.entity_results]
    return [key.path[-1].id or key.path[-1].name for key in keys]


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
    inequality decides the order, as an index would.
    """
    inner = datastore.Entity(exclude_from_indexes=["zip"])
    inner.update({"city": "Bern", "zip": 3000})
    put("K", 1, a=2, address=inner)
    put("K", 2, a=1, b=1, exclude=("b",))
    assert find(("b", "=", 1)) == find(order=["b"]) == []
    assert find() == [1, 2]
    assert find(("address.city", "=", "Bern")) == [1]
    assert find(("address.zip", "=", 3000)) == []
    assert find(("a", ">", 0)) == [2, 1]


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


def test_array_elements_match_one_by_one(find: Find, put: Put) -> None:
    """An equality may be met by any element; all inequalities must be met by the same one."""
    put("K", 1, a=[1, 10])
    put("K", 2, a=[5])
    put("K", 3, a=[])
    assert find(("a", "=", 1), ("a", "=", 10)) == [1]
    assert find(("a", ">", 2), ("a", "<", 7)) == [2]
    assert find(("a", "!=", 5)) == [1]
    assert find(("a", "IN", [10, 5])) == [1, 2]


def test_keys_are_filtered(client: datastore.Client, find: Find, put: Put) -> None:
    """``__key__`` compares by path, ids before names."""
    for identifier in (2, "a", 10, "b"):
        put("K", identifier, a=1)
    assert find() == [2, 10, "a", "b"]
    assert find(("__key__", ">", client.key("K", 2))) == [10, "a", "b"]
    assert find(("__key__", "=", client.key("K", "a"))) == ["a"]
    wanted = [{"key_value": client.key("K", name).to_protobuf()} for name in ("b", 2)]
    assert _found(client, "__key__", "IN", {"array_value": {"values": wanted}}) == [2, "b"]


def test_ancestors(client: datastore.Client, find: Find, put: Put) -> None:
    """An ancestor query finds the ancestor itself and all below it, of the kind or of any.

    A query without a kind finds all, and may use nothing but keys.
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
    uses: list[tuple[list[object], dict[str, list[str]]]]
    uses = [([("a", "=", 1)], {}), ([], {"order": ["a"]}), ([], {"projection": ["a"]})]
    for filters, options in uses:
        with pytest.raises(exceptions.BadRequest, match="must have a kind"):
            find(*filters, kind=None, **options)


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


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ([("", "=", 1)], "must name a property"),
        ([("a", "IN", [])], "IN takes an array"),
        ([("a", "NOT_IN", list(range(11)))], "NOT_IN takes an array"),
        ([("a", "=", [1])], "never indexed"),
        ([Or([PropertyFilter("a", "=", n) for n in range(31)])], "at most 30"),
    ],
)
def test_bad_filters_are_refused(find: Find, filters: list[object], message: str) -> None:
    """A filter that Datastore would not accept is INVALID_ARGUMENT."""
    with pytest.raises(exceptions.BadRequest, match=message):
        find(*filters)


# Aggregations.


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
