"""google.datastore.v1.Datastore in memory, from serialised request to serialised response.

A commit fails with ABORTED if an entity that its transaction read was changed since. That is all: a
transaction reads what is committed at the time, and does not notice entities that its queries would
find now.
"""

from __future__ import annotations

import functools
import itertools
import secrets
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import grpc
from google.cloud.datastore_v1.types import query as query_types
from google.protobuf import struct_pb2
from google.protobuf.message import DecodeError

from . import wire
from .errors import Refusal, invalid_argument
from .keys import (
    EntityKey,
    Partition,
    Path,
    Scope,
    is_incomplete,
    resolve_key,
    resolve_partition,
    resolve_wire,
)
from .query import Query, Record, Results, Row
from .schema import (
    METHODS,
    REQUESTS,
    EntityResult,
    Key,
    LookupResponse,
    Message,
    MutationResult,
    QueryResultBatch,
    RunQueryResponse,
    Value,
    present,
    refuse,
    timestamp,
)

MAX_ENTITY_BYTES = 1024 * 1024 - 4
"""Datastore's limit for one entity. Any such entity fits into one response."""

_FIRST_ID = 1 << 50
"""Allocated ids start far above those that people choose, and stay exact in a double."""

_MOST_RESPONSES = 64
"""Kept to answer repeated requests, so that a benchmark measures the client."""

_NOT_MUTATIONS = (
    "base_version",
    "update_time",
    "conflict_resolution_strategy",
    "property_mask",
    "property_transforms",
)
"""Fields of a mutation that are refused."""

_More = query_types.QueryResultBatch.MoreResultsType
_Type = query_types.EntityResult.ResultType


@dataclass
class _Transaction:
    """An open transaction, with the versions of the entities that it has read: 0 for none."""

    scope: Scope
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    versions: dict[EntityKey, int] = field(default_factory=dict)

    def note(self, keys: Iterable[EntityKey], records: Iterable[Record | None]) -> None:
        """Remember what was read, in the version in which it was read first."""
        for key, record in zip(keys, records, strict=True):
            self.versions.setdefault(key, record.version if record else 0)


def _scope_of(message: Message, project: str) -> Scope:
    named = message.project_id or project
    if not named:
        raise invalid_argument("a request must name its project")
    if project and named != project:
        raise invalid_argument(f"the request is for project {named!r}, sent to that of {project!r}")
    return Scope(named, message.database_id)


def _is_repeatable(method: str, message: Message) -> bool:
    """Whether the same request has the same answer for as long as nothing is committed."""
    return (
        method in ("Lookup", "RunQuery")
        and not {"transaction", "new_transaction"} & present(message.read_options)
        and "explain_options" not in present(message)
    )


def _serialise(method: str, **fields: object) -> bytes:
    return bytes(METHODS[method][1](**fields).SerializeToString())


