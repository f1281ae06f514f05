"""The conversion of a received entity, in the mode of the thread or task that sent the request."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.appengine.api import datastore

from lazyentity._dispatch import register
from lazyentity._mode import EAGER_MODE
from lazyentity.patches import notices
from lazyentity.patches.appengine import guarding, operations
from lazyentity.patches.appengine.entities import CONVERSION_ERRORS, LazyEntity, stock_entity
from lazyentity.patches.appengine.messages import EntityProto, index_of
from lazyentity.patches.appengine.profiling import counted
from lazyentity.patches.appengine.seams import CLIENT

register(datastore.Entity, operations)


def replace_from_pb(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``Entity._FromPb``, a static method."""
    from_pb = original.__func__

    @functools.wraps(from_pb)
    def _FromPb(pb: Any, require_valid_key: Any = True, *args: Any, **kwargs: Any) -> Any:  # noqa: N802  # its name
        entity = _lazy(pb, require_valid_key) if is_active() else None
        if entity is not None:
            is_stock = CLIENT.patch.gives_stock()
            entity._index = counted(pb, entity._index, is_stock)
            if is_stock:
                entity = _decoded(entity)
        return from_pb(pb, require_valid_key, *args, **kwargs) if entity is None else entity

    return staticmethod(_FromPb)


def _lazy(pb: Any, require_valid_key: Any) -> LazyEntity | None:
    """Return a lazy entity; None, if the client has to make one, or to raise."""
    if type(pb) is not EntityProto or not guarding.is_intact(CLIENT):
        return None
    index = index_of(pb)
    if index is None:
        return None
    path = index.path()
    if path is None:
        if not _has_ordinary_key(pb.key, require_valid_key):
            return None
    else:
        app, namespace, pairs = path
        kind, identifier = pairs[-1]
        if (require_valid_key and identifier is None) or not _is_ordinary(kind, app, namespace):
            return None
    made: LazyEntity = LazyEntity._of(index)
    return made


def _has_ordinary_key(key: Any, require_valid_key: Any) -> bool:
    """Say whether the client takes a key for a valid one, and gives the entity no other."""
    path = key.path.element
    if not path:
        return False
    last = path[-1]
    return _is_ordinary(last.type, key.app, key.name_space) and not (
        require_valid_key
        and (last.HasField("id") == last.HasField("name") or not (last.id or last.name))
    )


def _decoded(entity: LazyEntity) -> Any:
    """Return the stock entity; None, if the client has to raise."""
    try:
        entity._decode_all("")
    except CONVERSION_ERRORS:
        return None
    return stock_entity(entity, dict.items(entity))


@functools.lru_cache(maxsize=1024)
def _is_ordinary(kind: Any, app: Any, namespace: Any) -> bool:
    """Whether the client takes a kind, an application and a namespace for valid ones.

    They may be encoded.
    """
    parts = [each.decode() if type(each) is bytes else each for each in (kind, app, namespace)]
    try:
        datastore.Entity(parts[0], _app=parts[1], namespace=parts[2])
    except CONVERSION_ERRORS:
        return False
    return True


def make_rpc_call(
    original: Callable[..., Any],
    connection: Any,
    config: Any,
    method: Any,
    request: Any,
    response: Any,
    get_result_hook: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Send a request as ``original`` does; convert its response in the mode of the sender."""
    if notices.waiting:
        notices.log()
    if get_result_hook is not None:
        get_result_hook = _in_mode_of_now(get_result_hook)
    return original(connection, config, method, request, response, get_result_hook, *args, **kwargs)


def _in_mode_of_now(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a hook that converts a response in the mode of now, after one look at the guard."""
    mode = EAGER_MODE.get()

    def convert(rpc: Any) -> Any:
        mode_token, guard_token = EAGER_MODE.set(mode), guarding.ANSWER.set(guarding.are_intact())
        try:
            return hook(rpc)
        finally:
            guarding.ANSWER.reset(guard_token)
            EAGER_MODE.reset(mode_token)

    return convert
