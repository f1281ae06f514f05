"""Replacements and wrappers of ndb's conversions and modules are called."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud.environment_vars import GCD_HOST

from tests.patches.ndb.conftest import Server
from tests.support.forks import answer

_PROGRAM = """
import json, warnings
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
print(json.dumps({"seen": seen, "modules": modules, "types": types}))
"""


@pytest.fixture(scope="module", params=["", "1"], ids=["lazy", "eager"])
def said(loopback: Server, request: pytest.FixtureRequest) -> Any:
    """The output of a fresh interpreter, for all the cases."""
    environment = {GCD_HOST: loopback.host, "LAZYENTITY_EAGER": request.param}
    return answer("-c", _PROGRAM, warnings="ignore", **environment)


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("name", ["helpers", "message", "entity"])
def test_reading_gives_the_replacement_what_stock_gives(said: Any, name: str, order: str) -> None:
    """Messages and entities of the same classes, as often."""
    seen = said["seen"][name]
    assert seen["stock"][1]
    assert seen[order] == seen["stock"]


@pytest.mark.parametrize("order", ["before", "after"])
def test_writing_calls_the_replacement(said: Any, order: str) -> None:
    seen = said["seen"]["encoding"]
    assert seen[order] == seen["stock"]


@pytest.mark.parametrize("name", ["helpers", "message", "entity", "encoding"])
def test_one_warning_says_which(said: Any, name: str) -> None:
    """And with strict=True an error."""
    seen = said["seen"][name]
    assert seen["no warnings"] == []
    assert len(seen["warnings"]) == (2 if name == "helpers" else 1)
    for text in [*seen["warnings"], seen["error"]]:
        assert "was replaced by __main__.replacement" in text


def test_module_of_the_calls(said: Any) -> None:
    """A key looks itself up with the mock in place of the module."""
    assert said["modules"]["lazy"] == said["modules"]["stock"]
    assert said["modules"]["lazy"][1].startswith("[call(<Key('Thing', 1)")


def test_module_of_the_messages(said: Any) -> None:
    """One in place of the module that has the message of an entity makes it."""
    types = said["types"]
    assert types["stock"]
    assert set(types.values()) == {types["stock"]}


class TestWrappers:
    """Wrappers that were put around ndb's conversion after patch() are called."""

    _WRAPPER = """
from google.cloud.ndb import model
import functools
def wrap(name):
    original = getattr(model, name)
    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        entity = original(*args, **kwargs)
        object.__setattr__(entity, "seen_by", getattr(entity, "seen_by", ()) + (name,))
        return entity
    setattr(model, name, wrapper)
"""
    _READ = """
def read():
    from google.cloud import ndb
    is_lazy()
    with client.context():
        found = [ndb.Key(Thing, 1).get(), Thing.query().get(use_cache=False)]
        found += Thing.query().fetch(projection=["number"])
        assert [one.number for one in found] == [5, 5, 5]
        return [list(getattr(one, "seen_by", ())) for one in found]
"""
    NAMES = ("_entity_from_ds_entity", "_entity_from_protobuf")

    @pytest.mark.parametrize("name", NAMES)
    def test_around_one(self, ask: Any, name: str) -> None:
        state = ask(
            f"{self._WRAPPER}{self._READ}import lazyentity\nlazyentity.patch()\nwrap({name!r})\n"
            "during = read()\nlazyentity.unpatch()\nsay(during=during, after=read())"
        )
        assert state["during"] == [[name]] * 3
        assert state["after"] == [[name]] * 3

    @pytest.mark.parametrize("name", NAMES)
    def test_that_replaces_the_model(self, ask: Any, name: str) -> None:
        """Somebody may make models of another make altogether."""
        state = ask(
            f"""
import lazyentity
is_lazy()
from google.cloud import ndb
from google.cloud.ndb import model
lazyentity.patch("ndb")
original = model.{name}
def other(*args, **kwargs):
    made = original(*args, **kwargs)
    return Thing(key=made.key, number=made.number * 100)
model.{name} = other
with client.context():
    during = ndb.Key(Thing, 1).get().number
lazyentity.unpatch()
stands = model.{name} is other
with client.context():
    after = ndb.Key(Thing, 1).get().number
say(during=during, after=after, stands=stands)
"""
        )
        assert state == {"during": 500, "after": 500, "stands": True, "patched": []}
