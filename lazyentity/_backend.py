"""Which implementation of :class:`LazyMapping` serves: chosen once, when lazyentity is imported.

An implementation is a ``dict`` subclass with the constructor ``_from_raw``, the accessors ``_decode``,
``_decode_all``, ``_undecoded`` and ``_wire_*``, and the dict operations, all as documented in
:mod:`lazyentity.codec.pure`. It never touches ``key``, ``exclude_from_indexes`` or ``_meanings``: these
are :class:`~lazyentity.entity.LazyEntity`'s.
"""

from __future__ import annotations

import os

from lazyentity.codec.pure import LazyMapping

__all__ = ["LazyMapping", "backend"]

_requested = os.environ.get("LAZYENTITY_BACKEND", "")
if _requested == "native":
    raise ImportError(
        "LAZYENTITY_BACKEND=native, but this version of lazyentity has no native backend; "
        "unset the variable or set it to 'pure'"
    )
if _requested not in ("", "pure"):
    raise ImportError(
        f"LAZYENTITY_BACKEND={_requested!r} is not a backend; accepted are 'native' and 'pure'"
    )

backend = "pure"
