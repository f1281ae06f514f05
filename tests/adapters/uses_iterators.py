"""Uses of libraries that take items of iterators, deep inside arguments, which make entities."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pydantic
import pydantic_core
from pydantic import TypeAdapter

from tests.adapters.uses import Uses, lib, listed
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


DICTS: Any = Iterable[dict[str, Any]]
DEEP: Any = dict[str, dict[str, dict[str, list[int | DICTS]]]]


def _holding(kind: Any, config: Any = None) -> Any:
    return pydantic.create_model("Model", __config__=config, held=(kind, ...))


def _called(value: Any) -> Any:
    @pydantic.validate_call
    def call(held: DEEP) -> Any:
        return _taken(held)

    return call(value)


def _dataclass(value: Any) -> Any:
    made: Any = pydantic.dataclasses.dataclass(
        dataclasses.make_dataclass("Held", [("held", DICTS)])
    )
    return _taken(made(value).held)


def _validated(value: Any) -> Any:
    return _taken(TypeAdapter(DEEP).validate_python(value))


def _attributes(value: Any) -> Any:
    made = _holding(DICTS, {"from_attributes": True}).model_validate(_Iterable(value))
    return _taken(vars(made)["held"])


def _dumped_within(value: Any) -> Any:
    inner = _holding(Any)
    model = pydantic.create_model("Model", inner=(listed(inner), ...))
    return _taken(model(inner=[inner(held=value)]).model_dump())


def _listed_models(value: Any) -> Any:
    model = _holding(Any)
    return _taken(TypeAdapter(listed(model)).dump_python([model(held=value)]))


def _rapidjson_dump(value: Any) -> Any:
    stream = io.BytesIO()
    lib.rapidjson.dump(value, stream)
    return json.loads(stream.getvalue())


PYDANTIC = {
    "validate_python": _around(_validated, "in dicts"),
    "from_attributes": _around(_attributes, "itself"),
    "a model": _around(lambda v: _taken(vars(_holding(DICTS)(held=v))["held"]), "itself"),
    "validate_call": _around(_called, "in dicts"),
    "a dataclass": _around(_dataclass, "itself"),
    "model_dump": _around(
        lambda v: _taken(_holding(Any)(held=v).model_dump()), "itself", "in dicts", "in a deque"
    ),
    "model_dump of models": _around(_dumped_within, "itself"),
    "dump_python": _around(lambda v: _taken(TypeAdapter(Any).dump_python(v))),
    "dump_python of models": _around(_listed_models, "itself"),
    "to_json": _around(lambda v: pydantic_core.to_json([_holding(Any)(held=v)])),
    "to_jsonable_python": _around(
        lambda v: pydantic_core.to_jsonable_python([_holding(Any)(held=v)])
    ),
}

USES = (
    Uses(
        "python-rapidjson",
        _around(lambda v: json.loads(lib.rapidjson.dumps(v)))
        | {f"dump, {name}": use for name, use in _around(_rapidjson_dump, "in dicts").items()},
        module="rapidjson",
    ),
    Uses(
        "pydantic",
        {f"{name}, {inner}": use for name, uses in PYDANTIC.items() for inner, use in uses.items()},
    ),
    Uses("polars", _around(lambda v: lib.polars.Series(v).to_list(), "itself")),
    Uses("pyarrow", _around(lambda v: lib.pyarrow.array(v).to_pylist(), "itself")),
)
