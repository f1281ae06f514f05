"""Where google-cloud-ndb is patched: its calls to the API, its cache, and what makes its models.

Nothing of ndb is imported before the application imports it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, Final

from google.cloud.datastore.key import Key

from lazyentity.patches.registry import Patch, Seam

DISTRIBUTION: Final = "google-cloud-ndb"
SUPPORTED_VERSIONS: Final = ">=2.7,<2.8"
PACKAGE: Final = "google.cloud.ndb"

_Original = Callable[..., Any]


def installed_version() -> str:
    """Return the version of ndb, which is imported for that."""
    version: str = importlib.import_module(f"{PACKAGE}.version").__version__
    return version


_Replace = Callable[[Any, Callable[[], bool]], Any]


def _ours(module: str, name: str) -> Any:
    # The modules import ndb, and so are imported no earlier than it is patched.
    return getattr(importlib.import_module(f"lazyentity.patches.{module}"), name)


def _calling(module: str, name: str) -> _Replace:
    """Replace by what calls a function of ours, given the original and then the arguments."""

    def replace(original: _Original, is_active: Callable[[], bool]) -> _Original:
        function = _ours(module, name)

        @functools.wraps(original)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            if is_active():
                return function(original, *args, **kwargs)
            return original(*args, **kwargs)

        return replacement

    return replace


def _made_by(module: str, name: str) -> _Replace:
    """Replace by what a function of ours makes of the original."""
    return lambda original, is_active: _ours(module, name)(original, is_active)


def _replace_entity_from_protobuf(original: _Original, is_active: Callable[[], bool]) -> Any:
    return _ours("ndb_models", "entity_from_protobuf")(original, is_active, CONVERSION)


def _replace_kind(original: property, is_active: Callable[[], bool]) -> property:
    get_original = original.__get__

    @functools.wraps(original.fget)  # type: ignore[arg-type]  # a getter it has
    def kind(key: Any) -> Any:
        # The client's own copies the whole path first; ndb asks for it at every turn.
        if type(key) is Key and is_active():
            return key._path[-1]["kind"]
        return get_original(key)

    return property(kind)


CONVERSION: Final = Seam(
    f"{PACKAGE}.model", "_entity_from_ds_entity", _calling("ndb_models", "entity_from_ds_entity")
)
PATCH: Final = Patch(
    [
        Seam(f"{PACKAGE}._datastore_api", "stub", _calling("ndb_calls", "stub")),
        Seam(f"{PACKAGE}._datastore_api", "entity_pb2", _made_by("ndb_calls", "EntityTypes")),
        Seam(f"{PACKAGE}._datastore_api", "lookup", _calling("ndb_lookups", "lookup")),
        Seam(
            f"{PACKAGE}._datastore_api",
            "_datastore_lookup",
            _calling("ndb_lookups", "datastore_lookup"),
        ),
        Seam(f"{PACKAGE}._datastore_api", "_LookupBatch.add", _calling("ndb_lookups", "add")),
        Seam(
            f"{PACKAGE}._datastore_api",
            "_LookupBatch.idle_callback",
            _calling("ndb_lookups", "idle_callback"),
        ),
        Seam(
            f"{PACKAGE}._datastore_api",
            "_LookupBatch.lookup_callback",
            _calling("ndb_lookups", "lookup_callback"),
        ),
        Seam(f"{PACKAGE}._batch", "get_batch", _calling("ndb_lookups", "get_batch")),
        Seam(f"{PACKAGE}.context", "_Context.use", _calling("ndb_calls", "use")),
        Seam(f"{PACKAGE}.key", "Key.get_async", _calling("ndb_lookups", "get_async")),
        Seam(f"{PACKAGE}.model", "_entity_from_protobuf", _replace_entity_from_protobuf),
        Seam(
            f"{PACKAGE}.model",
            "_entity_to_ds_entity",
            _calling("ndb_models", "entity_to_ds_entity"),
        ),
        Seam(f"{PACKAGE}.model", "Property.__get__", _made_by("ndb_models", "property_get")),
        Seam(f"{PACKAGE}._datastore_query", "fetch", _calling("ndb_calls", "fetch")),
        Seam(f"{PACKAGE}._datastore_query", "_Result.key", _calling("ndb_calls", "result_key")),
        Seam(
            f"{PACKAGE}._datastore_query",
            "_QueryIteratorImpl.has_next_async",
            _calling("ndb_calls", "has_next_async"),
        ),
        Seam("google.cloud.datastore.key", "Key.kind", _replace_kind),
        CONVERSION,
    ]
)
