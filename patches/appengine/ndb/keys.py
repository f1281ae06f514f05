"""Keys of ndb, made of the references that entities have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.appengine.api import cmp_compat
from google.appengine.ext.ndb import key as key_module
from google.appengine.ext.ndb.key import Key

from lazyentity.patches.appengine.messages import Reference
from lazyentity.patches.upstream import is_upstream

_new = object.__new__
_parse = Reference.FromString


def key_of(index: Any, message: Any) -> Any:
    """Make the key ``Key(reference=reference)`` without ndb's search for other arguments.

    Args:
        index: of an entity.
        message: the entity, with that reference as its key.

    Returns:
        None, if the reference has no path.
    """
    path = index.path()
    if path is not None:
        reference = _parse(index.key())
    elif message.key.path.element:
        # A message that is a part of a response would keep the whole response alive.
        reference = Reference()
        reference.CopyFrom(message.key)
        path = _path_of(reference)
    else:
        return None
    key = _new(Key)
    key._Key__reference = reference
    key._Key__app, key._Key__namespace, key._Key__pairs = path
    return key


def _path_of(reference: Any) -> tuple[bytes, bytes, tuple[Any, ...]]:
    pairs = []
    for element in reference.path.element:
        identifier = element.id if element.HasField("id") else element.name.encode()
        pairs.append((element.type.encode(), identifier or None))
    return reference.app.encode(), reference.name_space.encode(), tuple(pairs)


def _are_same(key: Any, other: Any) -> bool:
    return (
        type(other) is Key
        and key._Key__pairs == other._Key__pairs
        and key._Key__app == other._Key__app
        and key._Key__namespace == other._Key__namespace
    )


def ne(original: Callable[..., Any], _is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``Key.__ne__``, which sorts the keys. Most pairs are keys of the same entity."""
    if not is_upstream(original, key_module, cmp_compat):
        return original

    @functools.wraps(original)
    def __ne__(self: Any, other: Any) -> Any:  # noqa: N807  # its name
        return not _are_same(self, other) and original(self, other)

    return __ne__


def hash_of(original: Callable[..., Any], _is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``Key.__hash__``, which makes each pair by several calls; the hash is the same."""
    if not is_upstream(original, key_module, cmp_compat):
        return original

    @functools.wraps(original)
    def __hash__(self: Any) -> int:  # noqa: N807  # its name
        if type(self) is not Key:
            return original(self)  # type: ignore[no-any-return]  # a hash
        pairs = self._Key__pairs
        if len(pairs) == 1:
            # Most keys have no parent, and this takes half of the time.
            ((kind, each),) = pairs
            return hash(((kind.decode(), each.decode() if type(each) is bytes else each),))
        return hash(
            tuple(
                (kind.decode(), each.decode() if type(each) is bytes else each)
                for kind, each in pairs
            )
        )

    return __hash__
