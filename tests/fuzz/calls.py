"""Hostile calls into the native modules: no call may end the process, or break CPython's rules.

The callables are functions, classes, and the attributes of these. The program prints the number of
each case before it makes the calls of it; ``--explain`` prints the calls, too.

    python -m tests.fuzz.calls --count 10000
"""

from __future__ import annotations

import copy
import faulthandler
import gc
import importlib
import pickle
import pkgutil
import random
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity import native
from lazyentity.detached import DetachedEntity
from lazyentity.entity import LazyEntity, derived_type
from lazyentity.native.documents import DocumentBytes
from lazyentity.patches.api import responses
from lazyentity.readers import LAZY, STOCK, make_strict
from tests.backends import indexes
from tests.fuzz import documents, hostile, material
from tests.fuzz.hostile import Evil
from tests.fuzz.seeds import RESPONSES
from tests.support.strategies.samples import serialise

_MEMORY = 4 << 30
_CPU_SECONDS = 20
_MOST_CALLS = 6
# More properties than the native backend finds without an index.
_MANY = serialise({f"p{number}": [number, "text"] for number in range(20)})

MODULES = [
    importlib.import_module(f"lazyentity.native.{found.name}")
    for found in pkgutil.iter_modules(native.__path__)
]
entities: Any = importlib.import_module("lazyentity.native.entities")
FUNCTIONS = [
    value
    for module in MODULES
    for value in vars(module).values()
    if type(value).__name__ in ("cython_function_or_method", "builtin_function_or_method")
]
CLASSES: list[Any] = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, type) and value.__module__ == module.__name__
]


def _subclasses(kind: type) -> Iterator[Any]:
    found: Any
    for found in type.__subclasses__(kind):
        yield found
        yield from _subclasses(found)


# The library's own subclasses, too: callers get these.
derived_type(DetachedEntity, LazyEntity)
KINDS: list[Any] = sorted(
    {*CLASSES, *(found for kind in CLASSES for found in _subclasses(kind))},
    key=lambda kind: (kind.__module__, kind.__qualname__),
)


def _attributes(kind: type) -> list[str]:
    inherited = {name for base in kind.__mro__[:-1] for name in vars(base)}
    return sorted(inherited | set(vars(object)))


ATTRIBUTES = {kind: _attributes(kind) for kind in KINDS}


def _received(chance: random.Random) -> Any:
    lookup, query = RESPONSES
    if chance.random() < 0.5:
        raw = material.changed(lookup, chance, chance.randint(0, 2))
        response: Any = responses.LookupResponse.deserialize(raw)
        return chance.choice((*response.found, *response.missing))
    raw = material.changed(query, chance, chance.randint(0, 2))
    return chance.choice(responses.RunQueryResponse.deserialize(raw).batch.entity_results)


def _half_made(chance: random.Random) -> Any:
    kind = chance.choice(KINDS)
    # A placeholder of a message makes the message when called.
    for base in kind.__mro__:
        if base in CLASSES:
            return base.__new__(kind)
    raise AssertionError(f"{kind} is none of the native classes")


def _subclassed(chance: random.Random) -> Any:
    base = chance.choice(CLASSES)
    overridden = chance.sample(ATTRIBUTES[base], 3)
    namespace = {
        name: hostile._act
        for name in overridden
        if name not in ("__new__", "__del__", "__class__", "__dict__")
    }
    kind: Any = type("Subclass", (base,), {**namespace, "entity_type": base})
    return chance.choice((kind, base.__new__(kind)))


def _reader(chance: random.Random) -> Any:
    kind = chance.choice((LazyEntity, dict, int, hostile.HostileDict, chance.choice(KINDS)))
    is_stock, prepare = chance.random() < 0.5, chance.choice((None, None, hostile.value(chance)))
    return entities.EntityReader(kind, hostile.value(chance), is_stock=is_stock, prepare=prepare)


def _rpc(chance: random.Random) -> Any:
    made = entities.ReadRpc()
    made.reader = chance.choice((None, LAZY, STOCK, _reader(chance)))
    return made


def _strict(raw: bytes) -> Any:
    entity = LazyEntity.from_bytes(raw)
    make_strict(entity)
    return entity


MAKERS: tuple[Callable[[random.Random], Any], ...] = (
    lambda chance: LazyEntity.from_bytes(chance.choice(material.entities())),
    lambda chance: LazyEntity.from_bytes(_MANY),
    lambda chance: LazyEntity.from_bytes(_MANY),
    lambda chance: LazyEntity.from_bytes(
        material.changed(chance.choice(material.entities()), chance, 3)
    ),
    lambda chance: LazyEntity.from_bytes(chance.choice(material.entities()))._shape,
    lambda chance: _strict(chance.choice(material.entities())),
    _received,
    lambda chance: _received(chance).entity,
    _half_made,
    _half_made,
    _subclassed,
    _reader,
    _rpc,
    lambda chance: indexes.NATIVE.from_bytes(
        chance.choice((indexes.SAMPLE, *indexes.ENTITY_PROTOS))
    ),
    lambda chance: DocumentBytes.from_bytes(documents.SAMPLE, documents.READ_TIME),
    lambda chance: documents.sample(),
    lambda chance: entities.ViewAs(chance.choice(CLASSES)),
    lambda chance: datastore_pb2.LookupResponse.pb()(),
    lambda chance: chance.choice(KINDS),
)

Log = Callable[[str], None]


