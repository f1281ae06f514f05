"""Replacements and wrappers of ndb's conversions, methods and modules are called."""

from __future__ import annotations

import functools
import warnings
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest import mock

import pytest
import wrapt
from google.cloud import ndb
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.ndb import _datastore_api, model
from google.cloud.ndb.global_cache import _InProcessGlobalCache

import lazyentity
from tests.patches.ndb.pairs import lazy_model, patched, stock_model, written
from tests.patches.ndb.raw_entities import entity_of


class Replaced(ndb.Model):
    number = ndb.IntegerProperty()


class Reader:
    """Reads and writes a model in every way.

    Attributes:
        client: an ndb client of a namespace that has the model alone.
        given: the first arguments of the functions of :meth:`replacing`.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.given: list[str] = []
        with client.context():
            self.key = Replaced(id=1, number=5).put()

    def replacing(self, module: Any, name: str) -> AbstractContextManager[Any]:
        original = getattr(module, name)

        def replacement(*args: Any) -> Any:
            self.given.append(f"{name} {type(args[0])}")
            return original(*args)

        return mock.patch.object(module, name, replacement)

    def read(self) -> tuple[list[int], list[str]]:
        self.given.clear()
        _InProcessGlobalCache.cache.clear()
        with self.client.context():
            found = [self.key.get(), *Replaced.query().fetch(use_cache=False)]
        for _ in range(2):
            with self.client.context(global_cache=_InProcessGlobalCache()):
                found.append(self.key.get())
        numbers = [one.number for one in found]
        with self.client.context():
            found[0].put()
        return numbers, sorted(self.given)


@pytest.fixture
def reader(client: Any, monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setattr(_InProcessGlobalCache, "cache", {})
    monkeypatch.setattr("lazyentity.patches._told", set())
    return Reader(client)


def _warned(**options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lazyentity.patch("ndb", **options)
    return [str(one.message) for one in caught]


PLACES: dict[str, list[tuple[Any, str]]] = {
    "helpers": [(helpers, "entity_from_protobuf"), (helpers, "key_from_protobuf")],
    "message": [(model, "_entity_from_protobuf")],
    "entity": [(model, "_entity_from_ds_entity")],
    "encoding": [(model, "_entity_to_ds_entity")],
}
either_mode = pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])


@either_mode
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_the_replacement_gets_what_stock_gives(
    reader: Reader, places: list[tuple[Any, str]], eager: bool
) -> None:
    """Messages and entities of the same classes, as often; a warning, or an error, says which."""
    with ExitStack() as replaced:
        for place in places:
            replaced.enter_context(reader.replacing(*place))
        stock = reader.read()
        assert stock[1]
        with pytest.raises(RuntimeError) as caught:
            lazyentity.patch("ndb", strict=True, eager=eager)
        told = _warned(eager=eager)
        assert reader.read() == stock
        lazyentity.unpatch()
    assert len(told) == len(places)
    for text in [*told, str(caught.value)]:
        assert f"was replaced by {__name__}." in text
        assert "replacement" in text
    assert _warned(eager=eager) == []
    with ExitStack() as replaced:
        for place in places:
            replaced.enter_context(reader.replacing(*place))
        assert reader.read() == stock


class Types:
    """A module of messages of somebody else's."""

    made = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(entity_pb2, name)

    def Entity(self, *args: Any) -> Any:  # noqa: N802  # the name of the message
        self.made += 1
        return entity_pb2.Entity(*args)


@either_mode
def test_replaced_modules(reader: Reader, eager: bool) -> None:
    """A key looks itself up with the mock of a module; an entity is made by another's message."""

    # As ndb's own tests do it.
    def looked_up() -> Any:
        with reader.client.context(), mock.patch("google.cloud.ndb._datastore_api") as api:
            future = api.lookup.return_value = ndb.tasklets.Future()
            future.set_result(api._NOT_FOUND)
            return reader.key.get(), str(api.lookup.call_args_list)

    types = Types()

    def made() -> int:
        types.made = 0
        reader.read()
        return types.made

    stock = looked_up()
    assert stock[1].startswith("[call(<Key('Replaced', 1)")
    with mock.patch.object(_datastore_api, "entity_pb2", types):
        of_stock = made()
        assert of_stock
        lazyentity.patch("ndb", eager=eager)
        assert made() == of_stock
        lazyentity.unpatch()
        assert made() == of_stock
    lazyentity.patch("ndb", eager=eager)
    assert looked_up() == stock
    with mock.patch.object(_datastore_api, "entity_pb2", types):
        assert made() == of_stock


