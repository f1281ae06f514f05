"""The replacements of methods of the clients of the REST API.

Each client is its own package with the same classes. The functions here make a ``replace`` of
a :class:`~lazyentity.patches.registry.Seam` for one of them.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

from lazyentity.patches import announcement
from lazyentity.patches.rest.profiling import count_entity
from lazyentity.patches.rest.properties import JsonProperties, LazyProperties
from lazyentity.patches.rest.responses import AsyncResponse, SyncResponse
from lazyentity.patches.spec import ClientSpec
from lazyentity.patches.upstream import is_upstream
from lazyentity.profiling import observer

_Replace = Callable[[Any, Callable[[], bool]], Any]

_LOOKUP, _QUERY = ":lookup", ":runQuery"


def replacing_post(
    described: ClientSpec, *, is_async: bool = False, of_session: bool = False
) -> _Replace:
    """Return the ``replace`` of a function that sends a request.

    Args:
        described: the client.
        is_async: whether it is a coroutine function.
        of_session: whether it is a method of a session, which other clients call as well.
    """

    def proxying(sender: Any, url: Any) -> Callable[[Any], Any] | None:
        """Return a function that makes the proxy of a response; None, if it needs none."""
        # None, if a greenlet or a thread begins with the request.
        caller = sys._getframe(1).f_back
        is_own = _is_of_client(caller, described)
        if (of_session and not is_own) or not _is_lazy_read(url, described):
            return None
        client = caller.f_locals.get("self") if caller and of_session else sender
        kind = AsyncResponse if is_async else SyncResponse
        return lambda response: kind(
            response, is_own and _converts_upstream(client, url, described)
        )

    def replace(original: Any, is_active: Callable[[], bool]) -> Any:
        @functools.wraps(original)
        def post(sender: Any, url: Any, *args: Any, **kwargs: Any) -> Any:
            proxy = proxying(sender, url)
            response = original(sender, url, *args, **kwargs)
            return response if proxy is None else proxy(response)

        @functools.wraps(original)
        async def post_later(sender: Any, url: Any, *args: Any, **kwargs: Any) -> Any:
            proxy = proxying(sender, url)
            response = await original(sender, url, *args, **kwargs)
            return response if proxy is None else proxy(response)

        return post_later if is_async else post

    return replace


def _is_lazy_read(url: Any, described: ClientSpec) -> bool:
    patch = described.patch
    if announcement.waiting and patch.active:
        announcement.log()
    return patch.active and str(url).endswith((_LOOKUP, _QUERY)) and not patch.gives_stock()


def _module(described: ClientSpec, name: str) -> Any:
    return sys.modules.get(f"{described.waits_for_import}.{name}")


def _is_of_client(caller: FrameType | None, described: ClientSpec) -> bool:
    """Whether a request is sent by the client's own method, which alone sees the response."""
    file = getattr(_module(described, "datastore"), "__file__", None)
    return caller is not None and caller.f_code.co_filename == file


def _converts_upstream(client: Any, url: Any, described: ClientSpec) -> bool:
    """Whether the client's own functions alone convert the response to a read.

    An application may have its own classes of results and entities, and a library may replace a
    method. Such code may read properties in any way.
    """
    functions: list[tuple[str, Any]] = []
    if str(url).endswith(_LOOKUP):
        result_kind = getattr(client, "entity_result_kind", None)
        functions.append(("datastore", getattr(client, "_build_lookup_result", None)))
    else:
        # Before 9.0, a query returns a batch.
        kind = getattr(client, "query_result_kind", None)
        batch_kind = getattr(client if kind is None else kind, "query_result_batch_kind", None)
        result_kind = getattr(batch_kind, "entity_result_kind", None)
        kinds = [batch_kind] if kind is None else [kind, batch_kind]
        functions += [("query", _from_repr(each)) for each in kinds]
    entity_kind = getattr(result_kind, "entity_kind", None)
    functions += [("entity", _from_repr(result_kind)), ("entity", _from_repr(entity_kind))]
    return _constructs_upstream(entity_kind) and all(
        is_upstream(function, _module(described, name)) for name, function in functions
    )


def _from_repr(kind: Any) -> Any:
    return getattr(kind, "from_repr", None)


def _constructs_upstream(entity_kind: Any) -> bool:
    """Whether the client's constructor alone gets the properties of an entity."""
    constructor = getattr(entity_kind, "__init__", None)
    # A wrapper of wrapt equals the wrapped function.
    return (
        type(constructor) is FunctionType
        and constructor in _constructors
        and entity_kind.__new__ is object.__new__
        and type(entity_kind).__call__ is type.__call__
    )


_constructors: weakref.WeakSet[Any] = weakref.WeakSet()
"""Replacements of the constructors of entities."""


def replace_init(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace the constructor of an entity, which converts its properties."""
    module = str(original.__module__)
    is_clients = module.startswith("gcloud.") and is_upstream(original, sys.modules.get(module))
    # Classes of values that have registered their classes of keys, as converting a value does.
    known: set[Any] = set()

    @functools.wraps(original)
    def __init__(entity: Any, key: Any, properties: Any = None) -> None:  # noqa: N807  # what it replaces
        if (
            not is_clients
            or not properties
            or not isinstance(properties, JsonProperties)
            # An application's own class of values need not know the types that the client sends.
            or not hasattr(entity.value_kind, "_get_supported_types")
        ):
            original(entity, key, properties)
            return
        value_kind = entity.value_kind
        if value_kind not in known:
            value_kind._get_supported_types()
            known.add(value_kind)
        entity.key = key
        if type(properties) is JsonProperties:
            # A copy: the application's own functions hold the dict too, and may change it later.
            properties = JsonProperties(properties)
        lazy = LazyProperties.of(properties, value_kind)
        if observer.data is not None:
            count_entity(lazy, key, observer.data)
        entity.properties = lazy

    if is_clients:
        _constructors.add(__init__)
    return __init__
