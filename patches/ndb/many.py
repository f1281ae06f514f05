"""``fetch`` and ``get_multi``: one tasklet for all results, where ndb has one or two for each."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator
from typing import Any

from google.cloud.ndb import _batch, _datastore_api, _datastore_query, model
from google.cloud.ndb._options import ReadOptions
from google.cloud.ndb.context import get_context
from google.cloud.ndb.key import Key
from google.cloud.ndb.tasklets import tasklet

from lazyentity.patches.inheritance import inherits
from lazyentity.patches.ndb.seams import CLIENT, GET_MULTI, HOOKS


def fetch(original: Callable[[Any], Any], query: Any) -> Any:
    """Return the future of the results of a query, in a list."""
    return _fetched(query) if CLIENT.is_intact() else original(query)


@tasklet  # type: ignore[untyped-decorator]  # ndb has no types
def _fetched(query: Any) -> Generator[Any, Any, list[Any]]:
    results = _datastore_query.iterate(query)
    has_pages = type(results) is _datastore_query._QueryIteratorImpl
    fetched: list[Any] = []
    while (yield results.has_next_async()):
        if has_pages:
            fetched += [result.entity() for result in results._batch]
            results._index = len(results._batch)
        else:
            fetched.append(results.next())
    return fetched


def replace_get_multi(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``get_multi``; ndb's decorator makes the options of the arguments."""

    @functools.wraps(original)
    def get_multi(*args: Any, **kwargs: Any) -> Any:
        is_plain = is_active() and len(args) == 1 and kwargs.keys() == {"_options"}
        if is_plain and _has_no_hooks(args[0]) and CLIENT.is_intact():
            return _models(args[0], kwargs["_options"]).result()
        return original(*args, **kwargs)

    return ReadOptions.options(get_multi)


def replace_get_multi_of_package(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``ndb.get_multi``: by the function of its module, as pickle finds it there."""
    if GET_MULTI.is_installed() and original is GET_MULTI.original:
        return GET_MULTI.replacement
    return replace_get_multi(original, is_active)


def _has_no_hooks(keys: Any) -> bool:
    """Whether ndb gets the models of keys without the global cache and without a class's hooks."""
    if type(keys) not in (list, tuple) or get_context().global_cache is not None:
        return False
    if any(type(key) is not Key for key in keys):
        return False
    classes = {model.Model._kind_map.get(key.kind(), model.Model) for key in keys}
    return all(inherits(each, HOOKS, model.Model) for each in classes)


@tasklet  # type: ignore[untyped-decorator]  # as above
def _models(keys: Any, options: Any) -> Generator[Any, Any, list[Any]]:
    """Return the future of the models of keys, each None if there is no entity."""
    context = get_context()
    batch: Any = None
    models: list[Any] = []
    waiting = []
    for position, key in enumerate(keys):
        models.append(None)
        use_cache = context._use_cache(key, options)
        if use_cache:
            with contextlib.suppress(KeyError):
                models[position] = context.cache.get_and_validate(key)
                continue
        if not context._use_datastore(key._key, options):
            future = _datastore_api.lookup(key._key, options)
        else:
            if batch is None or batch.full():
                batch = _batch.get_batch(_datastore_api._LookupBatch, options)
            future = batch.add(key._key)
        waiting.append((position, key, use_cache, future))
    for position, key, use_cache, future in waiting:
        if not future.done():
            yield future
        entity = future.result()
        if entity is not _datastore_api._NOT_FOUND:
            models[position] = model._entity_from_protobuf(entity)
        if use_cache:
            context.cache[key] = models[position]
    return models
