"""The seams of ndb: the making of models and of their keys, reading, writing and its caches.

Nothing of it is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.appengine.lasting import LastingSeam
from lazyentity.patches.registry import Seam, calling, replacing
from lazyentity.patches.spec import ClientSpec

_PACKAGE = "google.appengine.ext.ndb"
_CONTEXT = f"{_PACKAGE}.context"
_KEY = f"{_PACKAGE}.key"
_MODEL = f"{_PACKAGE}.model"
_POLYMODEL = f"{_PACKAGE}.polymodel"
_TASKLETS = f"{_PACKAGE}.tasklets"
_UTILS = f"{_PACKAGE}.utils"

PART: Final = ClientSpec(
    name="appengine.ndb",
    waits_for_import=_PACKAGE,
    seams=[
        Seam(_MODEL, "Model._from_pb", replacing("appengine.ndb.models", "from_pb")),
        Seam(_POLYMODEL, "PolyModel._from_pb", replacing("appengine.ndb.models", "poly_from_pb")),
        Seam(_MODEL, "Property.__get__", replacing("appengine.ndb.models", "property_get")),
        Seam(_MODEL, "Model._to_pb", calling("appengine.ndb.writing", "to_pb")),
        Seam(_MODEL, "Model._prepare_for_put", calling("appengine.ndb.writing", "prepare_for_put")),
        LastingSeam(
            _TASKLETS, "Future._info", replacing("appengine.ndb.debugging", "info_of_call")
        ),
        Seam(_CONTEXT, "AutoBatcher.add", replacing("appengine.ndb.contexts", "add")),
        Seam(_CONTEXT, "Context.get", replacing("appengine.ndb.gets", "get")),
        Seam(_TASKLETS, "get_context", replacing("appengine.ndb.contexts", "get_context")),
        Seam(_UTILS, "get_stack", replacing("appengine.ndb.debugging", "get_stack")),
        Seam(_KEY, "Key.__hash__", replacing("appengine.ndb.keys", "hash_of")),
        Seam(_KEY, "Key.__ne__", replacing("appengine.ndb.keys", "ne")),
        Seam(_MODEL, "ModelAdapter.pb_to_entity", calling("appengine.ndb.models", "pb_to_entity")),
    ],
    uses={
        _CONTEXT: (
            "AutoBatcher._limit",
            "AutoBatcher._on_idle",
            "AutoBatcher._queues",
            "AutoBatcher._cache",
            "AutoBatcher._todo_tasklet",
            "Context._cache",
            "Context._conn",
            "Context._get_batcher",
            "Context._get_memcache_deadline",
            "Context._get_memcache_timeout",
            "Context._memcache_get_batcher",
            "Context._memcache_prefix",
            "Context._memcache_set_batcher",
            "Context._use_cache",
            "Context._use_datastore",
            "Context._use_memcache",
            "_LOCKED",
            "_LOCK_TIME",
            "_make_ctx_options",
        ),
        _KEY: ("Key._Key__app", "Key._Key__namespace", "Key._Key__pairs", "Key._Key__reference"),
        _MODEL: (
            "_BaseValue",
            "_EPOCH",
            "_MEANING_URI_COMPRESSED",
            "_NestedCounter._NestedCounter__sub_counters",
            "_NestedCounter._set",
            "_NestedCounter.increment",
            "Model._check_initialized",
            "Model._class_name",
            "Model._entity_key",
            "Model._find_uninitialized",
            "Model._get_kind",
            "Model._key",
            "Model._key_to_pb",
            "Model._lookup_model",
            "Model._projection",
            "Model._properties",
            "Model._set_projection",
            "Model._validate_key",
            "Model._values",
            "Property._code_name",
            "Property._db_get_value",
            "Property._db_set_value",
            "Property._deserialize",
            "Property._find_methods",
            "Property._indexed",
            "Property._name",
            "Property._repeated",
            "Property._required",
            "Property._serialize",
        ),
        _POLYMODEL: ("PolyModel._class_map",),
        _TASKLETS: (
            "_CONTEXT_KEY",
            "Future._callbacks",
            "Future._context",
            "Future._done",
            "Future._exception",
            "Future._help_tasklet_along",
            "Future._immediate_callbacks",
            "Future._info",
            "Future._next",
            "Future._result",
            "Future._traceback",
            "Future._where",
            "_state",
        ),
        "google.appengine.api.datastore": ("_GetConnection", "_SetConnection", "_thread_local"),
    },
)
