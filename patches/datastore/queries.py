"""Pages of queries whose requests are built without proto-plus."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

from google.api_core import page_iterator
from google.cloud.datastore import query as query_module
from google.cloud.datastore_v1.types import datastore as datastore_pb2

from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.patches.api.requests import QueryBytes
from lazyentity.patches.api.responses import explain_metrics_of
from lazyentity.patches.datastore.apis import queries_as_known
from lazyentity.patches.datastore.pages import lazy_page
from lazyentity.patches.upstream import UpstreamModules

_RunQueryRequest: Any = datastore_pb2.RunQueryRequest.pb()
_types: Any = query_module.query_pb2
_AND: Final = _types.CompositeFilter.Operator.AND
_HAS_ANCESTOR: Final = _types.PropertyFilter.Operator.HAS_ANCESTOR
_DIRECTION: Final = _types.PropertyOrder.Direction

_upstream = UpstreamModules(query_module)
_pb_from_query = query_module._pb_from_query
_iterators = _upstream.methods(query_module.Iterator, "_build_protobuf", "_process_query_results")


def next_page(iterator: Any, original: Callable[[Any], Any]) -> Any:
    """Return the next page of a query, as ``Iterator._next_page`` does.

    Args:
        iterator: of the client, or of a wrapped query.
        original: the method of the client. It is called for transactions and for options that
            change more of the request, or where somebody replaced a function on the way.
    """
    return lazy_page(_requested(iterator) or original(iterator))


def _requested(iterator: Any) -> Any:
    """Return the next page; None, and nothing was sent, if the client has to do it."""
    client = iterator.client
    query = iterator._query
    if (
        not iterator._more_results
        or iterator._eventual
        or iterator._read_time is not None
        # Later requests for a page that skips results differ between versions.
        or iterator._offset
        or getattr(query, "_explain_options", None)
        or client.current_transaction is not None
        or not _iterators.are_upstream(iterator)
        or query_module._pb_from_query is not _pb_from_query
    ):
        return None
    api = client._datastore_api
    if not queries_as_known(api):
        return None
    try:
        request = QueryBytes.of(
            query.project, client.database, query.namespace, _message(iterator, query)
        )
    except Exception as error:  # noqa: BLE001  # the client builds it again, and raises its error
        raise_if_of_handler(error)
        return None
    given = {"retry": iterator._retry, "timeout": iterator._timeout}
    response = api.run_query(
        request=request,
        **{name: value for name, value in given.items() if value is not None},
    )
    metrics = explain_metrics_of(response)
    if metrics:
        iterator._explain_metrics = query_module.ExplainMetrics._from_pb(metrics)
    entities = iterator._process_query_results(response)
    return page_iterator.Page(iterator, entities, iterator.item_to_value)  # type: ignore[no-untyped-call]  # upstream is untyped


def _message(iterator: Any, query: Any) -> Any:
    """Return an upb request with the query of the next page, and nothing else."""
    message = _RunQueryRequest()
    sent = message.query
    # The client sends a query that is empty.
    sent.SetInParent()
    for name in query.projection:
        sent.projection.add().property.name = name
    if query.kind:
        sent.kind.add().name = query.kind
    _add_filters(sent, query)
    for name in query.order:
        order = sent.order.add()
        is_descending = name.startswith("-")
        order.property.name = name[1:] if is_descending else name
        order.direction = _DIRECTION.DESCENDING if is_descending else _DIRECTION.ASCENDING
    for name in query.distinct_on:
        sent.distinct_on.add().name = name
    if iterator.next_page_token is not None:
        sent.start_cursor = base64.urlsafe_b64decode(iterator.next_page_token)
    if iterator._end_cursor is not None:
        sent.end_cursor = base64.urlsafe_b64decode(iterator._end_cursor)
    if iterator.max_results is not None:
        sent.limit.value = iterator.max_results - iterator.num_results
    return message


def _add_filters(sent: Any, query: Any) -> None:
    filters, ancestor = query.filters, query.ancestor
    if not filters and not ancestor:
        return
    composite = sent.filter.composite_filter
    composite.op = _AND
    for each in filters:
        if isinstance(each, query_module.BaseCompositeFilter):
            each.build_pb(container_pb=composite.filters.add().composite_filter)
        else:
            if not isinstance(each, query_module.PropertyFilter):
                each = query_module.PropertyFilter(*each)
            each.build_pb(container_pb=composite.filters.add().property_filter)
    if ancestor:
        within = composite.filters.add().property_filter
        within.property.name = query_module.KEY_PROPERTY_NAME
        within.op = _HAS_ANCESTOR
        within.value.key_value.CopyFrom(ancestor.to_protobuf()._pb)
