"""Documents as one packed value, next to the same documents as embedded entities."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.cloud import datastore

import lazyentity
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import loopback, sides, verify
from lazyentity.bench.harness.lines import Packed
from lazyentity.bench.harness.timing import MILLISECONDS, Budget, Context, Task, figures, interleave
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.packed import pack, unpack

NAME = "document"
SIZES = {"10 KB": 19, "500 KB": 960, "900 KB": 1728}
"""The records of a document, by its size as an embedded entity. An entity may have 1 MiB."""

USES = ("write", "read", "put", "get")

_EMBEDDED = ("stock", "lazy")
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


@dataclass(frozen=True)
class _Tasks:
    """The tasks of one use, and the check of their results."""

    tasks: dict[str, Task]
    check: Callable[[str, Any], None]


def _conversion(value: Any, use: str) -> _Tasks:
    def write(side: str) -> Task:
        return lambda: sides.to_bytes(_stored(value, side))

    def read(side: str) -> Task:
        raw = sides.to_bytes(_stored(value, side))
        (response,) = decoding.lookup_responses([decoding.EntityMessage.FromString(raw)], 1)
        decode = (sides.LAZY if side == "lazy" else sides.STOCK).entities
        return lambda: _opened(decode(response)[0], side)

    def check(side: str, result: Any) -> None:
        if use == "write":
            result = _opened(lazyentity.LazyEntity.from_bytes(result), _reading(side))
        _check(value, result, side)

    make = write if use == "write" else read
    return _Tasks({side: make(side) for side in (*_EMBEDDED, "packed")}, check)


def _reading(side: str) -> str:
    return "lazy" if side == "stock" else side


def _check(expected: Any, found: Any, side: str) -> None:
    # Embedded entities are equal to dicts of the same values.
    if not found == expected:
        raise verify.OutputMismatch(f"the document of {side} is not the one that was stored")


@contextlib.contextmanager
def _end_to_end(value: Any, use: str) -> Iterator[_Tasks]:
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(LoopbackServer()).grpc_port
        clients = {
            side: stack.enter_context(loopback.client(port)) for side in (*_EMBEDDED, "packed")
        }
        reader = stack.enter_context(loopback.client(port))
        for side, client in clients.items():
            client.put(_stored(value, side))

        def put(side: str) -> Task:
            return lambda: clients[side].put(_stored(value, side))

        def get(side: str) -> Task:
            key = _entity(None, side).key
            return lambda: _opened(clients[side].get(key), side)

        def check(side: str, result: Any) -> None:
            if use == "put":
                found = lazyentity.wrap(reader).get(_entity(None, side).key)
                result = _opened(found, _reading(side))
            _check(value, result, side)

        make = put if use == "put" else get
        yield _Tasks({side: make(side) for side in clients}, check)


def measure(use: str, size: str, budget: Budget) -> Packed:
    """Time one of `USES` with a document of one of `SIZES`.

    Raises:
        KeyError: there is no such size.
    """
    records = SIZES[size]
    value = decoding.make_document(records)
    with contextlib.ExitStack() as stack:
        of_use = (
            stack.enter_context(_end_to_end(value, use))
            if use in ("put", "get")
            else _conversion(value, use)
        )
        timed = interleave(of_use.tasks, budget, _CONTEXTS)
        for side, track in timed.items():
            of_use.check(side, track.last)
    return Packed(
        use=use,
        size=size,
        values=decoding.values_of(records),
        embedded_bytes=len(sides.to_bytes(_stored(value, "stock"))),
        packed_bytes=len(sides.to_bytes(_stored(value, "packed"))),
        **figures(timed, MILLISECONDS, ratio=("stock", "packed"), over_lazy=("lazy", "packed")),
    )
