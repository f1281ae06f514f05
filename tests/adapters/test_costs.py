"""An adapter looks into no more than it has to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lazyentity import LazyEntity
from tests.adapters.uses import installed
from tests.support.forks import answer
from tests.support.strategies.samples import PLAIN

pydantic = pytest.importorskip("pydantic")


@pytest.fixture(autouse=True)
def _adapters() -> Iterator[None]:
    with installed():
        yield


class Held:
    """Has attributes."""


def test_only_the_fields_of_a_model_are_looked_into() -> None:
    """A model that is made of an object's attributes leaves the other attributes alone."""
    model = pydantic.create_model(
        "Model", __config__={"from_attributes": True}, inner=(dict[str, Any], ...)
    )
    held: Any = Held()
    held.inner, held.others = LazyEntity.from_bytes(PLAIN), [LazyEntity.from_bytes(PLAIN)]
    made = model.model_validate(held)
    assert made.inner["text"] == held.inner["text"]
    assert held.others[0]._undecoded()


def test_a_property_leads_to_private_containers() -> None:
    """Reading it runs code: all attributes are looked into, as the containers behind it."""

    class Owner:
        def __init__(self) -> None:
            self._inner = [LazyEntity.from_bytes(PLAIN)]

        @property
        def inner(self) -> Any:
            return self._inner

    model = pydantic.create_model(
        "Model", __config__={"from_attributes": True}, inner=(list[dict[str, Any]], ...)
    )
    assert model.model_validate(Owner()).inner[0]["text"]


def test_only_annotated_arguments_are_looked_into() -> None:
    """Pydantic hands on the others as they are, ``self`` among them."""

    class Service:
        def __init__(self) -> None:
            self.kept = [LazyEntity.from_bytes(PLAIN)]

        @pydantic.validate_call  # type: ignore[untyped-decorator]  # the module is any
        def text(self, given: dict[str, Any]) -> Any:
            return given["text"]

    service, given = Service(), LazyEntity.from_bytes(PLAIN)
    assert service.text(given) == given["text"]
    assert service.kept[0]._undecoded()
    assert not given._undecoded()


def test_nothing_is_looked_into_without_an_entity() -> None:
    """In a process of its own: others may hold undecoded entities."""
    pytest.importorskip("polars")
    assert answer("-c", _WITHOUT, warnings="ignore") == [0, True]


_WITHOUT = """
import json
import polars
from lazyentity import LazyEntity, search
from lazyentity.patches import adapters
from tests.support.strategies.samples import PLAIN

class Marked:
    pass

looked = []
search.children_of.register(Marked, lambda _: looked.append(1) or ())
adapters.install()
polars.Series([Marked()])
counts = [len(looked)]
entity = LazyEntity.from_bytes(PLAIN)
polars.Series([Marked()])
counts.append(len(looked) > 0)
print(json.dumps(counts))
"""
