"""``get_multi`` gives stock ndb's results, and steps aside where code of the application runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from unittest import mock

import pytest
from google.cloud import ndb
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.ndb import _batch, _datastore_api, _eventloop, tasklets
from google.cloud.ndb import context as context_module
from google.cloud.ndb.context import get_context

import lazyentity
from lazyentity.patches.api.responses import LookupResponse
from lazyentity.patches.ndb import lookups
from tests.patches.ndb.model_snapshots import attempt
from tests.patches.ndb.sides import Scenarios, Sides
from tests.patches.ndb.stored import Hooked, Item, item_keys, stored_keys
from tests.patches.ndb.test_lookups import FOUND, RESPONSES, _done, _entity, _key, _results

SCENARIOS = Scenarios()


def _keys() -> list[Any]:
    """Return keys of every class, of no entity, and one for the second time."""
    return [*stored_keys(), *item_keys(99, 2), ndb.Key("Constructed", 1), ndb.Key("Hooked", 2)]


def _cached() -> list[Any]:
    """Return the names of the keys in the cache of the context, and which of them have a model."""
    cache = get_context().cache
    return sorted((key.flat(), found is not None) for key, found in cache.items())


@contextmanager
def _single_gets() -> Iterator[list[Any]]:
    """Give a list of the keys that are got one by one, as ``get_multi`` does to step aside."""
    keys: list[Any] = []
    original = lookups.Get.__init__

    def made(get: Any, key: Any, options: Any) -> None:
        keys.append(key)
        original(get, key, options)

    with mock.patch.object(lookups.Get, "__init__", made):
        yield keys


@SCENARIOS(lazy=None)
def keys_of_every_class() -> Any:
    """In whatever they are given, with a cached model, a cached deletion and a changed key."""
    keys = _keys()
    Hooked.got.clear()
    found = [ndb.get_multi(keys), ndb.get_multi(tuple(keys)), ndb.get_multi(iter(keys))]
    get_context().cache[keys[0]] = None
    found[0][1]._key = ndb.Key("Item", 77)
    found += [ndb.get_multi(keys=keys), ndb.get_multi([]), ndb.get_multi(keys, use_cache=False)]
    return found, _cached(), [*Hooked.got], Hooked.asked[-3:]


@SCENARIOS(lazy=None, cache_policy=False)
def keys_of_every_class_without_a_cache() -> Any:
    """All models of a call are made of the same response."""
    keys = _keys()
    return [ndb.get_multi([key]) for key in keys], ndb.get_multi(keys), _cached()


@SCENARIOS()
def wrong_arguments() -> Any:
    """They fail as before anything is asked for."""
    arguments: list[list[Any]] = [
        [],
        [None],
        [[None]],
        [item_keys(1), 2],
        [[ndb.Key("Item", None)]],
    ]
    options: list[dict[str, Any]] = [
        {"unknown": 1},
        {"use_datastore": False},
        {"read_consistency": ndb.EVENTUAL, "transaction": b"t"},
        {"timeout": 1, "deadline": 2},
    ]
    outcomes = [attempt(functools.partial(ndb.get_multi, *each)) for each in arguments]
    outcomes += [attempt(functools.partial(ndb.get_multi, item_keys(1), **o)) for o in options]
    return outcomes, _cached()


def _asked(name: str, wanted: Callable[[Any], bool]) -> Any:
    """Ask a policy that an application sets, in the order of the keys."""
    asked: list[str] = []

    def policy(key: Any) -> bool:
        asked.append(str(key))
        return wanted(key)

    getattr(get_context(), f"set_{name}")(policy)
    found = [attempt(lambda: ndb.get_multi(item_keys(1, 2, 3, 1))), ndb.get_multi(item_keys(1))]
    found.append(Item.query().order(Item.number).fetch())
    return found, asked, _cached()


SCENARIOS.add("cache", lambda: _asked("cache_policy", lambda key: key.id() != 2), lazy=None)
SCENARIOS.add("datastore", lambda: _asked("datastore_policy", lambda key: key.id != 2), lazy=None)


@SCENARIOS(lazy=None)
def policies_of_other_attributes() -> Any:
    """Each of ndb's default policies asks the class for another attribute."""
    get_context().set_cache_policy(get_context().get_global_cache_policy())
    Item._use_global_cache = staticmethod(lambda key: key.id() != 2)
    try:
        return ndb.get_multi(item_keys(1, 2, 3)), Item.query().fetch(), _cached()
    finally:
        del Item._use_global_cache


@SCENARIOS(lazy=None)
def objects_in_the_cache_that_are_no_models() -> Any:
    """The rest is asked for, before the error is raised."""
    get_context().cache[item_keys(2)[0]] = "no model"
    failed = attempt(lambda: ndb.get_multi(item_keys(1, 2, 3)))
    return failed, _cached(), ndb.get_multi(item_keys(1, 3))


@SCENARIOS(lazy=None)
def a_key_with_a_get_of_its_own() -> Any:
    (key,) = item_keys(1)
    with mock.patch.object(key, "get_async", wraps=key.get_async) as get_async:
        return ndb.get_multi([key, *item_keys(2)]), get_async.call_count


