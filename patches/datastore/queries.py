"""Pages of queries that are sent as bytes.

``Iterator._next_page`` makes a dozen proto-plus messages for each page, and the generated client
copies them into one more.
"""

from __future__ import annotations

import base64
import operator
from collections.abc import Callable
from types import MethodType, NoneType
from typing import Any, Final

from google.cloud.datastore import query as query_module
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import query as query_pb2

from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.patches.api.requests import QueryBytes, query_head
from lazyentity.patches.api.responses import explain_metrics_of
from lazyentity.patches.datastore.apis import options_are_known, reads_as_known
from lazyentity.patches.datastore.pages import lazy_page, page_of
from lazyentity.patches.upstream import UpstreamModules, bound, is_upstream

_RunQueryRequest: Any = datastore_pb2.RunQueryRequest.pb()
_AND: Final = query_pb2.CompositeFilter.Operator.AND
_HAS_ANCESTOR: Final = query_pb2.PropertyFilter.Operator.HAS_ANCESTOR
_Direction: Final = query_pb2.PropertyOrder.Direction
# Version 2.20 came with explained queries.
_ExplainMetrics: Any = getattr(query_module, "ExplainMetrics", None)

_METHODS: Final = ("_build_protobuf", "_process_query_results")
_building = UpstreamModules(query_module).methods(query_module.Iterator, *_METHODS)
# A subclass may answer otherwise each time that it is asked.
_properties_of = operator.attrgetter(
    "ancestor", "distinct_on", "filters", "kind", "namespace", "order", "project", "projection"
)
_properties = _properties_of(query_module.Query)
_FILTERS: Final = frozenset((query_module.PropertyFilter, query_module.And, query_module.Or))
_OPTIONAL_STR: Final = frozenset((str, NoneType))


def next_page(iterator: Any, original: Callable[[Any], Any]) -> Any:
    """Return the next page of a query, as ``Iterator._next_page`` does.

    Args:
        iterator: of the client, or of a wrapped query.
        original: the client's method, or somebody's replacement of it. It is called for
            transactions, for options that change more of the request, for values and filters of
            other types than the client's, and where somebody replaced a function on the way.
    """
    page = _page(iterator) if is_upstream(original, query_module) else None
    return lazy_page(bound(original, iterator)() if page is None else page)


def _page(iterator: Any) -> Any:
    """Return the next page; None, and nothing was sent, if the client has to make it."""
    client, query = iterator.client, iterator._query
    offset = iterator._offset
    if (
        not iterator._more_results
        or iterator._eventual
        or iterator._read_time is not None
        # Versions differ in how they go on after a batch of skipped results.
        or not (offset is None or (type(offset) is int and offset == 0))
        or client.current_transaction is not None
        or not _is_known(iterator)
        or _properties_of(type(query)) != _properties
        or (_ExplainMetrics is not None and vars(query).get("_explain_options", query) is not None)
    ):
        return None
    project, database, namespace = query.project, client.database, query.namespace
    # Others may equal what they are not sent as.
    if type(project) is not str or not {type(database), type(namespace)} <= _OPTIONAL_STR:
        return None
    try:
        head = query_head(project, database, namespace)
        message = _message(iterator, query)
    except Exception as error:  # noqa: BLE001  # the client makes it again, and raises its error
        raise_if_of_handler(error)
        return None
    if message is None:
        return None
    api = client._datastore_api
    if not reads_as_known(api, "run_query"):
        return None
    request = QueryBytes.of(project, database, head, message)
    given = {"retry": iterator._retry, "timeout": iterator._timeout}
    response = api.run_query(
        request=request, **{name: value for name, value in given.items() if value is not None}
    )
    metrics = explain_metrics_of(response)
    if metrics:
        iterator._explain_metrics = _ExplainMetrics._from_pb(metrics)
    return page_of(iterator, response)


def _is_known(iterator: Any) -> bool:
    """Whether the functions that are passed over are the client's own."""
    return (
        _building.are_upstream(type(iterator))
        and all(_is_of_class(iterator, name) for name in _METHODS)
        and is_upstream(query_module._pb_from_query, query_module)
        and options_are_known()
    )


def _is_of_class(holder: Any, name: str) -> bool:
    # vars() would make a dict of the holder's attributes, which are slower to reach then.
    found = getattr(holder, name)
    function = getattr(type(holder), name)
    return type(found) is MethodType and found.__self__ is holder and found.__func__ is function


def _message(iterator: Any, query: Any) -> Any:
    """Return an upb request with the query of the next page, and nothing else.

    None, if the client has to make it.
    """
    message = _RunQueryRequest()
    made = message.query
    # The client sends a query that is empty.
    made.SetInParent()
    for name in query.projection:
        made.projection.add().property.name = name
    if query.kind:
        made.kind.add().name = query.kind
    filters, ancestor = query.filters, query.ancestor
    if not _are_known(filters):
        return None
    if filters or ancestor:
        _add_filters(made.filter.composite_filter, filters, ancestor)
        # As the client, which copies the query: it is refused if it is nested too deep.
        made.FromString(made.SerializeToString())
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
        limit = iterator.max_results - iterator.num_results
        if type(limit) is not int:
            return None
        made.limit.value = limit
    return message


def _are_known(filters: Any) -> bool:
    # The code of other classes may run only once, and may change the iterator.
    return type(filters) is list and all(
        type(each) in _FILTERS
        and (type(each) is query_module.PropertyFilter or _are_known(each.filters))
        for each in filters
        if type(each) is not tuple
    )


def _add_filters(composite: Any, filters: Any, ancestor: Any) -> None:
    composite.op = _AND
    for given in filters:
        each = query_module.PropertyFilter(*given) if type(given) is tuple else given
        is_property = type(each) is query_module.PropertyFilter
        part = composite.filters.add()
        each.build_pb(container_pb=part.property_filter if is_property else part.composite_filter)
    if ancestor:
        within = composite.filters.add().property_filter
        within.property.name = query_module.KEY_PROPERTY_NAME
        within.op = _HAS_ANCESTOR
        within.value.key_value.CopyFrom(ancestor.to_protobuf()._pb)
