"""Where no adapter reaches, an entity that was not read fails loudly.

docs/adapters.rst lists these places as having no adapter. A new adapter takes its case from here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any
from xml.etree import ElementTree

import pydantic
import pydantic_core
import pytest
from google.protobuf import json_format
from google.protobuf.api_pb2 import Api

from lazyentity import LazyEntity, materialize
from lazyentity._inplace import SLOTS
from tests.adapters.uses import Holds
from tests.support.strategies.samples import serialise

RAW = serialise({"text": "words", "inner": {"deep": "value"}})

_create_model: Any = pydantic.create_model
VALUE: Any = dict[str, Any]
_KEPT: dict[str, Any] = {}
"""Entities of the application, where no argument of a call leads to."""


def _of_attributes(holder: Any) -> Any:
    # The items of its value are read from the storage.
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


class Privately:
    def __init__(self, entity: Any) -> None:
        self._held: Any = Holds(entity=entity)

    @property
    def value(self) -> Any:
        return self._held.entity


class Computed(pydantic.BaseModel):
    """A model that may be older than the adapters."""

    @pydantic.computed_field
    def value(self) -> VALUE:
        return _KEPT["entity"]


def _element(entity: Any) -> Any:
    element = ElementTree.Element("tag")
    element.attrib = entity
    return element.get("text")


def _mutated(entity: Any) -> Any:
    with pytest.importorskip("immutables").Map().mutate() as made:
        made.update(entity)
        return made.finish()["text"]


def _attributes(entity: Any) -> Any:
    made: Any = Holds()
    made.__dict__ = entity
    return made


def _is_equal(entity: Any) -> str:
    # dict compares storage with storage. Python asks the right operand first only for a dict.
    kind = type("Subclass", (dict,), {})
    return "words" if kind({"text": "words", "inner": {"deep": "value"}}) == entity else ""


def _shown(entity: Any) -> Any:
    class Shown:
        def toDict(self) -> Any:  # noqa: N802  # as ujson looks for it
            return entity

    return json.loads(pytest.importorskip("ujson").dumps(Shown()))["text"]


def _own_encoder(entity: Any) -> Any:
    def default(_: Any, value: Any) -> Any:
        if type(value) is not Privately:
            raise TypeError(f"no JSON for {type(value)}")
        return value.value

    own = type("Own", (pytest.importorskip("rapidjson").Encoder,), {"default": default})
    return json.loads(own()(Privately(entity)))["text"]


def _from_attributes(_: Any) -> Any:
    msgspec = pytest.importorskip("msgspec")
    made = msgspec.convert(
        Property(), msgspec.defstruct("Made", [("value", VALUE)]), from_attributes=True
    )
    return made.value["text"]


# Each takes an entity and gives a property of it.
LIMITS: dict[str, Callable[[Any], Any]] = {
    "method of dict": lambda e: dict.get(e, "text"),
    "storage of attributes": lambda e: _attributes(e).text,
    "equality": _is_equal,
    "ujson, toDict": _shown,
    "rapidjson, method of an encoder": _own_encoder,
    "msgspec, property": _from_attributes,
    "etree": _element,
    "immutables": lambda e: pytest.importorskip("immutables").Map().update(e)["text"],
    "immutables, mutated": _mutated,
}

if not SLOTS:
    # The native backend has adapters for these.
    LIMITS |= {
        "rapidjson, encoder": lambda e: json.loads(pytest.importorskip("rapidjson").Encoder()(e))[
            "text"
        ],
        "immutables, made": lambda e: pytest.importorskip("immutables").Map(e)["text"],
        "jsonschema-rs, made": lambda e: str(
            pytest.importorskip("jsonschema_rs").Draft7Validator({"const": e}) and e["text"]
        ),
    }

NEVER_WRONG: dict[str, Callable[[Any], Any]] = {
    "older computed field": lambda _: Computed().model_dump()["value"]["text"],
    "older computed field in json": lambda _: json.loads(Computed().model_dump_json())["value"][
        "text"
    ],
    "function in an older model": lambda _: BEFORE_PATCH(value=1).value["text"],
    "function in an older model, deep": lambda _: BEFORE_PATCH(value=1).value["inner"]["deep"],
    "property": lambda _: _of_attributes(Property()),
    "private object": lambda e: _of_attributes(Privately(e)),
}
LOUD = (TypeError, pydantic_core.PydanticSerializationError)


pytestmark = pytest.mark.usefixtures("adapted")


def _used(property_of: Callable[[Any], Any], entity: Any) -> str:
    _KEPT["entity"] = entity
    return str(property_of(entity))


@pytest.mark.parametrize("property_of", LIMITS.values(), ids=LIMITS.keys())
def test_using_it_raises(lazy_type: type[LazyEntity], property_of: Callable[[Any], Any]) -> None:
    """And does not where the entity is materialised first, as the docs say."""
    # jsonschema-rs says of anything in a schema that it takes no part in JSON.
    is_schema = property_of is LIMITS.get("jsonschema-rs, made")
    with pytest.raises(ValueError if is_schema else LOUD, match=r"materialize|UndecodedType"):
        _used(property_of, lazy_type.from_bytes(RAW))
    assert _used(property_of, materialize(lazy_type.from_bytes(RAW))) in ("words", "value")


def test_protobuf_takes_no_submessage(lazy_type: type[LazyEntity]) -> None:
    """Nor does the constructor of a message need one for a map; and ``json_format`` never."""
    raw = serialise({"file_name": "words"})
    with pytest.raises(TypeError):
        Api(source_context=lazy_type.from_bytes(raw))  # type: ignore[arg-type]  # it takes dicts
    whole: Any = materialize(lazy_type.from_bytes(raw))
    assert Api(source_context=whole).source_context.file_name == "words"
    filled = json_format.ParseDict({"source_context": lazy_type.from_bytes(raw)}, Api())
    assert filled.source_context.file_name == "words"


def test_cffi_takes_no_entity(lazy_type: type[LazyEntity]) -> None:
    raw = serialise({"number": 3})
    ffi = pytest.importorskip("cffi").FFI()
    ffi.cdef("typedef struct { int number; } made;")
    with pytest.raises(TypeError, match="materialize"):
        ffi.new("made *", lazy_type.from_bytes(raw))
    assert ffi.new("made *", materialize(lazy_type.from_bytes(raw))).number == 3


@pytest.mark.parametrize("property_of", NEVER_WRONG.values(), ids=NEVER_WRONG.keys())
def test_never_wrong(lazy_type: type[LazyEntity], property_of: Callable[[Any], Any]) -> None:
    """Newer versions of pydantic-core ask a dict's methods in some places; older ones do not.

    And the models of this module are older than the adapters only where it is imported first.
    """
    expected = _used(property_of, materialize(lazy_type.from_bytes(RAW)))
    try:
        used = _used(property_of, lazy_type.from_bytes(RAW))
    except LOUD:
        return
    assert used == expected
