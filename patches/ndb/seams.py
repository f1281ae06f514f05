"""The seams of google-cloud-ndb: its calls to the API, its cache, and the making of models.

Nothing of ndb is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.registry import Seam, calling, replacing
from lazyentity.patches.spec import ClientSpec

# These are also parsed by tools/clients.py.
DISTRIBUTION: Final = "google-cloud-ndb"
SUPPORTED_VERSIONS: Final = ">=2.3,<2.8"
# CI tests this version, too.
VERSION_BETWEEN: Final = "2.5.1"

_PACKAGE = "google.cloud.ndb"
_API = f"{_PACKAGE}._datastore_api"
_MODEL = f"{_PACKAGE}.model"
_QUERY = f"{_PACKAGE}._datastore_query"

CONVERSION: Final = Seam(
    _MODEL,
    "_entity_from_ds_entity",
    calling("ndb.models", "entity_from_ds_entity"),
    defers_to_foreign=True,
)
MESSAGE_CONVERSION: Final = Seam(
    _MODEL,
    "_entity_from_protobuf",
    replacing("ndb.models", "entity_from_protobuf"),
    defers_to_foreign=True,
)
_ENCODING = Seam(
    _MODEL,
    "_entity_to_ds_entity",
    calling("ndb.writing", "entity_to_ds_entity"),
    defers_to_foreign=True,
)

LOOKUP: Final = Seam(_API, "lookup", calling("ndb.lookups", "lookup"))
GET_ASYNC: Final = Seam(f"{_PACKAGE}.key", "Key.get_async", calling("ndb.lookups", "get_async"))
GET_MULTI: Final = Seam(_MODEL, "get_multi", calling("ndb.multi", "get_multi"))
HAS_NEXT_ASYNC: Final = Seam(
    _QUERY, "_QueryIteratorImpl.has_next_async", calling("ndb.reads", "has_next_async")
)
IDLE_CALLBACK: Final = Seam(
    _API, "_LookupBatch.idle_callback", calling("ndb.lookups", "idle_callback")
)
LOOKUP_CALLBACK: Final = Seam(
    _API, "_LookupBatch.lookup_callback", calling("ndb.lookups", "lookup_callback")
)
RESULT_ENTITY: Final = Seam(
    _QUERY, "_Result.entity", replacing("ndb.reads", "replace_result_entity")
)
RESULT_KEY: Final = Seam(_QUERY, "_Result.key", replacing("ndb.reads", "replace_result_key"))

CLIENT: Final = ClientSpec(
    name="ndb",
    distribution=DISTRIBUTION,
    supported=SUPPORTED_VERSIONS,
    waits_for_import=_PACKAGE,
    over=("datastore",),
    conversion=CONVERSION,
    reading=(CONVERSION, MESSAGE_CONVERSION),
    writing=(_ENCODING,),
    seams=[
        Seam(_API, "stub", calling("ndb.reads", "stub")),
        Seam(_API, "entity_pb2", replacing("ndb.reads", "replace_entity_types")),
        LOOKUP,
        IDLE_CALLBACK,
        LOOKUP_CALLBACK,
        GET_ASYNC,
        GET_MULTI,
        Seam(_PACKAGE, "get_multi", replacing("ndb.multi", "replace_get_multi")),
        MESSAGE_CONVERSION,
        _ENCODING,
        Seam(_MODEL, "Property.__get__", replacing("ndb.models", "property_get")),
        Seam(_QUERY, "fetch", calling("ndb.reads", "fetch")),
        RESULT_ENTITY,
        RESULT_KEY,
        HAS_NEXT_ASYNC,
        Seam("google.cloud.datastore.key", "Key.kind", replacing("ndb.reads", "replace_kind")),
        CONVERSION,
    ],
    uses={
        _API: ("_NOT_FOUND", "_add_routing_info", "_datastore_lookup"),
        f"{_PACKAGE}._eventloop": ("EventLoop._run_current",),
        f"{_PACKAGE}.context": (
            "_Context._use_cache",
            "_Context._use_datastore",
            "_default_cache_policy",
            "_default_datastore_policy",
        ),
        _QUERY: (
            "_KEY_NOT_IN_CACHE",
            "_QueryIteratorImpl._batch",
            "_QueryIteratorImpl._index",
            "_QueryIteratorImpl._next_batch",
            "_Result._key",
            "_Result._query_options",
            "_datastore_run_query",
        ),
        f"{_PACKAGE}.key": ("Key._from_ds_key", "Key._key", "Key._reference"),
        _MODEL: (
            "_BaseValue",
            "Expando._default_indexed",
            "Expando._write_empty_list_for_dynamic_properties",
            "Model._clone_properties",
            "Model._code_name_from_stored_name",
            "Model._entity_key",
            "Model._get_kind",
            "Model._key",
            "Model._kind_map",
            "Model._lookup_model",
            "Model._pre_get_hook",
            "Model._projection",
            "Model._properties",
            "Model._values",
            "Property._choices",
            "Property._code_name",
            "Property._default",
            "Property._find_methods",
            "Property._indexed",
            "Property._name",
            "Property._repeated",
            "Property._required",
            "Property._validator",
            "StructuredProperty._model_class",
            "_properties_of",
        ),
        f"{_PACKAGE}.tasklets": (
            "Future._callbacks",
            "Future._done",
            "Future._exception",
            "Future._finish",
            "Future._result",
        ),
    },
)
