"""Batches of keys: the request is that of stock ndb, and the futures end in its order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from google.cloud import ndb
from google.cloud.ndb import _datastore_api

from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import Item

OPTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "none": dict,
    "eventual": lambda: {"read_consistency": ndb.EVENTUAL},
    "retries and timeout": lambda: {"retries": 0, "timeout": 30.0},
}


def _keys(*numbers: int) -> list[Any]:
    return [ndb.Key("Item", number) for number in numbers]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_requests(loopback_sides: Sides, options: Callable[[], dict[str, Any]]) -> None:
    """The call has stock's request, metadata and options; keys are sent once, in their order."""

    def scenario() -> Any:
        calls = []

        def call(name: str, request: Any, **given: Any) -> Any:
            calls.append((name, type(request).serialize(request), given))
            return made(name, request, **given)

        made = _datastore_api.make_call
        with mock.patch.object(_datastore_api, "make_call", call):
            found = ndb.get_multi(
                [*_keys(3, 1, 99, 1), ndb.Key("Parent", "é", "Item", 1)], **options()
            )
            inside = ndb.transaction(lambda: ndb.get_multi(_keys(2, 1)))
        # The identifier of the transaction differs.
        transaction = [name for name, _, _ in calls[1:]]
        return calls[0], transaction, [*found, *inside]

    loopback_sides.check(scenario)


def test_a_function_in_place_of_the_request(loopback_sides: Sides) -> None:
    """A replacement of ndb's function that makes the request is called, with all keys."""

    def scenario() -> Any:
        seen = []

        def lookup(keys: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append([key.path[0].id for key in keys])
            return original(keys, *args, **kwargs)

        original = _datastore_api._datastore_lookup
        with mock.patch.object(_datastore_api, "_datastore_lookup", lookup):
            return ndb.get_multi(_keys(2, 1)), seen

    assert "2" in str(loopback_sides.check(scenario)[1])


def test_a_replacement_of_the_method_of_a_batch(loopback_sides: Sides) -> None:
    """A replacement of the method that adds a key to a batch is called for each key."""

    def scenario() -> Any:
        seen = []

        def add(batch: Any, key: Any) -> Any:
            seen.append(key)
            return original(batch, key)

        original = _datastore_api._LookupBatch.add
        with mock.patch.object(_datastore_api._LookupBatch, "add", add):
            return ndb.get_multi(_keys(2, 1)), [key.id for key in seen]

    loopback_sides.check(scenario)


@pytest.fixture
def hooked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Sets the hook that is called after each get."""

    def hook(function: Any) -> None:
        monkeypatch.setattr(Item, "_post_get_hook", classmethod(function))

    return hook


def test_a_hook_that_waits_for_another_future(
    loopback_sides: Sides, hooked: Callable[[Any], None]
) -> None:
    """A hook, called while the models of a batch are made, gets the others."""

    def scenario() -> Any:
        order: list[Any] = []
        futures: list[Any] = []

        def hook(_cls: Any, key: Any, _future: Any) -> None:
            order.append(("begins", key.id()))
            if key.id() == 1:
                futures[2].result()
            order.append(("ends", key.id()))

        hooked(hook)
        futures += ndb.get_multi_async(_keys(1, 2, 3))
        return [future.result() for future in futures], order

    assert "begins" in str(loopback_sides.check(scenario))


def test_a_hook_that_ends_the_loop(loopback_sides: Sides, hooked: Callable[[Any], None]) -> None:
    """After an interruption in a hook, the other futures of the batch still end."""

    def scenario() -> Any:
        def hook(_cls: Any, key: Any, _future: Any) -> None:
            if key.id() == 1:
                raise KeyboardInterrupt

        hooked(hook)
        futures = ndb.get_multi_async(_keys(1, 2, 3))
        with pytest.raises(KeyboardInterrupt):
            futures[0].result()
        return [future.result() for future in futures]

    loopback_sides.check(scenario)


def test_events_between(loopback_sides: Sides) -> None:
    """Events of the loop come between the models of two batches as with stock ndb."""

    def scenario() -> Any:
        order: list[Any] = []

        @ndb.tasklet
        def get(number: int) -> Any:
            found = yield ndb.get_multi_async(_keys(number, 3))
            order.append(number)
            found += yield ndb.get_multi_async(_keys(number, 3), use_cache=False)
            order.append(number)
            return found

        futures = [get(1), *ndb.get_multi_async(_keys(2, 99)), get(2)]
        return [future.result() for future in futures], order

    loopback_sides.check(scenario)


def test_futures_end_one_by_one(loopback_sides: Sides) -> None:
    """The futures of a batch are not done before the application could do something."""

    def scenario() -> Any:
        futures = ndb.get_multi_async(_keys(1, 2, 3))
        first = futures[0].result()
        done = [future.done() for future in futures]
        waiting = ndb.get_multi_async(_keys(3, 1, 2), use_cache=False)
        return first, done, ndb.tasklets.wait_any(waiting[::-1]).result(), waiting[2].done()

    loopback_sides.check(scenario)


def test_an_error_of_another_future(loopback_sides: Sides, hooked: Callable[[Any], None]) -> None:
    """An error of a hook is raised by whoever waits when the hook runs."""

    def hook(_cls: Any, key: Any, _future: Any) -> None:
        if key.id() == 2:
            raise ZeroDivisionError

    hooked(hook)

    def scenario() -> Any:
        futures = ndb.get_multi_async(_keys(1, 2))
        found = futures[0].result()
        with pytest.raises(ZeroDivisionError):
            futures[1].result()
        return found

    loopback_sides.check(scenario)
