"""Memory that an entity holds, measured from outside: the growth of a fresh process.

``tracemalloc`` does not see upb's allocations, so each side decodes thousands of distinct entities
in its own process, keeps them, drops the responses, and compares the resident set before and
after.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from google.cloud.datastore_v1.types import datastore as datastore_types

from lazyentity.bench.cases import decoding, reading, synthetic, wire
from lazyentity.bench.harness import processes, sides
from lazyentity.bench.harness.lines import Memory
from lazyentity.bench.harness.stats import compared

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
        reading.ByName(plan=(names,) * len(entities))(entities)
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
        for response in wire.lookup_responses(pbs, decoding.ENTITIES_A_RESPONSE):
            entity_bytes += sum(map(len, wire.entities_of(response)))
            file.write(len(response).to_bytes(4, "big"))
            file.write(response)
    return round(entity_bytes / entities)


def measure(properties: int, entities: int, rounds: int) -> Memory:
    """Bytes held per entity of ``properties`` mixed properties, four read, over ``rounds`` rounds.

    Raises:
        subprocess.CalledProcessError: a measuring process failed; its own error is on stderr.
    """
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
