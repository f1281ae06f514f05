"""Elements that change while they are converted: keys and other threads do that."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from apache_beam.io.gcp.datastore.v1new import types

from lazyentity import LazyEntity
from lazyentity.patches.beam.coders import ElementCoder
from lazyentity.patches.beam.elements import of_bytes
from tests.patches.beam.forms import client_form, form
from tests.support.changing import CHANGES, RESIZING, adding_and_deleting, meanwhile, rebuild
from tests.support.snapshots import Raised, outcome
from tests.support.stock import in_order_of, stock_entity
from tests.support.strategies.samples import serialise

_NAMES = [f"p{number}" for number in range(20)]
_VALUES: dict[str, Any] = {name: number for number, name in enumerate(_NAMES)}
_RAW = serialise({**_VALUES, "p5": types.Key(["Kind", 5], project="p").to_client_key()})


class _Hooked(types.Key):  # type: ignore[misc]  # announces no types
    """A key that calls a function when it is converted."""

    act: Callable[[], object]

    def to_client_key(self) -> Any:
        self.act()
        return super().to_client_key()


def _hooked(act: Callable[[], object]) -> _Hooked:
    made = _Hooked(["Kind", 1], project="p")
    made.act = act
    return made


def _both() -> tuple[Any, Any]:
    """Return Beam's element of an entity and the lazy one, with properties in the same order."""
    ordered = in_order_of(LazyEntity.from_bytes(_RAW), stock_entity(_RAW))
    return types.Entity.from_client_entity(ordered), of_bytes(_RAW)


def _written(element: Any) -> Any:
    return client_form(element.to_client_entity())


@pytest.mark.parametrize("change", CHANGES)
def test_a_value_changes_the_others(change: str) -> None:
    """As Beam's own element: an error, where there are more or fewer then; nothing is lost."""
    results = []
    for element in _both():
        element.properties["p5"] = _hooked(functools.partial(CHANGES[change], element.properties))
        results.append(outcome(functools.partial(_written, element)))
        del element.properties["p5"]
        results.append(form(element))
    assert results[:2] == results[2:]
    # In which of two orders the properties are is left to chance: of a swap, that counts.
    assert change == "swaps" or isinstance(results[0], Raised) is (change in RESIZING)


def test_nothing_is_left_out() -> None:
    """Beam leaves out properties of such a dict without an error."""
    for place in range(1, 20):
        element = of_bytes(_RAW)
        name = list(element.properties)[place]
        element.properties[name] = _hooked(functools.partial(rebuild, element.properties))
        written = outcome(element.to_client_entity)
        if isinstance(written, Raised):
            assert written.kind is RuntimeError
        else:
            assert written.keys() == _VALUES.keys()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_key_changes_the_values(change: Callable[[Any], object]) -> None:
    """Keys are converted first: the values are those that are there then."""
    results = []
    for element in _both():
        _ = element.properties["p1"]
        element.key = _hooked(functools.partial(change, element.properties))
        results.append(client_form(element.to_client_entity()))
    assert results[0] == results[1]


_USES: dict[str, Callable[[Any], Any]] = {
    "encode": lambda element: ElementCoder().decode(ElementCoder().encode(element)).properties,
    "items": lambda element: dict(element.properties.items()),
    "copy": lambda element: element.properties.copy(),
    "changes": lambda element: {**_VALUES, **element.properties.changes()[0]},
}


@pytest.mark.parametrize("use", _USES.values(), ids=_USES)
@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_an_element(use: Callable[[Any], Any]) -> None:
    """All that stays is there each time, and nothing fails."""
    raw = serialise(_VALUES)
    for _ in range(6):
        element = of_bytes(raw)

        def act(element: Any = element) -> None:
            for turn in range(40):
                if turn % 8 == 0:
                    _ = element.properties[_NAMES[turn // 8]]
                used = use(element)
                assert {name: used[name] for name in _NAMES} == _VALUES

        meanwhile(adding_and_deleting(element.properties), act)


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_moves_a_value() -> None:
    """It is found under one of the names at least, as the thread keeps it."""
    properties = of_bytes(serialise(_VALUES)).properties

    def change(_turn: int) -> None:
        properties["moved"] = properties["p1"]
        del properties["p1"]
        properties["p1"] = properties["moved"]
        del properties["moved"]

    def act() -> None:
        for _ in range(3_000):
            assigned, deleted = properties.changes()
            assert "moved" in assigned or "p1" not in deleted

    meanwhile(change, act)
