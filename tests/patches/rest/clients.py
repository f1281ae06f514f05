"""The clients of the REST API, called alike: one has coroutines where the other has functions."""

from __future__ import annotations

import asyncio
import enum
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
        self._is_async = name == "gcloud-aio"

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
        if not self._is_async:
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
            yield Connected(datastore, loop.run_until_complete)
        finally:
            loop.run_until_complete(datastore.close())
            # The transports of closed connections are closed in the next turns of the loop.
            loop.run_until_complete(asyncio.sleep(0.05))
            loop.close()

    def key(self, kind: str, which: Any) -> Any:
        """Return a key of the tests' project."""
        option = "id_" if isinstance(which, int) else "name"
        return self.package.Key(PROJECT, [self.package.PathElement(kind, **{option: which})])


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
