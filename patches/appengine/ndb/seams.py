"""The seams of ndb: the making of models and of their keys, reading, writing and its caches.

Nothing of it is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.guard import AttributePath, Guard
from lazyentity.patches.registry import Seam, calling, replacing
from lazyentity.patches.spec import ClientSpec

_PACKAGE = "google.appengine.ext.ndb"
_CONTEXT = f"{_PACKAGE}.context"
_KEY = f"{_PACKAGE}.key"
_MODEL = f"{_PACKAGE}.model"
_POLYMODEL = f"{_PACKAGE}.polymodel"
_UTILS = f"{_PACKAGE}.utils"

_ENTRIES = (
    Seam(_CONTEXT, "AutoBatcher.add", calling("appengine.ndb.futures", "add")),
    Seam(_KEY, "Key.__hash__", replacing("appengine.ndb.models", "key_hash")),
    Seam(_MODEL, "Model._from_pb", replacing("appengine.ndb.models", "from_pb")),
    Seam(_MODEL, "Model._prepare_for_put", calling("appengine.ndb.writing", "prepare_for_put")),
    Seam(_MODEL, "Model._to_pb", calling("appengine.ndb.writing", "to_pb")),
    Seam(_MODEL, "ModelAdapter.pb_to_entity", calling("appengine.ndb.models", "pb_to_entity")),
    Seam(_POLYMODEL, "PolyModel._from_pb", replacing("appengine.ndb.models", "poly_from_pb")),
    Seam(_UTILS, "get_stack", replacing("appengine.ndb.futures", "get_stack")),
)
_GONE_PAST_ENTRIES = (
    Seam(_MODEL, "Property.__get__", replacing("appengine.ndb.models", "property_get")),
    Seam(_UTILS, "code_info", replacing("appengine.ndb.futures", "code_info")),
)
"""Entries that ndb calls less often: neither written models nor batched calls are shown."""

# Methods of classes of ndb. Where a class of the application overrides one, ndb's methods do it.
CONSTRUCTING: Final = ("__init__", "_Model__get_arg", "_set_attributes")
FILLING: Final = ("_get_property_for", "_set_projection")
"""The methods that fill a model from an entity, after the constructor."""
CHECKING: Final = ("_check_initialized", "_find_uninitialized")
RECEIVING: Final = ("_deserialize", "_has_value", "_retrieve_value", "_store_value")
"""The methods that give a property a value of the entity, and that read it or test for it."""
READING: Final = (
    "_apply_list",
    "_apply_to_values",
    "_call_from_base_type",
    "_deserialize",
    "_get_user_value",
    "_get_value",
    "_opt_call_from_base_type",
    "_retrieve_value",
    "_store_value",
)
"""The methods that read a property, from the descriptor to its value. ndb finds the conversions."""
WRITING: Final = (
    "_apply_to_values",
    "_deserialize",
    "_get_base_value",
    "_get_base_value_unwrapped_as_list",
    "_opt_call_to_base_type",
    "_retrieve_value",
    "_serialize",
    "_store_value",
)
"""The methods that write the value of a property, and that give it the value of an entity."""
VALUES: Final = tuple(
    f"{name}Property"
    for name in (*("BlobKey", "Blob", "Boolean", "DateTime", "Float", "GeoPt", "Integer", "Key"),)
)
"""The classes whose values are read from and written to messages by known methods."""

_GONE_PAST = (
    *(f"Model.{name}" for name in (*CONSTRUCTING, *FILLING, *CHECKING)),
    *(f"Property.{name}" for name in dict.fromkeys((*RECEIVING, *READING, *WRITING))),
    *(f"{kind}.{name}" for kind in VALUES for name in ("_db_get_value", "_db_set_value")),
    "BlobProperty._db_set_compressed_meaning",
    "BlobProperty._db_set_uncompressed_meaning",
    "BlobProperty._from_base_type",
    "Expando.__setattr__",
    "Expando._set_attributes",
    "LocalStructuredProperty._db_set_uncompressed_meaning",
    "Model._class_name",
    "Model._get_kind",
    "Model._validate_key",
    "Property._is_initialized",
    "Property._prepare_for_put",
    "StructuredProperty._deserialize",
    "StructuredProperty._serialize",
    "TextProperty._db_set_uncompressed_meaning",
    "TextProperty._from_base_type",
    "_BaseValue",
    "_BaseValue.__init__",
)

PART: Final = ClientSpec(
    name="appengine.ndb",
    waits_for_import=_PACKAGE,
    needs=(_POLYMODEL,),
    guard=Guard(
        [
            *(AttributePath(_MODEL, path) for path in _GONE_PAST),
            *(AttributePath(_KEY, f"Key.{name}") for name in ("__new__", "_bytes2str", "pairs")),
            *_GONE_PAST_ENTRIES,
        ],
        _ENTRIES,
    ),
    seams=(*_ENTRIES, *_GONE_PAST_ENTRIES),
    uses={
        _CONTEXT: (
            "AutoBatcher._limit",
            "AutoBatcher._on_idle",
            "AutoBatcher._queues",
            "AutoBatcher._todo_tasklet",
        ),
        _KEY: ("Key._Key__app", "Key._Key__namespace", "Key._Key__pairs"),
        _MODEL: (
            "_BaseValue",
            "_EPOCH",
            "Model._check_initialized",
            "Model._entity_key",
            "Model._key",
            "Model._key_to_pb",
            "Model._lookup_model",
            "Model._projection",
            "Model._properties",
            "Model._values",
            "Property._code_name",
            "Property._find_methods",
            "Property._indexed",
            "Property._name",
            "Property._repeated",
            "Property._required",
        ),
        _POLYMODEL: ("PolyModel._class_map",),
    },
)
