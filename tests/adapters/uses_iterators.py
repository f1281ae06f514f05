"""Uses of libraries that take items of iterators, deep inside arguments, which make entities."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.adapters.uses import Uses, module
from tests.adapters.uses_hooks import now


class _Listed(list):  # type: ignore[type-arg]  # a class at run time
    """A list of the application."""


class _Iterable:
    """Takes its items from an attribute."""

    def __init__(self, held: Iterator[Any]) -> None:
        self.held = held

    def __iter__(self) -> Iterator[Any]:
        return self.held


AROUND: dict[str, Callable[[Iterator[Any]], Any]] = {
    "itself": lambda items: items,
    "in a list": lambda items: [items],
    "in dicts": lambda items: {"a": {"b": {"c": [1, items]}}},
    "in a deep list": lambda items: [[[[[[[[items]]]]]]]],
    "in a deque": lambda items: [deque([items])],
    "in a list of the application": lambda items: [_Listed([items])],
    "in a view": lambda items: [{"a": items}.values()],
    "in an iterable": lambda items: [_Iterable(items)],
    "in an iterator": lambda items: iter([[items]]),
}


def _items(entity: Any) -> dict[str, Callable[[], Iterator[Any]]]:
    def made(_: int) -> Any:
        return now(entity)

    return {
        "generator": lambda: (now(entity) for _ in range(2)),
        "map": lambda: map(made, range(2)),
        "islice": lambda: itertools.islice(map(made, range(9)), 2),
    }


def _around(use: Callable[[Any], Any], *names: str) -> dict[str, Callable[[Any], Any]]:
    def with_items(kind: str, name: str) -> Callable[[Any], Any]:
        return lambda entity: use(AROUND[name](_items(entity)[kind]()))

    return {
        f"{kind}, {name}": with_items(kind, name)
        for kind in _items(None)
        for name in names or AROUND
    }


def _taken(value: Any) -> Any:
    """Return a value with lists for iterators, whose items are taken now."""
    if hasattr(value, "__next__"):
        return [_taken(item) for item in value]
    if type(value) is dict:
        return {name: _taken(item) for name, item in value.items()}
    return [_taken(item) for item in value] if type(value) is list else value


def _validated(value: Any) -> Any:
    adapter = module("pydantic").TypeAdapter(_deep(Iterable[dict[str, Any]]))
    return _taken(adapter.validate_python(value))


def _deep(kind: Any) -> Any:
    return dict[str, dict[str, dict[str, list[int | kind]]]]


def _listed(kind: Any) -> Any:
    return list[kind]


def _attributes(value: Any) -> Any:
    pydantic = module("pydantic")
    model = pydantic.create_model(
        "Model", __config__={"from_attributes": True}, held=(Iterable[dict[str, Any]], ...)
    )
    return _taken(vars(model.model_validate(_Iterable(value)))["held"])


def _constructed(value: Any) -> Any:
    model = module("pydantic").create_model("Model", held=(Iterable[dict[str, Any]], ...))
    return _taken(vars(model(held=value))["held"])


def _called(value: Any) -> Any:
    pydantic = module("pydantic")

    @pydantic.validate_call  # type: ignore[untyped-decorator]  # the module is any
    def call(held: _deep(Iterable[dict[str, Any]])) -> Any:  # type: ignore[valid-type]  # made here
        return _taken(held)

    return call(value)


def _dataclass(value: Any) -> Any:
    pydantic = module("pydantic")
    kind = pydantic.dataclasses.dataclass(
        dataclasses.make_dataclass("Held", [("held", Iterable[dict[str, Any]])])
    )
    return _taken(kind(value).held)


def _dumped(value: Any) -> Any:
    model = module("pydantic").create_model("Model", held=(Any, ...))
    return _taken(model(held=value).model_dump())


def _dumped_within(value: Any) -> Any:
    pydantic = module("pydantic")
    inner = pydantic.create_model("Inner", held=(Any, ...))
    model = pydantic.create_model("Model", inner=(_listed(inner), ...))
    return _taken(model(inner=[inner(held=value)]).model_dump())


def _dumped_by_adapter(value: Any) -> Any:
    return _taken(module("pydantic").TypeAdapter(Any).dump_python(value))


def _listed_models(value: Any) -> Any:
    pydantic = module("pydantic")
    model = pydantic.create_model("Model", held=(Any, ...))
    return _taken(pydantic.TypeAdapter(_listed(model)).dump_python([model(held=value)]))


def _core(function: str) -> Callable[[Any], Any]:
    def dump(value: Any) -> Any:
        model = module("pydantic").create_model("Model", held=(Any, ...))
        return getattr(module("pydantic_core"), function)([model(held=value)])

    return dump


def _rapidjson(value: Any) -> Any:
    return json.loads(module("rapidjson").dumps(value))


def _rapidjson_dump(value: Any) -> Any:
    stream = io.BytesIO()
    module("rapidjson").dump(value, stream)
    return json.loads(stream.getvalue())


USES = (
    Uses(
        "python-rapidjson",
        "rapidjson",
        _around(_rapidjson)
        | {f"dump, {name}": use for name, use in _around(_rapidjson_dump, "in dicts").items()},
    ),
    Uses(
        "pydantic",
        "pydantic",
        {
            f"{name}, {inner}": use
            for name, uses in {
                "validate_python": _around(_validated, "in dicts"),
                "from_attributes": _around(_attributes, "itself"),
                "a model": _around(_constructed, "itself"),
                "validate_call": _around(_called, "in dicts"),
                "a dataclass": _around(_dataclass, "itself"),
                "model_dump": _around(_dumped, "itself", "in dicts", "in a deque"),
                "model_dump of models": _around(_dumped_within, "itself"),
                "dump_python": _around(_dumped_by_adapter),
                "dump_python of models": _around(_listed_models, "itself"),
                "to_json": _around(_core("to_json")),
                "to_jsonable_python": _around(_core("to_jsonable_python")),
            }.items()
            for inner, use in uses.items()
        },
    ),
    Uses(
        "polars",
        "polars",
        _around(lambda value: module("polars").Series(value).to_list(), "itself"),
    ),
    Uses(
        "pyarrow",
        "pyarrow",
        _around(lambda value: module("pyarrow").array(value).to_pylist(), "itself"),
    ),
)
