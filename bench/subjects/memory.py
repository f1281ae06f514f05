"""Memory that entities hold, measured from outside: the growth of a fresh process.

``tracemalloc`` does not see upb's allocations, so each side decodes thousands of distinct entities
in its own process, keeps them, drops the responses, and compares the resident set before and
after.

New names are the worst case of learned ones: entities of which no two have a name in common, as in
kinds with maps keyed by a user's id. Time is measured after many other entities were read; memory
is that of a process that read and dropped a stream of such entities.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import datastore as datastore_types

from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.cases.decoding import lookup_responses
from lazyentity.bench.harness import processes, sides, verify
from lazyentity.bench.harness.lines import Memory, NewNames
from lazyentity.bench.harness.stats import compared, paired_ratio, summarize
from lazyentity.bench.harness.timing import (
    MICROSECONDS,
    SIDES,
    Budget,
    Context,
    Task,
    figures,
    interleave,
)

_MIX, _READ = "mixed", "4"
_SIDES = ("stock", "lazy", "upb_message")


_ROLLUP = Path("/proc/self/smaps_rollup")


def pages(*kinds: str) -> int:
    """Return the bytes of this process in pages of some kinds; resident bytes where Linux is not.

    Linux estimates the resident size itself, with an error that grows with the processors that a
    process ran on, and takes pages away while other processes need memory: see proc(5).

    Args:
        kinds: fields of ``/proc/self/smaps_rollup``, which counts the pages: ``"Rss"``, ``"Swap"``,
            or ``"Anonymous"`` for memory that is no file's.
    """
    if not _ROLLUP.exists():
        resident: int = psutil.Process().memory_info().rss
        return resident
    lines = (line.split() for line in _ROLLUP.read_text().splitlines()[1:])
    kibibytes = {name.removesuffix(":"): int(size) for name, size, *_ in lines}
    return 1024 * sum(kibibytes[kind] for kind in kinds)


def resident() -> int:
    """Bytes of this process in memory or swapped out, after freed memory went to the system."""
    gc.collect()
    # glibc keeps freed pages until asked; other C libraries have no such function.
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
    return pages("Rss", "Swap")


def _responses(path: Path) -> Iterator[bytes]:
    """The responses of the file, each in its own bytes object, as if off the network."""
    with path.open("rb") as file:
        while head := file.read(4):
            yield file.read(int.from_bytes(head, "big"))


def _decoder(side: str, names: tuple[str, ...]) -> Callable[[bytes], list[Any]]:
    if side == "upb_message":
        parse = datastore_types.LookupResponse.pb().FromString
        return lambda response: [result.entity for result in parse(response).found]
    decode = {"stock": sides.STOCK, "lazy": sides.LAZY}[side].entities

    def decode_and_read(response: bytes) -> list[Any]:
        entities = decode(response)
        decoding.ByName(plan=(names,) * len(entities))(entities)
        return entities

    return decode_and_read


def bytes_per_entity(side: str, file: str, properties: int) -> float:
    """The growth of this process per entity while it holds the file's entities, 4 of each read."""
    path = Path(file)
    decode = _decoder(side, synthetic.names_read(synthetic.MIXES[_MIX], properties, _READ))
    # The first response pays for everything that a process makes once.
    decode(next(_responses(path)))
    before = resident()
    held = [entity for response in _responses(path) for entity in decode(response)]
    return (resident() - before) / len(held)


def _write_responses(path: Path, properties: int, entities: int) -> int:
    """Write distinct responses to ``path``; returns the mean size of an entity's own bytes."""
    mix, entity_bytes = synthetic.MIXES[_MIX], 0
    pbs = (synthetic.entity_pb(mix, properties, number) for number in range(entities))
    with path.open("wb") as file:
        for response in decoding.lookup_responses(pbs, decoding.ENTITIES_A_RESPONSE):
            entity_bytes += sum(map(len, decoding.entities_of(response)))
            file.write(len(response).to_bytes(4, "big"))
            file.write(response)
    return round(entity_bytes / entities)


