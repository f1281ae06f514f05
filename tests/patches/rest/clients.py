"""The clients of the REST API, called alike: one has coroutines where the other has functions."""

from __future__ import annotations

import asyncio
import enum
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lazyentity
from lazyentity.patches.clients import ClientName
from tests.support.clients import PROJECT


class RestClient:
    """A client.

    Args:
        name: that ``patch()`` takes.
    """

    def __init__(self, name: ClientName) -> None:
        self.name = name
        self.package: Any = importlib.import_module(f"{name.replace('-', '.')}.datastore")
        self.is_async = name == "gcloud-aio"
        # Before 9.0, a query returns the batch itself; before 9.2, each method sends by itself.
        self.has_query_results = hasattr(self.package, "QueryResult")
        self.has_post = hasattr(self.package.Datastore, "_post")

    @contextmanager
    def connected(self, http_port: int, kind: Any = None, **options: Any) -> Iterator[Connected]:
        """Give a connection to a server on this machine.

        Args:
            http_port: of the server.
            kind: a subclass of the client's ``Datastore``.
            options: further arguments of it.
        """
        kind = kind or self.package.Datastore
        options = {"api_root": f"http://127.0.0.1:{http_port}/v1", "project": PROJECT, **options}
        if not self.is_async:
            datastore = kind(**options)
            try:
                yield Connected(datastore, lambda value: value)
            finally:
                datastore.close()
            return
        loop = asyncio.new_event_loop()

        async def make() -> Any:
            return kind(**options)

        datastore = loop.run_until_complete(make())
        try:
            # By a coroutine of the application's, which a profile takes for the caller.
            yield Connected(datastore, lambda value: loop.run_until_complete(_awaited(value)))
        finally:
            loop.run_until_complete(datastore.close())
            # The transports of closed connections are closed in the next turns of the loop.
            loop.run_until_complete(asyncio.sleep(0.05))
            loop.close()

    def batch_of(self, result: Any) -> Any:
        """Return the batch in the result of a query."""
        return result.result_batch if self.has_query_results else result

    def query_result(self, data: Any) -> Any:
        """Return the result that the client makes of the JSON of a response to a query."""
        if self.has_query_results:
            return self.package.QueryResult.from_repr(data)
        return self.package.QueryResultBatch.from_repr(data["batch"])

    def key(self, kind: str, which: Any) -> Any:
        """Return a key of the tests' project."""
        option = "id_" if isinstance(which, int) else "name"
        return self.package.Key(PROJECT, [self.package.PathElement(kind, **{option: which})])


def subclass(base: Any, **attributes: Any) -> Any:
    """Return a subclass of a class of the client."""
    return type(base)(f"My{base.__name__}", (base,), attributes)


async def _awaited(value: Any) -> Any:
    return await value


class Connected:
    """A ``Datastore`` whose methods can be called without awaiting."""

    def __init__(self, datastore: Any, complete: Any) -> None:
        self.datastore = datastore
        self.complete = complete

    def __call__(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method and return its result."""
        return self.complete(getattr(self.datastore, method)(*args, **kwargs))


def form(value: Any) -> Any:
    """Return a result in a form that is equal only to that of an indistinguishable one.

    A dict that is lazy gives the form of a plain one: that is the one difference allowed.
    """
    if isinstance(value, enum.Enum):
        return value
    if isinstance(value, dict):
        return dict, [(name, form(item)) for name, item in value.items()]
    if type(value) in (list, tuple):
        return type(value), [form(item) for item in value]
    if type(value).__module__.startswith(("gcloud.", "tests.")):
        return type(value), form(vars(value))
    return type(value), repr(value)


def without_times(value: Any) -> Any:
    """Return the form of a result without the times when it was read."""
    if isinstance(value, list):
        return [
            without_times(item)
            for item in value
            if not (isinstance(item, tuple) and item[0] in ("read_time", "readTime"))
        ]
    return tuple(map(without_times, value)) if isinstance(value, tuple) else value


class ClientCases:
    """Tests; a subclass names the client."""

    client: RestClient

    def alike(self, act: Callable[[], Any]) -> Any:
        """Check that a function gives the same stock and then lazily; return its result."""
        stock = act()
        lazyentity.patch(self.client.name)
        assert act() == stock
        return stock
