"""Detection of reads by the client's own encoder.

An unpatched client encodes entities with ``helpers.entity_to_protobuf``, which reads the properties
by ``items()``, like any other caller. Entities that may be read but not written, or written but not
read, must recognise the encoder, and only the calling frame shows it. (Reads of ``_meanings`` are
no sign: the encoder skips them if there are no properties, and writing an entity that has lost all
properties does the most harm.)
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

from lazyentity.encoding import stock_entity_to_protobuf

# A wrapper of the encoder calls it in the end.
_encoder: Any = inspect.unwrap(stock_entity_to_protobuf)
# A replacement installed before need not be a function; then the encoder is not recognised.
_CODE = getattr(_encoder, "__code__", None)
# By their names: with the native backend, nothing else needs the module.
_ITEMS = "lazyentity.pure.mapping", "LazyMapping.items"


def called_by_encoder() -> bool:
    """Say whether the encoder called the caller of this function, or the ``items()`` around it."""
    caller = sys._getframe(1).f_back
    if (
        caller is not None
        and (caller.f_globals.get("__name__"), caller.f_code.co_qualname) == _ITEMS
    ):
        # The pure backend's items() has its own frame.
        caller = caller.f_back
    return caller is not None and caller.f_code is _CODE