class DatastoreService:
    """A Datastore in memory. One object serves all transports; any thread may call it."""

    def __init__(self, *, batch_size: int | None = None, lookup_limit: int | None = None) -> None:
        """Make an empty one.

        ``batch_size`` caps the entities in a batch of a query, ``lookup_limit`` those that a Lookup
        answers before it defers the rest; None leaves both to the size of the response.

        Raises:
            ValueError: when a limit is less than one.
        """
        for name, limit in (("batch_size", batch_size), ("lookup_limit", lookup_limit)):
            if limit is not None and limit < 1:
                raise ValueError(f"{name} must be at least 1, not {limit}")
        self._batch_size = batch_size
        self._lookup_limit = lookup_limit
        self._lock = threading.RLock()
        # Of the last commit; grows with each.
        self._version = 1
        self._kinds: dict[Partition, dict[str, dict[Path, Record]]] = {}
        self._open: dict[bytes, _Transaction] = {}
        self._ids = itertools.count(_FIRST_ID)
        self._responses: dict[Hashable, bytes] = {}
        self._handlers: dict[str, Callable[[Message, Scope], bytes]] = {
            "Lookup": self.lookup,
            "RunQuery": self.run_query,
            "RunAggregationQuery": self.run_aggregation_query,
            "BeginTransaction": self.begin_transaction,
            "Commit": self.commit,
            "Rollback": self.rollback,
            "AllocateIds": self.allocate_ids,
        }

    def call(self, method: str, request: bytes, project: str = "") -> bytes:
        """Answer one RPC: ``method`` by its gRPC name, messages serialised.

        ``project`` is the project that the transport names, if any. It replaces the project of the
        request.

        Raises:
            Refusal: when the RPC is refused, with INTERNAL when that is a defect here.
        """
        # The version is read before the request is handled: if a commit lands meanwhile, the
        # response is stored under a past version, and never found again.
        repeated = self._version, method, project, request
        response = self._responses.get(repeated)
        if response is not None:
            return response
        try:
            message = REQUESTS[method].FromString(request)
            response = self._handlers[method](message, _scope_of(message, project))
        except Refusal:
            raise
        except DecodeError as error:
            raise invalid_argument(f"a message cannot be parsed: {error}") from error
        except Exception as error:
            traceback.print_exc()
            raise Refusal(grpc.StatusCode.INTERNAL, repr(error)) from error
        if _is_repeatable(method, message):
            if len(self._responses) >= _MOST_RESPONSES:
                self._responses.clear()
            self._responses[repeated] = response
        return response

    def _get(self, key: EntityKey) -> Record | None:
        return self._kinds.get(key.partition, {}).get(key.kind, {}).get(key.path)

    def lookup(self, message: Message, scope: Scope) -> bytes:
        """The entities of some keys, in the order of the keys."""
        refuse(message, "property_mask")
        resolved = [resolve_wire(key, scope) for key in message.keys]
        transaction, begun = self._transaction_of(message, scope)
        keys = [key for key, _ in resolved[: self._lookup_limit]]
        with self._lock:
            version = self._version
            records = list(map(self._get, keys))
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
        transaction, begun = self._transaction_of(message, scope)
        response = RunQueryResponse(transaction=begun)
        is_explained = "explain_options" in present(message)
        if is_explained and not message.explain_options.analyze:
            _explain(response, query, None)
            return bytes(response.SerializeToString())
        results, version = self._run(query, partition, transaction)
        batch, returned = _make_batch(query, results, self._batch_size, version)
        # Datastore sends the metrics with the last batch only.
        if is_explained and returned is not None:
            _explain(response, query, returned)
        return wire.query_batch(batch) + bytes(response.SerializeToString())

    def run_aggregation_query(self, message: Message, scope: Scope) -> bytes:
        """Aggregations over all results of a query."""
        refuse(message, "gql_query", "explain_options")
        query = Query(message.aggregation_query.nested_query)
        partition = resolve_partition(message.partition_id, scope)
        transaction, begun = self._transaction_of(message, scope)
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

    def _run(
        self, query: Query, partition: Partition, transaction: _Transaction | None
    ) -> tuple[Results, int]:
        """The results, and the version of the state read."""
        with self._lock:
            version = self._version
            kinds = self._kinds.get(partition, {})
            scanned = kinds.values() if query.kind is None else [kinds.get(query.kind, {})]
            records = [record for each in scanned for record in each.values()]
        results = query.run(records)
        if transaction is not None:
            found = [row.record for row in results.rows]
            transaction.note((record.key for record in found), found)
        return results, version

    def _transaction_of(self, message: Message, scope: Scope) -> tuple[_Transaction | None, bytes]:
        """The transaction that a request reads in, and its id if the request begins it."""
        options = message.read_options
        refuse(options, "read_time")
        chosen = options.WhichOneof("consistency_type")
        if chosen == "new_transaction":
            begun = self._begin(options.new_transaction, scope)
            return begun, begun.id
        if chosen == "transaction":
            return self._transaction(options.transaction, scope), b""
        # Every read here is strongly consistent, which is also a valid eventual one.
        return None, b""

    def _begin(self, options: Message, scope: Scope) -> _Transaction:
        refuse(options.read_only, "read_time")
        # A previous transaction is a hint for a server that locks: nothing to do here.
        begun = _Transaction(scope)
        self._open[begun.id] = begun
        return begun

    def _transaction(self, identifier: bytes, scope: Scope) -> _Transaction:
        """The open transaction of that id; INVALID_ARGUMENT when there is none in ``scope``."""
        transaction = self._open.get(identifier)
        if transaction is None or transaction.scope != scope:
            raise invalid_argument("the transaction is unknown or has ended")
        return transaction

    def _end(self, identifier: bytes, scope: Scope) -> _Transaction:
        with self._lock:
            transaction = self._transaction(identifier, scope)
            del self._open[identifier]
        return transaction

    def begin_transaction(self, message: Message, scope: Scope) -> bytes:
        """Open a transaction."""
        begun = self._begin(message.transaction_options, scope)
        return _serialise("BeginTransaction", transaction=begun.id)

    def rollback(self, message: Message, scope: Scope) -> bytes:
        """Close a transaction, whose writes never arrived."""
        self._end(message.transaction, scope)
        return _serialise("Rollback")

    def commit(self, message: Message, scope: Scope) -> bytes:
        """Apply all mutations, or none, as one version."""
        writes: _Writes = {}
        selector = message.WhichOneof("transaction_selector")
        with self._lock:
            if selector == "transaction":
                transaction = self._end(message.transaction, scope)
                if message.mutations:
                    # A transaction that only read can count as one before all others.
                    self._check(transaction)
            staged = [self._stage(mutation, scope, writes) for mutation in message.mutations]
            if selector is None and len(writes) < len(staged):
                raise invalid_argument(
                    "a non-transactional commit may have one mutation of each entity at most"
                )
            self._version += 1
            version, now = self._version, time.time_ns()
            created = {key: self._store(key, *write, now) for key, write in writes.items()}
        results = _mutation_results([(created[key], new) for key, new in staged], version, now)
        return b"".join(results) + _serialise(
            "Commit", index_updates=len(staged), commit_time=timestamp(now)
        )

    def _check(self, transaction: _Transaction) -> None:
        """Raise ABORTED when something that a transaction has read was changed since."""
        for key, version in transaction.versions.items():
            record = self._get(key)
            if (record.version if record else 0) != version:
                raise Refusal(
                    grpc.StatusCode.ABORTED,
                    f"{key} was changed by another commit since this transaction read it; "
                    "try again",
                )

    def _stage(self, mutation: Message, scope: Scope, writes: _Writes) -> tuple[EntityKey, bytes]:
        """Add one split Mutation message to the writes before it.

        Mutations are applied one after the other to a state that nobody else sees yet.

        Returns:
            The key, and its serialised message, if its id was allocated.

        Raises INVALID_ARGUMENT for a mutation that can never be right, ALREADY_EXISTS for an insert
        of an entity that exists, NOT_FOUND for an update of an entity that does not.
        """
        refuse(mutation, *_NOT_MUTATIONS)
        operation = mutation.WhichOneof("operation")
        if operation is None:
            raise invalid_argument("a mutation must have an operation")
        if operation == "delete":
            key, _ = resolve_wire(mutation.delete, scope)
            writes[key] = b"", b""
            return key, b""
        entity = getattr(mutation, operation)
        received = entity.key
        complete = Key.FromString(received)
        is_new = operation != "update" and is_incomplete(complete)
        if is_new:
            complete.path[-1].id = next(self._ids)
            received = complete.SerializeToString()
        key, resolved = resolve_wire(received, scope)
        exists = bool(writes[key][1]) if key in writes else self._get(key) is not None
        if operation == "insert" and exists:
            raise Refusal(grpc.StatusCode.ALREADY_EXISTS, f"{key} already exists")
        if operation == "update" and not exists:
            raise Refusal(grpc.StatusCode.NOT_FOUND, f"there is no {key} to update")
        if resolved != entity.key:
            entity.key = resolved
        raw = entity.SerializeToString()
        if len(raw) > MAX_ENTITY_BYTES:
            raise invalid_argument(
                f"{key} is {len(raw)} bytes, more than the {MAX_ENTITY_BYTES} allowed"
            )
        writes[key] = resolved, raw
        return key, resolved if is_new else b""

    def _store(self, key: EntityKey, key_wire: bytes, raw: bytes, now: int) -> int | None:
        """Store an entity, or delete it; returns when it was created."""
        records = self._kinds.setdefault(key.partition, {}).setdefault(key.kind, {})
        existing = records.pop(key.path, None)
        if not raw:
            return None
        created = existing.create_time if existing else now
        records[key.path] = Record(key, key_wire, raw, self._version, created, now)
        return created

    def allocate_ids(self, message: Message, scope: Scope) -> bytes:
        """Complete some keys with ids that nobody else is given."""
        for key in message.keys:
            if not is_incomplete(key):
                raise invalid_argument("ids are allocated for incomplete keys only")
            key.path[-1].id = next(self._ids)
            resolve_key(key, scope)
        return _serialise("AllocateIds", keys=message.keys)


