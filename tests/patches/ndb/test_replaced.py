"""Replacements and wrappers of ndb's conversions and modules are called."""

from __future__ import annotations

from typing import Any

import pytest
import wrapt
from google.cloud import ndb
from google.cloud.environment_vars import GCD_HOST

from tests.patches.ndb.pairs import lazy_model, patched, stock_model, written
from tests.patches.ndb.raw_entities import entity_of
from tests.support.forks import answer

_PROGRAM = """
import functools, json, warnings
from unittest import mock
from google.cloud import ndb
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.ndb import _datastore_api, model
import lazyentity

class Thing(ndb.Model):
    number = ndb.IntegerProperty()

client = ndb.Client(project="lazyentity-tests", namespace="replaced")
cache = ndb.global_cache._InProcessGlobalCache()
with client.context():
    Thing(id=1, number=5).put()
given = []

def replace(module, name):
    original = getattr(module, name)
    def replacement(*args):
        given.append(f"{name} {type(args[0])}")
        return original(*args)
    return mock.patch.object(module, name, replacement)

def read():
    given.clear()
    with client.context():
        found = [ndb.Key(Thing, 1).get(), *Thing.query().fetch(use_cache=False)]
    with client.context(global_cache=cache):
        found.append(ndb.Key(Thing, 1).get())
    with client.context(global_cache=cache):
        found.append(ndb.Key(Thing, 1).get())
    values = [one.number for one in found]
    with client.context():
        found[0].put()
    return values, sorted(given)

def warned(**options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lazyentity.patch("ndb", **options)
    return [str(one.message) for one in caught]

PLACES = {
    "helpers": [(helpers, "entity_from_protobuf"), (helpers, "key_from_protobuf")],
    "message": [(model, "_entity_from_protobuf")],
    "entity": [(model, "_entity_from_ds_entity")],
    "encoding": [(model, "_entity_to_ds_entity")],
}
seen = {}
for name, places in PLACES.items():
    said = seen[name] = {}
    replacing = [replace(*place) for place in places]
    for one in replacing: one.start()
    said["stock"] = read()
    try:
        warned(strict=True)
    except RuntimeError as error:
        said["error"] = str(error)
    said["warnings"] = warned()
    said["before"] = read()
    lazyentity.unpatch()
    for one in replacing: one.stop()
    said["no warnings"] = warned()
    for one in replacing: one.start()
    said["after"] = read()
    for one in replacing: one.stop()
    lazyentity.unpatch()

# As ndb's own tests do it.
def with_module():
    with client.context(), mock.patch("google.cloud.ndb._datastore_api") as api:
        future = api.lookup.return_value = ndb.tasklets.Future()
        future.set_result(api._NOT_FOUND)
        found = ndb.Key(Thing, 1).get()
        return found, str(api.lookup.call_args_list)

class Types:
    made = 0
    def __getattr__(self, name):
        return getattr(entity_pb2, name)
    def Entity(self, *args):
        self.made += 1
        return entity_pb2.Entity(*args)

types_of_theirs = Types()

def with_types():
    types_of_theirs.made = 0
    read()
    return types_of_theirs.made

modules = {"stock": with_module()}
lazyentity.patch("ndb")
modules["lazy"] = with_module()
lazyentity.unpatch()
with mock.patch.object(_datastore_api, "entity_pb2", types_of_theirs):
    types = {"stock": with_types()}
    lazyentity.patch("ndb")
    types["before"] = with_types()
    lazyentity.unpatch()
    types["unpatched"] = with_types()
lazyentity.patch("ndb")
with mock.patch.object(_datastore_api, "entity_pb2", types_of_theirs):
    types["after"] = with_types()
lazyentity.unpatch()

def around(name, function):
    lazyentity.patch()
    inner = getattr(model, name)
    outer = functools.wraps(inner)(lambda *args, **kwargs: function(inner(*args, **kwargs), name))
    with mock.patch.object(model, name):
        setattr(model, name, outer)
        during = seen_models()
        lazyentity.unpatch()
        return [during, seen_models(), getattr(model, name) is outer]

def seen_models():
    with client.context():
        found = [ndb.Key(Thing, 1).get(), Thing.query().get(use_cache=False)]
        found += Thing.query().fetch(projection=["number"])
        return [[one.number, getattr(one, "seen_by", [])] for one in found]

def wrapper(entity, name):
    object.__setattr__(entity, "seen_by", [*getattr(entity, "seen_by", []), name])
    return entity

def other(entity, name):
    return Thing(key=entity.key, number=entity.number * 100)

wrapped = {
    name: {"wrapper": around(name, wrapper), "other": around(name, other)}
    for name in ("_entity_from_ds_entity", "_entity_from_protobuf")
}
print(json.dumps({"seen": seen, "modules": modules, "types": types, "wrapped": wrapped}))
"""


@pytest.fixture(scope="module", params=["", "1"], ids=["lazy", "eager"])
def said(loopback: str, request: pytest.FixtureRequest) -> Any:
    """The output of a fresh interpreter, for all the cases."""
    environment = {GCD_HOST: loopback, "LAZYENTITY_EAGER": request.param}
    return answer("-c", _PROGRAM, warnings="ignore", **environment)


@pytest.mark.parametrize("name", ["helpers", "message", "entity", "encoding"])
def test_the_replacement_gets_what_stock_gives(said: Any, name: str) -> None:
    """Messages and entities of the same classes, as often; a warning, or an error, says which."""
    seen = said["seen"][name]
    assert seen["stock"][1]
    assert seen["before"] == seen["after"] == seen["stock"]
    assert seen["no warnings"] == []
    assert len(seen["warnings"]) == (2 if name == "helpers" else 1)
    for text in [*seen["warnings"], seen["error"]]:
        assert "was replaced by __main__.replacement" in text


def test_replaced_modules(said: Any) -> None:
    """A key looks itself up with the mock of a module; an entity is made by another's message."""
    assert said["modules"]["lazy"] == said["modules"]["stock"]
    assert said["modules"]["lazy"][1].startswith("[call(<Key('Thing', 1)")
    types = said["types"]
    assert types["stock"]
    assert set(types.values()) == {types["stock"]}


@pytest.mark.parametrize("name", ["_entity_from_ds_entity", "_entity_from_protobuf"])
def test_functions_put_around_a_conversion_after_patch(said: Any, name: str) -> None:
    """They are called during the patch and after it; one may make models of another make."""
    wrapped = said["wrapped"][name]
    assert wrapped["wrapper"] == [[[5, [name]]] * 3] * 2 + [True]
    assert wrapped["other"] == [[[500, []]] * 3] * 2 + [True]


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
