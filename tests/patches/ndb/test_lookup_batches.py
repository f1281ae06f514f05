"""Batches of keys: the request is that of stock ndb, and the futures end in its order."""

from __future__ import annotations

import functools
import gc
import logging
from typing import Any
from unittest import mock

import pytest
import wrapt
from google.cloud import ndb
from google.cloud.datastore.key import Key
from google.cloud.ndb import _datastore_api, utils
from google.cloud.ndb.context import get_context

from tests.patches.ndb.caches import counted_calls
from tests.patches.ndb.model_snapshots import attempt, describe
from tests.patches.ndb.sides import Scenarios, Sides
from tests.patches.ndb.stored import Item, item_keys

SCENARIOS = Scenarios()


@pytest.mark.parametrize(
    "options",
    [{}, {"read_consistency": ndb.EVENTUAL}, {"retries": 0, "timeout": 30.0}],
    ids=["none", "eventual", "retries and timeout"],
)
def test_requests(loopback_sides: Sides, options: dict[str, Any]) -> None:
    """The call has stock's request, metadata and options; keys are sent once, in their order."""

    def scenario() -> Any:
        calls = []

        def call(name: str, request: Any, **given: Any) -> Any:
            calls.append((name, type(request).serialize(request), given))
            return made(name, request, **given)

        made = _datastore_api.make_call
        with mock.patch.object(_datastore_api, "make_call", call):
            found = ndb.get_multi(
                [*item_keys(3, 1, 99, 1), ndb.Key("Parent", "é", "Item", 1)], **options
            )
            inside = ndb.transaction(lambda: ndb.get_multi(item_keys(2, 1)))
        # The identifier of the transaction differs.
        transaction = [name for name, _, _ in calls[1:]]
        return calls[0], transaction, [*found, *inside]

    loopback_sides.check(scenario)