_Writes = dict[EntityKey, tuple[bytes, bytes]]
"""The serialised keys and entities of a commit; of one that is deleted, both are empty."""


def _mutation_results(
    written: Iterable[tuple[int | None, bytes]], version: int, now: int
) -> Iterator[bytes]:
    """The results of mutations, as fields of the response."""

    @functools.cache
    def result(created: int | None, allocated: bytes) -> bytes:
        message = MutationResult(version=version)
        if created is not None:
            message.create_time.CopyFrom(timestamp(created))
            message.update_time.CopyFrom(timestamp(now))
        if allocated:
            message.key.MergeFromString(allocated)
        return wire.commit_results(message.SerializeToString())

    return itertools.starmap(result, written)


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


def _make_batch(
    query: Query, results: Results, batch_size: int | None, version: int
) -> tuple[bytes, int | None]:
    """The next batch of ``results``: at most ``batch_size`` entities and within a response's bytes.

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

    kind = _Type.PROJECTION if query.projection else _Type.FULL
    if query.is_keys_only:
        kind = _Type.KEY_ONLY
    passed = skipped + len(encoded)
    fields = QueryResultBatch(
        skipped_results=skipped,
        skipped_cursor=rows[skipped - 1].cursor if skipped else b"",
        entity_result_type=int(kind),
        end_cursor=rows[passed - 1].cursor if passed else query.message.start_cursor,
        more_results=int(more),
        snapshot_version=version,
        read_time=timestamp(time.time_ns()),
    )
    returned = None if more is _More.NOT_FINISHED else len(encoded)
    return b"".join(encoded) + fields.SerializeToString(), returned
