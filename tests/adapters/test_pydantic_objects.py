"""Objects and metaclasses of the application that pydantic-core meets; stock is the oracle."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any

import pydantic
import pydantic_core
import pytest
from pydantic_core import core_schema

import lazyentity
from lazyentity import LazyEntity
from lazyentity._inplace import SLOTS
from tests.adapters.test_pydantic_functions import Make, _both
from tests.support.strategies.samples import PLAIN


@pytest.fixture(autouse=True)
def _unpatched() -> Iterator[None]:
    yield
    lazyentity.unpatch()


def _own_signature(make: Make) -> Any:
    def function(one: Any, two: Any) -> Any:
        return one, two

    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # as decorators do
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("a", "b")]
    )
    return pydantic.validate_call(function)([object, make()], 2)


def _any_object(make: Make) -> Any:
    @pydantic.validate_call
    def function(rows: list[Any], number: int) -> Any:
        return rows[1:], number

    return function([object(), make()], 2)


class _OwnCheck(type(pydantic.BaseModel)):  # type: ignore[misc]  # its metaclass
    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is cls


class _Checked(pydantic.BaseModel, metaclass=_OwnCheck):
    text: Any = None
    integer: int | None = None


def _own_check(make: Make) -> Any:
    return _Checked.model_validate(make()).model_dump()


def _own_check_inside(make: Make) -> Any:
    return pydantic.TypeAdapter(list[_Checked]).validate_python([make()])[0].model_dump()


class _Attributes(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(from_attributes=True)

    held: dict[str, Any]
    inner: Any = pydantic.Field(None, validation_alias=pydantic.AliasPath("path", "inner"))


class _ByProperty:
    def __init__(self, entity: Any) -> None:
        self.kept = [entity]
        self.__dict__["held"] = {}

    @property
    def held(self) -> Any:
        return self.kept[0]


class _ByMethod:
    def __init__(self, entity: Any) -> None:
        self.kept = [entity]

    def __getattribute__(self, name: str) -> Any:
        return (
            object.__getattribute__(self, "kept")[0]
            if name == "held"
            else super().__getattribute__(name)
        )


class _ByPath:
    def __init__(self, entity: Any) -> None:
        self.held: Any = {}
        self.path = _Path(entity)


class _Path:
    def __init__(self, entity: Any) -> None:
        self.inner = entity


@pytest.mark.parametrize("kind", [_ByProperty, _ByMethod, _ByPath])
def test_attributes(kind: Callable[[Any], Any]) -> None:
    """Wherever an object has its attributes from."""
    stock, lazy = _both(lambda make: _Attributes.model_validate(kind(make())).model_dump())
    assert stock == lazy


@pytest.mark.parametrize("use", [_own_signature, _any_object, _own_check, _own_check_inside])
def test_code_of_the_application(use: Callable[[Make], Any]) -> None:
    """Signatures and metaclasses of its own, and arguments that are no data."""
    stock, lazy = _both(use)
    assert stock == lazy


class _Row(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(from_attributes=True)

    text: str
    number: int


def _validator_of_fields(make: Make) -> Any:
    fields = core_schema.model_fields_schema(
        {"text": core_schema.model_field(core_schema.str_schema())}, from_attributes=True
    )
    validator = pydantic_core.SchemaValidator(fields)
    return validator.validate_python(make()), validator.isinstance_python(make())


def _instance_that_was_made(make: Make) -> Any:
    validate: Any = _Row.__pydantic_validator__.validate_python
    return validate(make(), self_instance=_Row.__new__(_Row)).model_dump()


_ANY: Any = pydantic.TypeAdapter(Any)
_BOUND_BEFORE = _ANY.serializer.to_json, _ANY.serializer.to_python, _ANY.validator.isinstance_python


def _bound_before(make: Make) -> Any:
    to_json, to_python, is_instance = _BOUND_BEFORE
    return json.loads(to_json([make()])), to_python([make()]), is_instance(make())


DIRECT = [
    _validator_of_fields,
    _instance_that_was_made,
    pytest.param(
        _bound_before,
        marks=pytest.mark.skipif(not SLOTS, reason="the pure backend replaces no bound methods"),
    ),
]


@pytest.mark.parametrize("use", DIRECT)
def test_validators_that_are_called_directly(use: Callable[[Make], Any]) -> None:
    """Without a check of a model, for an instance that was made already, and bound before."""
    stock, lazy = _both(use)
    assert stock == lazy


class _Service:
    def __init__(self) -> None:
        self.rows = [LazyEntity.from_bytes(PLAIN)]

    @pydantic.validate_call
    def add(self, number: int) -> int:
        return number


def test_a_missing_argument_leaves_the_unread_ones_alone() -> None:
    """Its error has all other arguments, of which pydantic reads none."""
    lazyentity.patch()
    for _ in range(6):
        service: Any = _Service()
    with pytest.raises(pydantic.ValidationError):
        service.add()
    assert service.rows[0]._undecoded()
