"""The replacements of methods of the clients of the REST API.

Each client is its own package with the same classes.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lazyentity.patches import notices
from lazyentity.patches.rest.properties import JsonProperties, LazyProperties, RawJsonProperties
from lazyentity.patches.rest.responses import AsyncResponse, SyncResponse
from lazyentity.patches.spec import ClientSpec
from lazyentity.profiling import observer

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts, ProfileData

_Replace = Callable[[Any, Callable[[], bool]], Any]

_READS = (":lookup", ":runQuery")


def replacing_post(described: ClientSpec, *, of_session: bool) -> _Replace:
    """Return the ``replace`` of a function that sends a request.

    Args:
        described: the client.
        of_session: whether it is a method of a session, which other clients call as well.
    """

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

    def replace(original: Any, is_active: Callable[[], bool]) -> Any:
        is_async = inspect.iscoroutinefunction(original)
        kind = AsyncResponse if is_async else SyncResponse

        def proxy_of(response: Any) -> Any:
            # A mock may give the same object again.
            is_own = type(response) is kind.proxied_type()
            # What a session returns may be read by other code, which expects parsed properties.
            return kind(response, takes_serialised=not of_session) if is_own else response

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


class _Counted:
    """The JSON properties of a counted entity.

    Args:
        received: the properties.
        entity_counts: of the entity.
    """

    __slots__ = ("_entity_counts", "_received")

    def __init__(self, received: JsonProperties, entity_counts: EntityCounts) -> None:
        self._received = received
        self._entity_counts = entity_counts

    def parsed(self, name: str) -> Any:
        """As :meth:`~lazyentity.patches.rest.properties.JsonProperties.parsed`."""
        parsed = self._received.parsed(name)
        self._entity_counts.decode((name,))
        return parsed


def count_entity(properties: LazyProperties, key: Any, data: ProfileData) -> None:
    """Count an entity of a client of the REST API.

    The size of its serialised properties counts; 0, if they came parsed.

    Args:
        properties: of the entity. Not its attribute, which a class of an application may change.
        key: of the entity.
        data: of the profile.
    """
    received = properties._received
    size = sum(map(len, received.values())) if type(received) is RawJsonProperties else 0
    counts = data.counts(_kind_of(key)).receive(received, size)
    properties._received = _Counted(received, counts)  # type: ignore[assignment]  # parses alike


def _kind_of(key: Any) -> str | None:
    """Return the kind in a key; None without one, and for keys of an application's own form."""
    try:
        kind = key.path[-1].kind
    except Exception:  # noqa: BLE001  # of the application's code
        return None
    return kind if type(kind) is str else None


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
