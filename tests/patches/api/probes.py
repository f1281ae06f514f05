"""Read responses of every shape, and questions: each probe is one that a response can be asked."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import proto
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2
from google.protobuf import timestamp_pb2

from tests.support.clients import EXPLAINS

NOT_FINISHED = query_pb2.QueryResultBatch.MoreResultsType.NOT_FINISHED
AT = timestamp_pb2.Timestamp(seconds=1_700_000_000, nanos=7)


def _key(name: str) -> entity_pb2.Key:
    return entity_pb2.Key(
        partition_id={"project_id": "p", "namespace_id": "n"}, path=[{"kind": "K", "name": name}]
    )


def entity_result(name: str) -> query_pb2.EntityResult:
    return query_pb2.EntityResult(
        entity=entity_pb2.Entity(
            key=_key(name),
            properties={
                "text": entity_pb2.Value(string_value=name, meaning=15),
                "inner": entity_pb2.Value(
                    entity_value=entity_pb2.Entity(
                        properties={"n": entity_pb2.Value(integer_value=1)}
                    )
                ),
            },
        ),
        version=len(name),
        create_time=AT,
        update_time=AT,
        cursor=b"cursor of " + name.encode(),
    )


def _explained(response: datastore_pb2.RunQueryResponse) -> datastore_pb2.RunQueryResponse:
    if EXPLAINS:
        kind = type(response.explain_metrics)
        response.explain_metrics = kind(execution_stats={"results_returned": 2})
        # proto-plus takes no Struct in its constructors.
        metrics = response._pb.explain_metrics
        metrics.plan_summary.indexes_used.add()["query_scope"] = "Collection"
    return response


_BATCH = query_pb2.QueryResultBatch(
    skipped_results=3,
    skipped_cursor=b"skipped",
    entity_result_type=query_pb2.EntityResult.ResultType.FULL,
    entity_results=[entity_result("one"), entity_result("three")],
    end_cursor=b"end",
    more_results=NOT_FINISHED,
    snapshot_version=99,
    read_time=AT,
)

LOOKUPS = {
    "everything": datastore_pb2.LookupResponse(
        found=[entity_result("one"), entity_result("three")],
        missing=[query_pb2.EntityResult(entity=entity_pb2.Entity(key=_key("gone")), version=5)],
        deferred=[_key("later"), _key("much later")],
        transaction=b"transaction",
        read_time=AT,
    ),
    "nothing": datastore_pb2.LookupResponse(),
}

QUERIES = {
    "everything": _explained(
        datastore_pb2.RunQueryResponse(
            batch=_BATCH,
            query=query_pb2.Query(kind=[query_pb2.KindExpression(name="K")]),
            transaction=b"transaction",
        )
    ),
    "no batch": datastore_pb2.RunQueryResponse(transaction=b"transaction"),
    "nothing": datastore_pb2.RunQueryResponse(),
}


Probe = Callable[[Any], Any]
Probes = dict[str, Probe]


def _reading(*names: str) -> Probes:
    def probe(name: str) -> Probe:
        return lambda message: (getattr(message, name), name in message)

    return {f"reading {name}": probe(name) for name in names}


def _fresh(message: Any) -> Any:
    """Return the stock message that ``message`` is a proxy or a copy of."""
    return message.__class__.deserialize(type(message).serialize(message))


def is_an_instance(message: Any) -> Any:
    return isinstance(message, proto.Message), message.__class__


def is_equal(message: Any) -> Any:
    fresh = _fresh(message)
    return message == fresh, fresh == message, message != fresh, fresh != message


def to_json(message: Any) -> Any:
    return type(message).to_json(message, sort_keys=True)


def to_dict(message: Any) -> Any:
    return type(message).to_dict(message)


def to_upb(message: Any) -> Any:
    return type(message).pb(message), message._pb, type(type(message).pb(message)).__name__


def as_text(message: Any) -> Any:
    return str(message), repr(message), f"{message}"


def deeply_copied(message: Any) -> Any:
    twin = copy.deepcopy(message)
    return twin == message, twin


def pickled(message: Any) -> Any:
    return pickle.loads(pickle.dumps(message))


ANY: Probes = {
    "is_an_instance": is_an_instance,
    "is_equal": is_equal,
    "to_json": to_json,
    "to_dict": to_dict,
    "to_upb": to_upb,
    "serialised": _fresh,
    "as_text": as_text,
    "truth": bool,
    "hashing": hash,
    "copied": copy.copy,
    "deeply_copied": deeply_copied,
    "pickled": pickled,
    "reading_what_is_not_there": lambda message: message.no_such_field,
}


def results_of_lookup(message: Any) -> Any:
    return _results(message.found), _results(message.missing)


def _results(results: Any) -> Any:
    return [
        (
            *(result, result.entity, result.entity.key, len(result.entity.properties)),
            *(result.version, result.create_time, result.update_time, result.cursor),
            *(bool(result), bool(result.entity), as_text(result.entity), to_json(result)),
            *(copy.copy(result), is_equal(result), is_equal(result.entity), to_dict(result.entity)),
            *("entity" in result, "cursor" in result, "key" in result.entity),
            *(result.entity._pb.HasField("key"), to_upb(result.entity)),
            [value.string_value for _, value in sorted(result.entity.properties.items())],
        )
        for result in results
    ]


LOOKUP: Probes = {
    **ANY,
    **_reading("found", "missing", "deferred", "transaction", "read_time"),
    "results_of_lookup": results_of_lookup,
}


def batch(message: Any) -> Any:
    part = message.batch
    return [
        *(part.skipped_results, part.skipped_cursor, part.entity_result_type, part.end_cursor),
        *(part.more_results, part.snapshot_version, part.read_time, len(part.entity_results)),
        *("end_cursor" in part, "read_time" in part, "batch" in message),
        *(bool(part), as_text(part), to_json(part), to_dict(part), to_upb(part), copy.copy(part)),
        *(is_equal(part), is_an_instance(part), deeply_copied(part), pickled(part)),
    ]


QUERY: Probes = {
    **ANY,
    **_reading("batch", "query", "transaction", *["explain_metrics"] * EXPLAINS),
    "results_of_query": lambda message: _results(message.batch.entity_results),
    "batch": batch,
}


def comparable(result: Any) -> Any:
    """Return ``result`` with proxies, proto-plus and upb messages as plain data."""
    if isinstance(result, proto.Message):
        return [result.__class__.__name__, type(result).to_dict(result)]
    if isinstance(result, str | bytes | type):
        return result
    if isinstance(result, dict):
        return {name: comparable(value) for name, value in result.items()}
    if isinstance(result, Iterable):
        return [comparable(item) for item in result]
    if hasattr(result, "DESCRIPTOR") and hasattr(result, "SerializeToString"):
        return [result.DESCRIPTOR.full_name, result.SerializeToString(deterministic=True)]
    return result