def _shown(value: Any) -> str:
    """Return some text for a value, without a call of its methods."""
    kind = type(value)
    if kind in (int, float, bool, str, bytes, type(None)):
        return repr(value)[:100]
    return f"<{type.__dict__['__name__'].__get__(value) if kind is type else kind.__name__}>"


def _call(function: Any, chance: random.Random, log: Log, name: str, *first: Any) -> Any:
    args = [*first, *(hostile.value(chance) for _ in range(chance.choice((0, 0, 1, 1, 2, 3, 5))))]
    named = {"name": hostile.value(chance)} if chance.random() < 0.05 else {}
    log(f"{name}({', '.join(map(_shown, args))}{', name=' if named else ''})")
    return function(*args, **named)


def _change_storage(target: Any, chance: random.Random, log: Log) -> Any:
    """Call a method of dict, past the class's methods."""
    if target and chance.random() < 0.5:
        name = chance.choice(list(dict.keys(target)))
        number = chance.choice((-(10**9), -1, 1, 10**9))
        dict.__setitem__(target, name, chance.choice((number, hostile.value(chance))))
        return None
    change = chance.choice((dict.update, dict.clear, dict.__setitem__, dict.popitem))
    return _call(change, chance, log, change.__name__, target)


def _step(pool: list[Any], chance: random.Random, log: Log) -> Any:
    """Make one hostile call; operators and attributes are set by the methods of their names."""
    target = chance.choice(pool)
    kind = chance.choice(KINDS) if type(target) not in ATTRIBUTES else type(target)
    name = chance.choice(ATTRIBUTES[kind])
    match chance.randrange(10):
        case 0 | 1:
            function = chance.choice(FUNCTIONS)
            return _call(function, chance, log, function.__name__)
        case 2:
            kind = chance.choice(KINDS)
            return _call(kind, chance, log, kind.__name__)
        case 3 if getattr(kind, name) is not getattr(object, name, None):
            # The receiver has any type. A method of object is no code of the library's, and
            # object.__reduce__() of an upb message is a crash in upb.
            return _call(getattr(kind, name), chance, log, f"{kind.__name__}.{name}")
        case 4:
            protocol = chance.randint(0, pickle.HIGHEST_PROTOCOL)
            log(f"copy and pickle of {_shown(target)} by protocol {protocol}")
            copier = chance.choice((copy.copy, copy.deepcopy))
            if chance.random() < 0.5:
                return copier(target)
            return pickle.loads(pickle.dumps(target, protocol))  # made here
        case 5 if issubclass(type(target), dict):
            log(f"dict's own methods on {_shown(target)}")
            return _change_storage(target, chance, log)
    # Not attributes of classes, which all the other cases share.
    if issubclass(type(target), type) and name in ("__setattr__", "__delattr__"):
        return None
    log(f"reading {_shown(target)}.{name}")
    found = getattr(target, name)
    return _call(found, chance, log, name) if callable(found) else found


def _exercise(value: Any) -> None:
    """Use an object as callers do, in any state."""
    for use in (
        repr,
        len,
        dict,
        lambda value: [value[name] for name in list(value)],
        lambda value: value.items(),
        lazyentity.raw,
        lazyentity.materialize,
        lambda value: value._wire_meanings(),
        lambda value: value._wire_excluded(),
        lambda value: value._wire_key(),
        lambda value: value.key,
        lambda value: value.read(LAZY),
        lambda value: value.entity,
        lambda value: value.raw,
        lambda value: value == value,
    ):
        try:
            use(value)
        except SystemError:
            raise
        except Exception:  # noqa: BLE001, S110  # hostile objects raise anything
            pass


def run(seed: int, number: int, log: Log) -> None:
    """Make the calls of a case.

    Raises:
        SystemError: native code broke the rules of CPython.
    """
    chance = random.Random(f"{seed}/{number}")
    pool: list[Any] = []
    Evil.start(pool, chance)
    for _ in range(chance.randint(1, 3)):
        try:
            pool.append(chance.choice(MAKERS)(chance))
        except Exception:  # noqa: BLE001  # of changed bytes, it may not be made
            pool.append(LazyEntity())
    for _ in range(chance.randint(1, _MOST_CALLS)):
        if not pool:
            break
        try:
            made = _step(pool, chance, log)
        except SystemError:
            raise
        except Exception as error:  # noqa: BLE001  # any ordinary exception is right
            log(f"  raised {type(error).__name__}")
        else:
            pool.append(made)
            log(f"  gave {_shown(made)}")
    log("using what there is")
    for value in tuple(pool):
        _exercise(value)
    if chance.random() < 0.05:
        log("collecting garbage")
        pool.clear()
        gc.collect()


@click.command()
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--first", type=int, default=0, show_default=True, help="The first case.")
@click.option("--count", type=int, required=True, help="The number of cases.")
@click.option("--explain", is_flag=True, help="Print the calls.")
def main(seed: int, first: int, count: int, explain: bool) -> None:
    """Make the calls of some cases."""
    faulthandler.enable()
    # A case that takes too long ends the process as well, with the place where it is.
    faulthandler.register(signal.SIGVTALRM, chain=True)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    material.entities()
    found: list[Any] = []
    sys.unraisablehook = found.append
    log: Log = (lambda text: click.echo(text)) if explain else (lambda text: None)
    for number in range(first, first + count):
        click.echo(f"case {number}")
        signal.setitimer(signal.ITIMER_VIRTUAL, _CPU_SECONDS)
        run(seed, number, log)
        if found:
            error = found[0]
            raise SystemExit(f"ignored {error.exc_value!r} in {error.object!r}")


if __name__ == "__main__":
    main()
