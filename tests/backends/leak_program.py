"""Make, read and drop entities on every path, and report leaks; see ``test_leaks``.

Run as ``python -m tests.backends.leak_program COUNT``. It prints a JSON object with the growth of
each path in a round of COUNT entities; counts that did not grow are left out:

``blocks``
    allocated blocks of Python's allocator, which every small object and array is one of.
``memory``
    bytes of memory that are no file's, where larger ones show. Pages of files come and go as other
    processes need memory.

Each use has new bytes, of which a lost reference keeps a block. A path has further rounds while one
of these grew by more than measuring explains, and at most four.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

import lazyentity
from lazyentity.encoding import _encodable_of
from tests.backends.backends import NATIVE, REFUSALS
from tests.backends.columns import columns_of, row
from tests.backends.indexes import NATIVE as PROPERTY_INDEX, SAMPLE, described as everything_about
from tests.backends.malformed import MALFORMED, entity_of
from tests.backends.responses import SPLITTERS, converted, native_results
from tests.fuzz.seeds import RESPONSES
from tests.support.memory import pages
from tests.support.stock import EntityMessage, stock_entity
from tests.support.strategies import wire
from tests.support.strategies.samples import PLAIN, RICH, serialise
from tests.support.strategies.schema import ARRAY, ENTITY, ENTRY, TIMESTAMP, VALUE

# The compiled class refuses the bytes itself, without the public constructor.
_mapping: Any = NATIVE

_write_entity = importlib.import_module("lazyentity.native.encoder").write_entity
_stock_from_raw = importlib.import_module("lazyentity.native.entities").stock_from_raw
_keys_module = importlib.import_module("lazyentity.native.encoder")
_key_bytes, _key_message = _keys_module.key_bytes, _keys_module.key_message
_complete_key_bytes = _keys_module.complete_key_bytes
_is_well_formed, _mutation_parts = _keys_module.is_well_formed, _keys_module.mutation_parts

Use = Callable[[bytes], object]

ROUNDS = 4
# Blocks and references that measuring itself needs and free lists keep: far fewer than entities.
SLACK = 100
# Pages that allocators keep for themselves. Each lost array of a wide entity makes a kilobyte.
MEMORY = 1 << 20

_REFUSABLE = (*REFUSALS, TypeError, KeyError)


def _made(raw: bytes) -> Any:
    return NATIVE.from_bytes(raw)


def _one_by_one(raw: bytes) -> None:
    entity = _made(raw)
    for name in entity:
        _ = entity[name]


def _everything(raw: bytes) -> None:
    """Read everything at all depths, past all errors."""
    _walk(_made(raw))


def _walk(value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _walk(item)
    elif isinstance(value, Entity):
        for attribute in ("key", "exclude_from_indexes", "_meanings"):
            _refusable(getattr, value, attribute)
        _refusable(value.items)
        for name in value:
            _refusable(lambda name: _walk(value[name]), name)


def _refusable(read: Callable[..., object], *arguments: object) -> None:
    with contextlib.suppress(*_REFUSABLE):
        read(*arguments)


def _changes(raw: bytes) -> None:
    entity = _made(raw)
    entity["new"] = entity.pop("text")
    entity.setdefault("text", 1)
    entity.popitem()
    entity.get("missing")
    _refusable(entity.__getitem__, "missing")
    _refusable(entity.pop, "missing")
    _ = entity | {"x": 1}, {} | entity, entity == {}, entity.copy(), repr(entity)
    del entity["new"]
    entity.clear()


def _cycle(raw: bytes) -> None:
    entity = _made(raw)
    entity["itself"] = entity


def _half_way(raw: bytes) -> None:
    """Drop an entity whose children are kept a little longer."""
    child = _made(raw)["inner"]
    _ = child["deep"]


def _written(raw: bytes) -> None:
    entity = _made(raw)
    _ = entity["text"]
    lazyentity.raw(entity)
    lazyentity.materialize(entity)


def _whole(raw: bytes) -> None:
    """Decode everything at once, into stock entities and into plain dicts, half of it read."""
    _refusable(_stock_from_raw, raw)
    entity = _made(raw)
    _refusable(lazyentity.to_dict, entity)
    for name in list(entity)[::2]:
        _refusable(entity.get, name)
    _refusable(lazyentity.to_dict, entity, *entity, "missing")
    _refusable(lazyentity.materialize, entity)


def _encoded(raw: bytes) -> None:
    _write_entity(EntityMessage(), stock_entity(raw), _encodable_of)
    read = _made(raw)
    _ = read["text"]
    too_deep: Any = 1
    for _ in range(50):
        too_deep = [too_deep]
    for value in (2**70, "\ud800", object(), (1,), {b"odd": 1}, stock_entity(raw), read, too_deep):
        entity = Entity()
        entity.update({"good": "x" * 2000, "other": {"inner": [1.5, value]}})
        _refusable(_write_entity, EntityMessage(), entity, _encodable_of)
    for received in (raw, raw[:-1], raw + b"\x0a\x05\x12\x03\x0a\x01\xff"):
        _is_well_formed(received)
    _mutation_parts([{"upsert": raw}, {}])
    _refusable(_mutation_parts, [{"upsert": raw}, {"delete": None}])


_KEYS = [
    Key("Kind", 7, "Child", "c", project="p", namespace="n", database="d"),
    Key("Kind", project="p"),
    Key("Kind", 2**64, project="p"),
    Key("Kind", "\ud800", project="p"),
    Key("Kind", "x" * 3000, project="p"),
]


def _keys(_: bytes) -> None:
    for key in _KEYS:
        _key_message(key)
        _key_bytes(key)
        _complete_key_bytes(key, "p", "")


def _wrong_types(raw: bytes) -> None:
    for wrong in (None, "text", bytearray(raw), memoryview(raw), 7):
        _refusable(_mapping._from_raw, wrong)


def _split(raw: bytes) -> None:
    for split in SPLITTERS.values():
        _refusable(split, native_results, raw)
    _refusable(converted, native_results, raw)


def _columns(raw: bytes) -> None:
    names = (*_made(raw), "missing")
    for entity in (_made(raw), row("native", raw)):
        _refusable(columns_of, "native", [entity], names)


def _indexed(raw: bytes) -> None:
    index = PROPERTY_INDEX.from_bytes(raw)
    if index is not None:
        everything_about(index)
        for name in index.names:
            index.value(name, True)


_MIXED_FLAGS = wire.message(
    VALUE.array_value,
    wire.message(
        ARRAY.values, wire.integer(VALUE.null_value, 0), wire.integer(VALUE.exclude_from_indexes, 1)
    ),
    wire.message(ARRAY.values, wire.integer(VALUE.null_value, 0)),
)
_MEANT_ITEMS = wire.message(
    VALUE.array_value,
    wire.message(
        ARRAY.values, wire.delimited(VALUE.blob_value, b"1"), wire.integer(VALUE.meaning, 14)
    ),
    wire.message(ARRAY.values, wire.delimited(VALUE.blob_value, b"2")),
)
_LATE = wire.message(VALUE.timestamp_value, wire.integer(TIMESTAMP.seconds, 10**13))
_ODD = wire.encode(
    [
        wire.message(
            ENTITY.properties,
            wire.message(ENTRY.value, wire.integer(VALUE.integer_value, 5)),
            wire.delimited(ENTRY.key, "value before name"),
        ),
        wire.Field(99, wire.START_GROUP, b""),
    ]
)
# More than 64 values of four bytes: an array too large for the blocks of Python's allocator.
_WIDE = serialise({f"property {number}": number for number in range(300)})

PATHS: dict[str, tuple[Use, bytes]] = {
    "made": (_made, RICH),
    "one by one": (_one_by_one, RICH),
    "plain, everything": (_everything, PLAIN),
    "rich, everything": (_everything, RICH),
    "wide": (_one_by_one, _WIDE),
    "changes": (_changes, PLAIN),
    "cycle": (_cycle, PLAIN),
    "children": (_half_way, PLAIN),
    "written back": (_written, PLAIN),
    "odd encoding": (_everything, _ODD),
    "mixed flags": (_everything, entity_of("a", _MIXED_FLAGS)),
    "array with meanings": (_everything, entity_of("a", _MEANT_ITEMS)),
    "timestamp out of range": (_everything, entity_of("a", _LATE)),
    "value without a type": (_everything, entity_of("a", wire.integer(VALUE.meaning, 9))),
    "wrong types": (_wrong_types, PLAIN),
    "plain, whole": (_whole, PLAIN),
    "rich, whole": (_whole, RICH),
    "odd encoding, whole": (_whole, _ODD),
    "array with meanings, whole": (_whole, entity_of("a", _MEANT_ITEMS)),
    "value without a type, whole": (_whole, entity_of("a", wire.integer(VALUE.meaning, 9))),
    "encoded": (_encoded, PLAIN),
    "encoded, of many types": (_encoded, RICH),
    "keys": (_keys, PLAIN),
    "lookup": (_split, RESPONSES[0]),
    "query": (_split, RESPONSES[1]),
    "torn response": (_split, RESPONSES[0][:-1]),
    "columns": (_columns, RICH),
    "columns, wide": (_columns, _WIDE),
    "columns, odd encoding": (_columns, _ODD),
    "columns, timestamp out of range": (_columns, entity_of("a", _LATE)),
    "index": (_indexed, SAMPLE),
    "torn index": (_indexed, SAMPLE[:-1]),
    **{name: (lambda raw: _refusable(_everything, raw), raw) for name, raw in MALFORMED.items()},
}


def levels() -> Counter[str]:
    """Return the memory in use."""
    gc.collect()
    return Counter(blocks=sys.getallocatedblocks(), memory=pages("Anonymous", "Swap"))


def leaks(grown: Mapping[str, int]) -> dict[str, int]:
    """Return of a growth that which measuring does not explain."""
    return {
        measured: by
        for measured, by in grown.items()
        if by > (MEMORY if measured == "memory" else SLACK)
    }


def growth(use: Use, raw: bytes, count: int) -> dict[str, int]:
    """Return the least growth of the rounds of ``count`` entities.

    A leak grows in every round; caches and free lists only fill in some.
    """
    after = levels()
    least: Counter[str] | None = None
    for _ in range(ROUNDS):
        for _ in range(count):
            use(bytes(bytearray(raw)))
        before, after = after, levels()
        grown = after - before
        least = grown if least is None else least & grown
        # Further rounds could only take away from it.
        if not leaks(least):
            break
    return least or {}


def main() -> None:
    """Run all paths; in a round, they share as many entities as the command line says."""
    count = int(sys.argv[1]) // len(PATHS)
    # Each level is measured after a collection, which looks at the new objects alone.
    gc.collect()
    gc.freeze()
    print(json.dumps({name: growth(use, raw, count) for name, (use, raw) in PATHS.items()}))  # noqa: T201  # the result


if __name__ == "__main__":
    main()
