"""Reads through google-cloud-ndb, over a real gRPC channel to the loopback server."""

from __future__ import annotations

import contextlib
import functools
import os
import unittest.mock
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.cloud import ndb
from google.cloud.environment_vars import GCD_HOST
from google.cloud.ndb import global_cache

from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback, verify
from lazyentity.bench.harness.lines import EndToEnd
from lazyentity.bench.harness.timing import Budget, Comparison, Task
from lazyentity.bench.subjects import models
from lazyentity.bench.subjects.end_to_end import timed_reads


@dataclass(frozen=True)
class Call:
    """A read of ndb.

    Attributes:
        read: reads the models of a class, or of some keys.
        make_class: makes the class for a number of properties.
        make_entity: makes an entity, given the number of properties and its ordinal.
        is_cached: whether the models come from ndb's global cache.
        sizes: how many entities are read, and of how many properties each; empty: the usual sizes.
    """

    read: Callable[[Any, list[Any]], Any]
    make_class: Callable[[int], type[Any]]
    make_entity: Callable[[int, int], Any] = synthetic.MIXES[models.MIX].entity
    is_cached: bool = False
    sizes: tuple[tuple[int, int], ...] = ()

    def names_read(self, properties: int, read: str) -> tuple[str, ...]:
        """The attributes that ``read`` takes of a model, see `synthetic.names_read`."""
        mix = synthetic.MIXES[models.MIX]
        if self.make_class is not models.structured_class:
            return synthetic.names_read(mix, properties, read)
        structured = (models.STRUCTURED,) if read in synthetic.WHOLE else ()
        return (*synthetic.names_read(mix, properties - 1, read), *structured)


def _fetch(kind: Any, keys: list[Any]) -> Any:
    return kind.query().fetch(len(keys))


def _get_multi(_kind: Any, keys: list[Any]) -> Any:
    return ndb.get_multi(keys)


def _get_and_put_multi(_kind: Any, keys: list[Any]) -> Any:
    models_read = ndb.get_multi(keys)
    ndb.put_multi(models_read)
    return models_read


def _structured(read: Callable[[Any, list[Any]], Any]) -> Call:
    return Call(
        read, models.structured_class, models.structured_entity, sizes=(SIZE_OF_STRUCTURED,)
    )


SIZE_OF_STRUCTURED = 200, 61
"""The entities of calls with a structured property, and its properties with that one."""

CALLS = {
    "ndb fetch": Call(_fetch, models.model_class),
    "ndb get_multi": Call(_get_multi, models.model_class),
    "ndb fetch, Expandos": Call(_fetch, models.expando_class),
    "ndb get_multi, Expandos": Call(_get_multi, models.expando_class),
    "ndb fetch, structured": _structured(_fetch),
    "ndb get_multi, structured": _structured(_get_multi),
}
ABLATION_CALLS = {
    "ndb get_multi, cached": Call(_get_multi, models.model_class, is_cached=True),
    "ndb get_multi, put_multi": Call(_get_and_put_multi, models.model_class),
}
"""Calls of the ablation alone: from the global cache in this process, and written back."""

READS = ("0", "1", "4", "all")
"""The reads of each model, see `synthetic.names_read`."""


def _task(
    context: Callable[[], Any], models_read: Callable[[], Any], names: tuple[str, ...]
) -> Task:
    def read() -> list[list[Any]]:
        with context():
            return [[getattr(instance, name) for name in names] for instance in models_read()]

    return read


def _contexts(client: Any, call: Call) -> Callable[[], Any]:
    # Without the context's own cache: the models come over the wire or from the global one.
    cache = global_cache._InProcessGlobalCache() if call.is_cached else None
    return functools.partial(client.context, cache_policy=False, global_cache=cache)


@contextlib.contextmanager
def _client(port: int) -> Iterator[Any]:
    """Make a client of a server, also where the environment names another."""
    with unittest.mock.patch.dict(os.environ, {GCD_HOST: f"127.0.0.1:{port}"}):
        client = ndb.Client(project=synthetic.PROJECT)
    try:
        yield client
    finally:
        client.stub.grpc_channel.close()


@contextlib.contextmanager
def loaded(call_name: str, entities: int, properties: int, read: str) -> Iterator[Comparison]:
    """Start a server, load it, and connect a client of ndb.

    The tasks take ``read`` of each entity, see `synthetic.names_read`. The check makes the call
    once more on either side and compares the models whole.
    """
    call = {**CALLS, **ABLATION_CALLS}[call_name]
    names = call.names_read(properties, read)
    with contextlib.ExitStack() as stack:
        stored = [call.make_entity(properties, number) for number in range(entities)]
        served = stack.enter_context(loopback.serving(stored))
        client = stack.enter_context(_client(served.server.grpc_port))
        kind = call.make_class(properties)
        models_read = functools.partial(
            call.read, kind, [ndb.Key._from_ds_key(key) for key in served.keys]
        )
        context = _contexts(client, call)
        task = _task(context, models_read, names)

        def all_models(side: str) -> list[Any]:
            with models.CONTEXTS[side](), context():
                return list(models_read())

        def check(stock_values: list[list[Any]], lazy_values: list[list[Any]]) -> None:
            verify.check_same(entities, len(stock_values), f"{call_name}: entities")
            verify.check_same(stock_values, lazy_values, f"{call_name}: {', '.join(names)}")
            models.check_models(all_models("stock"), all_models("lazy"))

        yield Comparison({"stock": task, "lazy": task}, check, models.CONTEXTS)


def measure(call_name: str, entities: int, properties: int, read: str, budget: Budget) -> EndToEnd:
    """Time one call of ndb that reads ``entities`` entities, and ``read`` of each."""
    with loaded(call_name, entities, properties, read) as call:
        return timed_reads(call, budget, call_name, entities, properties, read)
