"""Entities, lists and dicts that change while they are written, as stock ones do."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyentity
from lazyentity import LazyEntity
from lazyentity.encoding import _encodable_of
from tests.conftest import BACKENDS
from tests.fuzz import changes
from tests.support import write_cases
from tests.support.changing import acting, meanwhile
from tests.support.snapshots import outcome
from tests.support.stock import EntityMessage, comparable, encoded, reparsed


@pytest.fixture(scope="session", params=list(BACKENDS))
def write(request: pytest.FixtureRequest) -> Callable[[Entity], Any]:
    """The encoder of each backend in turn."""
    write_entity = BACKENDS[request.param].write_entity

    def write(entity: Entity) -> Any:
        message = EntityMessage()
        write_entity(message, _encodable_of(entity), _encodable_of)
        return message

    return write


SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=1000)
@given(seed=SEEDS)
def test_any_change(lazy_type: type[LazyEntity], write: Callable[[Entity], Any], seed: int) -> None:
    """The message, or the error, is the client's, whatever changes while values are encoded."""
    check(changes.made(seed, 0), lazy_type, write)


def check(
    case: write_cases.Case, lazy_type: type[LazyEntity], write: Callable[[Entity], Any]
) -> None:
    """Write the entity of a case, and compare it with what the client writes."""
    ours, stock = case.of(lazy_type)
    expected = outcome(lambda: encoded(stock))
    written = outcome(lambda: comparable(write(ours)))
    case.compare(written, expected)


@pytest.mark.parametrize("container", ["entity", "lazy", "embedded"])
def test_a_first_odd_name(
    lazy_type: type[LazyEntity], write: Callable[[Entity], Any], container: str
) -> None:
    """The first name that is no str closes gaps: the client then comes to a property twice."""
    moves = (("pop", 0), ("reset", 2), ("flags", 2), ("odd name", 8))
    check(write_cases.Case(container, "zone", 4, ("list",), moves, 1), lazy_type, write)


@settings(max_examples=300)
@given(seed=SEEDS)
def test_any_change_of_raw(lazy_type: type[LazyEntity], seed: int) -> None:
    """``raw()`` serialises the same, or raises the same."""
    case = changes.made(seed, 0)
    ours, stock = case.of(lazy_type)
    expected = outcome(lambda: encoded(stock))
    case.compare(outcome(lambda: reparsed(lazyentity.raw(ours))), expected)


def account(changed: dict[str, Any]) -> list[int]:
    """Fill a dict that loses properties and is rebuilt while it is written.

    Returns:
        A list that has a number for each time that its timestamp was encoded.
    """
    calls: list[int] = []

    def move() -> None:
        calls.append(len(calls))
        for number in range(3):
            changed.pop(f"old{number}", None)
        for number in range(40):
            changed[f"new{number}"] = 1
        for number in range(40):
            changed.pop(f"new{number}")

    changed.update(old0=0, old1=1, old2=2, at=acting(move))
    changed.update(balance=100, owner="alice", limit=5, note="x")
    return calls


def test_a_dict_is_written_as_it_was(write: Callable[[Entity], Any]) -> None:
    """All properties that a dict had are written, whatever it loses while it is written."""
    entity: Any = Entity(Key("Kind", 1, project="p"))
    entity["account"] = {}
    account(entity["account"])
    names = set(entity["account"])
    assert len(names) == 8
    assert set(write(entity).properties["account"].entity_value.properties) == names


def test_an_entity_that_changes_is_refused(
    lazy_type: type[LazyEntity], write: Callable[[Entity], Any]
) -> None:
    """Nothing of an entity is left out silently: the client's error says that it changed."""
    for entity in (Entity(Key("Kind", 1, project="p")), lazy_type.from_bytes(write_cases.RAW)):
        account(entity)
        with pytest.raises(RuntimeError, match=r"^dictionary changed size during iteration$"):
            write(entity)


def test_nothing_is_encoded_again_for_its_depth(write: Callable[[Entity], Any]) -> None:
    """A dict that changed is not read again if a later value is too deep for the native encoder."""
    entity: Any = Entity(Key("Kind", 1, project="p"))
    entity["account"] = {}
    calls = account(entity["account"])
    deep: list[Any] = []
    for _ in range(60):
        deep = [deep]
    entity["deep"] = deep
    assert len(write(entity).properties["account"].entity_value.properties) == 8
    first = len(calls)
    write(entity)
    assert len(calls) == 2 * first


def test_an_unread_property_counts_as_written_first(
    lazy_type: type[LazyEntity], write: Callable[[Entity], Any]
) -> None:
    """Wherever it stands, what is assigned to it while another value is encoded comes too late."""
    entity: Any = lazy_type.from_bytes(write_cases.RAW)

    def assign() -> None:
        entity.update(dict.fromkeys(write_cases.RECEIVED[1:], 100))

    entity["a"] = acting(assign)
    properties = write(entity).properties
    assert [properties[name].integer_value for name in write_cases.RECEIVED[1:]] == [1, 2, 3, 4]


ROUNDS = 40


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_moves_names(write: Callable[[Entity], Any]) -> None:
    """A dict loses no name that another thread takes out, and puts back at once."""
    at = datetime.datetime(2024, 5, 6, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    changed: dict[str, Any] = {f"name {number}": at for number in range(400)}
    entity: Any = Entity(Key("Kind", 1, project="p"))
    entity["changed"] = changed
    names = list(changed)

    def move(turn: int) -> None:
        for name in names[turn % 4 :: 4]:
            changed[name] = changed.pop(name)

    def write_often() -> None:
        for _ in range(ROUNDS):
            written = write(entity).properties["changed"].entity_value.properties
            # One is missing at a time, at most.
            assert len(written) >= len(names) - 1

    meanwhile(move, write_often)
