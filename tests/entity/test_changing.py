"""Entities, lists and dicts that change while they are written, as stock ones do."""

from __future__ import annotations

import datetime
import importlib
import threading
import zoneinfo
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyentity
from lazyentity import LazyEntity
from lazyentity.encoding import _contents_of
from tests.conftest import MAPPINGS, is_built
from tests.support import write_cases
from tests.support.snapshots import outcome
from tests.support.stock import EntityMessage, comparable, reparsed

BACKENDS = [name for name, module in MAPPINGS.items() if is_built(module)]


@pytest.fixture(scope="session", params=BACKENDS)
def write(request: pytest.FixtureRequest) -> Callable[[Entity], Any]:
    """The encoder of each backend in turn."""
    write_entity = importlib.import_module(f"lazyentity.{request.param}.encoder").write_entity

    def write(entity: Entity) -> Any:
        message = EntityMessage()
        write_entity(message, _contents_of(entity), _contents_of)
        return message

    return write


NUMBERS = st.integers(0, 9)
CASES = st.builds(
    write_cases.Case,
    st.sampled_from(write_cases.CONTAINERS),
    st.sampled_from(write_cases.TRIGGERS),
    NUMBERS,
    st.lists(st.sampled_from(write_cases.VALUES), min_size=1, max_size=7).map(tuple),
    st.lists(st.tuples(st.sampled_from(write_cases.CHANGES), NUMBERS), min_size=1, max_size=4).map(
        tuple
    ),
    st.integers(1, 3),
)


@settings(max_examples=1000)
@given(case=CASES)
def test_any_change(
    lazy_type: type[LazyEntity], write: Callable[[Entity], Any], case: write_cases.Case
) -> None:
    """The message, or the error, is the client's, whatever changes while values are encoded."""
    ours, stock = case.of(lazy_type)
    expected = outcome(lambda: comparable(helpers.entity_to_protobuf(stock)._pb))
    written = outcome(lambda: comparable(write(ours)))
    case.compare(written, expected)


@settings(max_examples=300)
@given(case=CASES)
def test_any_change_of_raw(lazy_type: type[LazyEntity], case: write_cases.Case) -> None:
    """``raw()`` serialises the same, or raises the same."""
    ours, stock = case.of(lazy_type)
    expected = outcome(lambda: comparable(helpers.entity_to_protobuf(stock)._pb))
    case.compare(outcome(lambda: reparsed(lazyentity.raw(ours))), expected)


class _Moving(datetime.tzinfo):
    """Adds and removes properties of a dict when it is asked for its offset."""

    def __init__(self, changed: dict[str, Any]) -> None:
        self.changed = changed
        self.calls = 0

    def utcoffset(self, _: Any) -> datetime.timedelta:
        self.calls += 1
        for number in range(3):
            self.changed.pop(f"old{number}", None)
        for number in range(40):
            self.changed[f"new{number}"] = 1
        for number in range(40):
            self.changed.pop(f"new{number}")
        return datetime.timedelta(0)

    def dst(self, _: Any) -> None:
        return None

    def tzname(self, _: Any) -> None:
        return None


def _account(changed: dict[str, Any]) -> _Moving:
    zone = _Moving(changed)
    changed.update(old0=0, old1=1, old2=2, at=datetime.datetime(2024, 1, 1, tzinfo=zone))
    changed.update(balance=100, owner="alice", limit=5, note="x")
    return zone


def test_a_dict_is_written_as_it_was(write: Callable[[Entity], Any]) -> None:
    """All properties that a dict had are written, whatever it loses while it is written."""
    entity: Any = Entity(Key("Kind", 1, project="p"))
    entity["account"] = {}
    _account(entity["account"])
    names = set(entity["account"])
    assert len(names) == 8
    assert set(write(entity).properties["account"].entity_value.properties) == names


def test_an_entity_that_changes_is_refused(
    lazy_type: type[LazyEntity], write: Callable[[Entity], Any]
) -> None:
    """Nothing of an entity is left out silently: the client's error says that it changed."""
    for entity in (Entity(Key("Kind", 1, project="p")), lazy_type.from_bytes(write_cases.RAW)):
        _account(entity)
        with pytest.raises(RuntimeError, match=r"^dictionary changed size during iteration$"):
            write(entity)


def test_nothing_is_encoded_again_for_its_depth(write: Callable[[Entity], Any]) -> None:
    """A dict that changed is not read again if a later value is too deep for the native encoder."""
    entity: Any = Entity(Key("Kind", 1, project="p"))
    entity["account"] = {}
    zone = _account(entity["account"])
    deep: list[Any] = []
    for _ in range(60):
        deep = [deep]
    entity["deep"] = deep
    assert len(write(entity).properties["account"].entity_value.properties) == 8
    calls, zone.calls = zone.calls, 0
    write(entity)
    assert calls == zone.calls


def test_an_unread_property_counts_as_written_first(
    lazy_type: type[LazyEntity], write: Callable[[Entity], Any]
) -> None:
    """Wherever it stands, what is assigned to it while another value is encoded comes too late."""
    entity: Any = lazy_type.from_bytes(write_cases.RAW)

    class Assigning(datetime.tzinfo):
        def utcoffset(self, _: Any) -> datetime.timedelta:
            entity.update(dict.fromkeys(write_cases.RECEIVED[1:], 100))
            return datetime.timedelta(0)

        def dst(self, _: Any) -> None:
            return None

        def tzname(self, _: Any) -> None:
            return None

    entity["a"] = datetime.datetime(2024, 5, 6, tzinfo=Assigning())
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
    # One name is missing at a time, at most.
    at_least = len(names) - 1
    done = threading.Event()

    def move() -> None:
        while not done.is_set():
            for name in names:
                changed[name] = changed.pop(name)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        for _ in range(ROUNDS):
            written = write(entity).properties["changed"].entity_value.properties
            assert len(written) >= at_least
    finally:
        done.set()
        mover.join()
