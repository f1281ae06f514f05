"""Queries whose pages are sent as bytes, and whose entities are reached without Python code.

``Iterator._next_page`` makes a dozen proto-plus messages for each page, and the generated client
copies them into one more. ``Page.__next__`` of google-api-core takes about as long as converting a
small entity lazily does, and so does making the proxy of an entity that the client would convert.
"""

from __future__ import annotations

import base64
import functools
import itertools
import operator
from collections.abc import Iterator
from types import NoneType
from typing import Any, Final

from google.api_core import page_iterator
from google.cloud.datastore import query as query_module
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import query as query_pb2
from google.protobuf.message import DecodeError

from lazyentity._backend import EntityReader
from lazyentity.patches.api.requests import QueryBytes, query_head
from lazyentity.patches.api.responses import RunQueryResponse
from lazyentity.patches.datastore.apis import is_lazy
from lazyentity.patches.datastore.reading import read_message
from lazyentity.patches.datastore.seams import CLIENT

_RunQueryRequest: Any = datastore_pb2.RunQueryRequest.pb()
_AND: Final = query_pb2.CompositeFilter.Operator.AND
_HAS_ANCESTOR: Final = query_pb2.PropertyFilter.Operator.HAS_ANCESTOR
_Direction: Final = query_pb2.PropertyOrder.Direction

# A subclass may answer otherwise each time that it is asked.
_properties_of = operator.attrgetter(
    "ancestor", "distinct_on", "filters", "kind", "namespace", "order", "project", "projection"
)
_properties: Final = _properties_of(query_module.Query)
_FILTERS: Final = frozenset((query_module.PropertyFilter, query_module.And, query_module.Or))
_OPTIONAL_STR: Final = frozenset((str, NoneType))


class LazyPage(page_iterator.Page):
    """A page that converts its items in ``map``.

    ``next(page)`` and the iterators of a page go through the same items, as they do upstream. An
    item that cannot be converted raises, and does not end the iteration. The remaining items are
    counted themselves; upstream's own count (``_remaining``) is not kept.

    Args:
        parent: the iterator of the query.
        response: a lazy response.
        reader: makes the entities.
    """

    def __init__(self, parent: Any, response: RunQueryResponse, reader: EntityReader) -> None:
        super().__init__(parent, response.batch._entities, functools.partial(_read_item, reader))  # type: ignore[no-untyped-call]  # upstream is untyped
        self._reader = reader

    def __iter__(self) -> Iterator[Any]:
        return map(self._item_iter.read_next, itertools.repeat(self._reader))

    def unboxed(self) -> Iterator[Any]:
        """As ``iter(page)``, with rows in place of entities that only the page's reader sees."""
        return map(_row, self._item_iter, itertools.repeat(self._reader))

    @property
    def remaining(self) -> int:
        """How many items have not been asked for yet."""
        return operator.length_hint(self._item_iter)


def _row(handle: Any, reader: EntityReader) -> Any:
    return handle.to_unboxed(reader)


def _read_item(reader: EntityReader, _iterator: Any, message: Any) -> Any:
    return read_message(message, reader)


def unboxed_of_query(iterator: Any) -> Iterator[Any]:
    """Return an iterator over the entities of a query most of which are unboxed.

    Args:
        iterator: of the client, or of a wrapped query.

    Raises:
        ValueError: if it was started already, as ``iter(iterator)`` raises it.
    """
    items: Iterator[Any] = iter(iterator)
    # Code that somebody puts around the iteration is to see entities.
    return _unboxed(iterator) if CLIENT.guard.is_intact() else items


def _unboxed(iterator: Any) -> Iterator[Any]:
    # As Iterator._items_iter() upstream, which counts an entity once it was converted.
    for page in iterator._page_iter(increment=False):
        for entity in page.unboxed() if type(page) is LazyPage else page:
            iterator.num_results += 1
            yield entity


def next_page(iterator: Any, reader: EntityReader) -> Any:
    """Return the next page of a query, as ``Iterator._next_page`` does.

    Args:
        iterator: of the client, or of a wrapped query.
        reader: makes the entities.

    Returns:
        The page; None, and nothing was sent, if the client has to make it: after the last page, for
        transactions, options that change more of the request, values and filters of other types
        than the client's, and while the client's guard is not intact.
    """
    client, query = iterator.client, iterator._query
    offset = iterator._offset
    if (
        not iterator._more_results
        or iterator._eventual
        or iterator._read_time is not None
        # Versions differ in how they go on after a batch of skipped results.
        or not (offset is None or (type(offset) is int and offset == 0))
        or client.current_transaction is not None
        or _properties_of(type(query)) != _properties
        # Version 2.20 came with explained queries.
        or vars(query).get("_explain_options") is not None
        or not CLIENT.guard.is_intact()
    ):
        return None
    project, database, namespace = query.project, client.database, query.namespace
    # Others may equal what they are not sent as.
    if type(project) is not str or not {type(database), type(namespace)} <= _OPTIONAL_STR:
        return None
    try:
        head = query_head(project, database, namespace)
        message = _message(iterator, query)
    except (ArithmeticError, AttributeError, DecodeError, LookupError, TypeError, ValueError):
        # The client makes it again, and raises its error.
        return None
    if message is None:
        return None
    api = client._datastore_api
    if not is_lazy(api, "run_query"):
        return None
    request = QueryBytes.from_query(project, database, head, message)
    given = {"retry": iterator._retry, "timeout": iterator._timeout}
    response = api.run_query(
        request=request, **{name: value for name, value in given.items() if value is not None}
    )
    if type(response) is not RunQueryResponse:
        # Of an interceptor.
        entities = iterator._process_query_results(response)
        return page_iterator.Page(iterator, entities, iterator.item_to_value)
    _go_on(iterator, response.batch)
    return LazyPage(iterator, response, reader)


def _go_on(iterator: Any, batch: Any) -> None:
    """Set the attributes for the next page, as ``Iterator._process_query_results`` does.

    Raises:
        ValueError: as the client raises it, if the response does not say whether it is the last.
    """
    iterator._skipped_results = batch.skipped_results
    more = batch.more_results
    is_last = more == query_module._NO_MORE_RESULTS
    iterator.next_page_token = None if is_last else base64.urlsafe_b64encode(batch.end_cursor)
    iterator._end_cursor = None
    if more != query_module._NOT_FINISHED and more not in query_module._FINISHED:
        raise ValueError("Unexpected value returned for `more_results`.")
    iterator._more_results = more == query_module._NOT_FINISHED


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
