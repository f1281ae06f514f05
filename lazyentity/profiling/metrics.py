"""Counters for OpenTelemetry metrics, if its API is installed."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from lazyentity.profiling.counters import Snapshot

_API: Final = "opentelemetry.metrics"

_COUNTERS: Final = {
    "lazyentity.entities": ("{entity}", "Entities received"),
    "lazyentity.entities.size": ("By", "Bytes of the entities received"),
    "lazyentity.properties": ("{property}", "Properties of the lazy entities received"),
    "lazyentity.properties.decoded": ("{property}", "Properties of lazy entities decoded"),
    "lazyentity.sentinels": (
        "{use}",
        "Refused uses of undecoded properties that C code took from an entity",
    ),
}
"""The units and descriptions, by name. All but the last have the attribute ``kind``."""

Totals = Counter[tuple[str, str | None]]
"""By the name of a counter and the kind; None for no such attribute."""


def totals(counted: Snapshot, before: Totals) -> Totals:
    """Return the totals of a snapshot, added to earlier totals."""
    sums = before.copy()
    for (_, key_kind), counts in counted.call_sites.items():
        kind = key_kind or ""
        sums["lazyentity.entities", kind] += counts.entities + counts.eager
        sums["lazyentity.entities.size", kind] += counts.size + counts.eager_size
        sums["lazyentity.properties", kind] += counts.received
        sums["lazyentity.properties.decoded", kind] += counts.decoded
    sums["lazyentity.sentinels", None] += sum(line.calls for line in counted.sentinels.values())
    return sums


@functools.cache
def register(read: Callable[[], Totals]) -> bool:
    """Make the counters, once; they are read when the application's meter asks for them.

    Args:
        read: returns the totals.

    Returns:
        Whether the API is installed.
    """
    try:
        if importlib.util.find_spec(_API) is None:
            return False
    except ModuleNotFoundError:
        return False
    # Outside of the above: an installed API that lacks one of its modules is to raise.
    api = importlib.import_module(_API)

    def observe(observed: str, _options: Any) -> list[Any]:
        return [
            api.Observation(number, {} if kind is None else {"kind": kind})
            for (name, kind), number in read().items()
            if name == observed
        ]

    meter = api.get_meter("lazyentity")
    for name, (unit, description) in _COUNTERS.items():
        callbacks = [functools.partial(observe, name)]
        meter.create_observable_counter(name, callbacks, unit=unit, description=description)
    return True
