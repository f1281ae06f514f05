"""The seams of google-cloud-ndb: its calls to the API, its cache, and the making of models.

Nothing of ndb is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.guard import AttributePath, Guard
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
)
MESSAGE_CONVERSION: Final = Seam(
    _MODEL,
    "_entity_from_protobuf",
    replacing("ndb.models", "entity_from_protobuf"),
)
_GET = Seam(_MODEL, "Property.__get__", replacing("ndb.models", "property_get"))
GET_MULTI: Final = Seam(_MODEL, "get_multi", replacing("ndb.many", "replace_get_multi"))
_ENTRIES = (
    GET_MULTI,
    Seam(_PACKAGE, "get_multi", replacing("ndb.many", "replace_get_multi_of_package")),
    Seam(_API, "stub", calling("ndb.reads", "stub")),
    Seam(_MODEL, "_entity_to_ds_entity", calling("ndb.writing", "entity_to_ds_entity")),
    Seam(_QUERY, "_Result.entity", replacing("ndb.reads", "replace_result_entity")),
    Seam(_QUERY, "_Result.key", replacing("ndb.reads", "replace_result_key")),
    Seam(_QUERY, "fetch", calling("ndb.many", "fetch")),
)

# Methods of ``ndb.Property``. Where a class of the application overrides one, ndb's methods do it.
READING: Final = (
    "_apply_list",
    "_apply_to_values",
    "_call_from_base_type",
    "_from_datastore",
    "_get_user_value",
    "_get_value",
    "_opt_call_from_base_type",
    "_retrieve_value",
)
"""The methods that read a property, from the descriptor to its value. ndb finds the conversions."""
WRITING: Final = (
    "_apply_to_values",
    "_from_datastore",
    "_get_base_value",
    "_get_base_value_unwrapped_as_list",
    "_is_initialized",
    "_opt_call_to_base_type",
    "_retrieve_value",
    "_to_datastore",
)
"""The methods that write a value that was never read."""
JOINING: Final = (
    "_apply_to_values",
    "_get_base_value",
    "_opt_call_to_base_type",
    "_retrieve_value",
    "_store_value",
)
"""The methods by which the parts of a structured property are put together."""
CONSTRUCTING: Final = ("__init__", "_get_arg", "_set_attributes")
"""The methods of ``ndb.Model`` that construct a model."""
HOOKS: Final = ("_pre_get_hook", "_post_get_hook")
"""The methods of ``ndb.Model`` that ndb calls around a ``get``."""

_GONE_PAST = {
    _API: ("lookup",),
    f"{_PACKAGE}.key": ("Key._from_ds_key", "Key.get_async"),
    _MODEL: (
        *(f"Model.{name}" for name in (*CONSTRUCTING, *HOOKS)),
        *(f"Property.{name}" for name in dict.fromkeys((*READING, *WRITING, *JOINING))),
        "BlobProperty._from_datastore",
        "BlobProperty._to_datastore",
        "BooleanProperty._from_base_type",
        "Expando.__setattr__",
        "Expando._set_attributes",
        "GenericProperty.__init__",
        "GenericProperty._validate",
        "LocalStructuredProperty._to_datastore",
        "Model._clone_properties",
        "Model._validate_key",
        "Property.__init__",
        "Property._call_shallow_validation",
        "Property._do_validate",
        "Property._set_value",
        "StructuredProperty._to_datastore",
        "TextProperty._from_base_type",
        "_BaseValue",
        "_BaseValue.__init__",
    ),
    _QUERY: (
        "_QueryIteratorImpl.has_next",
        "_QueryIteratorImpl.next",
        "_Result",
        "_Result.check_cache",
    ),
    "google.cloud.datastore_v1.services.datastore.transports.grpc": (
        "DatastoreGrpcTransport.lookup",
        "DatastoreGrpcTransport.run_query",
    ),
}

CLIENT: Final = ClientSpec(
    name="ndb",
    distribution=DISTRIBUTION,
    supported=SUPPORTED_VERSIONS,
    waits_for_import=_PACKAGE,
    over=("datastore",),
    conversion=CONVERSION,
    guard=Guard(
        [
            CONVERSION,
            MESSAGE_CONVERSION,
            _GET,
            *(AttributePath(module, path) for module in _GONE_PAST for path in _GONE_PAST[module]),
        ],
        _ENTRIES,
    ),
    seams=[
        *_ENTRIES,
        _GET,
        Seam(_API, "entity_pb2", replacing("ndb.reads", "replace_entity_types")),
        Seam("google.cloud.datastore.key", "Key.kind", replacing("ndb.reads", "replace_kind")),
        MESSAGE_CONVERSION,
        CONVERSION,
    ],
    uses={
        _API: ("_LookupBatch.add", "_LookupBatch.full", "_NOT_FOUND"),
        f"{_PACKAGE}._batch": ("get_batch",),
        f"{_PACKAGE}.context": ("_Context._use_cache", "_Context._use_datastore"),
        _QUERY: (
            "_KEY_NOT_IN_CACHE",
            "_QueryIteratorImpl._batch",
            "_QueryIteratorImpl._index",
            "_Result._key",
            "_Result._query_options",
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
            "Property._is_initialized",
            "Property._name",
            "Property._repeated",
            "Property._required",
            "Property._to_datastore",
            "Property._validator",
            "StructuredProperty._model_class",
            "_properties_of",
        ),
    },
)
