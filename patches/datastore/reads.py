"""Reads that give lazy entities: API objects, look-ups, pages of queries, and the conversion.

- ``Client.get_multi`` makes a message of each key, which is copied into that of the request. Here
  keys are sent as bytes, and the answers are read without messages.
- ``Iterator._next_page`` makes a dozen proto-plus messages for each page, and the generated client
  copies them into one more. Here pages are sent as bytes.
- ``Page.__next__`` of google-api-core takes about as long as converting a small entity lazily does,
  and so does making the proxy of an entity. Here entities are reached without Python code.

Each ``replace_...`` is the ``replace`` of a :class:`~lazyentity.patches.registry.Seam`.
"""

from __future__ import annotations

import base64
import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from types import NoneType
from typing import Any, Final

from google.api_core import page_iterator
from google.cloud.datastore import _http, client as client_module, query as query_module
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.types import (
    datastore as datastore_pb2,
    entity as entity_pb2,
    query as query_pb2,
)
from google.protobuf.message import DecodeError

from lazyentity._backend import EntityReader, complete_key_bytes
from lazyentity._dispatch import register_unboxed
from lazyentity._mode import is_eager
from lazyentity.codec import messages
from lazyentity.codec.keys import DIRECT
from lazyentity.codec.values import stock_entity
from lazyentity.entity import LazyEntity
from lazyentity.patches import notices
from lazyentity.patches.api.requests import LookupBytes, QueryBytes, commit_request, query_head
from lazyentity.patches.api.responses import HANDLES, LookupResponse, RunQueryResponse
from lazyentity.patches.api.transports import (
    LazyDatastoreClient,
    awaited,
    lazy_transport,
    read_lazily,
    sent,
)
from lazyentity.patches.datastore.seams import CLIENT
from lazyentity.profiling import observer
from lazyentity.readers import LAZY, STOCK

_Function = Callable[..., Any]
_IsActive = Callable[[], bool]

# Upstream iterates the keys twice, which matters if they are an iterator.
_COLLECTIONS: Final = frozenset((list, tuple, set, frozenset))
_CARRIED: Final = frozenset(("retry", "timeout"))

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


def _reader() -> EntityReader:
    return STOCK if CLIENT.patch.eager else LAZY


def read_message(
    entity_message: Any, reader: EntityReader, original: Callable[[Any], Any] = stock_entity
) -> Any:
    """Make an entity of the client's entity message, a stock one inside ``eager()``.

    Args:
        entity_message: a proxy of a lazy response, or an entity message (proto-plus or upb).
        reader: makes the entity.
        original: converts everything that has nothing lazy about it; by default the client.
    """
    if type(entity_message) in HANDLES:
        return entity_message.read(reader)
    message = entity_message._pb if type(entity_message) is entity_pb2.Entity else entity_message
    if (
        reader.is_stock
        or type(message) is not messages.Entity
        or is_eager()
        or not CLIENT.guard.is_intact()
    ):
        return original(entity_message)
    raw = message.SerializeToString()
    entity = LazyEntity._from_raw(raw)
    # An entity without a key is part of another one.
    data = observer.data
    if data is not None and message.HasField("key"):
        data.receive(entity, raw, False)
    return entity if reader.prepare is None else reader.prepare(entity)


