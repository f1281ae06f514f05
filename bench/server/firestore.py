"""A loopback Firestore server in native mode: a test and benchmark server, not an emulator.

It keeps documents in memory, and answers queries, look-ups, writes and listeners over gRPC. It
lacks the promises of an emulator: no isolation of transactions, no rules, no index configuration,
one target of a listener. It answers an unsupported call with UNIMPLEMENTED.

Documents are stored as bytes, and sent as they are where nothing is selected of them: a benchmark
sees the cost of the client.
"""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
from google.cloud.firestore_v1 import _helpers
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.order import Order, TypeOrder
from google.cloud.firestore_v1.types import (
    document as document_types,
    firestore as types,
    query as query_types,
    write as write_types,
)
from google.protobuf.empty_pb2 import Empty
from google.protobuf.timestamp_pb2 import Timestamp

from .criteria import COMPARISONS, is_after, passes, sort
from .errors import Refusal, unimplemented
from .grpc_frontend import refusing, refusing_stream, serve
from .schema import enum_name
from .wire import Field

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

_compared = functools.cmp_to_key(Order.compare)


def _sort_key(value: Any) -> Any:
    """The place of a value in the order of all values."""
    return _compared(document_types.Value.wrap(value))


def _type_of(value: Any) -> TypeOrder:
    kind: TypeOrder = TypeOrder.from_value(document_types.Value.wrap(value))
    return kind


def _number(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value_type"))


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


def _set(document: Any, path: str, value: Any) -> None:
    """Set a field of a document, or remove it: None."""
    *parents, name = FieldPath.from_api_repr(path).parts
    fields = document.fields
    for parent in parents:
        if value is None and parent not in fields:
            return
        fields = fields[parent].map_value.fields
    if value is not None:
        fields[name].CopyFrom(value)
    elif name in fields:
        del fields[name]


def _holds(condition: Any, document: Any) -> bool:
    """Whether a condition on a field holds for a document.

    Raises:
        Refusal: the operator is not supported.
    """
    value, operator = field_of(document, condition.field.field_path), enum_name(condition, "op")
    if value is None:
        return False
    kind, is_null = _type_of(value), value.HasField("null_value")
    if operator in ("IS_NULL", "IS_NOT_NULL"):
        return bool(is_null) == (operator == "IS_NULL")
    if operator in ("IS_NAN", "IS_NOT_NAN"):
        return math.isnan(value.double_value) == (operator == "IS_NAN")
    operand, key = condition.value, _sort_key(value)
    listed = map(_sort_key, operand.array_value.values)
    if operator == "IN":
        return key in listed
    if operator == "NOT_IN":
        return not is_null and key not in listed
    if operator.startswith("ARRAY_CONTAINS"):
        wanted = [_sort_key(operand)] if operator == "ARRAY_CONTAINS" else listed
        held = [_sort_key(item) for item in value.array_value.values]
        return any(each in held for each in wanted)
    if operator not in COMPARISONS:
        raise unimplemented(f"the operator {operator} of a filter")
    is_comparable = not is_null if operator == "NOT_EQUAL" else kind == _type_of(operand)
    return is_comparable and COMPARISONS[operator](key, _sort_key(operand))


def _is_in(name: str, parent: str, source: Any) -> bool:
    """Whether a document is in a collection, or in one of the group."""
    if not name.startswith(f"{parent}/"):
        return False
    parts = name.removeprefix(f"{parent}/").split("/")
    is_child = source.all_descendants or len(parts) == 2
    return is_child and parts[-2] == source.collection_id


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
            _set(masked, path, field_of(document, path))
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
            "ListDocuments": (unary, self.list_documents, types.ListDocumentsRequest),
            "Listen": (grpc.stream_stream_rpc_method_handler, self.listen, types.ListenRequest),
            "Rollback": (unary, lambda *_: Empty(), types.RollbackRequest),
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

    def _names(self, parent: str, query: Any) -> list[str]:
        """The names of the documents of a query, in order, before its offset and limit."""
        if query.HasField("find_nearest"):
            raise unimplemented("vector search")
        source = query.from_[0]
        with self._changed:
            raw = {
                name: self.documents[name]
                for name in sorted(self.documents)
                if _is_in(name, parent, source)
            }
        cursors = [name for name in ("start_at", "end_at") if query.HasField(name)]
        if not (query.HasField("where") or query.order_by or cursors):
            return list(raw)
        descending = [order.direction == _DESCENDING for order in query.order_by]
        # The name comes last, in the direction of the last order.
        descending += descending[-1:] or [False]
        rows = []
        for document in map(Document.FromString, raw.values()):
            values = [field_of(document, order.field.field_path) for order in query.order_by]
            holds = functools.partial(_holds, document=document)
            if all(value is not None for value in values) and passes(query.where, holds):
                rows.append((*map(_sort_key, values), document.name))
        sort(rows, lambda row: row, descending)
        for name in cursors:
            cursor = getattr(query, name)
            bound = tuple(map(_sort_key, cursor.values))
            rows = [
                row
                for row in rows
                if is_after(row, bound, descending, at_cursor=cursor.before) == (name == "start_at")
            ]
        return [row[-1] for row in rows]

    def list_documents(self, request: Any, context: Any) -> Any:
        """The documents of a collection, in one page."""
        response = types.ListDocumentsResponse.pb()()
        prefix = f"{request.parent}/{request.collection_id}/"
        for name in sorted(self.documents):
            if name.startswith(prefix) and "/" not in name.removeprefix(prefix):
                raw = _masked(self.documents[name], request.mask.field_paths)
                response.documents.append(Document.FromString(raw))
        return response

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
            raise unimplemented(f"a write that is a {write.WhichOneof('operation')}")
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
                _set(document, path, field_of(write.update, path))
        else:
            document.fields.clear()
            document.MergeFrom(Document(fields=write.update.fields))
        for transform in write.update_transforms:
            value = _transformed(field_of(document, transform.field_path), transform, now)
            _set(document, transform.field_path, value)
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


def _transformed(value: Any, transform: Any, now: Timestamp) -> Any:
    """The value of a field, None if it has none, after a transform."""
    kind = transform.WhichOneof("transform_type")
    operand = getattr(transform, kind)
    if kind == "set_to_server_value":
        return _Value(timestamp_value=now)
    if kind in ("increment", "maximum", "minimum"):
        if value is None or _type_of(value) is not TypeOrder.NUMBER:
            return operand
        if kind == "increment":
            return _helpers.encode_value(_number(value) + _number(operand))._pb
        return (max if kind == "maximum" else min)(value, operand, key=_sort_key)
    present = [] if value is None else list(value.array_value.values)
    others, excluded = operand.values, present
    if kind == "remove_all_from_array":
        others, excluded, present = present, operand.values, []
    keys = list(map(_sort_key, excluded))
    present += [each for each in others if _sort_key(each) not in keys]
    return _Value(array_value={"values": present})


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


def _serialised(response: Any) -> bytes:
    return response if isinstance(response, bytes) else bytes(response.SerializeToString())


def start_firestore(service: FirestoreService, port: int) -> tuple[grpc.Server, int]:
    """Serve Firestore, see :func:`serve`."""

    def handler(make: Any, method: Any, request: Any) -> Any:
        is_unary = make is grpc.unary_unary_rpc_method_handler
        return make(
            (refusing if is_unary else refusing_stream)(method),
            request_deserializer=request.pb().FromString,
            response_serializer=_serialised,
        )

    methods = {name: handler(*each) for name, each in service.handlers().items()}
    return serve("google.firestore.v1.Firestore", methods, port)
