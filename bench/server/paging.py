"""Query results cut into batches, each on the wire."""

from __future__ import annotations

from dataclasses import dataclass

from google.cloud.datastore_v1.types import query as query_types

from . import wire
from .query import Query, Results, Row
from .schema import QueryResultBatch, timestamp

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
