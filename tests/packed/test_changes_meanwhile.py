"""Documents that change while they are packed: zones and other threads run in the middle of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import Entity, Key

from lazyentity._backend import is_json
from lazyentity.packed import documents, pack, unpack
from lazyentity.pure.jsontypes import is_json as pure_is_json
from tests.support.changing import acting, meanwhile, rebuild

_STAYING = {f"stay{number}": number for number in range(30)}


AT = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)


def _dicts(kind: type) -> tuple[Any, dict[str, Any]]:
    container: Any = kind()
    at = acting(lambda: rebuild(container, "old0", "old1", "old2"))
    container.update({"old0": 0, "old1": 1, "old2": 2, "at": at, **_STAYING})
    return container, {**container, "at": AT}


def _lists() -> tuple[Any, list[Any]]:
    container: list[Any] = []
    container += [0, 1, acting(lambda: container.__delitem__(slice(2))), *range(3, 9)]
    return container, [0, 1, AT, *range(3, 9)]


def _sets() -> tuple[Any, set[Any]]:
    container: set[Any] = set()
    # Equal datetimes have to have equal offsets, which a set asks for before anything is packed.
    container |= {acting(lambda: container.add(len(container))), *range(9)}
    return container, {AT, *range(9)}


def _growing() -> tuple[Any, dict[str, Any]]:
    container: dict[str, Any] = {}
    container.update({"at": acting(lambda: container.update({"$": 1, "more": 2})), **_STAYING})
    return container, {**container, "at": AT}


@pytest.mark.parametrize(
    "made",
    [lambda: _dicts(dict), lambda: _dicts(Entity), _lists, _sets, _growing],
    ids=["dict", "entity", "list", "set", "growing"],
)
def test_a_zone_changes_its_container(made: Callable[[], tuple[Any, Any]]) -> None:
    """The document is the one that was given: nothing is lost, and nothing half of it."""
    container, before = made()
    assert unpack(pack(container)) == before
    container, before = made()
    assert unpack(pack([{"inside": container}])) == [{"inside": before}]


def _changed_after_the_look(value: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return a document that gets a value once it was found to be JSON, as a thread may do it."""
    document: dict[str, Any] = {"a": 1}
    look = is_json

    def look_and_change(given: Any) -> bool:
        is_plain = look(given)
        document["late"] = value
        return is_plain

    monkeypatch.setattr(documents, "is_json", look_and_change)
    return document


@pytest.mark.parametrize("value", [AT, {1, 2}, b"bytes"], ids=lambda value: type(value).__name__)
def test_a_value_comes_after_the_look(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tagged all the same."""
    document = _changed_after_the_look(value, monkeypatch)
    assert unpack(pack(document)) == {"a": 1, "late": value}


def test_an_entity_comes_after_the_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key would be lost, and so it is refused."""
    document = _changed_after_the_look(Entity(Key("K", 1, project="p")), monkeypatch)
    with pytest.raises(TypeError, match="an entity with a key"):
        pack(document)


@pytest.mark.parametrize("is_pure", [False, True], ids=["chosen", "pure"])
@pytest.mark.parametrize("tags", [{}, {"at": AT}], ids=["plain", "tagged"])
@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_a_document(
    tags: dict[str, Any], is_pure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each packed document has all keys that nobody took out."""
    if is_pure:
        monkeypatch.setattr(documents, "is_json", pure_is_json)
    document: dict[str, Any] = {"moving": [], **_STAYING, **tags}

    def change(turn: int) -> None:
        moving = document.pop("moving")
        moving.append(turn)
        document["moving"] = moving[-40:]

    def act() -> None:
        for packed in [pack([document, document]) for _ in range(1_000)]:
            for unpacked in unpack(packed):
                unpacked.pop("moving", None)
                assert unpacked == {**_STAYING, **tags}

    meanwhile(change, act)
