"""Keys of ndb, made of the references that entities and requests have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.appengine.datastore.entity_bytes_pb2 import Reference
from google.appengine.ext.ndb.key import Key

from lazyentity.patches.appengine.ndb.originals import is_own


def parse_from_ref(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``Key._parse_from_ref``, which first looks for arguments of eight kinds.

    Args:
        original: ndb's own static method.
        is_active: says whether ndb is patched.
    """
    parse = original.__func__
    if not is_own(parse):
        return original

    @functools.wraps(parse)
    def _parse_from_ref(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if is_active() and cls is Key and not args and kwargs.keys() == _REFERENCE_ALONE:
            reference = kwargs["reference"]
            if type(reference) is Reference and reference.path.element:
                return _parts(reference)
        return parse(cls, *args, **kwargs)

    return staticmethod(_parse_from_ref)


_REFERENCE_ALONE = {"reference"}


def _parts(reference: Any) -> tuple[Any, tuple[Any, ...], bytes, bytes]:
    """Return the reference, pairs, application and namespace of a key."""
    # A message that is a part of a response would keep all of it.
    copied = Reference()
    copied.CopyFrom(reference)
    pairs = []
    for element in copied.path.element:
        identifier = element.id if element.HasField("id") else element.name.encode()
        pairs.append((element.type.encode(), identifier or None))
    return copied, tuple(pairs), copied.app.encode(), copied.name_space.encode()
