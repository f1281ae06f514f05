"""Where google-cloud-ndb is patched: its calls to the API, its cache, and what makes its models.

Nothing of ndb is imported before the application imports it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from importlib import metadata
from typing import Any, Final

from google.cloud.datastore.key import Key

from lazyentity.patches.registry import Patch, Seam

DISTRIBUTION: Final = "google-cloud-ndb"
SUPPORTED_VERSIONS: Final = ">=2.7,<2.8"
PACKAGE: Final = "google.cloud.ndb"

_Original = Callable[..., Any]


def installed_version() -> str:
    """Return the version of the distribution.

    Raises:
        importlib.metadata.PackageNotFoundError: if it is not installed.
    """
    return metadata.version(DISTRIBUTION)


def _models() -> Any:
    # It imports ndb.
    return importlib.import_module("lazyentity.patches.models")


def _calls() -> Any:
    return importlib.import_module("lazyentity.patches.ndb_calls")


def _replace_stub(original: _Original, is_active: Callable[[], bool]) -> _Original:
    lazy_transport = _calls().lazy_transport

    @functools.wraps(original)
    def stub() -> Any:
        transport = original()
        return lazy_transport(transport) if is_active() else transport

    return stub


def _replace_entity_types(original: Any, is_active: Callable[[], bool]) -> Any:
    return _calls().EntityTypes(original, is_active)


def _replace_entity_from_protobuf(original: _Original, is_active: Callable[[], bool]) -> _Original:
    replacement: _Original = _models().entity_from_protobuf(original, is_active, CONVERSION)
    return replacement


def _replace_entity_from_ds_entity(original: _Original, is_active: Callable[[], bool]) -> _Original:
    entity_from_ds_entity = _models().entity_from_ds_entity

    @functools.wraps(original)
    def _entity_from_ds_entity(ds_entity: Any, model_class: Any = None) -> Any:
        if is_active():
            return entity_from_ds_entity(ds_entity, model_class, original)
        return original(ds_entity, model_class)

    return _entity_from_ds_entity


def _replace_entity_to_ds_entity(original: _Original, is_active: Callable[[], bool]) -> _Original:
    entity_to_ds_entity = _models().entity_to_ds_entity

    @functools.wraps(original)
    def _entity_to_ds_entity(entity: Any, set_key: bool = True) -> Any:
        if is_active():
            return entity_to_ds_entity(entity, set_key, original)
        return original(entity, set_key)

    return _entity_to_ds_entity


def _replace_property_get(original: _Original, is_active: Callable[[], bool]) -> _Original:
    replacement: _Original = _models().property_get(original, is_active)
    return replacement


def _replace_lookup(original: _Original, is_active: Callable[[], bool]) -> _Original:
    function = _calls().lookup

    @functools.wraps(original)
    def lookup(key: Any, options: Any) -> Any:
        return function(key, options, original) if is_active() else original(key, options)

    return lookup


def _replace_datastore_lookup(original: _Original, is_active: Callable[[], bool]) -> _Original:
    function = _calls().datastore_lookup

    @functools.wraps(original)
    def _datastore_lookup(
        keys: Any, read_options: Any, retries: Any = None, timeout: Any = None, metadata: Any = ()
    ) -> Any:
        send = function if is_active() else original
        return send(keys, read_options, retries, timeout, metadata)

    return _datastore_lookup


def _replace_use(original: _Original, is_active: Callable[[], bool]) -> _Original:
    use_context = _calls().Use

    @functools.wraps(original)
    def use(context: Any) -> Any:
        return use_context(context) if is_active() else original(context)

    return use


def _replace_get_async(original: _Original, is_active: Callable[[], bool]) -> _Original:
    function = _calls().get_async

    @functools.wraps(original)
    def get_async(key: Any, *args: Any, **kwargs: Any) -> Any:
        if not args and len(kwargs) == 1 and "_options" in kwargs and is_active():
            # As get_multi calls it: there is nothing to be made into options.
            return function(key, kwargs["_options"])
        return original(key, *args, **kwargs)

    return get_async


def _replace_get_batch(original: _Original, is_active: Callable[[], bool]) -> _Original:
    function = _calls().get_batch

    @functools.wraps(original)
    def get_batch(batch_cls: Any, options: Any = None) -> Any:
        if is_active():
            return function(batch_cls, options, original)
        return original(batch_cls, options)

    return get_batch


def _replace_result_key(original: _Original, is_active: Callable[[], bool]) -> _Original:
    result_key = _calls().result_key

    @functools.wraps(original)
    def key(result: Any) -> Any:
        return result_key(result, original) if is_active() else original(result)

    return key


def _replace_has_next_async(original: _Original, is_active: Callable[[], bool]) -> _Original:
    function = _calls().has_next_async

    @functools.wraps(original)
    def has_next_async(results: Any) -> Any:
        return function(results, original) if is_active() else original(results)

    return has_next_async


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
    f"{PACKAGE}.model", "_entity_from_ds_entity", _replace_entity_from_ds_entity
)
PATCH: Final = Patch(
    [
        Seam(f"{PACKAGE}._datastore_api", "stub", _replace_stub),
        Seam(f"{PACKAGE}._datastore_api", "entity_pb2", _replace_entity_types),
        Seam(f"{PACKAGE}._datastore_api", "lookup", _replace_lookup),
        Seam(f"{PACKAGE}._datastore_api", "_datastore_lookup", _replace_datastore_lookup),
        Seam(f"{PACKAGE}._batch", "get_batch", _replace_get_batch),
        Seam(f"{PACKAGE}.context", "_Context.use", _replace_use),
        Seam(f"{PACKAGE}.key", "Key.get_async", _replace_get_async),
        Seam(f"{PACKAGE}.model", "_entity_from_protobuf", _replace_entity_from_protobuf),
        Seam(f"{PACKAGE}.model", "_entity_to_ds_entity", _replace_entity_to_ds_entity),
        Seam(f"{PACKAGE}.model", "Property.__get__", _replace_property_get),
        Seam(f"{PACKAGE}._datastore_query", "_Result.key", _replace_result_key),
        Seam(
            f"{PACKAGE}._datastore_query",
            "_QueryIteratorImpl.has_next_async",
            _replace_has_next_async,
        ),
        Seam("google.cloud.datastore.key", "Key.kind", _replace_kind),
        CONVERSION,
    ]
)
