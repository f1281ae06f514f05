"""Pages of queries that are sent as bytes.

``Iterator._next_page`` makes a dozen proto-plus messages for each page, and the generated client
copies them into one more.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

from google.api_core import page_iterator
from google.cloud.datastore import query as query_module
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import query as query_pb2

from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.patches.api.requests import QueryBytes, query_head
from lazyentity.patches.api.responses import explain_metrics_of
from lazyentity.patches.datastore.apis import reads_as_known
from lazyentity.patches.datastore.pages import lazy_page
from lazyentity.patches.upstream import UpstreamModules, is_upstream

_RunQueryRequest: Any = datastore_pb2.RunQueryRequest.pb()
_AND: Final = query_pb2.CompositeFilter.Operator.AND
_HAS_ANCESTOR: Final = query_pb2.PropertyFilter.Operator.HAS_ANCESTOR
_Direction: Final = query_pb2.PropertyOrder.Direction
# Version 2.20 came with explained queries.
_ExplainMetrics: Any = getattr(query_module, "ExplainMetrics", None)

_building = UpstreamModules(query_module).methods(
    query_module.Iterator, "_build_protobuf", "_process_query_results"
)


def next_page(iterator: Any, original: Callable[[Any], Any]) -> Any:
    """Return the next page of a query, as ``Iterator._next_page`` does.

    Args:
        iterator: of the client, or of a wrapped query.
        original: the client's method, or somebody's replacement of it. It is called for
            transactions, for options that change more of the request, and where somebody replaced a
            function on the way.
    """
    page = _page(iterator) if is_upstream(original, query_module) else None
    return lazy_page(original(iterator) if page is None else page)


def _page(iterator: Any) -> Any:
    """Return the next page; None, and nothing was sent, if the client has to make it."""
    client, query = iterator.client, iterator._query
    if (
        not iterator._more_results
        or iterator._eventual
        or iterator._read_time is not None
        # Versions differ in how they go on after a batch of skipped results.
        or iterator._offset
        or getattr(query, "_explain_options", None)
        or client.current_transaction is not None
        or not _building.are_upstream(iterator)
        or not is_upstream(query_module._pb_from_query, query_module)
    ):
        return None
    api = client._datastore_api
    if not reads_as_known(api, "run_query"):
        return None
    try:
        project, database = query.project, client.database
        head = query_head(project, database, query.namespace)
        message = _message(iterator, query)
    except Exception as error:  # noqa: BLE001  # the client makes it again, and raises its error
        raise_if_of_handler(error)
        return None
    # Not above: the errors of filters are the client's, and their code runs once.
    filters, ancestor = query.filters, query.ancestor
    if filters or ancestor:
        _add_filters(message.query.filter.composite_filter, filters, ancestor)
    request = QueryBytes.of(project, database, head, message)
    given = {"retry": iterator._retry, "timeout": iterator._timeout}
    response = api.run_query(
        request=request, **{name: value for name, value in given.items() if value is not None}
    )
    metrics = explain_metrics_of(response)
    if metrics:
        iterator._explain_metrics = _ExplainMetrics._from_pb(metrics)
    entities = iterator._process_query_results(response)
    return page_iterator.Page(iterator, entities, iterator.item_to_value)


def _message(iterator: Any, query: Any) -> Any:
    """Return an upb request with the query of the next page but its filters, and nothing else."""
    message = _RunQueryRequest()
    made = message.query
    # The client sends a query that is empty.
    made.SetInParent()
    for name in query.projection:
        made.projection.add().property.name = name
    if query.kind:
        made.kind.add().name = query.kind
    for name in query.order:
        order = made.order.add()
        is_descending = name.startswith("-")
        order.property.name = name[1:] if is_descending else name
        order.direction = _Direction.DESCENDING if is_descending else _Direction.ASCENDING
    for name in query.distinct_on:
        made.distinct_on.add().name = name
    if iterator.next_page_token is not None:
        made.start_cursor = base64.urlsafe_b64decode(iterator.next_page_token)
    if iterator._end_cursor is not None:
        made.end_cursor = base64.urlsafe_b64decode(iterator._end_cursor)
    if iterator.max_results is not None:
        made.limit.value = iterator.max_results - iterator.num_results
    return message


def _add_filters(composite: Any, filters: Any, ancestor: Any) -> None:
    composite.op = _AND
    for each in filters:
        if isinstance(each, query_module.BaseCompositeFilter):
            each.build_pb(container_pb=composite.filters.add().composite_filter)
            continue
        if not isinstance(each, query_module.PropertyFilter):
            name, operator, value = each
            each = query_module.PropertyFilter(name, operator, value)
        each.build_pb(container_pb=composite.filters.add().property_filter)
    if ancestor:
        within = composite.filters.add().property_filter
        within.property.name = query_module.KEY_PROPERTY_NAME
        within.op = _HAS_ANCESTOR
        within.value.key_value.CopyFrom(ancestor.to_protobuf()._pb)
