"""The stock client and lazy reads side by side, on one server and the same entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from google.cloud import datastore

import lazyentity
from tests.support.describing import entity_types
from tests.support.snapshots import Raised, outcome, snapshot

Client = datastore.Client
Scenario = Callable[[Client], Any]


def _nothing(_client: Client) -> None:
    pass


class Sides:
    """Runs scenarios three times: with the stock client, lazily, and lazily but within eager().

    Args:
        client: a stock client.
        activation: ``"patch"`` or ``"wrap"``, how the reads are made lazy.
        complete: whether the server has all that is tested here. Of one that may not have it, only
            that both sides get the same is checked.
    """

    def __init__(self, client: Client, activation: str, *, complete: bool) -> None:
        self.client = client
        self._activation = activation
        self.complete = complete

    @contextmanager
    def lazily(self) -> Iterator[Client]:
        """Give the client whose reads are lazy inside."""
        if self._activation == "wrap":
            yield lazyentity.wrap(self.client)
            return
        lazyentity.patch(strict=True)
        try:
            yield self.client
        finally:
            lazyentity.unpatch()

    def check(self, scenario: Scenario, prepare: Scenario = _nothing, *, works: bool = True) -> Any:
        """Check that ``scenario`` gives the same with the stock client and lazily.

        Args:
            scenario: called with a client; returns entities, keys and plain values, in lists,
                tuples and dicts. Its result is compared exactly. Its error is compared by class,
                because a server's texts contain transaction numbers and the like.
            prepare: called with a stock client before each run.
            works: whether a complete server lets the scenario succeed.

        Returns:
            The result of ``scenario`` with lazy reads; its error as ``Raised``.
        """
        prepare(self.client)
        stock = outcome(lambda: scenario(self.client))
        prepare(self.client)
        with self.lazily() as client:
            lazy = outcome(lambda: scenario(client))
        prepare(self.client)
        with self.lazily() as client, lazyentity.eager():
            eager = outcome(lambda: scenario(client))

        if self.complete:
            assert isinstance(stock, Raised) is not works, stock
        assert entity_types(stock) <= {"Entity"}
        assert entity_types(eager) == entity_types(stock)
        assert entity_types(lazy) == ({"LazyEntity"} if entity_types(stock) else set())
        expected = _comparable(stock)
        assert _comparable(lazy) == expected
        assert _comparable(eager) == expected
        return lazy


def _comparable(result: Any) -> Any:
    return result.kind if isinstance(result, Raised) else snapshot(result)
