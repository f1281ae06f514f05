"""Counting for a profile of elements: what they convert is not known where they were received."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lazyentity.codec.profiled import while_running
from lazyentity.patches.beam import conversion


def _marking(original: Callable[[Any], bool]) -> Callable[[Any], bool]:
    @functools.wraps(original)
    def _is_as_received(entity: Any) -> bool:
        is_as_received = original(entity)
        arrival = entity._arrival
        if is_as_received and arrival is not None:
            # The element converts another entity of the same bytes, often in another process.
            arrival.inflow.has_no_options = True
        return is_as_received

    return _is_as_received


while_running(conversion, "_is_as_received", _marking)
