"""Options of calls, by which batches and their calls are found."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.appengine.datastore import datastore_rpc

from lazyentity.patches.upstream import is_upstream

_MOST_KNOWN = 256


def hash_of(original: Callable[..., Any], _is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``BaseConfiguration.__hash__``, which hashes the values and all options of the class.

    The hash is unchanged. The hash of the options is kept: ndb needs it some five times per model.

    Args:
        original: the client's own.
    """
    if not is_upstream(original, datastore_rpc):
        return original
    # By class: the options, their number, and their hash.
    hashes: dict[Any, tuple[Any, int, int]] = {}

    @functools.wraps(original)
    def __hash__(self: Any) -> int:  # noqa: N807  # its name
        options = self._options
        known = hashes.get(type(self))
        if known is None or known[0] is not options or known[1] != len(options):
            if len(hashes) >= _MOST_KNOWN:
                hashes.clear()
            known = hashes[type(self)] = options, len(options), hash(frozenset(options.items()))
        return hash(frozenset(self._values.items())) ^ known[2]

    return __hash__