class Choosy(ndb.Model):
    """Defines a cache policy."""

    number = ndb.IntegerProperty()
    asked: ClassVar[list[Any]] = []

    @staticmethod
    def _use_cache(key: Any) -> bool:
        Choosy.asked.append(key.id())
        return key.id() != 1  # type: ignore[no-any-return]  # ndb has no types


@pytest.mark.parametrize("policy", [None, True, False, "function"])
def test_policies_of_a_class(loopback_sides: Sides, policy: Any) -> None:
    """Its flags and its functions decide as with stock ndb, for gets and for queries."""

    def scenario() -> Any:
        Choosy.asked.clear()
        ndb.put_multi([Choosy(id=number, number=number) for number in (1, 2)])
        get_context().clear_cache()
        own = Choosy._use_cache if policy == "function" else policy
        with mock.patch.object(Choosy, "_use_cache", own):
            found = ndb.get_multi([ndb.Key(Choosy, number) for number in (1, 2, 3)])
            found += Choosy.query().order(Choosy.number).fetch()
            return found, _cached(), Choosy.asked

    loopback_sides.check(scenario, writes=True)


class Later(ndb.Model):
    """Takes the place of the class of watched models."""

    number = ndb.IntegerProperty()

    @classmethod
    def _get_kind(cls) -> str:
        return "Watched"


class Watched(ndb.Model):
    number = ndb.IntegerProperty()


class Changing(ndb.Model):
    """Its constructor changes what it finds, for the models to come."""

    number = ndb.IntegerProperty()
    seen: ClassVar[list[Any]] = []

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if not values:
            Changing.seen.append(_cached())
            ndb.Model._kind_map["Watched"] = Later
            get_context().cache[ndb.Key("Watched", 3)] = None


def _with_changing_classes(read: Callable[[list[Any]], Any]) -> Any:
    order = [Watched, Changing, Watched, Later, Changing, Watched]
    keys = ndb.put_multi([kind(id=number, number=number) for number, kind in enumerate(order, 1)])
    get_context().clear_cache()
    Changing.seen.clear()
    with mock.patch.dict(ndb.Model._kind_map, Watched=Watched):
        found = read(keys)
    return found, [*Changing.seen], _cached()


@pytest.mark.parametrize("use_cache", [False, True])
@pytest.mark.parametrize("in_one_response", [False, True])
def test_a_constructor_that_changes_classes(
    loopback_sides: Sides, in_one_response: bool, use_cache: bool
) -> None:
    """Models that are made after it are those that stock ndb makes then, in its order."""

    def read(keys: list[Any]) -> Any:
        if in_one_response:
            found = ndb.get_multi(keys, use_cache=use_cache)
            ndb.Model._kind_map["Watched"] = Watched
            get_context().clear_cache()
            return found, ndb.Query().fetch(use_cache=use_cache)
        return [ndb.get_multi([key], use_cache=use_cache) for key in keys]

    loopback_sides.check(lambda: _with_changing_classes(read), lazy=None, writes=True)


@SCENARIOS(lazy=None)
def others_wait_for_the_same_batch() -> Any:
    """They go on between the models, as with stock ndb."""
    seen: list[Any] = []

    @ndb.tasklet
    def get(number: int) -> Any:
        found = yield ndb.Key(Item, number).get_async()
        seen.append((number, _cached()))
        return found

    waiting = [get(2)]
    found = ndb.get_multi(item_keys(1, 2, 3))
    get_context().clear_cache()
    # This one comes when the keys are in the batch already.
    get_context().eventloop.call_soon(lambda: waiting.append(get(2)))
    found += ndb.get_multi(item_keys(1, 2, 3, 4))
    return found, [future.result() for future in waiting], seen


@SCENARIOS(lazy=None)
def in_tasklets() -> Any:
    """Calls within calls, and in the context of a transaction."""
    seen: list[Any] = []

    @ndb.tasklet
    def get(*numbers: int) -> Any:
        first = yield ndb.Key(Item, numbers[0]).get_async()
        found = ndb.get_multi(item_keys(*numbers))
        seen.append((numbers, _cached()))
        return first, found

    futures = [get(1, 2), get(3, 4), get(2, 5)]
    found = [future.result() for future in futures]
    return found, seen, ndb.transaction(lambda: ndb.get_multi(item_keys(7, 1))), _cached()


@SCENARIOS(lazy=None)
def ends_of_the_patch() -> Any:
    """It ends after the keys were asked for, and before the response."""
    get_context().eventloop.call_soon(lazyentity.unpatch)
    return ndb.get_multi(item_keys(1, 2, 1)), _cached()


@SCENARIOS(works=False)
def models_of_no_class() -> Any:
    """The first of them in the order of the keys fails; what came before it is cached."""
    keys = [ndb.Key("Item", 1), ndb.Key("Loose", 1), ndb.Key("Item", 2), ndb.Key("Dotted", 1)]
    kinds = {**ndb.Model._kind_map}
    del kinds["Loose"]
    with mock.patch.object(ndb.Model, "_kind_map", kinds):
        failed = attempt(lambda: ndb.get_multi(keys))
        cached = [_cached()]
        ndb.get_multi(item_keys(3))
    raise LookupError(failed, cached, _cached())


