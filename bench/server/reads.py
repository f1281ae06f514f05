"""The RPCs that read, with aggregations, explanations, and results cut into batches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from google.cloud.datastore_v1.types import query as query_types
from google.protobuf import duration_pb2, struct_pb2

from . import wire
from .errors import invalid_argument
from .keys import KEY_PROPERTY, Scope, resolve_complete, resolve_partition
from .query import Query, Results, Row, parse_query
from .schema import (
    METHODS,
    EntityResult,
    LookupResponse,
    Message,
    QueryResultBatch,
    RunQueryResponse,
    Value,
    present,
    refuse,
    timestamp,
)
from .store import Reader, Store, Transaction

MAX_AGGREGATIONS = 5
_INT64 = range(-(2**63), 2**63)

Number = int | float


def _numbers(rows: Sequence[Row], name: str) -> list[Number]:
    """The indexed numbers of a property, one an entity; other values are left out."""
    numbers: list[Number] = []
    for row in rows:
        values = row.record.index.get(name, ())
        if len(values) == 1:
            value = Value.FromString(values[0].wire)
            kind = value.WhichOneof("value_type")
            if kind in ("integer_value", "double_value"):
                numbers.append(getattr(value, kind))
    return numbers


def _sum(numbers: Sequence[Number]) -> Message:
    if all(isinstance(number, int) for number in numbers):
        total = sum(numbers)
        if total in _INT64:
            return Value(integer_value=total)
    return Value(double_value=sum(map(float, numbers)))


def _avg(numbers: Sequence[Number]) -> Message:
    if not numbers:
        return Value(null_value=struct_pb2.NULL_VALUE)
    return Value(double_value=sum(map(float, numbers)) / len(numbers))


def _aggregate(aggregation: Message, rows: Sequence[Row]) -> Message:
    operator = aggregation.WhichOneof("operator")
    if operator == "count":
        count = len(rows)
        if aggregation.count.HasField("up_to"):
            if aggregation.count.up_to.value < 0:
                raise invalid_argument("up_to must not be negative")
            count = min(count, aggregation.count.up_to.value)
        return Value(integer_value=count)
    if operator is None:
        raise invalid_argument("an aggregation must have an operator")
    name = getattr(aggregation, operator).property.name
    if not name:
        raise invalid_argument(f"{operator} must name a property")
    return (_sum if operator == "sum" else _avg)(_numbers(rows, name))


def aggregate(aggregations: Sequence[Message], rows: Sequence[Row]) -> dict[str, Message]:
    """The Value of each Aggregation message over ``rows``, by alias.

    Raises INVALID_ARGUMENT for none or too many aggregations, and for aliases that collide.
    """
    if not 0 < len(aggregations) <= MAX_AGGREGATIONS:
        raise invalid_argument(f"a query takes 1 to {MAX_AGGREGATIONS} aggregations")
    values: dict[str, Message] = {}
    unnamed = 0
    for aggregation in aggregations:
        alias = aggregation.alias
        if not alias:
            unnamed += 1
            alias = f"property_{unnamed}"
        if alias in values:
            raise invalid_argument(f"two aggregations have the alias {alias!r}")
        values[alias] = _aggregate(aggregation, rows)
    return values


def _index_used(query: Query) -> Message:
    """The index that Datastore would name: by the query's filters and orders, then by key."""
    names = {
        condition.name: "ASC"
        for alternative in query.alternatives
        for condition in alternative.conditions
    }
    names |= dict.fromkeys(query.projection, "ASC")
    names |= {order.name: "DESC" if order.descending else "ASC" for order in query.orders}
    names.setdefault(KEY_PROPERTY, "ASC")
    index = struct_pb2.Struct()
    index["query_scope"] = "Collection group"
    index["properties"] = "(" + ", ".join(f"{name} {way}" for name, way in names.items()) + ")"
    return index


