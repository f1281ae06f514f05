"""The replacements of functions of google-cloud-datastore.

Each ``replace_...`` is the ``replace`` of a :class:`~lazyentity.patches.registry.Seam`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.query import Iterator

from lazyentity._unboxed import register
from lazyentity.codec import keys
from lazyentity.patches import announcement
from lazyentity.patches.api.entities import HANDLES
from lazyentity.patches.datastore.apis import lazy_api
from lazyentity.patches.datastore.batches import put_each, put_entity, show_mutations
from lazyentity.patches.datastore.encoding import entity_to_protobuf
from lazyentity.patches.datastore.keys import key_is_partial, key_to_protobuf
from lazyentity.patches.datastore.lookups import look_up
from lazyentity.patches.datastore.queries import next_page
from lazyentity.patches.datastore.reading import read_message
from lazyentity.patches.datastore.seams import CLIENT, CONVERSION, converts_parts_upstream
from lazyentity.patches.datastore.unboxed import unboxed_of_query
from lazyentity.patches.upstream import bound
from lazyentity.readers import LAZY, STOCK

_Function = Callable[..., Any]
_IsActive = Callable[[], bool]

# Iterators of wrapped queries are of another class.
register(Iterator, unboxed_of_query)


def _getter(original: Any) -> Callable[[_Function], Any]:
    """Return a decorator: a property with another getter, and all else that the original has.

    Anything but a property, as a mock that stands in its place, stays as it is.
    """
    if not isinstance(original, property):
        return lambda get: original
    return lambda get: original.getter(functools.wraps(original.fget)(get))  # type: ignore[arg-type]  # a getter it has


def replace_conversion(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the function that converts an entity message of a response."""
    patch = CLIENT.patch

    @functools.wraps(original)
    def entity_from_protobuf(pb: Any) -> Any:
        # Under a wrapper of somebody else, the client converts: it calls the wrapper for embedded
        # entities, too.
        if not is_active() or helpers.entity_from_protobuf is not entity_from_protobuf:
            return original(pb)
        reader = STOCK if patch.eager else LAZY
        # The first step of the function below, for each entity of a page comes through here.
        if type(pb) in HANDLES:
            return pb.read(reader)
        return read_message(pb, reader, original) if converts_parts_upstream() else original(pb)

    return entity_from_protobuf


def replace_api(original: property, is_active: _IsActive) -> Any:
    """Replace the property of a client that gives its API object."""

    @_getter(original)
    def _datastore_api(client: Any) -> Any:
        api = original.__get__(client)
        if announcement.waiting and is_active():
            announcement.log()
        return lazy_api(api) if is_active() and CLIENT.is_upstream() else api

    return _datastore_api


def replace_get_multi(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that looks up keys, also for ``get``."""
    patch = CLIENT.patch

    @functools.wraps(original)
    def get_multi(self: Any, keys: Any, *args: Any, **options: Any) -> Any:
        # The original calls entity_from_protobuf(), which somebody may have replaced after us.
        if not args and is_active() and helpers.entity_from_protobuf is CONVERSION.replacement:
            found = look_up(self, keys, options, STOCK if patch.eager else LAZY)
            if found is not None:
                return found
        return original(self, keys, *args, **options)

    return get_multi


def replace_key_to_protobuf(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that makes the message of a key."""

    @functools.wraps(original)
    def to_protobuf(key: Any) -> Any:
        return key_to_protobuf(key, original) if is_active() else original(key)

    keys.replaced_encoding = to_protobuf
    return to_protobuf


def replace_entity_to_protobuf(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the function that makes the message of an entity."""

    @functools.wraps(original)
    def replacement(entity: Any) -> Any:
        # As above.
        if not is_active() or helpers.entity_to_protobuf is not replacement:
            return original(entity)
        return entity_to_protobuf(entity, original)

    return replacement


def replace_put_multi(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that writes entities, also for ``put``."""

    @functools.wraps(original)
    def put_multi(self: Any, entities: Any, retry: Any = None, timeout: Any = None) -> None:
        if not is_active() or isinstance(entities, Entity):
            original(self, entities, retry=retry, timeout=timeout)
        elif entities:
            # As the original, but for put_each().
            batch = self.current_batch
            if batch is not None:
                for entity in entities:
                    batch.put(entity)
                return
            batch = self.batch()
            batch.begin()
            put_each(batch, entities)
            batch.commit(retry=retry, timeout=timeout)

    return put_multi


def replace_put(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that puts an entity into a batch."""

    @functools.wraps(original)
    def put(self: Any, entity: Any) -> None:
        if not (is_active() and put_entity(self, entity)):
            original(self, entity)

    return put


def replace_mutations(original: property, is_active: _IsActive) -> Any:
    """Replace the property of a batch that gives its mutations."""

    @_getter(original)
    def mutations(batch: Any) -> Any:
        if is_active():
            show_mutations(batch)
        return original.__get__(batch)

    return mutations


def replace_is_partial(original: property, is_active: _IsActive) -> Any:
    """Replace the property that says whether a key lacks an id and a name."""

    @_getter(original)
    def is_partial(key: Any) -> Any:
        if is_active():
            return key_is_partial(key, original.__get__)
        return original.__get__(key)

    return is_partial


def replace_next_page(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that makes the next page of a query."""

    @functools.wraps(original)
    def _next_page(iterator: Any) -> Any:
        # A subclass may handle its pages differently.
        if type(iterator) is Iterator and is_active():
            return next_page(iterator, original)
        return bound(original, iterator)()

    return _next_page
