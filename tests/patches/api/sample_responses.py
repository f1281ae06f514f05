"""Read responses of every shape, as stock messages."""

from __future__ import annotations

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
    "found alone": datastore_pb2.LookupResponse(found=[entity_result("one")]),
    "deferred alone": datastore_pb2.LookupResponse(deferred=[_key("later")]),
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
    "batch alone": datastore_pb2.RunQueryResponse(batch=_BATCH),
    "empty batch": datastore_pb2.RunQueryResponse(batch=query_pb2.QueryResultBatch()),
    "no batch": datastore_pb2.RunQueryResponse(transaction=b"transaction"),
    "nothing": datastore_pb2.RunQueryResponse(),
}
