"""Snapshots of Firestore that grow: no shape of a document is read more slowly than by stock.

As a command, ``python -m lazyentity.bench.firestore_growth FILE`` measures every shape and
writes the ratios to a JSON file. Times are CPU times of the conversion, the receipt of the bytes
included and the RPC left out. Sizes are of a snapshot and of one dict of it.
"""

from __future__ import annotations

import collections
import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1 import _helpers, base_query, vector
from google.cloud.firestore_v1.types import document as document_types
from google.cloud.firestore_v1.types import firestore as types

import lazyentity

MOST = 1.05
"""The time of a lazy read or write over that of stock, at most."""
MOST_MEMORY = 1.05
"""The memory of a snapshot and of one dict, likewise: for one field it is a bit more."""

FIELDS = (20, 100, 1_000, 5_000, 20_000)

_CLIENT: Any = firestore.Client(project="p", credentials=AnonymousCredentials())
_COLLECTION = _CLIENT.collection("things")
_PREFIX = "projects/p/databases/(default)/documents/things"
_PATH = f"{_PREFIX}/one"

Call = Callable[[], object]


def _numbered(count: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    kinds: tuple[Callable[[int], Any], ...] = (int, float, str, lambda at: {"a": [at, str(at)]})
    for at in range(count):
        made[f"field_{at}"] = kinds[at % len(kinds)](at)
    return made


def shapes() -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the documents by what they are of."""
    for count in FIELDS:
        yield f"{count:,} fields", _numbered(count)
    yield "50 fields and __v", {**_numbered(50), "__v": 3}
    yield "50 fields and __typename", {**_numbered(50), "__typename": "Order"}
    yield (
        "100 maps with __typename",
        {f"m{at}": {"__typename": "Line", "price": at} for at in range(100)},
    )
    for count in (3, 768, 2_048):
        yield f"a vector of {count:,}", {"v": vector.Vector([at / 7 for at in range(count)])}
    for count in (1, 100, 1_000):
        references = [_CLIENT.document("users", f"u{at}") for at in range(count)]
        yield f"references: {count:,}", {"users": references}
    for size in (10_000, 60_000, 1_000_000):
        yield f"a text of {size:,} bytes of UTF-8", {"t": "é" * (size // 2)}
    yield "a blob of 1,000,000 bytes", {"b": b"\0\xff" * 500_000}
    yield "5,000 maps in a map", {"m": {f"k{at}": {"a": at, "b": str(at)} for at in range(5_000)}}


def _all_absent(snapshot: Any) -> None:
    for _ in range(10):
        with suppress(KeyError):
            snapshot.get("absent")


def _reads(fields: dict[str, Any]) -> dict[str, Callable[[Any], Any]]:
    paths = list(fields)
    return {
        "to_dict()": lambda snapshot: snapshot.to_dict(),
        "get() of each": lambda snapshot: [snapshot.get(path) for path in paths],
        "get() of ten": lambda snapshot: [snapshot.get(path) for path in paths[:10]],
        "absent, ten times": _all_absent,
    }


def _snapshot(raw: bytes) -> Any:
    """Make a snapshot of a response, as the client does when a stub of it gives one."""
    kind: Any = types.RunQueryResponse
    if "firestore" in lazyentity.patched():
        from lazyentity.patches.firestore.responses import QueryResponse

        kind = QueryResponse
    to_snapshot = vars(base_query)["_query_response_to_snapshot"]
    return to_snapshot(kind.deserialize(raw), _COLLECTION, _PREFIX)


def _response(fields: dict[str, Any]) -> bytes:
    document = document_types.Document(name=_PATH, fields=_helpers.encode_dict(fields))
    raw: bytes = types.RunQueryResponse.serialize(types.RunQueryResponse(document=document))
    return raw


def _timed(call: Call, least_seconds: float) -> float:
    """Return the CPU time of a call."""
    gc.collect()
    calls, started = 0, time.process_time()
    while True:
        call()
        calls += 1
        taken = time.process_time() - started
        if taken >= least_seconds:
            return taken / calls


def ratio(make: Callable[[], Call], rounds: int, least_seconds: float) -> float:
    """Return the CPU time of a call over that of stock: of the least times, taken in turn.

    Args:
        make: makes the call, with the client patched or not.
        rounds: of both sides.
        least_seconds: of each time.
    """
    least = {True: float("inf"), False: float("inf")}
    for _ in range(rounds):
        for is_lazy in least:
            if is_lazy:
                lazyentity.patch("firestore", strict=True)
            least[is_lazy] = min(least[is_lazy], _timed(make(), least_seconds))
            lazyentity.unpatch("firestore")
    return least[True] / least[False]


def _first(raw: bytes, read: Callable[[Any], Any]) -> Callable[[], Call]:
    return lambda: lambda: read(_snapshot(raw))


def _again(raw: bytes, read: Callable[[Any], Any]) -> Callable[[], Call]:
    def make() -> Call:
        snapshot = _snapshot(raw)
        read(snapshot)
        return lambda: read(snapshot)

    return make


def _bytes_held(raw: bytes) -> int:
    """Return the bytes of some snapshots and of one dict of each."""
    count = max(2, min(50, 1_000_000 // len(raw)))
    for _ in range(count):
        # The first ones pay for everything that a process makes once.
        _snapshot(raw).to_dict()
    gc.collect()
    tracemalloc.start()
    try:
        # Each in its own bytes object, as if off the network.
        snapshots = [_snapshot(bytes(memoryview(raw))) for _ in range(count)]
        kept = [(snapshot, snapshot.to_dict()) for snapshot in snapshots]
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        del kept
        return held
    finally:
        tracemalloc.stop()


def memory_ratio(raw: bytes) -> float:
    """Return the memory of a snapshot and of one dict of it, over that of stock."""
    stock = _bytes_held(raw)
    lazyentity.patch("firestore", strict=True)
    try:
        return _bytes_held(raw) / stock
    finally:
        lazyentity.unpatch("firestore")


def writes() -> dict[str, Callable[[Any], Any]]:
    """Return the writes that a batch prepares, by their names."""
    reference = _CLIENT.document("things/one")
    transform, plain = {"at": firestore.SERVER_TIMESTAMP}, _numbered(20)
    union = {"tags": firestore.ArrayUnion(["a", "b"])}
    return {
        "set() of a transform": lambda batch: batch.set(reference, transform),
        "set(merge=True) of a transform": lambda batch: batch.set(reference, transform, merge=True),
        "update() of a transform": lambda batch: batch.update(reference, transform),
        "update() of ArrayUnion": lambda batch: batch.update(reference, union),
        "update() of DELETE_FIELD": lambda batch: batch.update(
            reference, {"a": firestore.DELETE_FIELD}
        ),
        "update() of a quoted path": lambda batch: batch.update(reference, {"`a b`.c": 1}),
        "update() of two dotted paths": lambda batch: batch.update(reference, {"a.b": 1, "a.c": 2}),
        "set() of an OrderedDict": lambda batch: batch.set(
            reference, collections.OrderedDict(plain)
        ),
        "set(merge=[...])": lambda batch: batch.set(reference, plain, merge=["field_1"]),
        "set() of a field": lambda batch: batch.set(reference, {"a": 1}),
        "set() of 20 fields": lambda batch: batch.set(reference, plain),
        "set() of 20 fields and a transform": lambda batch: batch.set(
            reference, {**plain, **transform}
        ),
        "set() of a field and a transform": lambda batch: batch.set(
            reference, {"a": 1, **transform}
        ),
    }


def measure(rounds: int = 3, least_seconds: float = 0.01) -> dict[str, dict[str, float]]:
    """Measure all shapes; return the ratios by what is read or written, and by shape."""
    found: dict[str, dict[str, float]] = collections.defaultdict(dict)
    for shape, fields in shapes():
        raw = _response(fields)
        for name, read in _reads(fields).items():
            found[f"{name}, first"][shape] = ratio(_first(raw, read), rounds, least_seconds)
            found[f"{name}, again"][shape] = ratio(_again(raw, read), rounds, least_seconds)
        found["memory with a dict"][shape] = memory_ratio(raw)
    for name, write in writes().items():

        def make(write: Callable[[Any], Any] = write) -> Call:
            return lambda: write(_CLIENT.batch())

        # These are as fast as stock, and not faster.
        found["writes"][name] = ratio(make, 5 * rounds, least_seconds)
    return {name: dict(ratios) for name, ratios in found.items()}


def beyond(found: dict[str, dict[str, float]]) -> list[str]:
    """Return a sentence for each ratio that is more than it may be."""
    return [
        f"{name}, {shape}: {value:.2f}"
        for name, ratios in found.items()
        for shape, value in ratios.items()
        if value > (MOST_MEMORY if name.startswith("memory") else MOST)
    ]


def main() -> None:
    """Measure, write the ratios, and print those that are beyond."""
    found = measure()
    rounded = {
        name: {shape: round(value, 3) for shape, value in ratios.items()}
        for name, ratios in found.items()
    }
    Path(sys.argv[1]).write_text(json.dumps(rounded, indent=1) + "\n", "utf-8")
    sys.stdout.write("\n".join(beyond(found)) + "\n")


if __name__ == "__main__":
    main()
