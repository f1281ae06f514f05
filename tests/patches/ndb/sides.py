"""Stock ndb and the patch side by side, on one server and the same entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lazyentity
from lazyentity.patches.clients import ClientName
from tests.patches.ndb.caches import counted_calls
from tests.patches.ndb.describing import attempt, describe, storages
from tests.patches.ndb.stored import store

Scenario = Callable[[], Any]


class Sides:
    """Runs scenarios three times: with stock ndb, lazily, and lazily but within eager().

    Args:
        client: an ndb client.
        stored: the namespace of the models of :func:`tests.patches.ndb.stored.store`, which all
            tests read.
        own: a namespace for this test alone.
        names: the clients to patch.
        complete: whether the server has every tested feature. For another server, only the equality
            of both sides is checked.
    """

    def __init__(
        self, client: Any, *, stored: str, own: str, names: tuple[ClientName, ...], complete: bool
    ) -> None:
        self.client = client
        self._stored = stored
        self.own = own
        self._names = names
        self._complete = complete

    @contextmanager
    def lazily(self) -> Iterator[None]:
        """Patch inside the context."""
        lazyentity.patch(*self._names, strict=True)
        try:
            yield
        finally:
            lazyentity.unpatch()

    def context(self, **options: Any) -> Any:
        """Return a context for reads of the stored models."""
        return self.client.context(**{"namespace": self._stored, **options})

    @contextmanager
    def lazy_context(self, **options: Any) -> Iterator[Any]:
        """Give a context for lazy reads of the stored models."""
        with self.lazily(), self.context(**options) as context:
            yield context

    def own_context(self, **options: Any) -> Any:
        """Return a context of the namespace that :meth:`store` stores in."""
        return self.client.context(**{"namespace": self.own, **options})

    def store(self) -> None:
        """Store the same for this test alone, and nothing else."""
        assert lazyentity.patched() == ()
        store(self.client, self.own)

    def check(
        self,
        scenario: Scenario,
        *,
        lazy: bool | None = True,
        writes: bool = False,
        works: bool = True,
        **options: Any,
    ) -> Any:
        """Check that ``scenario`` gives the same with stock ndb and lazily.

        Args:
            scenario: called inside a context of its own. All that it returns is compared.
            lazy: whether the models that it returns are lazy; None if it makes some by itself.
            writes: whether the stored models have to be restored for another run.
            works: whether a complete server lets the scenario succeed.
            options: of the contexts.

        Returns:
            The description of the scenario's result.
        """
        context = self.own_context if writes else self.context
        storages_seen: list[set[str]] = []

        def run() -> Any:
            with context(**options):
                return attempt(result)

        def result() -> Any:
            returned = scenario()
            storages_seen.append(storages(returned))
            return returned

        def prepare() -> None:
            if writes:
                self.store()

        prepare()
        stock = run()
        prepare()
        with self.lazily():
            lazily = run()
        prepare()
        with self.lazily(), lazyentity.eager():
            eagerly = run()

        if self._complete:
            assert (stock[0] != "raised") is works, stock
        assert lazily == stock
        assert eagerly == stock
        if lazy is not None and storages_seen:
            of_stock, of_lazy, of_eager = storages_seen
            assert of_stock <= {"dict"}
            assert of_eager == of_stock
            assert of_lazy == ({"LazyValues" if lazy else "dict"} if of_stock else set())
        return stock


def read_counted(sides: Sides, cache: Any, read: Any, **options: Any) -> tuple[Any, list[str]]:
    """Read in a context of its own; return the description of the result, and the calls made."""
    with counted_calls() as calls, sides.context(global_cache=cache, **options):
        return describe(read()), calls
