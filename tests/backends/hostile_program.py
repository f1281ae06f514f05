"""Calls everything that a class of the native backend has with arguments that it is not made for.

Run as ``python -m tests.backends.hostile_program``. Every exception is fine; it prints the number
of calls.
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import gc
import importlib
import itertools
import json
import operator
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore_v1.types import datastore as datastore_pb2

from lazyentity._backend import stock_from_raw
from lazyentity.codec.undecoded import UNDECODED
from tests.backends.backends import NATIVE
from tests.support.strategies.samples import PLAIN, RICH

MODULES = (
    "lazyentity.native.encoder",
    "lazyentity.native.entities",
    "lazyentity.native.entityproto",
)
CLASSES = (
    "lazyentity.native.entities.EntityBytes",
    "lazyentity.native.entities.EntityCounter",
    "lazyentity.native.entities.EntityCounts",
    "lazyentity.native.entities.EntityReader",
    "lazyentity.native.entities.LazyMapping",
    "lazyentity.native.entities.EntityExtras",
    "lazyentity.native.entities.ReadRpc",
    "lazyentity.native.entities.WireDict",
    "lazyentity.native.entities.ResponseCounter",
    "lazyentity.native.entities.ResultBytes",
    "lazyentity.native.entities.ViewAs",
    "lazyentity.native.entities.UnboxedEntity",
    "lazyentity.native.entities.Shape",
    "lazyentity.native.entities._Splitter",
    "lazyentity.native.entityproto.PropertyIndex",
)


def class_of(name: str) -> Any:
    """Return the class of a qualified name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _lookup() -> bytes:
    response = datastore_pb2.LookupResponse.pb()()
    for raw in (PLAIN, RICH):
        response.found.add().entity.MergeFromString(raw)
    return bytes(response.SerializeToString())


def _instances(kind: Any) -> Iterator[Any]:
    """Complete instances, half-made ones, and those of subclasses."""
    with contextlib.suppress(TypeError):
        yield kind.__new__(kind)
    with contextlib.suppress(TypeError):
        yield kind()
    with contextlib.suppress(TypeError):
        yield copy.copy(kind.__new__(kind))
    for body in ({}, {"__slots__": ()}, {"__new__": lambda cls, *_: kind.__new__(cls)}):
        # Not every class can be subclassed.
        with contextlib.suppress(TypeError):
            subclass: Any = type("Subclass", (kind,), body)
            yield subclass.__new__(subclass)
            yield subclass()
    name = kind.__name__
    entity = NATIVE.from_bytes(RICH)
    index = importlib.import_module("lazyentity.native.entityproto").PropertyIndex
    results = importlib.import_module("lazyentity.native.entities")
    reader = results.EntityReader(NATIVE, stock_from_raw)
    rpc = results.ReadRpc()
    rpc.reader = reader
    found = results.split_lookup(_lookup(), rpc, results.ResultBytes)[1][0]
    whole = {
        "PropertyIndex": index.of(b"z\x08\x1a\x04text\x20\x00"),
        "LazyMapping": entity,
        "Shape": entity._shape,
        "EntityReader": reader,
        "ReadRpc": rpc,
        "ResultBytes": found,
        "EntityBytes": found.entity,
        "ViewAs": results.ViewAs(results.EntityBytes),
    }
    if name in whole:
        yield whole[name]


def _arguments(kind: Any) -> list[Any]:
    class Hostile:
        """Answers every protocol that C code may use with an object of the wrong type."""

        def __getattr__(self, name: str) -> Any:
            return None

        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError

        def __hash__(self) -> int:
            return hash("text")

    return [
        None,
        (),
        (1, 2, 3),
        {},
        [],
        b"",
        PLAIN,
        b"\xff" * 9,
        "text",
        "absent",
        -1,
        1 << 70,
        True,
        Entity,
        dict,
        kind,
        NATIVE.from_bytes(PLAIN),
        Hostile(),
        [Hostile()],
        ["text", "absent"],
        {"text": UNDECODED},
        UNDECODED,
        frozenset(["key"]),
    ]


# These end the process, or the interpreter's own things, as documented.
_LEFT_OUT = {"__class__", "__init_subclass__", "__subclasshook__", "__dir__", "__doc__"}


def _calls(instance: Any, kind: Any) -> Iterator[Callable[[], object]]:
    arguments = _arguments(kind)
    for name in sorted(set(dir(kind)) - _LEFT_OUT):
        yield partial(getattr, instance, name)
        for argument in arguments:
            yield partial(setattr, instance, name, argument)
        given: Iterator[tuple[Any, ...]] = itertools.chain(
            [()],
            ((one,) for one in arguments),
            # Every argument with its neighbour, for the time that it takes.
            zip(arguments, arguments[1:] + arguments[:1], strict=True),
            ((one, one, one) for one in arguments),
        )
        for positional in given:
            yield partial(_call, instance, name, positional)
            # Also without an instance: then the first argument, of any type, takes its place.
            yield partial(_call, kind, name, positional)
        yield partial(delattr, instance, name)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield partial(_pickled, instance, protocol)
    yield partial(copy.deepcopy, instance)
    yield partial(repr, instance)
    yield partial(dict, instance)
    yield partial(operator.eq, instance, instance)


def _call(owner: Any, name: str, arguments: tuple[Any, ...]) -> object:
    return getattr(owner, name)(*arguments)


def _pickled(instance: Any, protocol: int) -> object:
    return pickle.loads(pickle.dumps(instance, protocol))


def main(name: str) -> int:
    kind = class_of(name)
    made = 0
    for count, _ in enumerate(_instances(kind)):
        # A new one for each call, too: the calls before may have left little of it.
        shared = next(itertools.islice(_instances(kind), count, None))
        for call in _calls(shared, kind):
            with contextlib.suppress(Exception):
                call()
            made += 1
    # Damage may only show now.
    gc.collect()
    assert NATIVE.from_bytes(PLAIN)["text"] == "Grüße"
    return made


if __name__ == "__main__":
    faulthandler.enable()
    print(json.dumps(sum(map(main, CLASSES))))  # noqa: T201  # the result
