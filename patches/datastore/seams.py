"""The seams of google-cloud-datastore: the API objects of clients, conversions, keys, pages.

Nothing of it is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.guard import Guard, paths_of
from lazyentity.patches.registry import Seam, calling, replacing
from lazyentity.patches.spec import ClientSpec

# These are also parsed by tools/clients.py.
DISTRIBUTION: Final = "google-cloud-datastore"
SUPPORTED_VERSIONS: Final = ">=2.19,<2.28"
# CI tests this version, too.
VERSION_BETWEEN: Final = "2.23.0"

_PAGES = "google.api_core.page_iterator"
_SERVICE = "google.cloud.datastore_v1.services.datastore"
_ASYNC_API = f"{_SERVICE}.async_client"
_BATCH = "google.cloud.datastore.batch"
_CLIENT = "google.cloud.datastore.client"
_ENTITY = "google.cloud.datastore.entity"
_HELPERS = "google.cloud.datastore.helpers"
_HTTP = "google.cloud.datastore._http"
_KEY = "google.cloud.datastore.key"
_QUERY = "google.cloud.datastore.query"

_READS = "datastore.reads"
_WRITES = "datastore.writes"

CONVERSION: Final = Seam(
    _HELPERS, "entity_from_protobuf", replacing(_READS, "replace_entity_from_protobuf")
)
_INNER: Final = (
    CONVERSION,
    Seam(_HELPERS, "entity_to_protobuf", calling(_WRITES, "entity_to_protobuf")),
    Seam(_CLIENT, "Client._datastore_api", replacing(_READS, "replace_api")),
    Seam(_BATCH, "Batch.put", calling(_WRITES, "put")),
    Seam(_KEY, "Key.to_protobuf", calling(_WRITES, "key_to_protobuf")),
    Seam(_QUERY, "Iterator._next_page", replacing(_READS, "replace_next_page")),
)
"""The seams that replacements of other seams go past."""

_ENTRIES: Final = (
    Seam(_CLIENT, "Client.get_multi", replacing(_READS, "replace_get_multi")),
    Seam(_CLIENT, "Client.put_multi", calling(_WRITES, "put_multi")),
    Seam(_ASYNC_API, "DatastoreAsyncClient.lookup", replacing(_READS, "replace_async_lookup")),
    Seam(_ASYNC_API, "DatastoreAsyncClient.run_query", replacing(_READS, "replace_async_query")),
)

_PASSED_BY: Final = {
    _PAGES: (
        "Iterator._items_iter",
        "Page",
        "Page.__iter__",
        "Page.__next__",
    ),
    _BATCH: (
        "Batch._add_complete_key_entity_pb",
        "Batch._add_partial_key_entity_pb",
        "Batch._allow_mutations",
        "_assign_entity_to_pb",
    ),
    _CLIENT: ("_extended_lookup", "_make_retry_timeout_kwargs"),
    _ENTITY: ("Entity.__init__",),
    _HELPERS: (
        "Entity",
        "GeoPoint",
        "Key",
        "_get_meaning",
        "_get_value_from_value_pb",
        "_pb_attr_value",
        "_set_pb_meaning_from_entity",
        "_set_protobuf_value",
        "get_read_options",
        "get_transaction_options",
        "key_from_protobuf",
        "set_database_id_to_request",
    ),
    _HTTP: (
        "HTTPDatastoreAPI.commit",
        "HTTPDatastoreAPI.lookup",
        "HTTPDatastoreAPI.run_query",
        "_make_request_pb",
        "_rpc",
    ),
    _KEY: ("Key.__init__", "Key.is_partial"),
    _QUERY: (
        "Iterator._build_protobuf",
        "Iterator._items_iter",
        "Iterator._process_query_results",
        "_item_to_entity",
        "_pb_from_query",
    ),
    "google.cloud.datastore.transaction": ("Transaction._allow_mutations",),
    f"{_SERVICE}.client": (
        "DatastoreClient.commit",
        "DatastoreClient.lookup",
        "DatastoreClient.run_query",
    ),
}

CLIENT: Final = ClientSpec(
    name="datastore",
    distribution=DISTRIBUTION,
    supported=SUPPORTED_VERSIONS,
    waits_for_import="google.cloud.datastore",
    conversion=CONVERSION,
    guard=Guard((*_INNER, *paths_of(_PASSED_BY)), _ENTRIES),
    seams=[*_INNER, *_ENTRIES],
    uses={
        "google.api_core.page_iterator": ("Iterator._page_iter", "Page._item_iter"),
        "google.api_core.gapic_v1.method": ("_GapicCallable._target",),
        _BATCH: (
            "Batch._IN_PROGRESS",
            "Batch._mutations",
            "Batch._partial_key_entities",
            "Batch._status",
            "_assign_entity_to_pb",
        ),
        _CLIENT: ("Client._base_url", "Client._client_info", "Client._http", "_MAX_LOOPS"),
        _ENTITY: ("Entity._meanings",),
        _HELPERS: (
            "_get_meaning",
            "_get_value_from_value_pb",
            "_set_pb_meaning_from_entity",
            "_set_protobuf_value",
        ),
        _HTTP: ("_make_request_pb", "_rpc"),
        _KEY: ("Key._database", "Key._path", "Key._project"),
        _QUERY: (
            "Iterator._end_cursor",
            "Iterator._eventual",
            "Iterator._more_results",
            "Iterator._offset",
            "Iterator._query",
            "Iterator._read_time",
            "Iterator._retry",
            "Iterator._skipped_results",
            "Iterator._timeout",
            "_FINISHED",
            "_NOT_FINISHED",
            "_item_to_entity",
            "_NO_MORE_RESULTS",
        ),
        f"{_SERVICE}.client": ("DatastoreClient._transport",),
        f"{_SERVICE}.transports.grpc": (
            "DatastoreGrpcTransport._stubs",
            "DatastoreGrpcTransport._wrapped_methods",
        ),
        "proto.message": ("Message._pb",),
    },
)
