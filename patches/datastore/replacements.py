"""The replacements of functions of google-cloud-datastore.

Each ``replace_...`` is the ``replace`` of a :class:`~lazyentity.patches.registry.Seam`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.datastore import query as query_module
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.query import Iterator

from lazyentity._backend import EntityReader
from lazyentity._dispatch import register_unboxed
from lazyentity.patches import notices
from lazyentity.patches.api.entities import HANDLES
from lazyentity.patches.api.transports import awaited, read_lazily
from lazyentity.patches.datastore.apis import lazy_api
from lazyentity.patches.datastore.keys import key_to_protobuf
from lazyentity.patches.datastore.lookups import look_up
from lazyentity.patches.datastore.queries import next_page, unboxed_of_query
from lazyentity.patches.datastore.reading import read_message
from lazyentity.patches.datastore.seams import CLIENT
from lazyentity.patches.datastore.writes import entity_to_protobuf, put_each, put_entity
from lazyentity.readers import LAZY, STOCK

_Function = Callable[..., Any]
_IsActive = Callable[[], bool]

# Iterators of wrapped queries are of another class.
register_unboxed(Iterator, unboxed_of_query)


def _reader() -> EntityReader:
    return STOCK if CLIENT.patch.eager else LAZY


def _bound(method: Any, holder: Any) -> Any:
    """Return a method of a class, bound to an instance; a mock, which cannot be bound, as it is."""
    bind = getattr(method, "__get__", None)
    return method if bind is None else bind(holder, type(holder))


def replace_entity_from_protobuf(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the function that converts an entity message of a response."""

    @functools.wraps(original)
    def entity_from_protobuf(pb: Any) -> Any:
        if type(pb) in HANDLES:
            # Received through us: inactive, or under a wrapper, it is the client's to convert.
            return pb.read(_reader()) if is_active() else original(pb)
        return read_message(pb, _reader(), original) if is_active() else original(pb)

    return entity_from_protobuf


def replace_api(original: Any, is_active: _IsActive) -> Any:
    """Replace the property of a client that gives its API object."""
    if not isinstance(original, property):
        # A mock stays as it is.
        return original

    @functools.wraps(original.fget)  # type: ignore[arg-type]  # a getter it has
    def _datastore_api(client: Any) -> Any:
        api = original.__get__(client)
        if not is_active():
            return api
        if notices.waiting:
            notices.log()
        return lazy_api(api)

    return original.getter(_datastore_api)


def replace_get_multi(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that looks up keys, also for ``get``."""

    @functools.wraps(original)
    def get_multi(self: Any, keys: Any, *args: Any, **options: Any) -> Any:
        if not args and is_active():
            found = look_up(self, keys, options, _reader())
            if found is not None:
                return found
        return _bound(original, self)(keys, *args, **options)

    return get_multi


def replace_key_to_protobuf(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that makes the message of a key."""

    @functools.wraps(original)
    def to_protobuf(self: Any) -> Any:
        return key_to_protobuf(self, original) if is_active() else original(self)

    return to_protobuf


def replace_entity_to_protobuf(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the function that makes the message of an entity."""

    @functools.wraps(original)
    def replacement(entity: Any) -> Any:
        return entity_to_protobuf(entity, original) if is_active() else original(entity)

    return replacement


def replace_put_multi(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that writes entities, also for ``put``."""

    @functools.wraps(original)
    def put_multi(self: Any, entities: Any, retry: Any = None, timeout: Any = None) -> None:
        if not is_active() or isinstance(entities, Entity):
            _bound(original, self)(entities, retry=retry, timeout=timeout)
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


def replace_next_page(original: _Function, is_active: _IsActive) -> _Function:
    """Replace the method that makes the next page of a query."""

    @functools.wraps(original)
    def _next_page(iterator: Any) -> Any:
        # A subclass, and a function of the application, may handle entities differently.
        if (
            type(iterator) is Iterator
            and iterator.item_to_value is query_module._item_to_entity
            and is_active()
        ):
            page = next_page(iterator, _reader())
            if page is not None:
                return page
        return _bound(original, iterator)()

    return _next_page


def _reading(method: str) -> Callable[[_Function, _IsActive], _Function]:
    """Return the ``replace`` of a method of the generated asyncio client that reads."""

    def replace(original: _Function, is_active: _IsActive) -> _Function:
        def is_lazy() -> bool:
            return is_active() and CLIENT.guard.is_intact()

        # A coroutine function like the original: mocks are made by that.
        @functools.wraps(original)
        async def read(client: Any, *args: Any, **kwargs: Any) -> Any:
            if is_active():
                if notices.waiting:
                    notices.log()
                read_lazily(client.transport, method, is_lazy)
            return await awaited(_bound(original, client), *args, **kwargs)

        return read

    return replace


replace_async_lookup = _reading("lookup")
replace_async_query = _reading("run_query")
