"""Reads through google-cloud-ndb, over a real gRPC channel to the loopback server."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.cloud import ndb
from google.cloud.environment_vars import GCD_HOST

from lazyentity.bench import cases, loopback, models, verify
from lazyentity.bench.end_to_end import Loaded, timed_reads
from lazyentity.bench.results import EndToEnd
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.bench.timing import Budget, Task


@dataclass(frozen=True)
class Call:
    """A read of ndb, and what makes the class of what it reads for a number of properties."""

    models: Callable[[Any, list[Any]], Any]
    make_class: Callable[[int], type[Any]]


def _fetch(kind: Any, keys: list[Any]) -> Any:
    return kind.query().fetch(len(keys))


def _get_multi(_kind: Any, keys: list[Any]) -> Any:
    return ndb.get_multi(keys)


CALLS = {
    "ndb fetch": Call(_fetch, models.model_class),
    "ndb get_multi": Call(_get_multi, models.model_class),
    "ndb fetch, Expandos": Call(_fetch, models.expando_class),
    "ndb get_multi, Expandos": Call(_get_multi, models.expando_class),
}

READS = ("0", "1", "4", "all")
"""What is read of each model, see `cases.names_read`."""


def _task(client: Any, models_read: Callable[[], Any], names: tuple[str, ...]) -> Task:
    def read() -> list[list[Any]]:
        with _context(client):
            return [[getattr(instance, name) for name in names] for instance in models_read()]

    return read


def _context(client: Any) -> Any:
    # Without the context's cache: what is measured comes over the wire.
    return client.context(cache_policy=False)


@contextlib.contextmanager
def _client(port: int) -> Iterator[Any]:
    """Make a client of a server, whatever the environment names."""
    before = os.environ.get(GCD_HOST)
    os.environ[GCD_HOST] = f"127.0.0.1:{port}"
    try:
        client = ndb.Client(project=cases.PROJECT)
    finally:
        if before is None:
            del os.environ[GCD_HOST]
        else:
            os.environ[GCD_HOST] = before
    try:
        yield client
    finally:
        client.stub.grpc_channel.close()


@contextlib.contextmanager
def loaded(call_name: str, entities: int, properties: int, read: str) -> Iterator[Loaded]:
    """Start a server, load it, and connect a client of ndb.

    The tasks take ``read`` of each entity, see `cases.names_read`. ``check`` takes what they
    returned, makes the call once more on either side and compares the models whole.

    Raises:
        KeyError: there is no such call.
    """
    call = CALLS[call_name]
    mix = cases.MIXES[models.MIX]
    names = cases.names_read(mix, properties, read)
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(LoopbackServer()).grpc_port
        stored = [mix.entity(properties, number) for number in range(entities)]
        keys = loopback.store(stack.enter_context(loopback.client(port)), stored)
        client = stack.enter_context(_client(port))
        kind = call.make_class(properties)
        models_read = functools.partial(
            call.models, kind, [ndb.Key._from_ds_key(key) for key in keys]
        )
        task = _task(client, models_read, names)

        def all_models(side: str) -> list[Any]:
            with models.CONTEXTS[side](), _context(client):
                return list(models_read())

        def check(stock_values: list[list[Any]], lazy_values: list[list[Any]]) -> None:
            verify.check_same(entities, len(stock_values), f"{call_name}: entities")
            verify.check_same(stock_values, lazy_values, f"{call_name}: {', '.join(names)}")
            models.check_models(all_models("stock"), all_models("lazy"))

        yield Loaded({"stock": task, "lazy": task}, check, models.CONTEXTS)


def measure(call_name: str, entities: int, properties: int, read: str, budget: Budget) -> EndToEnd:
    """Time one call of ndb that reads ``entities`` entities, and ``read`` of each.

    Raises:
        verify.OutputMismatch: the sides differ.
        KeyError: there is no such call.
    """
    with loaded(call_name, entities, properties, read) as call:
        return timed_reads(call, budget, call_name, entities, properties, read)
