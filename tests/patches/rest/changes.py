"""Properties of a client of the REST API that change while they are read or sent."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import pytest

from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.rest.properties import LazyProperties, mark_response
from tests.patches.rest.clients import RestClient, form
from tests.support.changing import CHANGES, RESIZING, adding_and_deleting, meanwhile
from tests.support.snapshots import Raised, outcome

_NAMES = [f"p{number}" for number in range(60)]
_VALUES = {name: number for number, name in enumerate(_NAMES)}
_RESPONSE = json.dumps(
    {
        "found": [
            {
                "entity": {
                    "key": {"partitionId": {"projectId": "p"}, "path": [{"kind": "K", "id": "1"}]},
                    "properties": {name: {"integerValue": str(_VALUES[name])} for name in _NAMES},
                },
                "version": "1",
            }
        ]
    }
)


_USES: dict[str, Callable[[Any], Any]] = {
    "items": lambda properties: dict(properties.items()),
    "copy": lambda properties: properties.copy(),
    "read": lambda properties: {name: properties[name] for name in _NAMES},
}


class ChangeCases:
    """The tests; a subclass names the client."""

    client: RestClient

    def _entity(self, kind: Any, *, lazy: bool) -> Any:
        """Make an entity of a response, with values of a class of the application's own."""
        entity_kind = type("Changing", (self.client.package.Entity,), {"value_kind": kind})
        result_kind: Any = type(
            "Result", (self.client.package.EntityResult,), {"entity_kind": entity_kind}
        )
        data = json.loads(_RESPONSE)["found"][0]
        if not lazy:
            return result_kind.from_repr(data).entity
        patch = CLIENTS[self.client.name].patch
        patch.apply()
        try:
            entity = result_kind.from_repr(mark_response({"found": [data]})["found"][0]).entity
        finally:
            patch.revert()
        assert type(entity.properties) is LazyProperties
        return entity

    @pytest.mark.parametrize("change", CHANGES)
    def test_sending_changes_the_others(self, change: str) -> None:
        """As in stock: an error, where there are more or fewer then; nothing is lost."""
        acts: list[Callable[[], object]] = []

        class Value(self.client.package.Value):  # type: ignore[name-defined]  # as above
            def to_repr(self) -> Any:
                if acts and self.value == 5:
                    acts.pop()()
                return super().to_repr()

        results = []
        for lazy in (False, True):
            entity = self._entity(Value, lazy=lazy)
            _ = entity.properties["p1"]
            acts.append(functools.partial(CHANGES[change], entity.properties))
            results.append((outcome(entity.to_repr), form(entity.properties)))
            assert not acts
        assert results[0] == results[1]
        assert isinstance(results[0][0], Raised) is (change in RESIZING)

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
    def test_converting_changes_the_others(self, change: Callable[[Any], object]) -> None:
        """A value that is converted late finds the properties, and keeps the changes."""
        acts: list[Callable[[], object]] = []

        class Value(self.client.package.Value):  # type: ignore[name-defined]  # as above
            @classmethod
            def from_repr(cls, data: Any) -> Any:
                if acts and data == {"integerValue": "5"}:
                    acts.pop()()
                return super().from_repr(data)

        expected = self._entity(Value, lazy=False).properties
        change(expected)
        properties = self._entity(Value, lazy=True).properties
        acts.append(lambda: change(properties))
        assert properties["p5"] == 5
        assert not acts
        assert dict(properties.items()) == dict(expected)

    @pytest.mark.parametrize("use", _USES.values(), ids=_USES)
    @pytest.mark.usefixtures("frequent_switches")
    def test_another_thread_changes_the_properties(self, use: Callable[[Any], Any]) -> None:
        """All that stays is there each time, and nothing fails."""
        for _ in range(6):
            properties = self._entity(self.client.package.Value, lazy=True).properties

            def act(properties: Any = properties) -> None:
                for turn in range(40):
                    if turn % 8 == 0:
                        _ = properties[_NAMES[turn // 8]]
                    used = use(properties)
                    assert {name: used[name] for name in _NAMES} == _VALUES

            meanwhile(adding_and_deleting(properties), act)
