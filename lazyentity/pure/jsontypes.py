"""Values that JSON has types for."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

from lazyentity.codec.values import MAX_CONTAINERS, RESERVED

_SCALARS = {str, int, bool, type(None)}


def is_json(value: Any) -> bool:
    """As :meth:`lazyentity._backend.protocols.Backend.is_json`."""
    return _are_json((value,), MAX_CONTAINERS)


def _are_json(values: Iterable[Any], levels: int) -> bool:
    # One call for each container, not for each value: most values are scalars.
    for value in values:
        kind = type(value)
        if kind in _SCALARS:
            continue
        if kind is dict:
            if not levels:
                return False
            # Copied, because another thread can change it meanwhile.
            taken = value.copy()
            if RESERVED in taken:
                return False
            for key in taken:
                if type(key) is not str:
                    return False
            if not _are_json(taken.values(), levels - 1):
                return False
        elif kind is list:
            if not levels or not _are_json(value.copy(), levels - 1):
                return False
        elif kind is not float or not isfinite(value):
            return False
    return True
