"""The replacements of methods of the clients of the REST API.

Each client is a package of its own with the same classes. The functions here make a ``replace`` of
a :class:`~lazyentity.patches.registry.Seam` for one of them.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any

from lazyentity.codec import profiled
from lazyentity.codec.mode import is_eager
from lazyentity.patches.registry import Patch, is_of
from lazyentity.patches.rest.profiling import count_arrival
from lazyentity.patches.rest.properties import LazyProperties, Received
from lazyentity.patches.rest.responses import AsyncResponse, SyncResponse

_Replace = Callable[[Any, Callable[[], bool]], Any]

_LOOKUP, _QUERY = ":lookup", ":runQuery"


def _is_lazy_read(url: Any, patch: Patch) -> bool:
    return (
        patch.active and not patch.eager and str(url).endswith((_LOOKUP, _QUERY)) and not is_eager()
    )


def replacing_async_post(patch: Patch) -> _Replace:
    """Return the ``replace`` of a coroutine function that sends a request."""

    def replace(original: Any, is_active: Callable[[], bool]) -> Any:
        @functools.wraps(original)
        async def _post(client: Any, url: Any, *args: Any, **kwargs: Any) -> Any:
            is_lazy = _is_lazy_read(url, patch)
            response = await original(client, url, *args, **kwargs)
            return AsyncResponse(response, _converts_by_own(client, url)) if is_lazy else response

        return _post

    return replace


def replacing_post(patch: Patch) -> _Replace:
    """Return the ``replace`` of a function that sends a request."""

    def replace(original: Any, is_active: Callable[[], bool]) -> Any:
        @functools.wraps(original)
        def _post(client: Any, url: Any, *args: Any, **kwargs: Any) -> Any:
            is_lazy = _is_lazy_read(url, patch)
            response = original(client, url, *args, **kwargs)
            return SyncResponse(response, _converts_by_own(client, url)) if is_lazy else response

        return _post

    return replace


def _converts_by_own(client: Any, url: Any) -> bool:
    """Whether the client's own functions alone convert the response to a read.

    An application may have subclasses of the classes that results are made of, and a library may
    replace a method. Those look at properties as they like.
    """
    if str(url).endswith(_LOOKUP):
        result_kind = client.entity_result_kind
        functions = [client._build_lookup_result]
    else:
        batch_kind = client.query_result_kind.query_result_batch_kind
        result_kind = batch_kind.entity_result_kind
        functions = [client.query_result_kind.from_repr, batch_kind.from_repr]
    entity_kind = result_kind.entity_kind
    functions += [result_kind.from_repr, entity_kind.from_repr]
    return entity_kind.__init__ in _constructors and all(
        is_of(sys.modules.get(function.__module__), getattr(function, "__func__", None))
        for function in functions
    )


_constructors: weakref.WeakSet[Any] = weakref.WeakSet()
"""Replacements of the constructors of entities."""


def replace_init(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace the constructor of an entity, which converts its properties."""
    is_clients = is_of(sys.modules.get(original.__module__), original)
    # They have registered the classes of their keys, which converting a value does.
    known: set[Any] = set()

    @functools.wraps(original)
    def __init__(entity: Any, key: Any, properties: Any = None) -> None:  # noqa: N807  # what it replaces
        if not is_clients or not properties or not isinstance(properties, Received):
            original(entity, key, properties)
            return
        value_kind = entity.value_kind
        if value_kind not in known:
            value_kind._get_supported_types()
            known.add(value_kind)
        entity.key = key
        entity.properties = LazyProperties.of(properties, value_kind)
        if profiled.book is not None:
            count_arrival(entity, profiled.book)

    if is_clients:
        _constructors.add(__init__)
    return __init__
