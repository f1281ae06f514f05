"""Functions that were taken before lazyentity was imported.

``python -m tests.adapters.taken_program``

Prints which of them serve an entity as a stock one, by library and by the way in which they were
taken, and the warnings.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import warnings
from typing import Any


def _taken(module: str, path: str) -> Any:
    """Return a function that an application takes; None if its library is not installed."""
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        return None
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


adapter = _taken("pydantic", "TypeAdapter")

TAKEN = {
    name: function
    for name, function in {
        **{
            name: _taken(*name.rsplit(".", 1))
            for name in (
                "orjson.dumps",
                "msgspec.json.encode",
                "polars.from_dicts",
                "polars.lit",
                "pyarrow.array",
                "xml.etree.ElementTree.tostring",
                "pydantic_core.to_json",
            )
        },
        "TypeAdapter.dump_json": adapter and adapter(Any).dump_json,
        "TypeAdapter.validate_python": adapter and adapter(list[dict[str, Any]]).validate_python,
    }.items()
    if function is not None
}
globals().update((name.rpartition(".")[2], function) for name, function in TAKEN.items())

Attributes = type("Attributes", (), {each: staticmethod(TAKEN[each]) for each in TAKEN})
"""Holds them as an application's class does."""


def defaults(*_: Any) -> None:
    """Hold them as default arguments."""


defaults.__defaults__ = (*TAKEN.values(),)
partial_array = functools.partial(array) if (array := TAKEN.get("pyarrow.array")) else None
partial_dumps = functools.partial(dumps) if (dumps := TAKEN.get("orjson.dumps")) else None

WAYS: dict[str, dict[str, Any]] = {
    "name": TAKEN,
    "attribute": {name: getattr(Attributes, name) for name in TAKEN},
    "default": dict(zip(TAKEN, defaults.__defaults__, strict=True)),
    "partial": {name: functools.partial(function) for name, function in TAKEN.items()},
}


def _element(attributes: Any) -> Any:
    etree = importlib.import_module("xml.etree.ElementTree")
    element = etree.Element("root")
    element.attrib = attributes
    return element


def _main() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        importlib.import_module("lazyentity.auto")
        samples = importlib.import_module("tests.adapters.uses")
        lazy_type = importlib.import_module("lazyentity.entity").LazyEntity
    stock_entity = importlib.import_module("lazyentity._backend").stock_from_raw
    consumption = importlib.import_module("tests.entity.consumption")
    outcome = importlib.import_module("tests.support.snapshots").outcome
    in_order_of = importlib.import_module("tests.support.stock").in_order_of

    served: dict[str, dict[str, bool]] = {}
    for way, functions in WAYS.items():
        for name, function in functions.items():
            raw = samples.TEXTS if name.endswith("tostring") else samples.TABULAR
            make = _element if name.endswith("tostring") else lambda entity: [entity]
            entity = lazy_type.from_bytes(raw)
            stock = in_order_of(lazy_type.from_bytes(raw), stock_entity(raw))
            got = outcome(function, make(entity))
            expected = outcome(function, make(stock))
            served.setdefault(name, {})[way] = _said(consumption, got) == _said(
                consumption, expected
            )
    texts = [str(each.message) for each in caught if "too late" in str(each.message)]
    print(json.dumps([served, texts]))  # noqa: T201  # the result


def _said(consumption: Any, result: Any) -> Any:
    try:
        return consumption.describe(result)
    except AssertionError:
        # No plain structure: a column or an expression.
        return str(result)


if __name__ == "__main__":
    _main()