class Explanation:
    """The metrics that one query request asked for; its clock starts when it is made."""

    def __init__(self, request: Message) -> None:
        self._started = time.perf_counter_ns()
        self.asked = "explain_options" in present(request)
        self.plan_only = self.asked and not request.explain_options.analyze
        """Whether to plan the query without running it."""

    def add_plan(self, response: Message, query: Query) -> None:
        """Write the plan summary into a response."""
        response.explain_metrics.plan_summary.indexes_used.append(_index_used(query))

    def add(self, response: Message, query: Query, *, scanned: int, returned: int) -> None:
        """Write plan summary and execution statistics; both counts are of this request alone."""
        self.add_plan(response, query)
        seconds, nanoseconds = divmod(time.perf_counter_ns() - self._started, 10**9)
        stats = response.explain_metrics.execution_stats
        stats.results_returned = returned
        stats.read_operations = returned
        duration = duration_pb2.Duration(seconds=seconds, nanos=nanoseconds)
        stats.execution_duration.CopyFrom(duration)
        stats.debug_stats["documents_scanned"] = str(scanned)
        stats.debug_stats["index_entries_scanned"] = str(scanned)


MAX_SKIPPED = 1000
"""Datastore skips no more results than this in one batch; clients then ask again."""

_More = query_types.QueryResultBatch.MoreResultsType
_Type = query_types.EntityResult.ResultType


@dataclass(frozen=True)
class Batch:
    """One batch of results."""

    wire: bytes
    """The QueryResultBatch message, serialised."""
    count: int
    finished: bool
    """Whether this was the last batch: the client need not ask again by itself."""


def _encode(query: Query, row: Row) -> bytes:
    record = row.record
    if query.keys_only:
        entity = wire.entity(record.key_wire, {})
    elif query.projection:
        values = {name: value.wire for name, value in row.projected.items()}
        entity = wire.entity(record.key_wire, values)
    else:
        return wire.entity_result(record.wire, record.result_tail, row.cursor)
    return wire.entity_result(entity, b"", row.cursor)


def _result_type(query: Query) -> int:
    if query.keys_only:
        return int(_Type.KEY_ONLY)
    return int(_Type.PROJECTION if query.projection else _Type.FULL)


def make_batch(
    query: Query, results: Results, *, batch_size: int | None, version: int, read_time: int
) -> Batch:
    """The next batch of ``results``: at most ``batch_size`` entities and within a response's bytes.

    ``version`` is the version of the state read, ``read_time`` nanoseconds since the epoch.
    """
    rows = results.rows
    skipped = min(query.offset, len(rows), batch_size or MAX_SKIPPED)
    skipping = skipped < min(query.offset, len(rows))
    remaining = rows[skipped:]
    wanted = [] if skipping else remaining[: query.limit]

    encoded: list[bytes] = []
    size = 0
    for row in wanted[:batch_size]:
        result = wire.batch_results(_encode(query, row))
        size += len(result)
        if encoded and size > wire.MAX_RESPONSE_BYTES:
            break
        encoded.append(result)

    if skipping or len(encoded) < len(wanted):
        more = _More.NOT_FINISHED
    elif query.limit is not None and len(wanted) == query.limit:
        # Datastore stops at the limit, without a look at further results.
        more = _More.MORE_RESULTS_AFTER_LIMIT
    elif results.more_after_cursor:
        more = _More.MORE_RESULTS_AFTER_CURSOR
    else:
        more = _More.NO_MORE_RESULTS

    passed = skipped + len(encoded)
    fields = QueryResultBatch(
        skipped_results=skipped,
        skipped_cursor=rows[skipped - 1].cursor if skipped else b"",
        entity_result_type=_result_type(query),
        end_cursor=rows[passed - 1].cursor if passed else query.start_cursor,
        more_results=int(more),
        snapshot_version=version,
        read_time=timestamp(read_time),
    )
    return Batch(
        b"".join(encoded) + fields.SerializeToString(), len(encoded), more is not _More.NOT_FINISHED
    )


_NO_MORE_RESULTS = int(query_types.QueryResultBatch.MoreResultsType.NO_MORE_RESULTS)