@SCENARIOS()
def replaced_functions_of_ndb() -> Any:
    """They are called: that which makes the request, and that which adds a key to a batch."""
    seen: list[Any] = []

    def lookup(keys: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append([key.path[0].id for key in keys])
        return original_lookup(keys, *args, **kwargs)

    def add(batch: Any, key: Any) -> Any:
        seen.append(key.id)
        return original_add(batch, key)

    original_lookup, original_add = (
        _datastore_api._datastore_lookup,
        _datastore_api._LookupBatch.add,
    )
    with mock.patch.object(_datastore_api, "_datastore_lookup", lookup):
        found = ndb.get_multi(item_keys(2, 1))
    assert seen == [[2, 1]]
    with mock.patch.object(_datastore_api._LookupBatch, "add", add):
        return found, ndb.get_multi(item_keys(3, 4)), seen


def _hooked(hook: Any) -> Any:
    """Have a function called after each get of an item."""
    return mock.patch.object(Item, "_post_get_hook", classmethod(hook))


@SCENARIOS()
def hook_that_waits_for_another_future() -> Any:
    """A hook, called while the models of a batch are made, gets the others."""
    order: list[Any] = []
    futures: list[Any] = []

    def hook(_cls: Any, key: Any, _future: Any) -> None:
        order.append(("begins", key.id()))
        if key.id() == 1:
            futures[2].result()
        order.append(("ends", key.id()))

    with _hooked(hook):
        futures += ndb.get_multi_async(item_keys(1, 2, 3))
        found = [future.result() for future in futures]
    assert order
    return found, order


def _hook_that_raises(error: type[BaseException], failing: int) -> Any:
    """The error ends the wait of whoever waits when the hook runs; the other futures still end."""

    def hook(_cls: Any, key: Any, _future: Any) -> None:
        if key.id() == failing:
            raise error

    with _hooked(hook):
        futures = ndb.get_multi_async(item_keys(1, 2, 3))
        found = [futures[0].result()] if failing > 1 else []
        with pytest.raises(error):
            futures[failing - 1].result()
        if error is KeyboardInterrupt:
            found += [future.result() for future in futures]
    return found


SCENARIOS.add("hook that ends the loop", lambda: _hook_that_raises(KeyboardInterrupt, 1))
SCENARIOS.add("hook that fails", lambda: _hook_that_raises(ZeroDivisionError, 2))


@SCENARIOS()
def events_between() -> Any:
    """Events of the loop come between the models of two batches as with stock ndb."""
    order: list[Any] = []

    @ndb.tasklet
    def get(number: int) -> Any:
        found = yield ndb.get_multi_async(item_keys(number, 3))
        order.append(number)
        found += yield ndb.get_multi_async(item_keys(number, 3), use_cache=False)
        order.append(number)
        return found

    futures = [get(1), *ndb.get_multi_async(item_keys(2, 99)), get(2)]
    return [future.result() for future in futures], order


@SCENARIOS()
def futures_end_one_by_one() -> Any:
    """The futures of a batch are not done before the application could do something."""
    futures = ndb.get_multi_async(item_keys(1, 2, 3))
    first = futures[0].result()
    done = [future.done() for future in futures]
    waiting = ndb.get_multi_async(item_keys(3, 1, 2), use_cache=False)
    return first, done, ndb.tasklets.wait_any(waiting[::-1]).result(), waiting[2].done()


@SCENARIOS(lazy=None)
def hooks_of_all_models() -> Any:
    """A hook that an application sets on ``Model`` itself is called for every get."""
    called: list[Any] = []

    def hook(_cls: Any, key: Any, future: Any) -> None:
        called.append((key.id(), future.done()))

    hooks = [
        classmethod(hook),
        staticmethod(functools.partial(hook, None)),
        # Passes for the method that it wraps.
        wrapt.FunctionWrapper(
            vars(ndb.Model)["_post_get_hook"], lambda _wrapped, _, args, _options: hook(None, *args)
        ),
    ]
    for ordinal, made in enumerate(hooks, 1):
        with mock.patch.object(ndb.Model, "_post_get_hook", made):
            ndb.get_multi(item_keys(1, 2))
        assert len(called) == 2 * ordinal
    return called


@SCENARIOS(lazy=None)
def encoders_of_keys() -> Any:
    """A replacement of the client's ``Key.to_protobuf`` encodes the keys."""
    original: Any = Key.to_protobuf

    def other(key: Key) -> Any:
        message = original(key)
        message._pb.path[0].id = 3
        return message

    wrapped = wrapt.FunctionWrapper(original, lambda _wrapped, key, _args, _options: other(key))
    for encoder in (other, wrapped):
        with mock.patch.object(Key, "to_protobuf", encoder):
            (found,) = ndb.get_multi(item_keys(1), use_cache=False)
            assert found.number == 3


def test_debugging(loopback_sides: Sides, caplog: pytest.LogCaptureFixture) -> None:
    """The logs of ndb are the same with debugging on."""
    caplog.set_level(logging.DEBUG, _datastore_api.log.name)

    def scenario() -> Any:
        caplog.clear()
        ndb.get_multi(item_keys(1, 2))
        # The number of the context comes first.
        texts = [record.message.partition(": ")[2] for record in caplog.records]
        return [text.partition(" ")[0] for text in texts]

    with mock.patch.object(utils, "DEBUG", new=True):
        assert "found" in str(loopback_sides.check(scenario, lazy=None))


@SCENARIOS(lazy=None)
def more_keys_than_a_call_takes() -> Any:
    """They are divided as by stock ndb."""
    with counted_calls() as calls:
        found = ndb.get_multi(item_keys(*range(1, 2003)))
    assert calls == ["lookup"] * 3
    return [entity is not None for entity in found]


def _contexts_in_contexts(*, asked_inside: bool) -> Any:
    """The model goes to the cache of the requesting context."""
    outer = get_context()
    inner = outer.new()
    asking, waiting = (inner, outer) if asked_inside else (outer, inner)
    with asking.use():
        futures = ndb.get_multi_async(item_keys(1, 2, 99))
    with waiting.use():
        found = [future.result() for future in futures]
    caches = [sorted(key.id() for key in context.cache) for context in (outer, inner)]
    return found, caches, get_context() is outer


SCENARIOS.add("asked inside", lambda: _contexts_in_contexts(asked_inside=True))
SCENARIOS.add("asked outside", lambda: _contexts_in_contexts(asked_inside=False))


def test_futures_without_a_context(loopback_sides: Sides) -> None:
    """A future that is done has its result anywhere; waiting for one needs a context."""

    def outcomes() -> list[Any]:
        with loopback_sides.context():
            done, waiting = ndb.get_multi_async(item_keys(1, 2))
            (waiting_for_more,) = ndb.get_multi_async(item_keys(3), use_cache=False, timeout=7)
            done.check_success()
            described = describe(waiting.result())
        # The first call has brought both, the second was not made.
        found, failed = done.result(), attempt(waiting_for_more.result)
        with loopback_sides.context():
            return [described, describe(found), failed]

    expected = outcomes()
    with loopback_sides.lazily():
        assert outcomes() == expected


def test_nothing_is_left_for_the_collector(loopback_sides: Sides) -> None:
    """Models that were got are gone with the last reference to them."""
    with loopback_sides.lazy_context(cache_policy=False):
        ndb.get_multi(item_keys(1))
        gc.collect()
        gc.disable()
        try:
            found = ndb.get_multi(item_keys(1, 2, 3))
            assert type(found[0]) is Item
            del found
            left = [seen for seen in gc.get_objects() if type(seen) is Item]
        finally:
            gc.enable()
    assert left == []


test_scenarios = SCENARIOS.on_one_server()
