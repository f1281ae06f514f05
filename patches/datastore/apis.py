"""The API objects that a client makes for itself, and their lazy counterparts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from google.cloud.datastore import _http
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.types import datastore as datastore_pb2

from lazyentity.patches.api.requests import commit_request
from lazyentity.patches.api.responses import LookupResponse, RunQueryResponse
from lazyentity.patches.api.transports import LazyDatastoreClient, lazy_transport, sent
from lazyentity.patches.datastore.seams import CLIENT


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


def is_lazy(api: Any, method: str) -> bool:
    """Whether an API object is a lazy one, without somebody's own method on the object.

    Args:
        api: of a client.
        method: ``"lookup"`` or ``"run_query"``.
    """
    return type(api) in _LAZY and method not in vars(api)


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
