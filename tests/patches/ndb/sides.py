"""Stock ndb and the patch side by side, on one server and the same entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import pytest

import lazyentity
from lazyentity.patches.clients import ClientName
from tests.patches.ndb.caches import counted_calls
from tests.patches.ndb.model_snapshots import attempt, snapshot, storages
from tests.patches.ndb.stored import store

Scenario = Callable[[], Any]


class Scenarios:
    """Scenarios, each with its options of :meth:`Sides.check`, of which one test is made."""

    def __init__(self) -> None:
        self._cases: list[Any] = []

    def __call__(self, **options: Any) -> Callable[[Scenario], Scenario]:
        """Return a decorator that adds a function by its name."""

        def decorate(scenario: Scenario) -> Scenario:
            self._cases.append(pytest.param(scenario, options, id=scenario.__name__))
            return scenario

        return decorate

    def test(self) -> Callable[..., None]:
        """Return the test of all scenarios, on each server."""

        def test(sides: Sides, scenario: Scenario, options: dict[str, Any]) -> None:
            sides.check(scenario, **options)

        marked: Callable[..., None] = pytest.mark.parametrize(("scenario", "options"), self._cases)(
            test
        )
        return marked


@dataclass(frozen=True)
class Stored:
    """A client of a server, and a namespace in it.

    Attributes:
        client: an ndb client.
        namespace: it has the models of :func:`tests.patches.ndb.stored.store`, which all tests
            read.
        is_complete: whether the server has every tested feature. For another server, only the
            equality of both sides is checked.
    """

    client: Any
    namespace: str
    is_complete: bool


class Sides:
    """Runs scenarios with stock ndb, lazily, lazily but within eager(), and in eager mode.

    Args:
        stored: the stored models.
        own: a namespace for this test alone.
        names: the clients to patch.
    """

    def __init__(self, stored: Stored, own: str, names: tuple[ClientName, ...]) -> None:
        self.client = stored.client
        self.own = own
        self._stored = stored
        self._names = names

    @contextmanager
    def lazily(self, *, eager: bool = False) -> Iterator[None]:
        """Patch inside the context."""
        lazyentity.patch(*self._names, strict=True, eager=eager)
        try:
            yield
        finally:
            lazyentity.unpatch()

    def context(self, **options: Any) -> Any:
        """Return a context for reads of the stored models."""
        return self.client.context(**{"namespace": self._stored.namespace, **options})

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
    ) -> None:
        """Check that ``scenario`` gives the same with stock ndb and lazily.

        Args:
            scenario: called inside a new context. All that it returns is compared.
            lazy: whether the models that it returns are lazy; None if it makes some by itself.
            writes: whether the stored models have to be restored for another run.
            works: whether a complete server lets the scenario succeed.
            options: of the contexts.
        """
        context = self.own_context if writes else self.context
        storages_seen: list[set[str]] = []

        def result() -> Any:
            returned = scenario()
            storages_seen.append(storages(returned))
            return returned

        def run(activation: AbstractContextManager[Any], mode: AbstractContextManager[Any]) -> Any:
            if writes:
                self.store()
            with activation, mode, context(**options):
                return attempt(result)

        stock = run(nullcontext(), nullcontext())
        if self._stored.is_complete:
            assert isinstance(stock, type) is not works, stock
        assert run(self.lazily(), nullcontext()) == stock
        assert run(self.lazily(), lazyentity.eager()) == stock
        assert run(self.lazily(eager=True), nullcontext()) == stock
        if lazy is not None and storages_seen:
            of_stock, of_lazy, *of_eager = storages_seen
            assert of_stock <= {"dict"}
            assert of_eager == [of_stock, of_stock]
            assert of_lazy == ({"LazyValues" if lazy else "dict"} if of_stock else set())


def read_counted(sides: Sides, cache: Any, read: Any, **options: Any) -> tuple[Any, list[str]]:
    """Read in a new context; return the snapshot of the result, and the calls made."""
    with counted_calls() as calls, sides.context(global_cache=cache, **options):
        return snapshot(read()), calls
