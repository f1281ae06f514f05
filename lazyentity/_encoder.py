"""Whether it is the client's own encoder that reads an entity.

A client that is not patched encodes whatever it is given with ``helpers.entity_to_protobuf``,
which reads the properties by ``items()``, as anybody does. For an entity that may be read but not
written, or written but not read, it has to be told from the others, and nothing but the calling
frame tells. (``_meanings`` is hardly read but in writing. It is not read, though, if there are no
properties, and an entity that was left with none would do the most harm.)
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

from lazyentity.encoding import stock_entity_to_protobuf
from lazyentity.pure.mapping import LazyMapping

# Whoever wraps the encoder calls it in the end.
_encoder: Any = inspect.unwrap(stock_entity_to_protobuf)
# What somebody put there before may be no function; then nobody can tell.
_CODE = getattr(_encoder, "__code__", None)
_ITEMS = LazyMapping.items.__code__


def called_by_encoder() -> bool:
    """Say whether the function that calls this, or ``items()`` that calls it, was called by it."""
    caller = sys._getframe(1).f_back
    if caller is not None and caller.f_code is _ITEMS:
        # The pure backend's is Python code, too.
        caller = caller.f_back
    return caller is not None and caller.f_code is _CODE
