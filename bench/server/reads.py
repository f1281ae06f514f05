"""Lookup, RunQuery and RunAggregationQuery."""

from __future__ import annotations

import time

from google.cloud.datastore_v1.types import query as query_types

from . import wire
from .aggregation import aggregate
from .errors import invalid_argument
from .explain import Explanation
from .keys import Scope, resolve_complete, resolve_partition
from .paging import make_batch
from .query import Query, Results, parse_query
from .schema import (
    METHODS,
    EntityResult,
    LookupResponse,
    Message,
    RunQueryResponse,
    refuse,
    timestamp,
)
from .store import Reader, Store
from .transactions import Transaction, Transactions

_NO_MORE_RESULTS = int(query_types.QueryResultBatch.MoreResultsType.NO_MORE_RESULTS)


class Reads:
    """The RPCs that read. Each takes its request and answers with the serialised response."""

    def __init__(
        self,
        store: Store,
        transactions: Transactions,
        *,
        batch_size: int | None,
        lookup_limit: int | None,
    ) -> None:
        self._store = store
        self._transactions = transactions
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
            begun = self._transactions.begin(options.new_transaction, scope)
            return begun, begun.id
        if chosen == "transaction":
            return self._transactions.get(options.transaction, scope), b""
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
