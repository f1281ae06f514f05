"""Counters for OpenTelemetry metrics, if its API is installed."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from lazyentity.profiling.snapshot import Snapshot

_API = "opentelemetry.metrics"

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

Totals = Mapping[tuple[str, str | None], int]
"""By the name of a counter and the kind; None for no such attribute."""


def totals(counted: Snapshot, before: Totals) -> Totals:
    """Return the totals of a snapshot, added to those of before."""
    sums = dict(before)

    def add(name: str, kind: str | None, number: int) -> None:
        sums[name, kind] = sums.get((name, kind), 0) + number

    for (_, key_kind), counts in counted.call_sites.items():
        kind = key_kind or ""
        names = counts.names.values()
        add("lazyentity.entities", kind, counts.entities + counts.eager)
        add("lazyentity.entities.size", kind, counts.size + counts.eager_size)
        add("lazyentity.properties", kind, sum(named.received for named in names))
        add("lazyentity.properties.decoded", kind, sum(named.decoded for named in names))
    add("lazyentity.sentinels", None, sum(line.calls for line in counted.sentinels.values()))
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
    api = importlib.import_module(_API)
    meter = api.get_meter("lazyentity")
    for name, (unit, description) in _COUNTERS.items():
        meter.create_observable_counter(
            name,
            callbacks=[_observing(name, read, api.Observation)],
            unit=unit,
            description=description,
        )
    return True


def _observing(name: str, read: Callable[[], Totals], observation: Any) -> Any:
    def observe(_options: Any) -> Iterable[Any]:
        return [
            observation(number, {} if kind is None else {"kind": kind})
            for (counter, kind), number in read().items()
            if counter == name
        ]

    return observe
