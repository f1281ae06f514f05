"""google-cloud-ndb: the conversion of entities to models, and reads over gRPC."""

from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from google.cloud import ndb
from google.cloud.ndb import model as ndb_model

from lazyentity.bench import loopback, sides, verify
from lazyentity.bench.entities import KIND, MIXES, PROJECT, names_read, response_of
from lazyentity.bench.harness import PER_CALL, PER_ENTITY, Case, Comparison, Plan, Task
from lazyentity.patches.ndb.seams import CLIENT

ENTITIES = 20
"""In a response whose conversion is timed."""
_MIX = MIXES["mixed"]
_PATCHED = sides.patching(CLIENT.patch)
_PROPERTIES: dict[type, Callable[[], Any]] = {
    bool: ndb.BooleanProperty,
    bytes: ndb.BlobProperty,
    datetime.datetime: functools.partial(ndb.DateTimeProperty, tzinfo=datetime.timezone.utc),
    float: ndb.FloatProperty,
    int: ndb.IntegerProperty,
    str: ndb.StringProperty,
}


def cases(plan: Plan) -> Iterator[Case]:
    """The conversions of models and Expandos, then calls."""
    for (kind, make_class), count, read in itertools.product(
        _CLASSES.items(), (10, 100, 500), ("0", "4", "all")
    ):
        make = functools.partial(_converting, make_class, count, read)
        yield Case("models", kind, ENTITIES, count, f"{read} read", PER_ENTITY, make)
    for (kind, make_class), (call, fetch), count, read in itertools.product(
        _CLASSES.items(), _CALLS.items(), (10, 100), ("1", "all")
    ):
        make = functools.partial(_reading, fetch, make_class, 300, count, read)
        yield Case("calls", f"{call}, {kind}s", 300, count, f"{read} read", PER_CALL, make)


def _model_class(properties: int) -> type[Any]:
    values = _MIX.part(properties, 0)
    declared = {name: _PROPERTIES[type(value)]() for name, value in values.items()}
    # ndb looks classes up by kind, and finds the class made last.
    return type(KIND, (ndb.Model,), declared)


def _expando_class(_properties: int) -> type[Any]:
    return type(KIND, (ndb.Expando,), {})


_CLASSES = {"Model": _model_class, "Expando": _expando_class}


@contextlib.contextmanager
def _converting(
    make_class: Callable[[int], type[Any]], properties: int, read: str
) -> Iterator[Comparison]:
    response = response_of(_MIX, ENTITIES, properties)
    names = names_read(_MIX, properties, read)
    make_class(properties)

    def task(deserialize: Callable[[bytes], Any]) -> Task:
        def convert_and_read() -> list[Any]:
            # Looked up now, because the patch replaces the attribute of the module.
            make = ndb_model._entity_from_protobuf
            models = [make(result.entity) for result in deserialize(response).found]
            for instance in models:
                for name in names:
                    getattr(instance, name)
            return models

        return convert_and_read

    tasks = task(sides.STOCK.deserialize), task(sides.LAZY.deserialize)
    yield Comparison(*tasks, check_models, _PATCHED)


def check_models(stock: Sequence[Any], lazy: Sequence[Any]) -> None:
    """Compare two lists of models whole.

    Raises:
        verify.OutputMismatch: they differ.
    """
    for side in (stock, lazy):
        if {type(instance) for instance in side} != {type(stock[0])}:
            raise verify.OutputMismatch("models of more than one class")
    keys, lazy_keys = ([one.key.to_legacy_urlsafe("s~") for one in of] for of in (stock, lazy))
    verify.check_same(keys, lazy_keys, "keys")
    for expected, found in zip(stock, lazy, strict=True):
        values, lazy_values = expected.to_dict(), found.to_dict()
        verify.check_same(sorted(values), sorted(lazy_values), "names")
        for name, value in values.items():
            verify.check_same(value, lazy_values[name], name)


def _fetch(kind: Any, keys: list[Any]) -> Any:
    return kind.query().fetch(len(keys))


_CALLS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "fetch": _fetch,
    "get_multi": lambda _kind, keys: ndb.get_multi(keys),
}


@contextlib.contextmanager
def _client(port: int) -> Iterator[Any]:
    """Make a client of a server, also where the environment names another."""
    with loopback.found(port):
        client = ndb.Client(project=PROJECT)
    try:
        yield client
    finally:
        client.stub.grpc_channel.close()


@contextlib.contextmanager
def _reading(
    fetch: Callable[[Any, list[Any]], Any],
    make_class: Callable[[int], type[Any]],
    entities: int,
    properties: int,
    read: str,
) -> Iterator[Comparison]:
    """Give a call; both sides make it once more for a comparison of the models whole."""
    names = names_read(_MIX, properties, read)
    with (
        loopback.serving(_MIX.entities(entities, properties)) as served,
        _client(served.server.grpc_port) as client,
    ):
        kind = make_class(properties)
        keys = [ndb.Key._from_ds_key(key) for key in served.keys]
        # Without the caches: the models come over the wire.
        context = functools.partial(client.context, cache_policy=False, global_cache=None)

        def task() -> list[list[Any]]:
            with context():
                return [[getattr(one, name) for name in names] for one in fetch(kind, keys)]

        def check(stock: list[Any], lazy: list[Any]) -> None:
            verify.check_same(entities, len(stock), "entities")
            verify.check_same(stock, lazy, ", ".join(names))
            with context():
                stock = list(fetch(kind, keys))
            with _PATCHED(), context():
                check_models(stock, list(fetch(kind, keys)))

        yield Comparison(task, task, check, _PATCHED)