@either_mode
@pytest.mark.parametrize("name", ["_entity_from_ds_entity", "_entity_from_protobuf"])
@pytest.mark.parametrize("factor", [1, 100])
def test_functions_put_around_a_conversion_after_patch(
    reader: Reader, name: str, factor: int, eager: bool
) -> None:
    """They are called during the patch and after it; one may make models of another make."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        entity = inner(*args, **kwargs)
        if factor > 1:
            return Replaced(key=entity.key, number=entity.number * factor)
        vars(entity)["seen"] = vars(entity).get("seen", 0) + 1
        return entity

    def read() -> list[Any]:
        with reader.client.context():
            found = [reader.key.get(), Replaced.query().get(use_cache=False)]
            found += Replaced.query().fetch(projection=["number"])
            return [(one.number, vars(one).get("seen", 0)) for one in found]

    expected = [(5 * factor, int(factor == 1))] * 3
    lazyentity.patch(eager=eager)
    inner = getattr(model, name)
    with mock.patch.object(model, name, functools.wraps(inner)(wrapper)) as outer:
        assert read() == expected
        lazyentity.unpatch()
        assert getattr(model, name) is outer
        assert read() == expected


@pytest.mark.usefixtures("modern_context")
@pytest.mark.parametrize("base", [ndb.Model, ndb.Expando])
@pytest.mark.parametrize("name", ["_validate_key", "_set_attributes", "__new__", "__init__"])
def test_hooks_that_a_class_gets_later(base: Any, name: str) -> None:
    """They are called from then on."""
    kind = type("Hooking", (base,), {"known": ndb.IntegerProperty("k")})
    raw = entity_of("Hooking", {"k": 1, "text": "text"})
    assert lazy_model(raw).known == 1
    called: list[str] = []

    def hook(*arguments: Any, **options: Any) -> Any:
        called.append(name)
        if name == "__new__":
            return object.__new__(arguments[0])
        if name == "_validate_key":
            return arguments[-1]
        return getattr(base, name)(*arguments, **options)

    setattr(kind, name, staticmethod(hook) if name in ("_validate_key", "__new__") else hook)
    calls = []
    for make in (stock_model, lazy_model):
        called.clear()
        make(raw)
        calls.append(list(called))
    assert calls[0]
    assert calls[1] == calls[0]


_WRAPPED = {
    ndb.Property: "_apply_list _apply_to_values _call_from_base_type _from_datastore __get__ "
    "_get_base_value _get_base_value_unwrapped_as_list _get_user_value _get_value _is_initialized "
    "_opt_call_from_base_type _opt_call_to_base_type _retrieve_value _store_value _to_datastore",
    ndb.TextProperty: "_from_base_type",
    ndb.BooleanProperty: "_from_base_type",
    ndb.Model: "_set_attributes _get_arg _validate_key __init__",
}


@pytest.mark.usefixtures("either_context")
@pytest.mark.parametrize("read", [["number", "text", "flag"], ["number"], []], ids=str)
@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner in _WRAPPED for name in _WRAPPED[owner].split()]
)
def test_what_somebody_wraps_later(owner: Any, name: str, read: list[str]) -> None:
    """A wrapper that passes for the wrapped method is still called."""
    called: set[Any] = set()

    def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        called.add(getattr(instance, "_name", None) if owner is not ndb.Model else name)
        return wrapped(*args, **kwargs)

    def use(entity: Any) -> Any:
        values = [getattr(entity, attribute) for attribute in read]
        return values, written(entity)

    # The first read of an entity inspects the properties of the class.
    kinds = {"number": ndb.IntegerProperty, "text": ndb.TextProperty, "flag": ndb.BooleanProperty}
    type("Wrapped", (ndb.Model,), {attribute: kind() for attribute, kind in kinds.items()})
    raw = entity_of("Wrapped", {"number": 1, "text": "text", "flag": True})
    original = vars(owner)[name]
    wrapt.wrap_function_wrapper(owner, name, wrapper)
    try:
        expected = use(stock_model(raw))
        by_stock = frozenset(called)
        called.clear()
        entity = lazy_model(raw)
        with patched():
            actual = use(entity)
    finally:
        setattr(owner, name, original)
    assert actual == expected
    assert called == by_stock
