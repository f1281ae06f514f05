"""Conversions that another library put in place of the client's own are called.

As a framework does it that has classes of its own for entities and keys.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import helpers

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
    # Each is given once, and another framework may be at the address of one before.
    monkeypatch.setattr("lazyentity.patches._told", set())


class TheirKey(datastore.Key):
    """A key of a framework."""


class TheirEntity(datastore.Entity):
    """An entity of a framework."""


# The client announces types, but annotates no constructors.
_make_key: Any = TheirKey
_make_entity: Any = TheirEntity


class Framework:
    """Functions that a framework puts into ``helpers``; each notes its arguments."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def _note(self, name: str, value: Any) -> None:
        self.given.append(f"{name} {type(value)}")

    def key_from_protobuf(self, message: Any) -> Any:
        self._note("key", message)
        key = _STOCK["key_from_protobuf"](message)
        return _make_key(*key.flat_path, project=key.project, namespace=key.namespace)

    def entity_from_protobuf(self, message: Any) -> Any:
        self._note("entity", message)
        stock = _STOCK["entity_from_protobuf"](message)
        entity: Any = _make_entity(stock.key, tuple(stock.exclude_from_indexes))
        entity.update(stock)
        entity._meanings.update(stock._meanings)
        return entity

    def _get_value_from_value_pb(self, message: Any) -> Any:
        self._note("value", message)
        return _STOCK["_get_value_from_value_pb"](message)

    def entity_to_protobuf(self, entity: Any) -> Any:
        self.given.append("encoding")
        return _STOCK["entity_to_protobuf"](entity)


_NAMES = [
    ("entity_from_protobuf", "key_from_protobuf"),
    ("entity_from_protobuf",),
    ("key_from_protobuf",),
    ("_get_value_from_value_pb",),
    ("entity_to_protobuf",),
]


@contextlib.contextmanager
def _replaced(framework: Framework, names: tuple[str, ...]) -> Iterator[None]:
    originals = {name: getattr(helpers, name) for name in names}
    for name in names:
        setattr(helpers, name, getattr(framework, name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(helpers, name, original)


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
    return {
        "given": given,
        "encoded": framework.given.count("encoding"),
        "classes": [type(entity) for entity in found],
        "keys": [type(entity.key) for entity in found],
        "inner": [type(entity["inner"]) for entity in found],
        "contents": sorted(map(repr, map(describe, found))),
    }


def _after(
    framework: Framework, names: tuple[str, ...], stack: contextlib.ExitStack, eager: bool
) -> list[str]:
    lazyentity.patch("datastore", eager=eager)
    stack.enter_context(_replaced(framework, names))
    return []


def _before(
    framework: Framework, names: tuple[str, ...], stack: contextlib.ExitStack, eager: bool
) -> list[str]:
    stack.enter_context(_replaced(framework, names))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lazyentity.patch("datastore", eager=eager)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("names", _NAMES, ids="+".join)
class TestReplaced:
    @pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
    @pytest.mark.parametrize("order", [_before, _after])
    def test_is_called_as_by_stock(
        self, client: Client, names: tuple[str, ...], order: Callable[..., list[str]], eager: bool
    ) -> None:
        """With messages of the same classes, as often; its results are returned."""
        framework = Framework()
        with _replaced(framework, names):
            expected = _use(client, framework)
        with contextlib.ExitStack() as stack:
            warned = order(framework, names, stack, eager)
            seen = _use(client, framework)
            lazyentity.unpatch()
            assert _use(client, framework) == expected
        if names == ("entity_to_protobuf",) and not eager:
            # It does not convert reads: the entities that it encodes are lazy.
            for name in ("classes", "inner"):
                assert set(seen.pop(name)) == {lazyentity.LazyEntity}
                assert set(expected.pop(name)) == {datastore.Entity}
        assert seen == expected
        assert len(warned) == (len(names) if order is _before else 0)
        for name, text in zip(names, warned, strict=False):
            assert f"google.cloud.datastore.helpers.{name} was replaced by <bound method" in text

    @pytest.mark.parametrize("mode", ["unpatched", "lazy", "eager"])
    def test_is_called_for_a_client_that_is_wrapped_eagerly(
        self, client: Client, names: tuple[str, ...], mode: str
    ) -> None:
        """Its queries included; however the process is patched."""
        if mode != "unpatched":
            lazyentity.patch("datastore", eager=mode == "eager")
        framework = Framework()
        with _replaced(framework, names):
            seen = _use(lazyentity.wrap(client, eager=True), framework)
            lazyentity.unpatch()
            assert seen == _use(client, framework)

    def test_strict_raises(self, client: Client, names: tuple[str, ...]) -> None:
        framework = Framework()
        with _replaced(framework, names):
            with pytest.raises(RuntimeError, match=f"{names[0]} was replaced by"):
                lazyentity.patch("datastore", strict=True)
            assert lazyentity.patched() == ()


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
    """Their errors are those of any other wrong argument."""
    value = hostile.VALUES[sort]()
    with pytest.raises(ValueError, match=r"unknown client .*; known are"):
        lazyentity.patch(value)
    with pytest.raises(TypeError, match=r"wrap\(\) takes prefetch= as a list of names"):
        lazyentity.wrap(client, prefetch=value)
    with pytest.raises(TypeError, match=r"wrap\(\) takes names of type str in prefetch="):
        lazyentity.wrap(client, prefetch=[value])