class Reads:
    """The RPCs that read. Each takes its request and answers with the serialised response."""

    def __init__(
        self,
        store: Store,
        *,
        batch_size: int | None,
        lookup_limit: int | None,
    ) -> None:
        self._store = store
        self._batch_size = batch_size
        self._lookup_limit = lookup_limit

    def lookup(self, message: Message, scope: Scope) -> bytes:
        """The entities of some keys, in the order of the keys."""
        refuse(message, "property_mask")
        resolved = [resolve_complete(key, scope) for key in message.keys]
        reader, begun = self._reader(message, scope)
        with self._store.lock:
            version = reader.version
            records = reader.read([key for key, _ in resolved[: self._lookup_limit]])
        missing = EntityResult(version=version).SerializeToString()
        parts: list[bytes] = []
        # The response names the deferred keys, so room for all keys is set aside.
        size = message.ByteSize()
        for (_, key_wire), record in zip(resolved, records, strict=False):
            if record is None:
                key_only = wire.entity(key_wire, {})
                part = wire.lookup_missing(wire.entity_result(key_only, missing))
            else:
                part = wire.lookup_found(wire.entity_result(record.wire, record.result_tail))
            size += len(part)
            if parts and size > wire.MAX_RESPONSE_BYTES:
                break
            parts.append(part)
        deferred = resolved[len(parts) :]
        parts.extend(wire.lookup_deferred(key_wire) for _, key_wire in deferred)
        rest = LookupResponse(transaction=begun, read_time=timestamp(time.time_ns()))
        return b"".join(parts) + bytes(rest.SerializeToString())

    def run_query(self, message: Message, scope: Scope) -> bytes:
        """One batch of a query's results."""
        explanation = Explanation(message)
        refuse(message, "gql_query", "property_mask")
        if not message.HasField("query"):
            raise invalid_argument("a RunQueryRequest must have a query")
        query, reader, begun = self._prepare(message, message.query, scope)
        response = RunQueryResponse(transaction=begun)
        if explanation.plan_only:
            explanation.add_plan(response, query)
            return bytes(response.SerializeToString())
        results, scanned, version = self._run(query, reader)
        batch = make_batch(
            query, results, batch_size=self._batch_size, version=version, read_time=time.time_ns()
        )
        # Datastore sends the metrics with the last batch only.
        if explanation.asked and batch.finished:
            explanation.add(response, query, scanned=scanned, returned=batch.count)
        return wire.query_batch(batch.wire) + bytes(response.SerializeToString())

    def run_aggregation_query(self, message: Message, scope: Scope) -> bytes:
        """Aggregations over all results of a query."""
        explanation = Explanation(message)
        refuse(message, "gql_query")
        if not message.aggregation_query.HasField("nested_query"):
            raise invalid_argument("an aggregation query must have a nested query")
        nested = message.aggregation_query.nested_query
        query, reader, begun = self._prepare(message, nested, scope)
        response = METHODS["RunAggregationQuery"][1](transaction=begun)
        if explanation.plan_only:
            explanation.add_plan(response, query)
            return bytes(response.SerializeToString())
        results, scanned, _ = self._run(query, reader)
        rows = results.rows[query.offset :][: query.limit]
        values = aggregate(message.aggregation_query.aggregations, rows)
        properties = response.batch.aggregation_results.add().aggregate_properties
        for alias, value in values.items():
            properties[alias].CopyFrom(value)
        response.batch.more_results = _NO_MORE_RESULTS
        response.batch.read_time.CopyFrom(timestamp(time.time_ns()))
        if explanation.asked:
            explanation.add(response, query, scanned=scanned, returned=1)
        return bytes(response.SerializeToString())

    def _reader(self, message: Message, scope: Scope) -> tuple[Reader, bytes]:
        """Where a request reads from, and the id of the transaction that it begins, if any."""
        options = message.read_options
        refuse(options, "read_time")
        chosen = options.WhichOneof("consistency_type")
        if chosen == "new_transaction":
            begun = self._store.begin(options.new_transaction, scope)
            return begun, begun.id
        if chosen == "transaction":
            return self._store.transaction(options.transaction, scope), b""
        # Every read here is strongly consistent, which is also a valid eventual one.
        return self._store, b""

    def _prepare(
        self, message: Message, query: Message, scope: Scope
    ) -> tuple[Query, Reader, bytes]:
        partition = resolve_partition(message.partition_id, scope)
        # Parsed first: a query that is refused must not leave a transaction open.
        parsed = parse_query(query, partition, scope)
        return parsed, *self._reader(message, scope)

    def _run(self, query: Query, reader: Reader) -> tuple[Results, int, int]:
        """The results, how many entities were looked at, and the version of the state read."""
        if isinstance(reader, Transaction):
            reader.depend_on(query.matches)
        with self._store.lock:
            version = reader.version
            records = reader.scan(query.partition, query.kind)
        return query.run(records), len(records), version
