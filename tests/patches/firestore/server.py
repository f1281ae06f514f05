"""A server of documents on a loopback port, as much of Firestore's API as the tests need."""

from __future__ import annotations

import datetime
import functools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from google.cloud.firestore_v1 import _helpers
from google.cloud.firestore_v1.types import document as document_types
from google.cloud.firestore_v1.types import firestore as types
from google.cloud.firestore_v1.types import query as query_types
from google.protobuf.empty_pb2 import Empty
from google.protobuf.timestamp_pb2 import Timestamp

from tests.patches.firestore.filters import field, is_after, key, passes

_Document = document_types.Document.pb()
_BatchGetDocumentsResponse = types.BatchGetDocumentsResponse.pb()
_CommitResponse = types.CommitResponse.pb()
_ListenResponse = types.ListenResponse.pb()
_RunQueryResponse = types.RunQueryResponse.pb()
_START = datetime.datetime(2024, 5, 6, 7, 8, 9, 123_456)


def _serialised(fields: dict[str, Any]) -> bytes:
    document = document_types.Document(fields=_helpers.encode_dict(fields))
    serialised: bytes = document._pb.SerializeToString()
    return serialised


class Fields(dict[str, Any]):
    """Fields of a document that is stored again and again: they are encoded once."""

    @functools.cached_property
    def serialised(self) -> bytes:
        """The document of these fields alone."""
        return _serialised(self)


@contextmanager
def serving(handlers: dict[str, Any]) -> Iterator[int]:
    """Run a server of methods of Firestore's API while inside, and give its port."""
    server = grpc.server(ThreadPoolExecutor(8))
    service = grpc.method_handlers_generic_handler("google.firestore.v1.Firestore", handlers)
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield port
    server.stop(None).wait()