def _hook(key_or_class: Any, *args: Any) -> None:
    """A hook that does nothing."""


REPLACED = {
    "post hook": (Item, "_post_get_hook", staticmethod(_hook)),
    "pre hook": (Item, "_pre_get_hook", staticmethod(_hook)),
    **{
        f"{kind.__name__}.{name}": (kind, name, None)
        for kind, names in {
            tasklets.Future: "_finish add_done_callback check_success exception result set_result "
            "wait __init__",
            _eventloop.EventLoop: "_run_current call_soon run0 run1",
            _eventloop: "run1",
            _batch: "get_batch",
            context_module.Context: "_use_cache _use_datastore",
            ndb.Key: "get_async kind",
            _datastore_api: "lookup",
            _datastore_api._LookupBatch: "add full idle_callback lookup_callback __init__",
        }.items()
        for name in names.split()
    },
}


@pytest.mark.parametrize(("holder", "name", "replacement"), REPLACED.values(), ids=REPLACED)
def test_replaced_functions(
    loopback_sides: Sides, holder: Any, name: str, replacement: Any
) -> None:
    """A function that somebody replaces after ``patch()`` is called as by single gets."""
    original = getattr(holder, name)
    calls: list[int] = []

    @functools.wraps(original)
    def counting(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return original(*args, **kwargs)

    def single() -> Any:
        return [future.result() for future in ndb.get_multi_async(item_keys(1, 2, 1, 99))]

    def counted(read: Callable[[], Any]) -> Any:
        calls.clear()
        with loopback_sides.context(cache_policy=False):
            found = attempt(read)
        return found, len(calls)

    with loopback_sides.context():
        expected = attempt(single)
    with (
        loopback_sides.lazily(),
        mock.patch.object(holder, name, replacement or counting),
        _single_gets() as gets,
    ):
        original = getattr(holder, name) if replacement else original
        found, count = counted(lambda: ndb.get_multi(item_keys(1, 2, 1, 99)))
        assert (found, count) == counted(single)
        assert found == expected
    assert len(gets) == 8 or name == "get_async"
    assert replacement or count


def test_a_replacement_of_before_the_patch(loopback_sides: Sides) -> None:
    """It gets the keys, and its results are returned."""
    original = ndb.get_multi

    def first_two(keys: Any, **options: Any) -> Any:
        return [key.id() for key in keys], original(list(keys)[:2], **options)

    for replacement in (first_two, mock.Mock(return_value=["a", "b"]), mock.Mock(return_value=[])):
        with mock.patch.object(ndb, "get_multi", replacement):
            loopback_sides.check(lambda: ndb.get_multi(item_keys(1, 2, 3)), lazy=None)


def test_nothing_is_called_for_a_key(loopback_sides: Sides) -> None:
    """Of models that nobody's code takes part in, cached or not."""
    with loopback_sides.context():
        keys = [*item_keys(1, 2, 3, 2, 99), ndb.Key("Loose", 2), ndb.Key("Dotted", 1)]
    with loopback_sides.lazily(), _single_gets() as gets:
        for policy in (None, False):
            with loopback_sides.context(cache_policy=policy):
                for _ in range(2):
                    assert ndb.get_multi(keys)[1].number == 2
        assert gets == []
        with loopback_sides.context():
            ndb.get_multi([*keys, ndb.Key(Hooked, 1)])
        assert len(gets) == len(keys) + 1


@pytest.mark.parametrize("use_cache", [False, True])
@pytest.mark.parametrize("name", [*RESPONSES, "error"])
def test_responses(loopback_sides: Sides, name: str, use_cache: bool) -> None:
    """Any response of a server gives what it gives with stock ndb; so does a failure."""
    keys = [ndb.Key._from_ds_key(_key(number)) for number in (1, 2, 3, 1)]

    def outcome(kind: Any) -> Any:
        answers = [RESPONSES.get(name), _results(FOUND, *map(_entity, (3, 1, 2)))]

        def call(*_args: Any, **_options: Any) -> Any:
            raw = answers.pop(0)
            return _done(LookupError("failed") if raw is None else kind.deserialize(raw))

        with mock.patch.object(_datastore_api, "make_call", call):
            got = attempt(lambda: ndb.get_multi(keys, use_cache=use_cache))
            cached = [_cached()]
            attempt(get_context().eventloop.run)
        return got, cached, _cached(), len(answers)

    with loopback_sides.context():
        expected = outcome(datastore_pb2.LookupResponse)
    for kind in (LookupResponse, datastore_pb2.LookupResponse):
        with loopback_sides.lazy_context():
            assert outcome(kind) == expected
        with loopback_sides.lazy_context(), lazyentity.eager():
            assert outcome(kind) == expected


test_scenarios = SCENARIOS.on_one_server()
