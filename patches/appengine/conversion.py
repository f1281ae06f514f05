"""The conversion of a received entity, which leaves its properties undecoded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.appengine.api import datastore, datastore_types

from lazyentity._kinds import register
from lazyentity.codec.mode import is_eager
from lazyentity.patches.appengine import operations
from lazyentity.patches.appengine.entities import LazyEntity, stock_entity
from lazyentity.patches.appengine.messages import EntityProto, index_of
from lazyentity.patches.appengine.seams import CLIENT
from lazyentity.patches.registry import is_of

register(datastore.Entity, operations)


def _own(name: str) -> Any:
    """Return a function of the client's own; if it was replaced, a new object."""
    function = getattr(datastore_types, name)
    return function if is_of(datastore_types, function) else object()


_from_property = _own("FromPropertyPb")
_validate = _own("ValidateReadProperty")


def replace_from_pb(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``Entity._FromPb``, a static method."""
    from_pb = original.__func__

    @functools.wraps(from_pb)
    def _FromPb(pb: Any, require_valid_key: Any = True, *args: Any, **kwargs: Any) -> Any:  # noqa: N802  # its name
        entity = _lazy(pb, require_valid_key) if is_active() else None
        if entity is not None and (CLIENT.patch.eager or is_eager()):
            entity = _decoded(entity)
        return from_pb(pb, require_valid_key, *args, **kwargs) if entity is None else entity

    return staticmethod(_FromPb)


def _lazy(pb: Any, require_valid_key: Any) -> LazyEntity | None:
    """Return a lazy entity; None, if the client has to make one, or to raise."""
    if type(pb) is not EntityProto or not _converts_by_own():
        return None
    key = pb.key
    path = key.path.element
    if not path:
        # The client gives it a key.
        return None
    last = path[-1]
    if not _is_ordinary(last.type, key.app, key.name_space):
        return None
    if require_valid_key and (
        last.HasField("id") == last.HasField("name") or not (last.id or last.name)
    ):
        return None
    index = index_of(pb)
    return None if index is None else LazyEntity._of(index)


def _decoded(entity: LazyEntity) -> Any:
    """Return the stock entity; None, if the client has to raise."""
    try:
        entity._decode_all("")
    except Exception:  # noqa: BLE001  # the client raises its own
        return None
    return stock_entity(entity, dict.items(entity))


def _converts_by_own() -> bool:
    """Whether nobody replaced the conversion of values."""
    return (
        datastore_types.FromPropertyPb is _from_property
        and datastore_types.ValidateReadProperty is _validate
    )


@functools.lru_cache(maxsize=1024)
def _is_ordinary(kind: Any, app: Any, namespace: Any) -> bool:
    """Whether the client takes a kind, an application and a namespace for valid ones."""
    try:
        datastore.Entity(kind, _app=app, namespace=namespace)
    except Exception:  # noqa: BLE001  # the client is to raise it
        return False
    return True
