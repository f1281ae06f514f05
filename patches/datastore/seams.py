"""The seams of google-cloud-datastore: the API objects of clients, conversions, keys, pages.

Nothing of it is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.registry import Seam, calling, replacing
from lazyentity.patches.spec import ClientSpec
from lazyentity.patches.upstream import AttributePath, ClassPath, are_upstream

# These are also parsed by tools/clients.py.
DISTRIBUTION: Final = "google-cloud-datastore"
SUPPORTED_VERSIONS: Final = ">=2.19,<2.28"
# CI tests this version, too.
VERSION_BETWEEN: Final = "2.23.0"

_ASYNC_API = "google.cloud.datastore_v1.services.datastore.async_client"
_ASYNC_CALLS = "datastore.async_client"
_BATCH = "google.cloud.datastore.batch"
_CALLS = "datastore.conversion"
_CLIENT = "google.cloud.datastore.client"
_ENTITY = "google.cloud.datastore.entity"
_HELPERS = "google.cloud.datastore.helpers"
_KEY = "google.cloud.datastore.key"
_QUERY = "google.cloud.datastore.query"


def _unless_replaced(module: str, path: str, name: str) -> Seam:
    """Return a seam that leaves somebody else's function or mock in charge, as it is."""
    return Seam(module, path, replacing(_CALLS, name), defers_to_foreign=True)


CONVERSION = _unless_replaced(_HELPERS, "entity_from_protobuf", "replace_conversion")
ENCODING = _unless_replaced(_HELPERS, "entity_to_protobuf", "replace_entity_to_protobuf")
GET_MULTI = _unless_replaced(_CLIENT, "Client.get_multi", "replace_get_multi")
IS_PARTIAL = _unless_replaced(_KEY, "Key.is_partial", "replace_is_partial")
KEY_ENCODING = _unless_replaced(_KEY, "Key.to_protobuf", "replace_key_to_protobuf")
PUT = _unless_replaced(_BATCH, "Batch.put", "replace_put")
NEXT_PAGE = Seam(_QUERY, "Iterator._next_page", replacing(_CALLS, "replace_next_page"))


_PARTS = (
    AttributePath(_HELPERS, "key_from_protobuf"),
    AttributePath(_HELPERS, "_get_value_from_value_pb"),
    AttributePath(_ENTITY, "Entity.__init__"),
    AttributePath(_KEY, "Key.__init__"),
    ClassPath(_HELPERS, "Entity"),
    ClassPath(_HELPERS, "Key"),
    ClassPath(_HELPERS, "GeoPoint"),
)


def converts_parts_upstream() -> bool:
    """Whether the conversions of keys and of values are the client's own."""
    return are_upstream(_PARTS)


CLIENT: Final = ClientSpec(
    name="datastore",
    distribution=DISTRIBUTION,
    supported=SUPPORTED_VERSIONS,
    waits_for_import="google.cloud.datastore",
    conversion=CONVERSION,
    reading=(CONVERSION, *_PARTS),
    writing=(ENCODING,),
    seams=[
        Seam(_CLIENT, "Client._datastore_api", replacing(_CALLS, "replace_api")),
        GET_MULTI,
        Seam(_ASYNC_API, "DatastoreAsyncClient.lookup", replacing(_ASYNC_CALLS, "replace_lookup")),
        Seam(
            _ASYNC_API,
            "DatastoreAsyncClient.run_query",
            replacing(_ASYNC_CALLS, "replace_run_query"),
        ),
        Seam(_ASYNC_API, "DatastoreAsyncClient.commit", replacing(_ASYNC_CALLS, "replace_commit")),
        CONVERSION,
        NEXT_PAGE,
        ENCODING,
        _unless_replaced(_CLIENT, "Client.put_multi", "replace_put_multi"),
        PUT,
        Seam(
            _BATCH,
            "Batch._add_delete_key_pb",
            calling("datastore.batches", "add_delete_key"),
            defers_to_foreign=True,
        ),
        Seam(_BATCH, "Batch.mutations", replacing(_CALLS, "replace_mutations")),
        KEY_ENCODING,
        IS_PARTIAL,
    ],
    uses={
        "google.api_core.gapic_v1.method": ("_GapicCallable._target",),
        _BATCH: (
            "Batch._IN_PROGRESS",
            "Batch._add_complete_key_entity_pb",
            "Batch._add_partial_key_entity_pb",
            "Batch._mutations",
            "Batch._partial_key_entities",
            "Batch._status",
            "_assign_entity_to_pb",
        ),
        _CLIENT: (
            "Client._base_url",
            "Client._client_info",
            "Client._http",
            "_MAX_LOOPS",
            "_extended_lookup",
            "_make_retry_timeout_kwargs",
        ),
        _ENTITY: ("Entity._meanings",),
        _HELPERS: (
            "_get_meaning",
            "_get_value_from_value_pb",
            "_set_pb_meaning_from_entity",
            "_set_protobuf_value",
        ),
        "google.cloud.datastore._http": ("_make_request_pb", "_rpc"),
        _KEY: ("Key._database", "Key._path", "Key._project"),
        _QUERY: (
            "Iterator._build_protobuf",
            "Iterator._end_cursor",
            "Iterator._eventual",
            "Iterator._more_results",
            "Iterator._offset",
            "Iterator._process_query_results",
            "Iterator._query",
            "Iterator._read_time",
            "Iterator._retry",
            "Iterator._timeout",
            "_pb_from_query",
        ),
        "google.cloud.datastore_v1.services.datastore.client": ("DatastoreClient._transport",),
        "google.cloud.datastore_v1.services.datastore.transports.grpc": (
            "DatastoreGrpcTransport._stubs",
            "DatastoreGrpcTransport._wrapped_methods",
        ),
        "proto.message": ("Message._pb",),
    },
)