class DocumentServer:
    """A server with its documents in memory.

    Attributes:
        documents: serialised ``Document`` messages, by name.
        aborts: so many commits to come end with ``ABORTED``.
        unavailable_after: after so many responses the next query ends with ``UNAVAILABLE``, once.
        calls: the names of the methods called.
    """

    def __init__(self) -> None:
        self.documents: dict[str, bytes] = {}
        self.aborts = 0
        self.unavailable_after: int | None = None
        self.calls: list[str] = []
        self._lock = threading.RLock()
        self._ticks = 0
        self._changed = threading.Condition(self._lock)
        self._running = serving(self._handlers())
        self.port = 0

    def __enter__(self) -> DocumentServer:
        self.port = self._running.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._running.__exit__(None, None, None)

    def clear(self) -> None:
        """Forget all documents, calls and failures to come; the clock starts anew."""
        with self._lock:
            self.documents.clear()
            self.calls.clear()
            self.aborts = 0
            self.unavailable_after = None
            self._ticks = 0

    def put(self, path: str, fields: dict[str, Any]) -> None:
        """Store a document of Python values; ``path`` is that of the client's reference."""
        name = f"projects/p/databases/(default)/documents/{path}"
        encoded = fields.serialised if isinstance(fields, Fields) else _serialised(fields)
        document = _Document.FromString(encoded)
        document.name = name
        now = self._now()
        document.create_time.CopyFrom(now)
        document.update_time.CopyFrom(now)
        self.documents[name] = document.SerializeToString()

    def _handlers(self) -> dict[str, Any]:
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        begun = types.BeginTransactionResponse.pb()(transaction=b"transaction")
        methods: dict[str, tuple[Any, Any, Any]] = {
            "BatchGetDocuments": (stream, self._batch_get, types.BatchGetDocumentsRequest),
            "BatchWrite": (unary, self._batch_write, types.BatchWriteRequest),
            "BeginTransaction": (unary, lambda *_: begun, types.BeginTransactionRequest),
            "Commit": (unary, self._commit, types.CommitRequest),
            "ListDocuments": (unary, self._list_documents, types.ListDocumentsRequest),
            "Listen": (grpc.stream_stream_rpc_method_handler, self._listen, types.ListenRequest),
            "PartitionQuery": (unary, self._partition, types.PartitionQueryRequest),
            "Rollback": (unary, lambda *_: Empty(), types.RollbackRequest),
            "RunAggregationQuery": (stream, self._aggregate, types.RunAggregationQueryRequest),
            "RunQuery": (stream, self._run_query, types.RunQueryRequest),
        }

        def counted(name: str, method: Any) -> Any:
            def call(request: Any, context: Any) -> Any:
                self.calls.append(name)
                return method(request, context)

            return call

        return {
            name: make(
                counted(name, method),
                request_deserializer=request.pb().FromString,
                response_serializer=lambda response: response.SerializeToString(),
            )
            for name, (make, method, request) in methods.items()
        }

    def _now(self) -> Timestamp:
        with self._lock:
            self._ticks += 1
            now = Timestamp()
            now.FromDatetime(_START + datetime.timedelta(milliseconds=self._ticks))
            now.nanos += 789
            return now

    def _get(self, name: str) -> Any:
        raw = self.documents.get(name)
        return None if raw is None else _Document.FromString(raw)

    def _batch_get(self, request: Any, context: Any) -> Iterator[Any]:
        if request.HasField("new_transaction"):
            yield _BatchGetDocumentsResponse(transaction=b"new")
        for name in request.documents:
            document = self._get(name)
            response = _BatchGetDocumentsResponse(missing=name, read_time=self._now())
            if document is not None:
                response.found.CopyFrom(_masked(document, request.mask.field_paths))
            yield response

    def _run_query(self, request: Any, context: Any) -> Iterator[Any]:
        query = request.structured_query
        found = self._found(request.parent, query)
        is_explained = request.HasField("explain_options")
        if request.HasField("new_transaction"):
            yield _RunQueryResponse(transaction=b"new")
        if is_explained and not request.explain_options.analyze:
            response = _RunQueryResponse()
            index = response.explain_metrics.plan_summary.indexes_used.add()
            index["query_scope"] = "Collection"
            yield response
            return
        fail_after, self.unavailable_after = self.unavailable_after, None
        skipped = min(query.offset, len(found))
        if skipped:
            yield _RunQueryResponse(skipped_results=skipped, read_time=self._now())
        limit = query.limit.value if query.HasField("limit") else len(found)
        paths = [field.field_path for field in query.select.fields]
        for number, document in enumerate(found[skipped : skipped + limit]):
            if number == fail_after:
                context.abort(grpc.StatusCode.UNAVAILABLE, "come back")
            yield _RunQueryResponse(document=_masked(document, paths), read_time=self._now())
        if is_explained:
            stats = {"results_returned": len(found)}
            yield _RunQueryResponse(explain_metrics={"execution_stats": stats})

    def _aggregate(self, request: Any, context: Any) -> Iterator[Any]:
        query = request.structured_aggregation_query
        found = self._found(request.parent, query.structured_query)
        response = types.RunAggregationQueryResponse.pb()(read_time=self._now())
        for each in query.aggregations:
            value = response.result.aggregate_fields[each.alias]
            kind = each.WhichOneof("operator")
            if kind == "count":
                value.integer_value = len(found)
                continue
            path = getattr(each, kind).field.field_path
            total = sum(key(field(one, path))[1] for one in found)
            value.double_value = total if kind == "sum" else total / len(found)
        yield response

    def _found(self, parent: str, query: Any) -> list[Any]:
        source = query.from_[0]
        with self._lock:
            documents = [_Document.FromString(raw) for raw in self.documents.values()]
        orders = list(query.order_by)
        found = [
            document
            for document in documents
            if _is_in(document.name, parent, source)
            and passes(document, query.where)
            and all(field(document, order.field.field_path) is not None for order in orders)
        ]
        found.sort(key=lambda document: document.name)
        for order in reversed(orders):
            found.sort(
                key=lambda document: key(field(document, order.field.field_path)),
                reverse=order.direction == query_types.StructuredQuery.Direction.DESCENDING,
            )
        if query.HasField("start_at"):
            found = [one for one in found if is_after(one, orders, query.start_at)]
        if query.HasField("end_at"):
            found = [one for one in found if not is_after(one, orders, query.end_at)]
        return found

    def _partition(self, request: Any, context: Any) -> Any:
        found = self._found(request.parent, request.structured_query)
        response = types.PartitionQueryResponse.pb()()
        for document in found[1::2][: request.partition_count]:
            response.partitions.add().values.add().reference_value = document.name
        return response

    def _commit(self, request: Any, context: Any) -> Any:
        with self._changed:
            now = self._now()
            if self.aborts:
                self.aborts -= 1
                context.abort(grpc.StatusCode.ABORTED, "once more")
            for write in request.writes:
                problem = self._problem(write)
                if problem is not None:
                    context.abort(*problem)
            response = _CommitResponse(commit_time=now)
            for write in request.writes:
                self._write(write, now)
                response.write_results.add(update_time=now)
            self._changed.notify_all()
            return response

    def _batch_write(self, request: Any, context: Any) -> Any:
        with self._changed:
            response = types.BatchWriteResponse.pb()()
            for write in request.writes:
                self._write(write, self._now())
                response.write_results.add(update_time=self._now())
                response.status.add()
            self._changed.notify_all()
            return response

    def _problem(self, write: Any) -> tuple[grpc.StatusCode, str] | None:
        name = write.delete or write.update.name
        if write.current_document.WhichOneof("condition_type") == "exists":
            if write.current_document.exists and name not in self.documents:
                return grpc.StatusCode.NOT_FOUND, f"no document {name}"
            if not write.current_document.exists and name in self.documents:
                return grpc.StatusCode.ALREADY_EXISTS, f"document {name} exists"
        return None

    def _write(self, write: Any, now: Timestamp) -> None:
        if write.delete:
            self.documents.pop(write.delete, None)
            return
        name = write.update.name
        document = self._get(name)
        if document is None:
            document = _Document(name=name, create_time=now)
        if write.HasField("update_mask"):
            for path in write.update_mask.field_paths:
                _move(document, write.update, path)
        else:
            document.fields.clear()
            document.MergeFrom(_Document(fields=write.update.fields))
        for transform in write.update_transforms:
            value = document.fields[transform.field_path]
            if transform.WhichOneof("transform_type") == "increment":
                value.integer_value += transform.increment.integer_value
            elif transform.WhichOneof("transform_type") == "append_missing_elements":
                value.array_value.values.extend(transform.append_missing_elements.values)
            else:
                value.timestamp_value.CopyFrom(now)
        document.update_time.CopyFrom(now)
        self.documents[name] = document.SerializeToString()

    def _list_documents(self, request: Any, context: Any) -> Any:
        response = types.ListDocumentsResponse.pb()()
        prefix = f"{request.parent}/{request.collection_id}/"
        for name in sorted(self.documents):
            if name.startswith(prefix) and "/" not in name.removeprefix(prefix):
                response.documents.append(_masked(self._get(name), request.mask.field_paths))
        return response

    def _listen(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        target = next(requests).add_target
        number = target.target_id
        change = types.TargetChange.TargetChangeType
        yield _ListenResponse(
            target_change={"target_change_type": change.ADD, "target_ids": [number]}
        )
        sent: dict[str, bytes] = {}
        is_first = True
        while context.is_active():
            with self._changed:
                current = self._targeted(target)
                if not is_first and current == sent:
                    self._changed.wait(0.05)
                    continue
                now = self._now()
            yield from _changes(sent, current, number, now)
            sent = current
            for kind in (change.CURRENT,) * is_first + (change.NO_CHANGE,):
                changed = {"target_change_type": kind, "resume_token": b"token", "read_time": now}
                yield _ListenResponse(target_change=changed)
            is_first = False

    def _targeted(self, target: Any) -> dict[str, bytes]:
        if target.WhichOneof("target_type") == "documents":
            names = target.documents.documents
            return {name: self.documents[name] for name in names if name in self.documents}
        found = self._found(target.query.parent, target.query.structured_query)
        return {document.name: self.documents[document.name] for document in found}


def _changes(
    sent: dict[str, bytes], current: dict[str, bytes], number: int, now: Timestamp
) -> Iterator[Any]:
    for name in sent.keys() - current.keys():
        gone = {"document": name, "removed_target_ids": [number], "read_time": now}
        yield _ListenResponse(document_delete=gone)
    for name, raw in current.items():
        if sent.get(name) != raw:
            changed = {"document": _Document.FromString(raw), "target_ids": [number]}
            yield _ListenResponse(document_change=changed)


def _is_in(name: str, parent: str, source: Any) -> bool:
    """Whether a document is in a collection, or in one of the group."""
    if not name.startswith(f"{parent}/"):
        return False
    parts = name.removeprefix(f"{parent}/").split("/")
    is_child = source.all_descendants or len(parts) == 2
    return is_child and parts[-2] == source.collection_id


def _masked(document: Any, paths: Any) -> Any:
    if not paths:
        return document
    masked = _Document.FromString(document.SerializeToString())
    for name in list(masked.fields):
        if name not in paths:
            del masked.fields[name]
    return masked


def _move(document: Any, given: Any, path: str) -> None:
    """Take the field at a path from another document, or remove it as that has none."""
    *parents, name = path.split(".")
    target, source = document.fields, given.fields
    for parent in parents:
        target = target[parent].map_value.fields
        source = source[parent].map_value.fields
    if name in source:
        target[name].CopyFrom(source[name])
    elif name in target:
        del target[name]