def replace_entity_from_protobuf(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the function that converts an entity message of a response."""

    @functools.wraps(original)
    def entity_from_protobuf(pb: Any) -> Any:
        return read_message(pb, _reader(), original) if is_active() else original(pb)

    return entity_from_protobuf


class LazyHTTPDatastoreAPI(_http.HTTPDatastoreAPI):
    """The client's HTTP API object, with lazy responses to ``lookup`` and ``run_query``."""

    def _read(self, method: str, request: Any, kinds: Any, **options: Any) -> Any:
        message = _http._make_request_pb(request, kinds[0])
        return _http._rpc(
            self.client._http,
            message.project_id,
            method,
            self.client._base_url,
            self.client._client_info,
            message,
            kinds[1],
            message.database_id,
            **options,
        )

    def lookup(self, request: Any, retry: Any = None, timeout: Any = None) -> Any:
        kinds = datastore_pb2.LookupRequest, LookupResponse
        return sent(self._read, "lookup", request, kinds, retry=retry, timeout=timeout)

    def run_query(self, request: Any, retry: Any = None, timeout: Any = None) -> Any:
        kinds = datastore_pb2.RunQueryRequest, RunQueryResponse
        return sent(self._read, "runQuery", request, kinds, retry=retry, timeout=timeout)

    def commit(self, request: Any, retry: Any = None, timeout: Any = None) -> Any:
        request = commit_request(request, by_bytes=False)
        return super().commit(request=request, retry=retry, timeout=timeout)  # type: ignore[no-untyped-call]  # upstream is untyped


_LAZY: Final = frozenset((LazyDatastoreClient, LazyHTTPDatastoreAPI))
_METHODS: Final = frozenset(
    name
    for kind in (DatastoreClient, _http.HTTPDatastoreAPI)
    for name in dir(kind)
    if not name.startswith("_")
)
_LAZY_API: Final = "_lazyentity_api"


def lazy_api(api: Any) -> Any:
    """Return the lazy counterpart of a client's API object; the same one each time.

    Only the API objects that a client makes for itself have one. Anything else (a mock, a subclass,
    an object with somebody's own method or transport) is returned as it is. So is every API object
    while the client's guard is not intact.
    """
    making = _makers.get(type(api))
    if making is None or not CLIENT.guard.is_intact():
        return api
    attributes = vars(api)
    if not _METHODS.isdisjoint(attributes):
        return api
    name, make = making
    under = attributes.get(name)
    # Kept on the API object itself: the two live and die together, with the client they refer to.
    kept = attributes.get(_LAZY_API) or attributes.setdefault(_LAZY_API, (under, make(api)))
    if kept[0] is not under:
        kept = attributes[_LAZY_API] = (under, make(api))
    # Not the API object itself, which would then wait for the garbage collector.
    return kept[1] or api


def _lazy_grpc_api(api: Any) -> Any:
    given = api.transport
    transport = lazy_transport(given) if type(given) is DatastoreGrpcTransport else None
    if transport is None:
        return None
    # Not by the constructor, which logs that a client was created: that of the application was.
    lazy = LazyDatastoreClient.__new__(LazyDatastoreClient)
    vars(lazy).update(vars(api), _transport=transport)
    vars(lazy).pop(_LAZY_API, None)
    return lazy


# With the attribute by which an API object sends, and which may be set to another one.
_makers: dict[type, tuple[str, Callable[[Any], Any]]] = {
    DatastoreClient: ("_transport", _lazy_grpc_api),
    _http.HTTPDatastoreAPI: ("client", lambda api: LazyHTTPDatastoreAPI(api.client)),  # type: ignore[no-untyped-call]  # upstream is untyped
}


class ApiProperty(property):
    """The property that gives the API object of a patched or wrapped client."""


def replace_api(original: Any, is_active: _IsActive) -> Any:
    """Replace the property of a client that gives its API object."""

    @functools.wraps(original.fget)
    def _datastore_api(client: Any) -> Any:
        api = original.fget(client)
        if not is_active():
            return api
        if notices.waiting:
            notices.log()
        return lazy_api(api)

    return ApiProperty(_datastore_api)


def _lazy_api_of(client: Any, method: str) -> Any:
    """Return the lazy API object of a client.

    None, if the client has another one: while its guard is not intact, where a subclass has another
    property, and if somebody's own method is on the object.

    Args:
        client: a ``google.cloud.datastore.Client``.
        method: ``"lookup"`` or ``"run_query"``.
    """
    if type(getattr(type(client), "_datastore_api", None)) is not ApiProperty:
        return None
    api = client._datastore_api
    return api if type(api) in _LAZY and method not in vars(api) else None


def look_up(
    client: Any, keys: Any, options: Mapping[str, Any], reader: EntityReader
) -> list[Any] | None:
    """Look up keys as ``Client.get_multi`` does, if they can be sent as bytes.

    Args:
        client: a ``google.cloud.datastore.Client``.
        keys: as ``get_multi`` takes them.
        options: the other arguments of ``get_multi``, by name.
        reader: makes the entities.

    Returns:
        The entities; None, and nothing was sent, if the client has to do it: for transactions,
        options that change or report more than the entities, partial keys, keys of subclasses, and
        while the client's guard is not intact.

    Raises:
        google.api_core.exceptions.GoogleAPICallError: as the client's.
        Exception: as :meth:`~lazyentity._backend.protocols.ResultBytes.read` raises it.
    """
    if not keys or type(keys) not in _COLLECTIONS or not DIRECT:
        return None
    given = {name: value for name, value in options.items() if value is not None}
    if given.pop("eventual", False) is not False or not given.keys() <= _CARRIED:
        return None
    project, database = client.project, client.database or ""
    # Others may equal what they are not sent as.
    if type(project) is not str or type(database) is not str:
        return None
    if client.current_transaction is not None:
        return None
    serialised: list[Any] = [complete_key_bytes(key, project, database) for key in keys]
    if None in serialised:
        return None
    api = _lazy_api_of(client, "lookup")
    if api is None:
        return None
    entities: list[Iterator[Any]] = []
    for _ in range(client_module._MAX_LOOPS):
        response = api.lookup(request=LookupBytes.from_keys(project, database, serialised), **given)
        # At once, as the client: an interceptor may answer with the same response again.
        if type(response) is LookupResponse:
            read_next = iter(response._found).read_next
            entities.append(map(read_next, itertools.repeat(reader)))
        else:
            found = [result.entity for result in response.found]
            entities.append(read_message(entity._pb, reader) for entity in found)
        if not response.deferred:
            break
        # upb's keys, if an interceptor answers with a message of upb.
        serialised = [getattr(key, "_pb", key).SerializeToString() for key in response.deferred]
    return list(itertools.chain.from_iterable(entities))


def replace_get_multi(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that looks up keys, also for ``get``."""

    @functools.wraps(original)
    def get_multi(self: Any, keys: Any, *args: Any, **options: Any) -> Any:
        if not args and is_active():
            found = look_up(self, keys, options, _reader())
            if found is not None:
                return found
        return original(self, keys, *args, **options)

    return get_multi


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


# Iterators of wrapped queries are of another class.
register_unboxed(query_module.Iterator, unboxed_of_query)


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
    ):
        return None
    project, database, namespace = query.project, client.database, query.namespace
    # Others may equal what they are not sent as.
    if type(project) is not str or not {type(database), type(namespace)} <= _OPTIONAL_STR:
        return None
    api = _lazy_api_of(client, "run_query")
    if api is None:
        return None
    try:
        head = query_head(project, database, namespace)
        message = _message(iterator, query)
    except (ArithmeticError, AttributeError, DecodeError, LookupError, TypeError, ValueError):
        # The client makes it again, and raises its error.
        return None
    if message is None:
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


def replace_next_page(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that makes the next page of a query."""

    @functools.wraps(original)
    def _next_page(iterator: Any) -> Any:
        # A subclass, and a function of the application, may handle entities differently.
        if (
            type(iterator) is query_module.Iterator
            and iterator.item_to_value is query_module._item_to_entity
            and is_active()
        ):
            page = next_page(iterator, _reader())
            if page is not None:
                return page
        return original(iterator)

    return _next_page


def _reading(method: str) -> Callable[[_Function, _IsActive], _Function]:
    """Return the ``replace`` of a method of the generated asyncio client that reads."""

    def replace(original: _Function, is_active: _IsActive) -> _Function:
        def is_lazy() -> bool:
            return is_active() and CLIENT.guard.is_intact()

        # A coroutine function like the original: mocks are made by that.
        @functools.wraps(original)
        async def read(client: Any, *args: Any, **kwargs: Any) -> Any:
            if is_active():
                if notices.waiting:
                    notices.log()
                read_lazily(client.transport, method, is_lazy)
            return await awaited(original, client, *args, **kwargs)

        return read

    return replace


replace_async_lookup = _reading("lookup")
replace_async_query = _reading("run_query")
