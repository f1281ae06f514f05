"""Where no adapter reaches, an entity that was not read fails loudly.

docs/adapters.rst lists these places as having no adapter. A new adapter takes its case from here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any
from xml.etree import ElementTree

import pydantic
import pydantic_core
import pytest

from lazyentity import LazyEntity, materialize
from lazyentity._inplace import SLOTS
from tests.adapters.uses import installed
from tests.support.strategies.samples import serialise

RAW = serialise({"text": "words", "inner": {"deep": "value"}})

_create_model: Any = pydantic.create_model
VALUE: Any = dict[str, Any]
_KEPT: dict[str, Any] = {}
"""Entities of the application, where no argument of a call leads to."""


def _of_attributes(holder: Any) -> Any:
    # The items of what it has are those of the storage.
    schema = {"__config__": {"from_attributes": True}, "value": (dict[str, Any], ...)}
    return _create_model("Made", **schema).model_validate(holder).value["inner"]["deep"]


BEFORE_PATCH: Any = _create_model(
    "BeforePatch",
    value=(Annotated[VALUE, pydantic.BeforeValidator(lambda _: _KEPT["entity"])], ...),
)


class Property:
    @property
    def value(self) -> Any:
        return _KEPT["entity"]


class Held:
    def __init__(self, entity: Any) -> None:
        self.entity = entity


class Privately:
    def __init__(self, entity: Any) -> None:
        self._held = Held(entity)

    @property
    def value(self) -> Any:
        return self._held.entity


class Computed(pydantic.BaseModel):
    @pydantic.computed_field
    def value(self) -> VALUE:
        return _KEPT["entity"]


def _element(entity: Any) -> Any:
    element = ElementTree.Element("tag")
    element.attrib = entity
    return element.get("text")


def _map(entity: Any) -> Any:
    return pytest.importorskip("immutables").Map().update(entity)["text"]


def _mutated(entity: Any) -> Any:
    with pytest.importorskip("immutables").Map().mutate() as made:
        made.update(entity)
        return made.finish()["text"]


def _attributes(entity: Any) -> Any:
    made = Held(None)
    made.__dict__ = entity
    return made


def _core_serializer(entity: Any) -> Any:
    return pydantic_core.SchemaSerializer({"type": "any"}).to_python(entity)["text"]


def _encoder() -> Any:
    return pytest.importorskip("rapidjson").Encoder()


# Each takes an entity and gives a property of it.
LIMITS: dict[str, Callable[[Any], Any]] = {
    "method of dict": lambda e: dict.get(e, "text"),
    "storage of attributes": lambda e: _attributes(e).text,
    "core serializer": _core_serializer,
    "computed field": lambda _: Computed().model_dump()["value"]["text"],
    "computed field in json": lambda _: json.loads(Computed().model_dump_json())["value"]["text"],
    "etree": _element,
    "immutables": _map,
    "immutables, mutated": _mutated,
}

if not SLOTS:
    # The native backend has adapters for these.
    LIMITS |= {
        "rapidjson, encoder": lambda e: json.loads(_encoder()(e))["text"],
        "immutables, made": lambda e: pytest.importorskip("immutables").Map(e)["text"],
    }

NEVER_WRONG: dict[str, Callable[[Any], Any]] = {
    "function in an older model": lambda _: BEFORE_PATCH(value=1).value["text"],
    "function in an older model, deep": lambda _: BEFORE_PATCH(value=1).value["inner"]["deep"],
    "property": lambda _: _of_attributes(Property()),
    "private object": lambda e: _of_attributes(Privately(e)),
}
LOUD = (TypeError, pydantic_core.PydanticSerializationError)


@pytest.fixture(autouse=True)
def _adapted() -> Iterator[None]:
    with installed():
        yield


def _used(property_of: Callable[[Any], Any], entity: Any) -> str:
    _KEPT["entity"] = entity
    return str(property_of(entity))


@pytest.mark.parametrize("property_of", LIMITS.values(), ids=LIMITS.keys())
def test_using_it_raises(lazy_type: type[LazyEntity], property_of: Callable[[Any], Any]) -> None:
    """And does not where the entity is materialised first, as the docs say."""
    with pytest.raises(LOUD, match=r"materialize|UndecodedType"):
        _used(property_of, lazy_type.from_bytes(RAW))
    assert _used(property_of, materialize(lazy_type.from_bytes(RAW))) in ("words", "value")


@pytest.mark.parametrize("property_of", NEVER_WRONG.values(), ids=NEVER_WRONG.keys())
def test_never_wrong(lazy_type: type[LazyEntity], property_of: Callable[[Any], Any]) -> None:
    """Newer versions of pydantic-core ask a dict's methods in some places; older ones do not."""
    expected = _used(property_of, materialize(lazy_type.from_bytes(RAW)))
    try:
        used = _used(property_of, lazy_type.from_bytes(RAW))
    except LOUD:
        return
    assert used == expected
