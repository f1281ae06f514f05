"""A loopback Firestore server in native mode: a test and benchmark server, not an emulator.

It keeps documents in memory, and answers queries, aggregations, look-ups, writes and listeners over
gRPC. It lacks the promises of an emulator: no isolation of transactions, no rules, no index
configuration, one target of a listener. It answers an unsupported call with UNIMPLEMENTED.

Documents are stored as bytes, and sent as they are where nothing is selected of them: a benchmark
sees the cost of the client.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.cloud.firestore_v1 import _helpers
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.types import document as document_types
from google.cloud.firestore_v1.types import firestore as types
from google.cloud.firestore_v1.types import query as query_types
from google.cloud.firestore_v1.types import write as write_types
from google.protobuf.empty_pb2 import Empty
from google.protobuf.timestamp_pb2 import Timestamp

from .wire import Field

SERVICE = "google.firestore.v1.Firestore"
_THREADS = 64
"""A listener keeps one of them."""
_LISTENER_SECONDS = 0.05

Document = document_types.Document.pb()
_Value = document_types.Value.pb()
_BatchGetDocumentsResponse = types.BatchGetDocumentsResponse.pb()
_ListenResponse = types.ListenResponse.pb()
_RunQueryResponse = types.RunQueryResponse.pb()
_WriteResult = write_types.WriteResult.pb()
_Change = types.TargetChange.TargetChangeType
_DESCENDING = query_types.StructuredQuery.Direction.DESCENDING
_queried = Field(_RunQueryResponse.DESCRIPTOR, "document")
_found = Field(_BatchGetDocumentsResponse.DESCRIPTOR, "found")


class Refusal(Exception):
    """A call that is refused, with its status."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code = code


def _unimplemented(feature: str) -> Refusal:
    return Refusal(grpc.StatusCode.UNIMPLEMENTED, f"the loopback server does not support {feature}")


# Firestore's order of types. Numbers compare with each other, whatever their type.
_RANKS = {
    name: rank
    for rank, names in enumerate(
        (
            ("null_value",),
            ("boolean_value",),
            ("integer_value", "double_value"),
            ("timestamp_value",),
            ("string_value",),
            ("bytes_value",),
            ("reference_value",),
            ("geo_point_value",),
            ("array_value",),
            ("map_value",),
        )
    )
    for name in names
}
_ARRAY = _RANKS["array_value"]


def sort_key(value: Any) -> tuple[int, Any]:
    """The place of a value in the order of all values."""
    case = value.WhichOneof("value_type") or "null_value"
    held = getattr(value, case)
    if case == "timestamp_value":
        held = held.seconds, held.nanos
    elif case == "geo_point_value":
        held = held.latitude, held.longitude
    elif case == "array_value":
        held = [sort_key(item) for item in held.values]
    elif case == "map_value":
        held = sorted((name, sort_key(item)) for name, item in held.fields.items())
    elif case == "double_value" and math.isnan(held):
        held = -math.inf
    return _RANKS[case], held


_FieldOperator = query_types.StructuredQuery.FieldFilter.Operator
_UnaryOperator = query_types.StructuredQuery.UnaryFilter.Operator
_Key = tuple[int, Any]
_TESTS: dict[int, Callable[[_Key, _Key], bool]] = {
    _FieldOperator.EQUAL: lambda one, other: one == other,
    _FieldOperator.NOT_EQUAL: lambda one, other: one[0] != 0 and one != other,
    _FieldOperator.LESS_THAN: lambda one, other: one[0] == other[0] and one < other,
    _FieldOperator.LESS_THAN_OR_EQUAL: lambda one, other: one[0] == other[0] and one <= other,
    _FieldOperator.GREATER_THAN: lambda one, other: one[0] == other[0] and one > other,
    _FieldOperator.GREATER_THAN_OR_EQUAL: lambda one, other: one[0] == other[0] and one >= other,
    _FieldOperator.IN: lambda one, other: one in other[1],
    _FieldOperator.NOT_IN: lambda one, other: one[0] != 0 and one not in other[1],
    _FieldOperator.ARRAY_CONTAINS: lambda one, other: one[0] == _ARRAY and other in one[1],
    _FieldOperator.ARRAY_CONTAINS_ANY: lambda one, other: (
        one[0] == _ARRAY and any(each in one[1] for each in other[1])
    ),
}


