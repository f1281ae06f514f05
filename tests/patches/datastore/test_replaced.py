"""Conversions that another library put in place of the client's own are called.

As published frameworks do it that have custom classes for entities and keys: the conversions
take apart the message of an entity, and only convert single values with a helper of the client.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import entity as entity_pb2

import lazyentity
from tests.support import hostile
from tests.support.describing import describe
from tests.support.entities import fill

Client = datastore.Client
# Not in the module itself: those would be noticed.
_STOCK = {
    name: getattr(helpers, name)
    for name in (
        "entity_from_protobuf",
        "key_from_protobuf",
        "_get_value_from_value_pb",
        "entity_to_protobuf",
    )
}


@pytest.fixture(autouse=True)
def _no_warning_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each is given once, and another framework may have an earlier framework's address.
    monkeypatch.setattr("lazyentity.patches._told", set())


class TheirKey(datastore.Key):
    """A key of a framework."""


class TheirEntity(datastore.Entity):
    """An entity of a framework, which takes the keys of its framework alone."""

    def __init__(self, key: Any = None, exclude_from_indexes: Any = (), kind: Any = TheirKey):
        super().__init__(key, exclude_from_indexes)  # type: ignore[no-untyped-call]  # upstream is untyped
        assert key is None or type(key) is kind


class OtherEntity(datastore.Entity):
    """An entity of an application, which puts the class in place of the client's."""


# The client announces types, but annotates no constructors.
_make_key: Any = TheirKey
_make_entity: Any = TheirEntity


class Framework:
    """Functions and classes that a framework puts into ``helpers``; functions note their arguments.

    Args:
        names: of those that it puts there.
        around: whether these call the functions that they replace, and not the client's own.
    """

    Entity = OtherEntity

    def __init__(self, names: tuple[str, ...], *, around: bool = False) -> None:
        self.given: list[str] = []
        self._names = names
        self._beneath = {name: getattr(helpers, name) for name in names} if around else _STOCK

    def _note(self, name: str, value: Any) -> None:
        self.given.append(f"{name} {type(value)}")

    def key_from_protobuf(self, message: Any) -> Any:
        self._note("key", message)
        key = self._beneath["key_from_protobuf"](message)
        return _make_key(*key.flat_path, project=key.project, namespace=key.namespace)

    def entity_from_protobuf(self, message: Any) -> Any:
        self._note("entity", message)
        if isinstance(message, entity_pb2.Entity):
            message = message._pb
        has_key = message.HasField("key")
        key = helpers.key_from_protobuf(message.key) if has_key else None
        entity = _make_entity(key, kind=type(key))
        for name, part in message.properties.items():
            entity[name] = value = helpers._get_value_from_value_pb(part)
            meaning = helpers._get_meaning(part, is_list=isinstance(value, list))
            if meaning is not None:
                entity._meanings[name] = meaning, value
            flags = {item.exclude_from_indexes for item in part.array_value.values}
            if part.exclude_from_indexes or True in flags:
                entity.exclude_from_indexes.add(name)
        return entity

    def _get_value_from_value_pb(self, message: Any) -> Any:
        self._note("value", message)
        return self._beneath["_get_value_from_value_pb"](message)

    def entity_to_protobuf(self, entity: Any) -> Any:
        self.given.append("encoding")
        return self._beneath["entity_to_protobuf"](entity)

    @contextlib.contextmanager
    def replacing(self) -> Iterator[None]:
        """Put the functions in place, and the originals back in the end."""
        originals = {name: getattr(helpers, name) for name in self._names}
        for name in self._names:
            setattr(helpers, name, getattr(self, name))
        try:
            yield
        finally:
            for name, original in originals.items():
                setattr(helpers, name, original)


_NAMES = [
    ("entity_from_protobuf", "key_from_protobuf"),
    ("entity_from_protobuf",),
    ("key_from_protobuf",),
    ("_get_value_from_value_pb",),
    ("entity_to_protobuf",),
    ("Entity",),
]


def _use(client: Client, framework: Framework) -> dict[str, Any]:
    """Read entities and write them back; return all that can be observed."""
    keys = [client.key("Replaced", number + 1) for number in range(3)]
    client.put_multi([fill(datastore.Entity(key), key.id) for key in keys])
    framework.given.clear()
    found = [client.get(keys[0]), *client.get_multi(keys[1:])]
    found += client.query(kind="Replaced", order=("__key__",)).fetch()
    given = sorted(framework.given)
    client.put(found[0])
    client.put_multi(found[:3])
    with client.transaction():
        changed = client.get(keys[1])
        changed["number"] = 77
        client.put(changed)
    encoded = framework.given.count("encoding")
    found += client.query(kind="Replaced", order=("__key__",)).fetch()
    return {
        "given": given,
        "encoded": encoded,
        "classes": [type(entity) for entity in found],
        "keys": [type(entity.key) for entity in found],
        "inner": [type(entity["inner"]) for entity in found],
        "contents": sorted(map(repr, map(describe, found))),
    }


