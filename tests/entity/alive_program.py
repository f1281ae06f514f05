"""Counts undecoded properties, next to a census of all objects, while entities come and go.

Prints, as JSON, a list of pairs: the count, and the number of sentinels in the dicts of the census.
It runs alone in its process: a test module's variables may hold the sentinel.
"""

from __future__ import annotations

import gc
import json
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import Any

import lazyentity
from lazyentity import LazyEntity, _alive
from tests.support.strategies.samples import RICH, serialise


def _census() -> int:
    from lazyentity.codec.undecoded import UNDECODED

    found = gc.get_objects()
    # The collector does not know entities of scalars alone; their holders lead to them.
    holders = [each for each in found if issubclass(type(each), (dict, list, GeneratorType))]
    found += gc.get_referents(*holders)
    dicts = {id(each): each for each in found if issubclass(type(each), dict)}
    lazy = [each for each in dicts.values() if hasattr(type(each), "_undecoded")]
    return sum(value is UNDECODED for each in lazy for value in dict.values(each))


def _counted() -> tuple[int, int]:
    return _alive.undecoded_count(), _census()


def _shape(number: int, properties: int = 7) -> bytes:
    return serialise({f"name {number} {index}": index for index in range(properties)})


def _entities(choices: random.Random) -> Iterator[Any]:
    yield None
    kept: list[Any] = []
    for step in range(100):
        # Some shapes come again, and so are learned; their templates are kept, and dropped at last.
        raw = choices.choice([RICH, _shape(step), _shape(step % 5), _shape(0, 300)])
        match choices.randrange(12):
            case 0 if kept:
                kept[-1].clear()
            case 1 if kept:
                kept.pop()
            case 2 if kept and kept[-1]:
                kept[-1].popitem()
            case 3 if kept:
                dict(kept[-1])
            case 4 if kept:
                kept.append(pickle.loads(pickle.dumps(kept[-1])))
            case 5 if kept and kept[-1]:
                del kept[-1][next(iter(kept[-1]))]
            case 6 if kept:
                kept += lazyentity.detach(kept[:1])
            case 7:
                # In a cycle: the collector takes it.
                entity: Any = LazyEntity.from_bytes(raw)
                entity["itself"] = entity
            case 8:
                lazyentity.materialize(LazyEntity.from_bytes(raw))
            case 9:
                with lazyentity.eager():
                    kept.append(LazyEntity.from_bytes(raw))
            case _:
                entity = LazyEntity.from_bytes(raw)
                entity.get(next(iter(entity)))
                kept.append(entity)
        yield kept
    kept.clear()
    yield kept


def _of_rest(choices: random.Random) -> Iterator[Any]:
    from gcloud.rest.datastore import Value

    from lazyentity.patches.rest.properties import JsonProperties, LazyProperties

    yield None
    kept: list[Any] = []
    for step in range(30):
        received = JsonProperties({f"name {index}": {"integerValue": "1"} for index in range(step)})
        kept.append(LazyProperties.of(received, Value))
        dict(choices.choice(kept))
        yield kept
    kept.clear()
    yield kept


def _of_ndb(choices: random.Random) -> Iterator[Any]:
    from google.cloud import ndb

    from tests.patches.ndb.pairs import lazy_model
    from tests.patches.ndb.raw_entities import entity_of

    class Fixed(ndb.Model):  # type: ignore[misc]  # ndb has no types
        first = ndb.IntegerProperty()
        second = ndb.StringProperty()

    class Free(ndb.Expando):  # type: ignore[misc]  # ndb has no types
        first = ndb.IntegerProperty()

    values = {"first": 1, "second": "x"}
    yield None
    kept: list[Any] = []
    context = ndb.Client(project="p", credentials=_credentials()).context()
    with context:
        for step in range(60):
            kind = choices.choice([Fixed, Free]).__name__
            kept.append(lazy_model(entity_of(kind, {**values, f"more {step % 3}": step})))
            if choices.random() < 0.5:
                _ = choices.choice(kept).first
            yield kept
    kept.clear()
    yield kept


def _credentials() -> Any:
    from google.auth.credentials import AnonymousCredentials

    return AnonymousCredentials()


_PROGRAMS: dict[str, Callable[[random.Random], Iterator[Any]]] = {
    "entities": _entities,
    "rest": _of_rest,
    "ndb": _of_ndb,
}


def main(name: str) -> None:
    """Run one of the programs, and count after each of its steps.

    The first step makes no entity. The objects that are there then are left out of each census but
    the last, for speed: an entity in one of them would be counted, and missing in the census. So a
    generator of before goes only through that step: the locals of the program hold entities.
    """
    next(_PROGRAMS[name](random.Random(1)))
    counted = [_counted()]
    gc.freeze()
    steps = _PROGRAMS[name](random.Random(1))
    counted += [_counted() for _ in steps]
    gc.unfreeze()
    gc.collect()
    sys.stdout.write(json.dumps([*counted, _counted()]))


if __name__ == "__main__":
    main(*sys.argv[1:])