def field_of(document: Any, path: str) -> Any:
    """The value of a field; None if there is none."""
    if path == "__name__":
        return _Value(reference_value=document.name)
    *parents, name = FieldPath.from_api_repr(path).parts
    fields = document.fields
    for parent in parents:
        if parent not in fields:
            return None
        fields = fields[parent].map_value.fields
    return fields.get(name, None)


def passes(document: Any, where: Any) -> bool:
    """Whether a document passes a filter.

    Raises:
        Refusal: the filter is not supported.
    """
    case = where.WhichOneof("filter_type")
    if case is None:
        return True
    if case == "composite_filter":
        is_or = where.composite_filter.op == query_types.StructuredQuery.CompositeFilter.Operator.OR
        found = (passes(document, each) for each in where.composite_filter.filters)
        return any(found) if is_or else all(found)
    filtered = getattr(where, case)
    value = field_of(document, filtered.field.field_path)
    if value is None:
        return False
    if case == "unary_filter":
        is_nan = value.WhichOneof("value_type") == "double_value" and math.isnan(value.double_value)
        is_null = value.WhichOneof("value_type") == "null_value"
        outcomes: dict[int, bool] = {
            _UnaryOperator.IS_NAN: is_nan,
            _UnaryOperator.IS_NOT_NAN: not is_nan,
            _UnaryOperator.IS_NULL: is_null,
            _UnaryOperator.IS_NOT_NULL: not is_null,
        }
        return outcomes[filtered.op]
    if filtered.op not in _TESTS:
        raise _unimplemented(f"the operator {filtered.op} of a filter")
    return _TESTS[filtered.op](sort_key(value), sort_key(filtered.value))


def _is_after(document: Any, orders: Sequence[Any], cursor: Any) -> bool:
    """Whether a document is at a cursor or after it; after it only, unless the cursor is before."""
    for order, bound in zip(orders, cursor.values, strict=False):
        one, other = sort_key(field_of(document, order.field.field_path)), sort_key(bound)
        if one != other:
            return (one < other) if order.direction == _DESCENDING else (one > other)
    return bool(cursor.before)


def _is_in(name: str, parent: str, source: Any) -> bool:
    """Whether a document is in a collection, or in one of the group."""
    if not name.startswith(f"{parent}/"):
        return False
    parts = name.removeprefix(f"{parent}/").split("/")
    is_child = source.all_descendants or len(parts) == 2
    return is_child and parts[-2] == source.collection_id


def _move(target: Any, source: Any, path: str) -> None:
    """Take the field at a path from another document, or remove it as that has none."""
    value = field_of(source, path)
    *parents, name = FieldPath.from_api_repr(path).parts
    fields = target.fields
    for parent in parents:
        if value is None and parent not in fields:
            return
        fields = fields[parent].map_value.fields
    if value is not None:
        fields[name].CopyFrom(value)
    elif name in fields:
        del fields[name]


def _masked(raw: bytes, paths: Sequence[str]) -> bytes:
    """The bytes of a document with some of its fields; with all, if none are named."""
    if not paths:
        return raw
    document = Document.FromString(raw)
    masked = Document(
        name=document.name, create_time=document.create_time, update_time=document.update_time
    )
    for path in paths:
        if path != "__name__":
            _move(masked, document, path)
    return bytes(masked.SerializeToString())


def encoded(fields: dict[str, Any]) -> bytes:
    """The bytes of a document of Python values, without a name."""
    document = document_types.Document(fields=_helpers.encode_dict(fields))
    return bytes(document._pb.SerializeToString())