@pytest.mark.parametrize("names", _NAMES, ids="+".join)
class TestReplaced:
    @pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
    @pytest.mark.parametrize("when", ["before", "after", "around"])
    def test_is_called_as_by_stock(
        self, client: Client, names: tuple[str, ...], when: str, eager: bool
    ) -> None:
        """With messages of the same classes, as often; its results are returned.

        Replacements that are there before the patch are announced.
        """
        framework = Framework(names)
        with framework.replacing():
            expected = _use(client, framework)
        is_before = when == "before"
        if not is_before:
            lazyentity.patch("datastore", eager=eager)
            framework = Framework(names, around=when == "around")
        with framework.replacing(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if is_before:
                lazyentity.patch("datastore", eager=eager)
            seen = _use(client, framework)
            lazyentity.unpatch()
            assert _use(client, framework) == expected
        if names == ("Entity",):
            assert {*seen["classes"], *seen["inner"]} == {OtherEntity}
        if "entity_from_protobuf" in names:
            assert {*seen["classes"], *seen["inner"]} == {TheirEntity}
        if "key_from_protobuf" in names:
            assert {*seen["keys"]} == {TheirKey}
        if names == ("entity_to_protobuf",) and not eager:
            # It does not convert reads: the entities that it encodes are lazy.
            for name in ("classes", "inner"):
                assert set(seen.pop(name)) == {lazyentity.LazyEntity}
                assert set(expected.pop(name)) == {datastore.Entity}
        assert seen == expected
        warned = [str(one.message) for one in caught if "lazyentity" in str(one.message)]
        for name, text in zip(names if is_before else (), warned, strict=True):
            kind = "class" if name == "Entity" else "bound method"
            assert f"google.cloud.datastore.helpers.{name} was replaced by <{kind}" in text

    @pytest.mark.parametrize("mode", ["unpatched", "lazy", "eager"])
    def test_is_called_for_a_client_that_is_wrapped_eagerly(
        self, client: Client, names: tuple[str, ...], mode: str
    ) -> None:
        """Its queries included; however the process is patched."""
        if mode != "unpatched":
            lazyentity.patch("datastore", eager=mode == "eager")
        framework = Framework(names)
        with framework.replacing():
            seen = _use(lazyentity.wrap(client, eager=True), framework)
            lazyentity.unpatch()
            assert seen == _use(client, framework)

    def test_strict_raises(self, names: tuple[str, ...]) -> None:
        with Framework(names).replacing():
            with pytest.raises(RuntimeError, match=f"{names[0]} was replaced by"):
                lazyentity.patch("datastore", strict=True)
            assert lazyentity.patched() == ()


@pytest.mark.parametrize("kind", [datastore.Entity, datastore.Key])
@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
def test_a_replaced_constructor_is_called(
    client: Client, monkeypatch: pytest.MonkeyPatch, kind: Any, eager: bool
) -> None:
    """As often as by stock."""
    key = client.key("Replaced", 1)
    client.put(fill(datastore.Entity(key), 1))
    original: Any = kind.__init__
    made: list[Any] = []

    def construct(self: Any, *args: Any, **options: Any) -> None:
        made.append(args)
        original(self, *args, **options)

    def read() -> tuple[Any, int]:
        made.clear()
        with monkeypatch.context() as replacing:
            replacing.setattr(kind, "__init__", construct)
            found = [client.get(key), *client.query(kind="Replaced").fetch()]
            return describe(found), len(made)

    expected = read()
    lazyentity.patch("datastore", eager=eager)
    assert read() == expected


class _Silent(hostile.Unprintable):
    """A replacement without a text."""

    def __call__(self, message: Any) -> Any:
        return _STOCK["entity_from_protobuf"](message)


def test_a_replacement_without_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning that it stays in charge, and the error of strict, are given all the same."""
    monkeypatch.setattr(helpers, "entity_from_protobuf", _Silent())
    told = "helpers.entity_from_protobuf was replaced by <tests.* whose text raised"
    with pytest.raises(RuntimeError, match=told):
        lazyentity.patch("datastore", strict=True)
    with pytest.warns(RuntimeWarning, match=told):
        lazyentity.patch("datastore")


@pytest.mark.parametrize("sort", hostile.TEXTLESS)
def test_arguments_without_a_text(client: Client, sort: str) -> None:
    """They raise the same errors as any other wrong argument."""
    value = hostile.VALUES[sort]()
    with pytest.raises(ValueError, match=r"unknown client .*; known are"):
        lazyentity.patch(value)
    with pytest.raises(TypeError, match=r"wrap\(\) takes prefetch= as a list of names"):
        lazyentity.wrap(client, prefetch=value)
    with pytest.raises(TypeError, match=r"wrap\(\) takes names of type str in prefetch="):
        lazyentity.wrap(client, prefetch=[value])
