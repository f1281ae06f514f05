"""The replacements of methods of the generated asyncio client, which every client on it calls.

Each ``replace_...`` is the ``replace`` of a :class:`~lazyentity.patches.registry.Seam`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.datastore_v1.services.datastore import async_client

from lazyentity.patches import announcement
from lazyentity.patches.api.requests import commit_request, lookup_request
from lazyentity.patches.api.stubs import awaited, read_lazily
from lazyentity.patches.datastore.seams import CLIENT
from lazyentity.patches.upstream import bound, is_upstream


def _reading(
    method: str, make_request: Callable[[Any], Any]
) -> Callable[[Callable[..., Any], Callable[[], bool]], Callable[..., Any]]:
    """Return the ``replace`` of a method that reads.

    Args:
        method: the name of the method.
        make_request: makes the message of its request. A replacement that somebody else put in its
            place before gets the request that the caller makes.
    """

    def replace(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
        is_clients = is_upstream(original, async_client)

        def is_lazy() -> bool:
            return is_active() and CLIENT.is_upstream()

        # A coroutine function like the original: mocks are made by that.
        @functools.wraps(original)
        async def read(client: Any, request: Any = None, **kwargs: Any) -> Any:
            if is_active():
                if announcement.waiting:
                    announcement.log()
                read_lazily(client.transport, method, is_lazy)
                if is_clients:
                    request = make_request(request)
            return await awaited(bound(original, client), request=request, **kwargs)

        return read

    return replace


replace_lookup = _reading("lookup", lookup_request)
replace_run_query = _reading("run_query", lambda request: request)


def replace_commit(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace the method that commits mutations."""
    is_clients = is_upstream(original, async_client)

    @functools.wraps(original)
    async def commit(client: Any, request: Any = None, **kwargs: Any) -> Any:
        if is_clients and is_active():
            request = commit_request(request, by_bytes=False)
        return await bound(original, client)(request=request, **kwargs)

    return commit
