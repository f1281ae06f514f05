"""Entities that arrive as in a response, in each backend."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lazyentity import LazyEntity
from lazyentity.profiling.collection import Profile
from lazyentity.profiling.counters import Counts, Snapshot
from tests.conftest import BACKENDS, IMPLEMENTATIONS
from tests.support.strategies.samples import serialise

FIVE = serialise({"a": 1, "b": "two", "c": 3.0, "d": True, "e": None})
OTHER = serialise({"a": 1, "z": [1, 2]})


def counted(profile: Profile) -> Snapshot:
    """Return what a stopped profile counted."""
    assert profile._counted is not None
    return profile._counted


def only(profile: Profile) -> Counts:
    """Return the counts of the only line that received."""
    (counts,) = counted(profile).received.values()
    return counts


class Response:
    """The entities of a response, still serialised.

    Args:
        backend: its name.
        raws: the serialised entities.
        eager: whether they become stock entities.
    """

    def __init__(self, backend: str, raws: Iterable[bytes], *, eager: bool = False) -> None:
        module = BACKENDS[backend]
        self._reader = module.EntityReader(
            IMPLEMENTATIONS[backend], module.stock_from_raw, is_stock=eager
        )
        rpc = module.ReadRpc()
        self._handles = []
        for raw in raws:
            handle = module.EntityBytes.__new__(module.EntityBytes)
            handle._receive(raw, rpc)
            self._handles.append(handle)

    def entities(self) -> list[Any]:
        """Read them."""
        return [handle.read(self._reader) for handle in self._handles]


def learn(backend: str, *raws: bytes) -> None:
    """Let a backend keep the names of entities, as it does when they come again."""
    kind: type[LazyEntity] = IMPLEMENTATIONS[backend]
    for raw in raws:
        for _ in range(3):
            kind.from_bytes(raw)