def measure(properties: int, entities: int, rounds: int) -> Memory:
    """Bytes held per entity of ``properties`` mixed properties, four read, in ``rounds`` rounds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "responses"
        wire_bytes = _write_responses(path, properties, entities)
        held = processes.measure(bytes_per_entity, _SIDES, rounds, str(path), properties)
    return Memory(
        properties=properties,
        read=_READ,
        entities=entities,
        wire_bytes=wire_bytes,
        **compared(held, ratio=("lazy", "stock")),
    )


OF_ENTITIES = "entities"
OF_MODELS = ("Model", "Expando")
NAME_COUNTS = (1, 5, 20)

_BOTH = {"stock": sides.STOCK, "lazy": sides.LAZY}
_PLACEHOLDER = b"-" * 12
_NAMES_BEFORE = 50_000
_NAMES_OF_STREAM = 20_000
_MEGABYTE = 1e6

_serials = itertools.count()


def _template(names: int) -> bytes:
    """A response with `_PLACEHOLDER` in all names, in place of their serial number."""
    pbs = []
    for number in range(decoding.ENTITIES_A_RESPONSE):
        entity = datastore.Entity(
            datastore.Key(synthetic.KIND, number + 1, project=synthetic.PROJECT)
        )
        for position in range(names):
            entity[f"{position:02d}_{number:02d}{_PLACEHOLDER.decode()}"] = number + position
        pbs.append(helpers.entity_to_protobuf(entity)._pb)
    (response,) = lookup_responses(pbs, decoding.ENTITIES_A_RESPONSE)
    return response


def _renamed(template: bytes) -> bytes:
    return template.replace(_PLACEHOLDER, b"%012d" % next(_serials))


def _read_entities(side: sides.Side, response: bytes) -> list[Any]:
    entities = side.entities(response)
    for entity in entities:
        for name in entity:
            entity[name]
    return entities


def _read_models(side: sides.Side, response: bytes) -> list[Any]:
    from google.cloud.ndb import model

    # Looked up now, because the patch replaces the attribute of the module.
    make = model._entity_from_protobuf
    models = [make(result.entity) for result in side.deserialize(response).found]
    for instance in models:
        for name in instance._properties:
            getattr(instance, name)
    return models


def _prepared(of: str) -> tuple[Callable[[sides.Side, bytes], list[Any]], dict[str, Context]]:
    """The reader of a response, and a context for each side; ndb then knows the class."""
    if of == OF_ENTITIES:
        return _read_entities, dict.fromkeys(_BOTH, contextlib.nullcontext)
    from lazyentity.bench.subjects import models

    models.CLASSES[of](0)
    return _read_models, models.CONTEXTS


def _renamed_responses(template: bytes, names: int, names_in_all: int) -> Iterator[bytes]:
    for _ in range(names_in_all // names // decoding.ENTITIES_A_RESPONSE):
        yield _renamed(template)


def megabytes(side: str, of: str, names: int) -> float:
    """The memory of this process after a stream, while it holds the last response."""
    read, contexts = _prepared(of)
    with contexts[side]():
        for response in _renamed_responses(_template(names), names, _NAMES_OF_STREAM):
            held = read(_BOTH[side], response)
        held_megabytes = resident() / _MEGABYTE
        del held
    return held_megabytes


def measure_new_names(of: str, names: int, rounds: int, budget: Budget) -> NewNames:
    """Time reading all of ``of``, each with so many new names; measure memory in ``rounds``."""
    read, contexts = _prepared(of)
    template = _template(names)

    def task(side: sides.Side) -> Task:
        return lambda: read(side, _renamed(template))

    seen = {}
    for name, side in _BOTH.items():
        with contexts[name]():
            seen[name] = [dict(_values(made)) for made in read(side, template)]
            if name == "lazy":
                for response in _renamed_responses(template, names, _NAMES_BEFORE):
                    read(side, response)
    verify.check_same(seen["stock"], seen["lazy"], "values")
    timed = interleave({name: task(side) for name, side in _BOTH.items()}, budget, contexts)
    held = processes.measure(megabytes, _BOTH, rounds, of, names)
    return NewNames(
        of=of,
        names=names,
        **figures(timed, MICROSECONDS / decoding.ENTITIES_A_RESPONSE, ratio=SIDES),
        stock_mb=summarize(held["stock"]),
        lazy_mb=summarize(held["lazy"]),
        memory_ratio=paired_ratio(held["lazy"], held["stock"]),
    )


def _values(made: Any) -> Any:
    return made.items() if isinstance(made, dict) else made.to_dict()
