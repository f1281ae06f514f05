"""Keys of ndb, made of the references that entities have."""

from __future__ import annotations

from typing import Any

from google.appengine.ext.ndb.key import Key

from lazyentity.patches.appengine.messages import Reference

_new = object.__new__


def key_of(reference: Any) -> Any:
    """Make the key that ``Key(reference=reference)`` is, without a search for other arguments.

    Args:
        reference: a message with a path.
    """
    # A message that is a part of a response would keep all of it.
    copied = Reference()
    copied.CopyFrom(reference)
    pairs = []
    for element in copied.path.element:
        identifier = element.id if element.HasField("id") else element.name.encode()
        pairs.append((element.type.encode(), identifier or None))
    key = _new(Key)
    key._Key__reference = copied
    key._Key__pairs = tuple(pairs)
    key._Key__app = copied.app.encode()
    key._Key__namespace = copied.name_space.encode()
    return key
