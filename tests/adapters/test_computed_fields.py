"""Computed fields: entities in them are decoded, and everything else is as pydantic does it."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import pydantic
import pytest
from pydantic import BaseModel, SerializeAsAny, TypeAdapter, computed_field, type_adapter
from pydantic_core import core_schema

from lazyentity import LazyEntity
from lazyentity.patches import adapters
from tests.adapters.uses import installed
from tests.adapters.uses_functions import what_c_code_sees
from tests.entity.consumption import describe
from tests.support.snapshots import outcome
from tests.support.stock import in_order_of, stock_entity
from tests.support.strategies.samples import PLAIN

EXCLUDES = "serialization_exclude_if" in core_schema.ComputedField.__annotations__
"""Whether pydantic-core asks about a computed field, by which the adapter sees its value."""


class Inner(BaseModel):
    a: int = 1
    b: str | None = None
    several: list[int] = [1, 2, 3]


class Sub(Inner):
    more: str = "more"


VALUES: dict[str, tuple[Any, Callable[[], Any]]] = {
    "model": (Inner, Inner),
    "subclass": (Inner, Sub),
    "as any": (SerializeAsAny[Inner], Sub),
    "models": (list[Inner], lambda: [Inner(), Sub()]),
    "any": (dict[str, Any], lambda: {"x": [Inner(), {1}], "y": float("nan")}),
    "another type": (list[int], lambda: {"a": "x"}),
    "no model": (Inner, lambda: 5),
    "union": (Inner | list[Sub] | None, lambda: [Sub()]),
    "none": (Inner | None, lambda: None),
    "iterator": (Iterable[int], lambda: iter([1, 2, 3])),
    "unknown": (Any, object),
    "raised": (list[int], lambda: 1 // 0),
    "serializer": (Annotated[list[int], pydantic.PlainSerializer(sum)], lambda: [1, 2]),
    "wrap serializer": (
        Annotated[list[int], pydantic.WrapSerializer(lambda value, handler: handler(value) * 2)],
        lambda: [1, 2],
    ),
    "text": (str, lambda: "text"),
}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"mode": "json"},
    {"by_alias": True},
    {"exclude_none": True},
    {"round_trip": True},
    {"serialize_as_any": True},
    {"include": {"value": {"a"}}},
    {"exclude": {"value": {0}}},
    {"exclude": {"value": {"__all__": {"several"}}}},
    {"warnings": "error"},
)


def _model(kind: Any, make: Callable[[], Any], **options: Any) -> Any:
    def value(_: Any) -> Any:
        return make()

    value.__annotations__["return"] = kind
    made = computed_field(alias="alias", repr=False, **options)(property(value))
    metaclass: Any = type(BaseModel)
    return metaclass("Made", (BaseModel,), {"__module__": __name__, "value": made})


def _dumped(model: Any, options: dict[str, Any]) -> Any:
    """Return what a model is dumped to, in each way, with its warnings."""
    dumps: list[Callable[..., Any]] = [
        model().model_dump,
        lambda **options: TypeAdapter(list[Any]).dump_python([model()], **options),
    ]
    if "mode" not in options:
        dumps += [model().model_dump_json]
    results = []
    for dump in dumps:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            made = outcome(lambda dump=dump: dump(**options))
        texts = [str(each.message) for each in warned]
        results.append(re.sub("0x[0-9a-f]+", "", repr((made, texts))))
    return results


@pytest.mark.any_backend
@pytest.mark.parametrize("name", VALUES)
def test_everything_else_is_pydantics(name: str) -> None:
    """Each option of a dump gives the same results, errors and warnings as an older model."""
    kind, make = VALUES[name]
    adapters.remove()
    older = _model(kind, make)
    with installed():
        newer = _model(kind, make)
        for options in OPTIONS:
            assert _dumped(newer, options) == _dumped(older, options), options
        schema = outcome(lambda: newer.model_json_schema(mode="serialization"))
    expected = outcome(lambda: older.model_json_schema(mode="serialization"))
    assert describe(schema) == describe(expected)


HOLDS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "dict": (dict[str, Any], lambda e: e),
    "any": (Any, lambda e: [e]),
    "list": (list[dict[str, Any]], lambda e: [e, e]),
    "model": (BaseModel, lambda e: pydantic.create_model("Held", e=(Any, e))()),
}
DUMPS: dict[str, Callable[[Any], Any]] = {
    "model_dump": lambda model: model.model_dump(),
    "model_dump_json": lambda model: model.model_dump_json(),
    "dump_python": lambda model: TypeAdapter(Any).dump_python([model]),
    "dump_json": lambda model: TypeAdapter(list[BaseModel]).dump_json([model]),
}


@pytest.mark.skipif(not EXCLUDES, reason="this pydantic-core hands the value to no function")
@pytest.mark.parametrize("held", HOLDS.values(), ids=HOLDS.keys())
def test_kept_entities_are_decoded(
    lazy_type: type[LazyEntity], held: tuple[Any, Callable[[Any], Any]]
) -> None:
    """By each dump, read before or not."""
    kind, hold = held
    with installed():
        for (name, dump), is_read in itertools.product(DUMPS.items(), (False, True)):
            lazy = lazy_type.from_bytes(PLAIN)
            stock = in_order_of(lazy_type.from_bytes(PLAIN), stock_entity(PLAIN))
            if is_read:
                lazy["text"]
            found, expected = (
                describe(what_c_code_sees(outcome(dump, _model(kind, lambda e=e: hold(e))())))  # type: ignore[misc]  # bound here
                for e in (lazy, stock)
            )
            assert found == expected, (name, is_read)


@pytest.mark.skipif(not EXCLUDES, reason="computed fields have no such parameter")
def test_the_application_is_asked_as_before(lazy_type: type[LazyEntity]) -> None:
    """Its function sees the entity decoded, and decides."""
    lazy = lazy_type.from_bytes(PLAIN)
    seen: list[str] = []

    def is_excluded(value: Any) -> bool:
        seen.append(repr(dict.__getitem__(value, "text")))
        return bool(value["number"] == 42)

    with installed():
        made = _model(dict[str, Any], lambda: lazy, exclude_if=is_excluded)()
        assert made.model_dump() == {}
    assert seen == ["'Grüße'"]


@pytest.mark.any_backend
@pytest.mark.skipif(not EXCLUDES, reason="the schema of a computed field is the application's")
def test_serializers_are_copied_and_pickled() -> None:
    schema = Pickled.__pydantic_core_schema__
    with installed():
        # As pydantic makes it; the pure backend replaces this name.
        serializer = vars(type_adapter)["SchemaSerializer"](schema)
    assert "serialization_exclude_if" in repr(serializer.__reduce__())
    for twin in (copy.deepcopy(serializer), pickle.loads(pickle.dumps(serializer))):
        assert twin.to_python(Pickled()) == {"value": ["value"]}


class Pickled(BaseModel):
    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def value(self) -> list[str]:
        return ["value"]
