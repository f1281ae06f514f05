"""The replacements of methods of the clients of the REST API.

Each client is its own package with the same classes. The functions here make a ``replace`` of
a :class:`~lazyentity.patches.registry.Seam` for one of them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from lazyentity.patches import notices
from lazyentity.patches.rest.profiling import count_entity
from lazyentity.patches.rest.properties import JsonProperties, LazyProperties
from lazyentity.patches.rest.responses import AsyncResponse, SyncResponse
from lazyentity.patches.spec import ClientSpec
from lazyentity.profiling import observer

_Replace = Callable[[Any, Callable[[], bool]], Any]

_READS = (":lookup", ":runQuery")


def replacing_post(
    described: ClientSpec, *, is_async: bool = False, of_session: bool = False
) -> _Replace:
    """Return the ``replace`` of a function that sends a request.

    Args:
        described: the client.
        is_async: whether it is a coroutine function.
        of_session: whether it is a method of a session, which other clients call as well.
    """
    kind = AsyncResponse if is_async else SyncResponse

    def is_lazy(sender: Any, url: Any) -> bool:
        """Whether a request is a read whose response the client's own classes convert."""
        patch = described.patch
        if notices.waiting and patch.active:
            notices.log()
        if not patch.active or not str(url).endswith(_READS) or patch.gives_stock():
            return False
        # A subclass may convert the response differently.
        client = sys.modules[f"{described.waits_for_import}.datastore"].Datastore
        return (of_session or type(sender) is client) and described.guard.is_intact()

    def proxy_of(response: Any) -> Any:
        # A mock may give the same object again.
        is_own = type(response) is kind.proxied_type()
        # What a session returns may be read by other code, which expects parsed properties.
        return kind(response, takes_serialised=not of_session) if is_own else response

    def replace(original: Any, is_active: Callable[[], bool]) -> Any:
        @functools.wraps(original)
        def post(sender: Any, url: Any, *args: Any, **kwargs: Any) -> Any:
            makes_proxy = is_lazy(sender, url)
            response = original(sender, url, *args, **kwargs)
            return proxy_of(response) if makes_proxy else response

        @functools.wraps(original)
        async def post_later(sender: Any, url: Any, *args: Any, **kwargs: Any) -> Any:
            makes_proxy = is_lazy(sender, url)
            response = await original(sender, url, *args, **kwargs)
            return proxy_of(response) if makes_proxy else response

        return post_later if is_async else post

    return replace


def replace_init(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace the constructor of an entity, which converts its properties."""
    own_value = sys.modules[original.__module__].Entity.value_kind

    @functools.wraps(original)
    def __init__(entity: Any, key: Any, properties: Any = None) -> None:  # noqa: N807  # what it replaces
        if not properties or not isinstance(properties, JsonProperties):
            original(entity, key, properties)
            return
        entity.key = key
        if type(properties) is JsonProperties:
            # A copy: the application's own functions hold the dict too, and may change it later.
            properties = JsonProperties(properties)
        lazy = LazyProperties.from_json(
            properties, entity.value_kind, is_own=entity.value_kind is own_value
        )
        if observer.data is not None:
            count_entity(lazy, key, observer.data)
        entity.properties = lazy

    return __init__
