"""Where google-cloud-datastore is patched: a client's API object, conversions, keys, pages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from google.cloud.datastore import batch as batch_module
from google.cloud.datastore import helpers, version
from google.cloud.datastore import key as key_module
from google.cloud.datastore.query import Iterator
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity._eager import is_eager
from lazyentity.codec import messages
from lazyentity.entity import LazyEntity
from lazyentity.patches.mutations import add_mutation
from lazyentity.patches.pages import lazy_page
from lazyentity.patches.registry import Patch, Seam, is_of
from lazyentity.patches.requests import key_is_partial, key_to_protobuf
from lazyentity.patches.responses import HANDLES
from lazyentity.patches.transports import lazy_api
from lazyentity.patches.writes import assign_entity_to_pb, entity_to_protobuf

DISTRIBUTION: Final = "google-cloud-datastore"
SUPPORTED_VERSIONS: Final = ">=2.20.2,<2.28"


def installed_version() -> str:
    """Return the version of the client that was imported."""
    return version.__version__


def convert(entity_message: Any, otherwise: Callable[[Any], Any]) -> Any:
    """Convert what the client got for an entity, lazily unless somebody asked for stock entities.

    Args:
        entity_message: a stand-in of a lazy response, or an entity message (proto-plus or upb).
        otherwise: the conversion of everything that has nothing lazy about it.
    """
    if type(entity_message) in HANDLES:
        return entity_message.to_entity()
    if is_eager():
        return otherwise(entity_message)
    if type(entity_message) is entity_pb2.Entity:
        entity_message = entity_message._pb
    if type(entity_message) is messages.Entity:
        return LazyEntity.from_bytes(entity_message.SerializeToString())
    return otherwise(entity_message)


def _replace_conversion(
    original: Callable[[Any], Any], is_active: Callable[[], bool]
) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def entity_from_protobuf(pb: Any) -> Any:
        # As convert() begins: a page of a query comes through here entity by entity.
        if type(pb) in HANDLES and is_active():
            return pb.to_entity()
        return convert(pb, original) if is_active() else original(pb)

    return entity_from_protobuf


def _replace_api(original: property, is_active: Callable[[], bool]) -> property:
    @functools.wraps(original.fget)  # type: ignore[arg-type]  # a getter it has
    def _datastore_api(client: Any) -> Any:
        api = original.__get__(client)
        return lazy_api(api) if is_active() else api

    return property(_datastore_api)


def _replace_key_to_protobuf(
    original: Callable[[Any], Any], is_active: Callable[[], bool]
) -> Callable[[Any], Any]:
    is_clients = is_of(key_module, original)

    @functools.wraps(original)
    def to_protobuf(key: Any) -> Any:
        return key_to_protobuf(key, original) if is_clients and is_active() else original(key)

    return to_protobuf


def _replace_entity_to_protobuf(
    original: Callable[[Any], Any], is_active: Callable[[], bool]
) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def replacement(entity: Any) -> Any:
        return entity_to_protobuf(entity, original) if is_active() else original(entity)

    return replacement


def _replace_assign_entity_to_pb(
    original: Callable[[Any, Any], Any], is_active: Callable[[], bool]
) -> Callable[[Any, Any], Any]:
    is_clients = is_of(batch_module, original)

    @functools.wraps(original)
    def _assign_entity_to_pb(entity_pb: Any, entity: Any) -> None:
        # The original calls entity_to_protobuf(), which somebody may have replaced after us.
        if is_clients and is_active() and ENCODING.stands(helpers.entity_to_protobuf):
            assign_entity_to_pb(entity_pb, entity, original)
        else:
            original(entity_pb, entity)

    return _assign_entity_to_pb


def _replace_adding(
    operation: str,
) -> Callable[[Callable[[Any], Any], Callable[[], bool]], Callable[[Any], Any]]:
    def replace(
        original: Callable[[Any], Any], is_active: Callable[[], bool]
    ) -> Callable[[Any], Any]:
        is_clients = is_of(batch_module, original)

        @functools.wraps(original)
        def add(batch: Any) -> Any:
            if is_clients and is_active():
                return add_mutation(batch, operation)
            return original(batch)

        return add

    return replace


def _replace_is_partial(original: property, is_active: Callable[[], bool]) -> property:
    is_clients = is_of(key_module, original.fget)

    @functools.wraps(original.fget)  # type: ignore[arg-type]  # a getter it has
    def is_partial(key: Any) -> Any:
        if is_clients and is_active():
            return key_is_partial(key, original.__get__)
        return original.__get__(key)

    return property(is_partial)


def _replace_next_page(
    original: Callable[[Any], Any], is_active: Callable[[], bool]
) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def _next_page(iterator: Any) -> Any:
        page = original(iterator)
        # A subclass may do with its pages what it likes.
        return lazy_page(page) if type(iterator) is Iterator and is_active() else page

    return _next_page


_HELPERS = "google.cloud.datastore.helpers"
_BATCH = "google.cloud.datastore.batch"
_KEY = "google.cloud.datastore.key"

CONVERSION = Seam(_HELPERS, "entity_from_protobuf", _replace_conversion)
ENCODING = Seam(_HELPERS, "entity_to_protobuf", _replace_entity_to_protobuf)
KEY_ENCODING = Seam(_KEY, "Key.to_protobuf", _replace_key_to_protobuf)

PATCH = Patch(
    [
        Seam("google.cloud.datastore.client", "Client._datastore_api", _replace_api),
        CONVERSION,
        Seam("google.cloud.datastore.query", "Iterator._next_page", _replace_next_page),
        ENCODING,
        Seam(_BATCH, "_assign_entity_to_pb", _replace_assign_entity_to_pb),
        Seam(_BATCH, "Batch._add_partial_key_entity_pb", _replace_adding("insert")),
        Seam(_BATCH, "Batch._add_complete_key_entity_pb", _replace_adding("upsert")),
        Seam(_BATCH, "Batch._add_delete_key_pb", _replace_adding("delete")),
        KEY_ENCODING,
        Seam(_KEY, "Key.is_partial", _replace_is_partial),
    ]
)
