"""The RPCs that read, with aggregations, and results cut into batches."""

from __future__ import annotations

import time
from collections.abc import Sequence

from google.cloud.datastore_v1.types import query as query_types
from google.protobuf import struct_pb2

from . import wire
from .errors import invalid_argument
from .keys import Partition, Scope, resolve_partition, resolve_wire
from .query import Query, Results, Row
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
from .store import Store, Transaction

_More = query_types.QueryResultBatch.MoreResultsType
_Type = query_types.EntityResult.ResultType


def _numbers(rows: Sequence[Row], name: str) -> list[int | float]:
    """The indexed numbers of a property; other values are left out."""
    values = (Value.FromString(each.wire) for row in rows for each in row.record.values(name))
    kinds = ((value, value.WhichOneof("value_type")) for value in values)
    return [
        getattr(value, kind) for value, kind in kinds if kind in ("integer_value", "double_value")
    ]


def _aggregate(aggregation: Message, rows: Sequence[Row]) -> Message:
    """The Value of an Aggregation message over the results of a query."""
    operator = aggregation.WhichOneof("operator")
    if operator == "count":
        most = aggregation.count.up_to.value if aggregation.count.HasField("up_to") else len(rows)
        return Value(integer_value=min(len(rows), most))
    if operator is None:
        raise invalid_argument("an aggregation must have an operator")
    numbers = _numbers(rows, getattr(aggregation, operator).property.name)
    if operator == "avg":
        if not numbers:
            return Value(null_value=struct_pb2.NULL_VALUE)
        return Value(double_value=sum(numbers) / len(numbers))
    total = sum(numbers)
    return Value(integer_value=total) if isinstance(total, int) else Value(double_value=total)


def _explain(response: Message, query: Query, returned: int | None) -> None:
    """Write the metrics that a request asked for; the statistics, unless ``returned`` is None."""
    metrics = response.explain_metrics
    orders = [f"{name} {'DESC' if desc else 'ASC'}" for name, desc in query.orders.items()]
    metrics.plan_summary.indexes_used.add()["properties"] = f"({', '.join(orders)})"
    if returned is not None:
        metrics.execution_stats.results_returned = returned
        metrics.execution_stats.read_operations = returned
        # The REST clients require it. No time is measured here.
        metrics.execution_stats.execution_duration.SetInParent()


def _encode(query: Query, row: Row) -> bytes:
    record = row.record
    if query.is_keys_only or query.projection:
        values = {name: value.wire for name, value in row.projected.items()}
        return wire.entity_result(wire.entity(record.key_wire, values), b"", row.cursor)
    return wire.entity_result(record.wire, record.result_tail, row.cursor)


def make_batch(
    query: Query, results: Results, *, batch_size: int | None, version: int
) -> tuple[bytes, int | None]:
    """The next batch of ``results``: at most ``batch_size`` entities and within a response's bytes.

    Args:
        query: the query.
        results: its results from its start cursor on.
        batch_size: None for no limit but that of bytes.
        version: of the state read.

    Returns:
        The QueryResultBatch message, serialised, and the number of its entities if it is the last
        batch: the client need not ask again by itself.
    """
    rows = results.rows
    skipped = min(query.offset, len(rows), batch_size or len(rows))
    skipping = skipped < min(query.offset, len(rows))
    wanted = [] if skipping else rows[skipped:][: query.limit]

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
        entity_result_type=_Type.KEY_ONLY
        if query.is_keys_only
        else _Type.PROJECTION
        if query.projection
        else _Type.FULL,
        end_cursor=rows[passed - 1].cursor if passed else query.message.start_cursor,
        more_results=int(more),
        snapshot_version=version,
        read_time=timestamp(time.time_ns()),
    )
    returned = None if more is _More.NOT_FINISHED else len(encoded)
    return b"".join(encoded) + fields.SerializeToString(), returned


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
        resolved = [resolve_wire(key, scope) for key in message.keys]
        transaction, begun = self._transaction(message, scope)
        keys = [key for key, _ in resolved[: self._lookup_limit]]
        with self._store.lock:
            version = self._store.version
            records = list(map(self._store.get, keys))
        if transaction is not None:
            transaction.note(keys, records)
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
        refuse(message, "gql_query", "property_mask")
        query = Query(message.query)
        partition = resolve_partition(message.partition_id, scope)
        transaction, begun = self._transaction(message, scope)
        response = RunQueryResponse(transaction=begun)
        is_explained = "explain_options" in present(message)
        if is_explained and not message.explain_options.analyze:
            _explain(response, query, None)
            return bytes(response.SerializeToString())
        results, version = self._run(query, partition, transaction)
        batch, returned = make_batch(query, results, batch_size=self._batch_size, version=version)
        # Datastore sends the metrics with the last batch only.
        if is_explained and returned is not None:
            _explain(response, query, returned)
        return wire.query_batch(batch) + bytes(response.SerializeToString())

    def run_aggregation_query(self, message: Message, scope: Scope) -> bytes:
        """Aggregations over all results of a query."""
        refuse(message, "gql_query", "explain_options")
        query = Query(message.aggregation_query.nested_query)
        partition = resolve_partition(message.partition_id, scope)
        transaction, begun = self._transaction(message, scope)
        results, _ = self._run(query, partition, transaction)
        rows = results.rows[query.offset :][: query.limit]
        response = METHODS["RunAggregationQuery"][1](transaction=begun)
        values = response.batch.aggregation_results.add().aggregate_properties
        for number, aggregation in enumerate(message.aggregation_query.aggregations, start=1):
            alias = aggregation.alias or f"property_{number}"
            values[alias].CopyFrom(_aggregate(aggregation, rows))
        response.batch.more_results = int(_More.NO_MORE_RESULTS)
        response.batch.read_time.CopyFrom(timestamp(time.time_ns()))
        return bytes(response.SerializeToString())

    def _transaction(self, message: Message, scope: Scope) -> tuple[Transaction | None, bytes]:
        """The transaction that a request reads in, and its id if the request begins it."""
        options = message.read_options
        refuse(options, "read_time")
        chosen = options.WhichOneof("consistency_type")
        if chosen == "new_transaction":
            begun = self._store.begin(options.new_transaction, scope)
            return begun, begun.id
        if chosen == "transaction":
            return self._store.transaction(options.transaction, scope), b""
        # Every read here is strongly consistent, which is also a valid eventual one.
        return None, b""

    def _run(
        self, query: Query, partition: Partition, transaction: Transaction | None
    ) -> tuple[Results, int]:
        """The results, and the version of the state read."""
        with self._store.lock:
            version = self._store.version
            records = self._store.scan(partition, query.kind)
        results = query.run(records)
        if transaction is not None:
            found = [row.record for row in results.rows]
            transaction.note((record.key for record in found), found)
        return results, version
