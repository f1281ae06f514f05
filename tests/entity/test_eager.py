"""Stock entities decoded as a whole: equal to the client's in every respect, order included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from hypothesis import given, strategies as st

from tests.backends.malformed import entity_of
from tests.conftest import BACKENDS
from tests.support.snapshots import Raised, outcome, whole
from tests.support.stock import stock_entity
from tests.support.strategies import Grammar, entities, wire
from tests.support.strategies.samples import RICH
from tests.support.strategies.schema import VALUE

Make = Callable[[bytes], Entity]


@pytest.fixture(scope="session", params=list(BACKENDS))
def make(request: pytest.FixtureRequest) -> Make:
    """The function of each backend that makes stock entities from bytes."""
    made: Make = BACKENDS[request.param].stock_from_raw
    return made


def result(call: Callable[[bytes], Entity], raw: bytes) -> Any:
    """Return the result or error of a conversion in a form that can be compared."""
    made = outcome(call, raw)
    return made if isinstance(made, Raised) else whole(made)


NAMES = st.text(max_size=12) | st.sampled_from(["x" * 200, "y" * 20_000])
ANY = st.one_of(entities(Grammar()), entities(Grammar(faulty=True)))


@given(raw=ANY)
def test_as_the_client_converts_it(make: Make, raw: bytes) -> None:
    """Types, values, flags, meanings and all orders are stock's; so is the first error's text."""
    assert result(make, raw) == result(stock_entity, raw)


@given(names=st.lists(NAMES, max_size=60), data=st.data())
def test_order(make: Make, names: list[str], data: st.DataObject) -> None:
    """Properties come in stock's order, with any names and in any number.

    The same holds for repeated names, of which the last counts.
    """
    flagged = [data.draw(st.booleans()) for _ in names]
    pairs = zip(names, flagged, strict=True)
    raw = b"".join(entity_of(name, *_flag(flag)) for name, flag in pairs)
    for _ in range(3):
        assert result(make, raw) == result(stock_entity, raw)


def _flag(excluded: bool) -> list[wire.Field]:
    number = wire.integer(VALUE.integer_value, 5)
    return [wire.integer(VALUE.exclude_from_indexes, 1), number] if excluded else [number]


@pytest.mark.parametrize("name", ["__init__", "update", "__setattr__"])
def test_methods_of_the_application_are_called(
    make: Make, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A constructor, update() or __setattr__ that an application put on the class is called."""
    calls: list[Any] = []
    original: Any = getattr(Entity, name)

    def replacement(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Entity, name, replacement)
    stock_entity(RICH)
    expected = len(calls)
    make(RICH)
    assert len(calls) == 2 * expected > 0


def test_mutable_parts_are_not_shared(make: Make) -> None:
    """Two entities of the same shape share no mutable part, and neither do later ones."""
    first, second = make(RICH), make(RICH)
    for entity in (first, second):
        entity.exclude_from_indexes.add("more")
        entity._meanings.clear()
        entity["inners"].append(1)
        entity["inner"]["new"] = 1
        del entity["text"]
        entity["another"] = 2
    assert whole(make(RICH)) == whole(stock_entity(RICH))
