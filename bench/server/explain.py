"""The answer to a query's explain_options."""

from __future__ import annotations

import time

from google.protobuf import duration_pb2, struct_pb2

from .query import Query
from .schema import Message, present
from .values import KEY_PROPERTY


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