class FirestoreService:
    """Firestore in memory. Any thread may call it.

    Attributes:
        documents: serialised ``Document`` messages, by name.
    """

    def __init__(self) -> None:
        self.documents: dict[str, bytes] = {}
        self._changed = threading.Condition(threading.RLock())
        self._last = 0

    def handlers(self) -> dict[str, tuple[Any, Any, Any]]:
        """The methods of the API: how gRPC calls them, the function, and the request."""
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        return {
            "BatchGetDocuments": (stream, self.batch_get, types.BatchGetDocumentsRequest),
            "BatchWrite": (unary, self.batch_write, types.BatchWriteRequest),
            "BeginTransaction": (unary, self.begin, types.BeginTransactionRequest),
            "Commit": (unary, self.commit, types.CommitRequest),
            "ListCollectionIds": (unary, self.list_ids, types.ListCollectionIdsRequest),
            "ListDocuments": (unary, self.list_documents, types.ListDocumentsRequest),
            "Listen": (grpc.stream_stream_rpc_method_handler, self.listen, types.ListenRequest),
            "PartitionQuery": (unary, self.partition, types.PartitionQueryRequest),
            "Rollback": (unary, lambda *_: Empty(), types.RollbackRequest),
            "RunAggregationQuery": (stream, self.aggregate, types.RunAggregationQueryRequest),
            "RunQuery": (stream, self.run_query, types.RunQueryRequest),
        }

    def now(self) -> Timestamp:
        """A time after all times given before, in microseconds as Firestore has it."""
        with self._changed:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            now = Timestamp()
            now.FromMicroseconds(self._last)
            return now

    def store(self, name: str, raw: bytes) -> None:
        """Store a document, of whose bytes only the name and the times are missing."""
        now = self.now()
        self.documents[name] = raw + bytes(
            Document(name=name, create_time=now, update_time=now).SerializeToString()
        )

    def batch_get(self, request: Any, context: Any) -> Iterator[Any]:
        """Look documents up."""
        if request.HasField("new_transaction"):
            yield _BatchGetDocumentsResponse(transaction=b"new")
        for name in request.documents:
            raw = self.documents.get(name)
            if raw is None:
                yield _BatchGetDocumentsResponse(missing=name, read_time=self.now())
            else:
                rest = _BatchGetDocumentsResponse(read_time=self.now()).SerializeToString()
                yield _found(_masked(raw, request.mask.field_paths)) + rest

    def run_query(self, request: Any, context: Any) -> Iterator[Any]:
        """Answer with the documents of a query, one in a response."""
        query = request.structured_query
        names = self._names(request.parent, query)
        is_explained = request.HasField("explain_options")
        if request.HasField("new_transaction"):
            yield _RunQueryResponse(transaction=b"new")
        if is_explained and not request.explain_options.analyze:
            response = _RunQueryResponse()
            index = response.explain_metrics.plan_summary.indexes_used.add()
            index["query_scope"] = "Collection"
            yield response
            return
        skipped = min(query.offset, len(names))
        if skipped:
            yield _RunQueryResponse(skipped_results=skipped, read_time=self.now())
        names = names[skipped:]
        paths = [field.field_path for field in query.select.fields]
        for name in names[: query.limit.value] if query.HasField("limit") else names:
            raw = self.documents.get(name)
            if raw is not None:
                rest = _RunQueryResponse(read_time=self.now()).SerializeToString()
                yield _queried(_masked(raw, paths)) + rest
        if is_explained:
            stats = {"results_returned": len(names)}
            yield _RunQueryResponse(explain_metrics={"execution_stats": stats})

    def aggregate(self, request: Any, context: Any) -> Iterator[Any]:
        """Count, add or average the documents of a query."""
        query = request.structured_aggregation_query
        names = self._names(request.parent, query.structured_query)
        found = [Document.FromString(self.documents[name]) for name in names]
        response = types.RunAggregationQueryResponse.pb()(read_time=self.now())
        for number, each in enumerate(query.aggregations, start=1):
            value = response.result.aggregate_fields[each.alias or f"field_{number}"]
            kind = each.WhichOneof("operator")
            if kind == "count":
                value.integer_value = len(found)
                continue
            path = getattr(each, kind).field.field_path
            values = (field_of(document, path) for document in found)
            held = [sort_key(one) for one in values if one is not None]
            numbers = [number for rank, number in held if rank == _RANKS["integer_value"]]
            if kind == "sum":
                value.double_value = sum(numbers)
            elif numbers:
                value.double_value = sum(numbers) / len(numbers)
            else:
                value.null_value = 0
        yield response

    def _names(self, parent: str, query: Any) -> list[str]:
        """The names of the documents of a query, in order, before its offset and limit."""
        if query.HasField("find_nearest"):
            raise _unimplemented("vector search")
        source = query.from_[0]
        with self._changed:
            raw = {
                name: self.documents[name]
                for name in sorted(self.documents)
                if _is_in(name, parent, source)
            }
        orders = list(query.order_by)
        cursors = query.HasField("start_at") or query.HasField("end_at")
        if not (query.HasField("where") or orders or cursors):
            return list(raw)
        found = [
            document
            for document in map(Document.FromString, raw.values())
            if passes(document, query.where)
            and all(field_of(document, order.field.field_path) is not None for order in orders)
        ]
        if orders and orders[-1].direction == _DESCENDING:
            found.reverse()
        for order in reversed(orders):
            path = order.field.field_path
            found.sort(
                key=lambda document: sort_key(field_of(document, path)),
                reverse=order.direction == _DESCENDING,
            )
        if query.HasField("start_at"):
            found = [one for one in found if _is_after(one, orders, query.start_at)]
        if query.HasField("end_at"):
            found = [one for one in found if not _is_after(one, orders, query.end_at)]
        return [document.name for document in found]

    def partition(self, request: Any, context: Any) -> Any:
        """Divide a query at some of its documents."""
        names = self._names(request.parent, request.structured_query)
        response = types.PartitionQueryResponse.pb()()
        for name in names[1::2][: request.partition_count]:
            response.partitions.add().values.add().reference_value = name
        return response

    def list_documents(self, request: Any, context: Any) -> Any:
        """The documents of a collection, in one page."""
        response = types.ListDocumentsResponse.pb()()
        prefix = f"{request.parent}/{request.collection_id}/"
        for name in sorted(self.documents):
            if name.startswith(prefix) and "/" not in name.removeprefix(prefix):
                raw = _masked(self.documents[name], request.mask.field_paths)
                response.documents.append(Document.FromString(raw))
        return response

    def list_ids(self, request: Any, context: Any) -> Any:
        """The collections below a document, in one page."""
        prefix = f"{request.parent}/"
        ids = {
            name.removeprefix(prefix).partition("/")[0]
            for name in self.documents
            if name.startswith(prefix)
        }
        return types.ListCollectionIdsResponse.pb()(collection_ids=sorted(ids))

    def begin(self, request: Any, context: Any) -> Any:
        """Open a transaction, which is not isolated."""
        return types.BeginTransactionResponse.pb()(transaction=b"transaction")

    def commit(self, request: Any, context: Any) -> Any:
        """Apply all writes, or none."""
        with self._changed:
            for write in request.writes:
                self._check(write)
            now = self.now()
            response = types.CommitResponse.pb()(commit_time=now)
            response.write_results.extend([self._write(write, now) for write in request.writes])
            self._changed.notify_all()
            return response

    def batch_write(self, request: Any, context: Any) -> Any:
        """Apply each write that can be."""
        response = types.BatchWriteResponse.pb()()
        with self._changed:
            for write in request.writes:
                result, status = response.write_results.add(), response.status.add()
                try:
                    self._check(write)
                except Refusal as refusal:
                    status.code, status.message = refusal.code.value[0], str(refusal)
                else:
                    result.CopyFrom(self._write(write, self.now()))
            self._changed.notify_all()
        return response

    def _check(self, write: Any) -> None:
        """Check the precondition of a write.

        Raises:
            Refusal: it does not hold, or the write is not supported.
        """
        if write.WhichOneof("operation") not in ("update", "delete"):
            raise _unimplemented(f"a write that is a {write.WhichOneof('operation')}")
        name, given = write.delete or write.update.name, write.current_document
        raw, condition = self.documents.get(name), given.WhichOneof("condition_type")
        if raw is None and (condition == "update_time" or given.exists):
            raise Refusal(grpc.StatusCode.NOT_FOUND, f"no document {name}")
        if raw is not None and condition == "exists" and not given.exists:
            raise Refusal(grpc.StatusCode.ALREADY_EXISTS, f"document {name} exists")
        is_timed = raw is not None and condition == "update_time"
        if is_timed and Document.FromString(raw).update_time != given.update_time:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, f"{name} was changed")

    def _write(self, write: Any, now: Timestamp) -> Any:
        """Apply a write; returns its result."""
        result = _WriteResult(update_time=now)
        if write.delete:
            self.documents.pop(write.delete, None)
            return result
        name = write.update.name
        raw = self.documents.get(name)
        document = Document(name=name, create_time=now) if raw is None else Document.FromString(raw)
        if write.HasField("update_mask"):
            for path in write.update_mask.field_paths:
                _move(document, write.update, path)
        else:
            document.fields.clear()
            document.MergeFrom(Document(fields=write.update.fields))
        for transform in write.update_transforms:
            holder = Document()
            value = holder.fields["value"]
            earlier = field_of(document, transform.field_path)
            if earlier is not None:
                value.CopyFrom(earlier)
            _transform(value, transform, now)
            *parents, last = FieldPath.from_api_repr(transform.field_path).parts
            fields = document.fields
            for parent in parents:
                fields = fields[parent].map_value.fields
            fields[last].CopyFrom(value)
            result.transform_results.add().CopyFrom(value)
        document.update_time.CopyFrom(now)
        self.documents[name] = bytes(document.SerializeToString())
        return result

    def listen(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        """Send the documents of a target, and then each change of them."""
        target = next(requests).add_target
        number = target.target_id
        added = {"target_change_type": _Change.ADD, "target_ids": [number]}
        yield _ListenResponse(target_change=added)
        sent: dict[str, bytes] = {}
        is_first = True
        while context.is_active():
            with self._changed:
                current = self._targeted(target)
                if not is_first and current == sent:
                    self._changed.wait(_LISTENER_SECONDS)
                    continue
                now = self.now()
            yield from _changes(sent, current, number, now)
            sent = current
            for kind in (_Change.CURRENT,) * is_first + (_Change.NO_CHANGE,):
                changed = {"target_change_type": kind, "resume_token": b"token", "read_time": now}
                yield _ListenResponse(target_change=changed)
            is_first = False

    def _targeted(self, target: Any) -> dict[str, bytes]:
        if target.WhichOneof("target_type") == "documents":
            names = target.documents.documents
        else:
            names = self._names(target.query.parent, target.query.structured_query)
        return {name: self.documents[name] for name in names if name in self.documents}


def _transform(value: Any, transform: Any, now: Timestamp) -> None:
    kind = transform.WhichOneof("transform_type")
    operand = getattr(transform, kind)
    if kind == "set_to_server_value":
        value.timestamp_value.CopyFrom(now)
        return
    if kind in ("increment", "maximum", "minimum"):
        is_number = sort_key(value)[0] == _RANKS["integer_value"]
        if not is_number:
            value.CopyFrom(operand)
        elif kind == "increment":
            total = sort_key(value)[1] + sort_key(operand)[1]
            chosen = {"integer_value" if isinstance(total, int) else "double_value": total}
            value.CopyFrom(_Value(**chosen))
        else:
            choose = max if kind == "maximum" else min
            value.CopyFrom(choose(value, operand, key=sort_key))
        return
    present = list(value.array_value.values) if value.HasField("array_value") else []
    if kind == "append_missing_elements":
        held = [sort_key(each) for each in present]
        present += [each for each in operand.values if sort_key(each) not in held]
    else:
        removed = [sort_key(each) for each in operand.values]
        present = [each for each in present if sort_key(each) not in removed]
    value.CopyFrom(_Value(array_value={"values": present}))


def _changes(
    sent: dict[str, bytes], current: dict[str, bytes], number: int, now: Timestamp
) -> Iterator[Any]:
    for name in sent.keys() - current.keys():
        gone = {"document": name, "removed_target_ids": [number], "read_time": now}
        yield _ListenResponse(document_delete=gone)
    for name, raw in current.items():
        if sent.get(name) != raw:
            changed = {"document": Document.FromString(raw), "target_ids": [number]}
            yield _ListenResponse(document_change=changed)


def _refusing(method: Callable[[Any, Any], Any], is_stream: bool) -> Callable[[Any, Any], Any]:
    """End a call with the status of a refusal."""

    def call(request: Any, context: Any) -> Any:
        try:
            return method(request, context)
        except Refusal as refusal:
            context.abort(refusal.code, str(refusal))

    def stream(request: Any, context: Any) -> Iterator[Any]:
        try:
            yield from method(request, context)
        except Refusal as refusal:
            context.abort(refusal.code, str(refusal))

    return stream if is_stream else call


def _serialised(response: Any) -> bytes:
    return response if isinstance(response, bytes) else bytes(response.SerializeToString())


def start_firestore(service: FirestoreService, port: int) -> tuple[grpc.Server, int]:
    """Serve on 127.0.0.1; returns the running server and its port. ``port`` 0 takes a free one.

    Raises:
        RuntimeError: when the port cannot be bound.
    """
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=[("grpc.so_reuseport", 0)])
    methods = {
        name: make(
            _refusing(method, is_stream=make is not grpc.unary_unary_rpc_method_handler),
            request_deserializer=request.pb().FromString,
            response_serializer=_serialised,
        )
        for name, (make, method, request) in service.handlers().items()
    }
    handler: Any = grpc.method_handlers_generic_handler(SERVICE, methods)
    server.add_generic_rpc_handlers((handler,))
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, bound
