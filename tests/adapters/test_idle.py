"""Calls of pydantic that no entity is in run no Python code of lazyentity, or look into little."""

from __future__ import annotations

import dataclasses
import gc
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Annotated, Any

import pydantic
import pydantic_core
import pytest

from lazyentity import LazyEntity, _alive
from lazyentity._inplace import SLOTS
from lazyentity._mode import NOTES, is_eager
from lazyentity.codec.describing import module_of
from lazyentity.patches import adapters
from lazyentity.patches.adapters import cores
from tests.adapters.uses import installed
from tests.support.forks import answer
from tests.support.strategies.samples import PLAIN

native = pytest.mark.skipif(not SLOTS, reason="the pure backend looks at each call in Python")


# Each test collects garbage.
pytestmark = pytest.mark.usefixtures("only_new_objects", "adapted")


class Row(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(from_attributes=True)
    number: int
    text: str = "text"


class Held:
    def __init__(self) -> None:
        self.number = 1
        self.text = "text"


class Service:
    def __init__(self) -> None:
        self.rows = [{"number": 1}]

    @pydantic.validate_call
    def add(self, number: int) -> int:
        return number + 1


ROW = {"number": 1, "text": "text"}
MADE = Row(**ROW)  # type: ignore[arg-type]  # of several types
ROWS = pydantic.TypeAdapter(list[Row])
SERVICE = Service()

CALLS: dict[str, Callable[[], object]] = {
    "a model": lambda: Row(**ROW),  # type: ignore[arg-type]  # of several types
    "model_validate": lambda: Row.model_validate(ROW),
    "model_dump": MADE.model_dump,
    "model_dump_json": MADE.model_dump_json,
    "rows": lambda: ROWS.validate_python([ROW]),
    "models": lambda: ROWS.validate_python([MADE]),
    "text": lambda: ROWS.validate_json('[{"number": 1}]'),
    "dump_json": lambda: ROWS.dump_json([MADE]),
    "validate_call": lambda: SERVICE.add(1),
}


def _modules_that_run(act: Callable[[], object]) -> list[str]:
    """Return the modules of lazyentity whose Python code is run."""
    found: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and str(module_of(frame)).startswith("lazyentity"):
            found.append(module_of(frame))

    # Classes of other tests, whose end runs code.
    gc.collect()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return found


# An older pydantic has a check of instances in Python, as its replacement is.
_CHECKED = ("model_validate", "rows")
_KEEPS_FIELDS = hasattr(pydantic.BaseModel, "__pydantic_fields__")
_HAS_CHECK = isinstance(vars(type(pydantic.BaseModel)).get("__instancecheck__"), FunctionType)


@native
@pytest.mark.parametrize("name", [n for n in CALLS if not (_HAS_CHECK and n in _CHECKED)])
def test_nothing_is_run(name: str) -> None:
    """Whether or not entities are alive, once the schema is known."""
    CALLS[name]()
    assert _modules_that_run(CALLS[name]) == []
    kept = LazyEntity.from_bytes(PLAIN)
    assert _modules_that_run(CALLS[name]) == []
    assert kept._undecoded()
    assert NOTES == []


_ALONE = """
import json
from tests.adapters.test_idle import Held, Row, _modules_that_run
from tests.adapters.uses import installed

with installed():
    held, made = Held(), Row.model_construct(number=Held())
    calls = [lambda: Row.model_validate(held), lambda: made.model_dump(warnings=False)]
    for call in calls:
        call()
    print(json.dumps([_modules_that_run(call) for call in calls]))
"""


@native
def test_calls_while_no_entity_is_alive() -> None:
    """In a separate process: others may hold undecoded entities.

    Objects with attributes become models; a field of a scalar type leads to no entity, whatever its
    value is.
    """
    validated, dumped = answer("-c", _ALONE, warnings="ignore")
    assert dumped == []
    assert _HAS_CHECK or validated == []


@native
def test_objects_with_attributes() -> None:
    """Once the class of the model is known, while an entity is alive."""
    held = Held()
    assert Row.model_validate(held).number == 1
    if not _HAS_CHECK:
        kept = LazyEntity.from_bytes(PLAIN)
        Row.model_validate(held)
        assert _modules_that_run(lambda: Row.model_validate(held)) == []
        assert kept._undecoded()
    held.text = LazyEntity.from_bytes(PLAIN)  # type: ignore[assignment]  # it is refused
    with pytest.raises(pydantic.ValidationError) as error:
        Row.model_validate(held)
    assert error.value.errors()[0]["input"]._undecoded() == []
    assert NOTES == []


def test_a_model_that_changes() -> None:
    """Its fields may take any value then, also from objects of a class that it knows."""

    class Changing(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(from_attributes=True)
        text: Any = None

    fields: Any = Changing.__pydantic_fields__ if _KEEPS_FIELDS else Changing.model_fields
    held, entity = Held(), LazyEntity.from_bytes(PLAIN)
    for kind in (str, Any):
        fields["text"].annotation = kind
        Changing.model_rebuild(force=True)
        for _ in range(3):
            Changing.model_validate(held)
        held.text = entity  # type: ignore[assignment]  # of the other type
    # pydantic itself reads nothing.
    assert entity._undecoded() == []


@native
def test_a_dataclass_of_mashumaro() -> None:
    """Its methods stay as they are: they call the function of orjson that is replaced in place."""
    mixins = pytest.importorskip("mashumaro.mixins.orjson")
    mixin: Any = mixins.DataClassORJSONMixin

    # make_dataclass() adds the fields after mashumaro looked, from Python 3.14 on.
    @dataclasses.dataclass
    class Held(mixin):  # type: ignore[misc]  # mashumaro need not be installed
        held: Any

    made = Held(LazyEntity.from_bytes(PLAIN))
    assert _modules_that_run(Held([1]).to_json) == []
    assert '"text":"Grüße"' in made.to_json()


@native
def test_models_are_bare() -> None:
    """Unless a field, a further attribute or a private one can hold an entity."""

    class Open(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        value: Any = None

    class Private(pydantic.BaseModel):
        _value: Any = pydantic.PrivateAttr(default=1)

    assert _alive.is_bare([MADE, {"in": Row(number=1)}])
    assert _alive.is_bare(pydantic.RootModel[list[int]]([1]))
    assert not _alive.is_bare(Open(value=LazyEntity.from_bytes(PLAIN)))
    assert not _alive.is_bare(Open(value=object()))
    assert not _alive.is_bare(Open(other=1))  # type: ignore[call-arg]  # it is allowed
    assert not _alive.is_bare(Private())
    assert not _alive.is_bare(Row.__new__(Row))
    deep: Any = None
    for _ in range(10):
        deep = Open(value=deep)
    assert not _alive.is_bare(deep)


def _direct(entity: Any) -> list[Any]:
    schema = pydantic_core.core_schema
    validator = pydantic_core.SchemaValidator(schema.dict_schema(schema.str_schema()))
    serializer = pydantic_core.SchemaSerializer(schema.any_schema())
    union = pydantic_core.SchemaValidator(
        schema.union_schema([schema.dict_schema(), schema.any_schema()])
    )
    return [
        validator.validate_python(type(entity)() | {"text": entity["text"]}),
        union.validate_python([{"in": entity}])[0]["in"]["text"],
        serializer.to_python([entity])[0]["text"],
        serializer.to_json({"in": entity}, include={"in": {"text"}}),
    ]


def test_validators_and_serializers_are_used_directly() -> None:
    """As stock entities."""
    stock = dict(LazyEntity.from_bytes(PLAIN))
    assert _direct(LazyEntity.from_bytes(PLAIN)) == _direct(stock)


def test_results_of_functions_that_were_validated_before() -> None:
    """Pydantic keeps the bound method of a validator for them."""
    adapters.remove()

    @pydantic.validate_call(validate_return=True)
    def read(entity: Any) -> int | dict[str, Any]:
        found: dict[str, Any] = made[-1]
        return found

    made: list[Any] = [{}]
    assert read(1) == {}
    with installed():
        made.append(LazyEntity.from_bytes(PLAIN))
        returned: Any = read(1)
        assert returned["text"] == "Grüße"
        assert made[-1]._undecoded() == []


@native
def test_methods_that_were_bound_before() -> None:
    adapters.remove()
    validate = pydantic.TypeAdapter(dict[str, Any]).validator.validate_python
    with installed():
        entity = LazyEntity.from_bytes(PLAIN)
        assert validate(entity)["text"] == "Grüße"
        assert entity._undecoded() == []
    assert validate({"a": 1}) == {"a": 1}


@native
def test_answers_about_a_validator_end_with_it() -> None:
    """Another one in its place in memory, with another schema, has other answers."""
    closed, opened = {"type": "int"}, {"type": "any"}
    for _ in range(100):
        validator: Any = pydantic_core.SchemaValidator(closed)
        validator.validate_python(1.0)
        assert validator.validate_python(True) == 1
        cores.known_of(validator)
        number = id(validator)
        assert cores.CLOSED[number]
        del validator
        other: Any = pydantic_core.SchemaValidator(opened)
        entity = LazyEntity.from_bytes(PLAIN)
        assert other.validate_python(entity) is entity
        # pydantic itself reads nothing.
        assert entity._undecoded() == []
        if id(other) == number:
            assert not cores.CLOSED[number]
            return
    raise AssertionError("no validator took the place of another one")


def test_properties_are_set_outside_of_a_validation() -> None:
    """Pydantic's function for assignments calls them: a read in there stays lazy."""

    class Assigned(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(validate_assignment=True)
        value: Annotated[Any, pydantic.BeforeValidator(lambda _: is_eager())] = None

        @property
        def other(self) -> Any:
            return self.value

        @other.setter
        def other(self, _: Any) -> None:
            read.append(is_eager())

    read: list[bool] = []
    made = Assigned()
    made.value = 1
    NOTES.append(None)  # as another thread's
    try:
        made.other = 1
    finally:
        NOTES.pop()
    assert made.value is True
    assert read == [False]


def test_only_the_fields_of_a_model_are_looked_into() -> None:
    """A model that is made of an object's attributes leaves the other attributes alone."""
    config = pydantic.ConfigDict(from_attributes=True)
    model: Any = pydantic.create_model("Model", __config__=config, inner=(dict[str, Any], ...))
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

    config, kind = pydantic.ConfigDict(from_attributes=True), list[dict[str, Any]]
    model: Any = pydantic.create_model("Model", __config__=config, inner=(kind, ...))
    assert model.model_validate(Owner()).inner[0]["text"]


def test_only_annotated_arguments_are_looked_into() -> None:
    """Pydantic hands on the others as they are, ``self`` among them."""

    class Service:
        def __init__(self) -> None:
            self.kept = [LazyEntity.from_bytes(PLAIN)]

        @pydantic.validate_call
        def text(self, given: dict[str, Any]) -> Any:
            return given["text"]

    service, given = Service(), LazyEntity.from_bytes(PLAIN)
    assert service.text(given) == given["text"]
    assert service.kept[0]._undecoded()
    assert not given._undecoded()
