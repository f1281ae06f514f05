"""Documents of Firestore that grow: no shape is read more slowly than by the stock client.

Each case is the receipt of one document from bytes, and reads of the snapshot.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from google.cloud.firestore_v1.vector import Vector

from lazyentity.bench import verify
from lazyentity.bench.clients import firestore
from lazyentity.bench.harness import PER_ENTITY, Case, Comparison, Plan

FIELDS = (20, 100, 1_000, 5_000, 20_000)


def cases(plan: Plan) -> Iterator[Case]:
    """The reads of each document: as a dict, field by field, again, and of fields that it lacks."""
    for shape, fields in shapes().items():
        for done, read in _READS.items():
            make = functools.partial(_receiving, fields, read)
            yield Case("one document", shape, 1, len(fields), done, PER_ENTITY, make)


def _numbered(count: int) -> dict[str, Any]:
    kinds: tuple[Callable[[int], Any], ...] = (int, float, str, lambda at: {"a": [at, str(at)]})
    return {f"field_{at}": kinds[at % len(kinds)](at) for at in range(count)}


def shapes() -> dict[str, dict[str, Any]]:
    """The fields of the documents, by what they are of."""
    user = firestore.make_client().collection("users").document
    lines = {f"m{at}": {"__typename": "Line", "price": at} for at in range(100)}
    return {
        "50 fields and __v": {**_numbered(50), "__v": 3},
        "50 fields and __typename": {**_numbered(50), "__typename": "Order"},
        "100 maps with __typename": lines,
        "5,000 maps in a map": {"m": {f"k{at}": {"a": at, "b": str(at)} for at in range(5_000)}},
        "a blob of 1,000,000 bytes": {"b": b"\0\xff" * 500_000},
        **{f"{count:,} fields": _numbered(count) for count in FIELDS},
        **{
            f"a vector of {count:,}": {"v": Vector([at / 7 for at in range(count)])}
            for count in (3, 768, 2_048)
        },
        **{
            f"references: {count:,}": {"users": [user(f"u{at}") for at in range(count)]}
            for count in (1, 100, 1_000)
        },
        **{
            f"a text of {size:,} bytes of UTF-8": {"t": "é" * (size // 2)}
            for size in (10_000, 60_000, 1_000_000)
        },
    }


def _each(snapshot: Any, paths: list[str]) -> list[Any]:
    return [snapshot.get(path) for path in paths]


def _absent(snapshot: Any, paths: list[str]) -> None:
    for _ in range(10):
        with contextlib.suppress(KeyError):
            snapshot.get("absent")


_READS: dict[str, Callable[[Any, list[str]], Any]] = {
    "to_dict()": lambda snapshot, paths: snapshot.to_dict(),
    "to_dict() 3 times": lambda snapshot, paths: [snapshot.to_dict() for _ in range(3)],
    "each get()": _each,
    "each get() 3 times": lambda snapshot, paths: [_each(snapshot, paths) for _ in range(3)],
    "absent": _absent,
}


@contextlib.contextmanager
def _receiving(
    fields: dict[str, Any], read: Callable[[Any, list[str]], Any]
) -> Iterator[Comparison]:
    raws, paths = [firestore.response_of(fields, 0)], list(fields)

    def read_all(snapshots: list[Any]) -> list[Any]:
        return [read(snapshot, paths) for snapshot in snapshots]

    check = functools.partial(verify.check_same, where="document")
    yield firestore.receiving(raws, read_all, check)
