"""Documents as one packed value, next to the same documents as embedded entities."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from google.cloud import datastore

import lazyentity
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import loopback, sides, verify
from lazyentity.bench.harness.lines import Packed
from lazyentity.bench.harness.timing import MILLISECONDS, Budget, Context, Task, figures, interleave
from lazyentity.packed import pack, unpack

NAME = "document"
SIZES = {"10 KB": 19, "500 KB": 960, "900 KB": 1728}
"""The records of a document, by its size as an embedded entity. An entity may have 1 MiB."""

USES = ("write", "read", "put", "get")

_SIDES = ("stock", "lazy", "packed")
_CONTEXTS: dict[str, Context] = {"lazy": sides.patched}


def _entity(value: Any, side: str) -> datastore.Entity:
    key = datastore.Key(synthetic.KIND, 1, project=synthetic.PROJECT, namespace=side)
    entity = datastore.Entity(key, exclude_from_indexes=(NAME,))
    entity[NAME] = value
    return entity


def _stored(value: Any, side: str) -> datastore.Entity:
    return _entity(pack(value) if side == "packed" else value, side)


def _opened(entity: datastore.Entity, side: str) -> Any:
    """The whole document, decoded."""
    if side == "packed":
        return unpack(entity[NAME])
    # A stock entity is decoded already.
    return entity[NAME] if side == "stock" else lazyentity.to_dict(entity, NAME)[NAME]


def _check(expected: Any, found: Any, side: str) -> None:
    # Embedded entities are equal to dicts of the same values.
    if not found == expected:
        raise verify.OutputMismatch(f"the document of {side} is not the one that was stored")


def _reading(side: str) -> str:
    return "lazy" if side == "stock" else side


def _write(value: Any, side: str) -> Task:
    return lambda: sides.to_bytes(_stored(value, side))


def _read(value: Any, side: str) -> Task:
    raw = sides.to_bytes(_stored(value, side))
    (response,) = decoding.lookup_responses([decoding.EntityMessage.FromString(raw)], 1)
    decode = (sides.LAZY if side == "lazy" else sides.STOCK).entities
    return lambda: _opened(decode(response)[0], side)


@contextlib.contextmanager
def _tasks(value: Any, use: str) -> Iterator[tuple[dict[str, Task], Callable[[str, Any], Any]]]:
    """Give the tasks of a use, and the function that makes the document of a side's result."""
    if use == "write":
        make = lazyentity.LazyEntity.from_bytes
        tasks = {side: _write(value, side) for side in _SIDES}
        yield tasks, lambda side, raw: _opened(make(raw), _reading(side))
        return
    if use == "read":
        yield {side: _read(value, side) for side in _SIDES}, lambda _, document: document
        return
    with loopback.serving((), len(_SIDES) + 1) as served:
        *connected, bare = served.clients
        clients, reader = dict(zip(_SIDES, connected, strict=True)), lazyentity.wrap(bare)
        for side, client in clients.items():
            client.put(_stored(value, side))

        def put(side: str) -> Task:
            return lambda: clients[side].put(_stored(value, side))

        def get(side: str) -> Task:
            key = _entity(None, side).key
            return lambda: _opened(clients[side].get(key), side)

        def stored(side: str, _: Any) -> Any:
            return _opened(reader.get(_entity(None, side).key), _reading(side))

        if use == "put":
            yield {side: put(side) for side in _SIDES}, stored
        else:
            yield {side: get(side) for side in _SIDES}, lambda _, document: document


def measure(use: str, size: str, budget: Budget) -> Packed:
    """Time one of `USES` with a document from `SIZES`."""
    records = SIZES[size]
    value = decoding.make_document(records)
    with _tasks(value, use) as (tasks, document_of):
        timed = interleave(tasks, budget, _CONTEXTS)
        for side, track in timed.items():
            _check(value, document_of(side, track.last), side)
    return Packed(
        use=use,
        size=size,
        values=decoding.values_of(records),
        embedded_bytes=len(sides.to_bytes(_stored(value, "stock"))),
        packed_bytes=len(sides.to_bytes(_stored(value, "packed"))),
        **figures(timed, MILLISECONDS, ratio=("stock", "packed"), over_lazy=("lazy", "packed")),
    )
