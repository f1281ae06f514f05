"""Syntax, built-ins and libraries that take a dict treat a lazy entity as a stock one.

The machine of tests/fuzz has the methods of dict. Here are the interpreter, C code that knows
dicts, and Python code that treats dicts in a special way.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import io
import json
import logging
import marshal
import operator
import pickle
import pprint
import sqlite3
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import closing
from itertools import product
from typing import Any
from unittest import mock
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import proto
import pytest
from google.cloud.datastore.entity import Entity
from google.protobuf import json_format, struct_pb2

import lazyentity
from lazyentity import LazyEntity
from lazyentity.patches import adapters
from tests.entity.consumption import PICKLES, Consumer, assert_consumed_alike, describe
from tests.support.snapshots import Raised, outcome
from tests.support.stock import in_order_of, stock_entity
from tests.support.strategies.samples import PLAIN, SAMPLES

READ_BEFORE: dict[str, Callable[[LazyEntity], object]] = {
    "undecoded": lambda entity: None,
    "one read": lambda entity: entity["text"],
    "all read": lambda entity: entity.values(),
}
"""How much of the entity was decoded before the consumer gets it."""


@pytest.fixture(scope="module", autouse=True)
def _without_adapters() -> None:
    """Other tests may have used ``wrap()``, which installs the adapters for good."""
    adapters.remove()


def _keywords(**properties: Any) -> dict[str, Any]:
    return properties


def _named(text: str, inner: Any, **others: Any) -> Any:
    return text, inner, others


def _match_with_rest(entity: Any) -> Any:
    match entity:
        case {"missing": _}:
            return "missing"
        case {"text": text, **rest}:
            return text, rest
    return None


def _match_nested(entity: Any) -> Any:
    match entity:
        case {"inner": {"deep": deep}, "text": str(text)}:
            return deep, text
    return None


def _updated(target: Any, *arguments: Any, **keywords: Any) -> Any:
    target.update(*arguments, **keywords)
    return target


def _in_place_or(target: Any, other: Any) -> Any:
    target |= other
    return target


def _evaluated(entity: Any) -> Any:
    value = eval("text", entity)  # noqa: S307  # the test's own expression
    # eval() leaves this in the namespace that it was given.
    del entity["__builtins__"]
    return value


def _executed(entity: Any) -> Any:
    exec("seen = text", {}, entity)  # noqa: S102  # the test's own statement
    return entity["seen"]


def _global_names(entity: Any) -> Any:
    def reader() -> Any:
        return text  # type: ignore[name-defined]  # noqa: F821  # a global name of the function made of it

    return types.FunctionType(reader.__code__, entity)()


def _class_namespace(entity: Any) -> Any:
    made = type("Made", (), entity)
    return {name: getattr(made, name) for name in entity}


def _views_before_reading(entity: Any) -> Any:
    items, values, keys = entity.items(), entity.values(), entity.keys()
    entity["added"] = 1
    return list(items), list(values), list(keys)


class _Derived(dict):  # type: ignore[type-arg]  # any dict subclass
    pass


LANGUAGE: dict[str, Consumer] = {
    "dict()": dict,
    "dict() with keywords": lambda e: dict(e, extra=1),
    "dict(**)": lambda e: dict(**e),
    "subclass of dict": _Derived,
    "{**}": lambda e: {**e},
    "f(**)": lambda e: _keywords(**e),
    "f(**) by name": lambda e: _named(**e),
    "SimpleNamespace": lambda e: vars(types.SimpleNamespace(**e)),
    "MappingProxyType": lambda e: {name: types.MappingProxyType(e)[name] for name in e},
    "MappingProxyType repr": lambda e: repr(types.MappingProxyType(e)),
    "reversed values": lambda e: list(reversed(e.values())),
    "items.mapping": lambda e: [e.items().mapping[name] for name in e],
    "in items": lambda e: (("text", e["text"]) in e.items(), ("text", 0) in e.items()),
    "reflected items ==": lambda e: dict(e).items() == e.items(),
    "repr of views": lambda e: (repr(e.keys()), repr(e.values()), repr(e.items())),
    "live views": _views_before_reading,
    "| with pairs": lambda e: e | [("extra", 1)],
    "|= into dict": lambda e: _in_place_or({"text": 0}, e),
    "update of dict": lambda e: _updated({"text": 0}, e),
    "update of dict (**)": lambda e: _updated({"text": 0}, **e),
    "update of Entity": lambda e: _updated(Entity(), e),
    "unhashable name": lambda e: e[[]],
    "name of another type": lambda e: (e.get(1), 1 in e),
    "popitem of empty": lambda e: (e.clear(), e.popitem()),
    "dict.fromkeys": lambda e: dict.fromkeys(e, 0),
    "hash": hash,
    "format spec": lambda e: format(e, ">30"),
    "%": lambda e: "%(text)s and %(inner)r" % e,  # noqa: UP031  # it is tested
    "format_map": lambda e: "{text} and {inner!r}".format_map(e),
    "maketrans": lambda e: str.maketrans(e),
    "match with rest": _match_with_rest,
    "match nested": _match_nested,
    "eval": _evaluated,
    "exec": _executed,
    "globals of a function": _global_names,
    "class namespace": _class_namespace,
    "isinstance": lambda e: [
        isinstance(e, kind) for kind in (dict, Mapping, MutableMapping, Entity, list)
    ],
    "comparison": lambda e: e < e,  # that there is no order is tested
}


class _Encoder(json.JSONEncoder):
    def default(self, o: Any) -> Any:
        return type(o).__name__


def _in_python(entity: Any, **options: Any) -> str:
    """Encode with the encoder that json falls back to where its C accelerator is missing."""
    encoder = json.JSONEncoder(default=str, **options)
    with mock.patch.object(json.encoder, "c_make_encoder", None):
        return encoder.encode(entity)


def _pickled_in_python(entity: Any) -> Any:
    file = io.BytesIO()
    pickle._Pickler(file).dump(entity)  # the pure Python one
    return pickle.loads(file.getvalue())


@dataclasses.dataclass
class _Holder:
    value: Any


def _record(entity: Any) -> logging.LogRecord:
    return logging.LogRecord("name", logging.INFO, "path", 1, "%(text)s %(inner)s", entity, None)


def _sql(entity: Any) -> Any:
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute("SELECT :text, :text || 'x'", entity).fetchone()


STANDARD_LIBRARY: dict[str, Consumer] = {
    # The C encoder serves the first ones, the Python one those with indent.
    "json.dumps default": lambda e: json.dumps(e, default=str),
    "json.dumps sort_keys": lambda e: json.dumps(e, sort_keys=True, default=str),
    "json.dumps indent": lambda e: json.dumps(e, indent=2, default=str),
    "json.dumps encoder class": lambda e: json.dumps(e, cls=_Encoder),
    "json iterencode": lambda e: "".join(_Encoder().iterencode(e)),
    "json in Python": _in_python,
    **PICKLES,
    "pickle in Python": _pickled_in_python,
    "pickle in a list": lambda e: pickle.loads(pickle.dumps([e, e["inner"], e])),
    "marshal": marshal.dumps,
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "copy.copy shares": lambda e: [
        getattr(copy.copy(e), name) is getattr(e, name)
        for name in ("key", "exclude_from_indexes", "_meanings")
    ],
    "copy.copy shares values": lambda e: [copy.copy(e)[name] is e[name] for name in e],
    "OrderedDict": OrderedDict,
    "OrderedDict | ": lambda e: OrderedDict(extra=1) | e,
    "| OrderedDict": lambda e: e | OrderedDict(extra=1),
    "defaultdict": lambda e: defaultdict(None, e),
    "| defaultdict": lambda e: e | defaultdict(None, extra=1),
    "Counter": lambda e: dict(Counter(e)),
    "dataclasses.asdict": lambda e: sorted(dataclasses.asdict(_Holder(e))["value"]),
    "functools.partial": lambda e: functools.partial(dict, **e)(),
    "itemgetter": operator.itemgetter("text", "inner"),
    "operator.length_hint": operator.length_hint,
    "pprint": lambda e: pprint.pformat(e),
    "logging args": lambda e: _record(e).getMessage(),
    "sqlite3": _sql,
    "ElementTree attributes": lambda e: ET.Element("x", e).attrib,
}


def _frame(frame: Any) -> Any:
    columns = {name: list(column) for name, column in frame.items()}
    return columns, [str(kind) for kind in frame.dtypes], list(frame.index)


def _struct(entity: Any) -> str:
    struct = struct_pb2.Struct()
    struct.update(entity)
    return json.dumps(json_format.MessageToDict(struct), sort_keys=True)


class _Message(proto.Message):  # type: ignore[misc]  # proto-plus is untyped
    fields = proto.MapField(proto.STRING, struct_pb2.Value, number=1)
    struct = proto.Field(struct_pb2.Struct, number=2)


LIBRARIES: dict[str, Consumer] = {
    "pandas.DataFrame": lambda e: _frame(pd.DataFrame([e, e])),
    "pandas.DataFrame.from_records": lambda e: _frame(pd.DataFrame.from_records([e, e])),
    "pandas.Series": lambda e: dict(pd.Series(e)),
    "numpy.array": lambda e: np.array([e])[0],
    "protobuf Struct": _struct,
    "protobuf ParseDict": lambda e: str(json_format.ParseDict(e, struct_pb2.Struct())),
    "protobuf map": lambda e: str(struct_pb2.Struct(fields=e)),
    "proto-plus": lambda e: str(_Message(struct=e)),
    "proto-plus from mapping": lambda e: str(_Message(e)),
}

CONSUMERS = {**LANGUAGE, **STANDARD_LIBRARY, **LIBRARIES}


@pytest.mark.parametrize("consume", CONSUMERS.values(), ids=CONSUMERS.keys())
def test_same_result(lazy_type: type[LazyEntity], consume: Consumer) -> None:
    """Result or exception, and the entity afterwards, are stock's after any earlier reads."""
    for (sample, raw), (before, read) in product(SAMPLES.items(), READ_BEFORE.items()):
        lazy = lazy_type.from_bytes(raw)
        read(lazy)
        try:
            assert_consumed_alike(consume, lazy, raw)
        except Exception as error:
            error.add_note(f"{sample}, {before}")
            raise


LOUD: dict[str, Consumer] = {
    "OrderedDict ==": lambda e: OrderedDict(e) == e,
    "defaultdict ==": lambda e: defaultdict(None, e) == e,
    "subclass of dict ==": lambda e: _Derived(e) == e,
    "dict.__eq__": lambda e: dict.__eq__(stock_entity(PLAIN), e),
    "Entity.__eq__": lambda e: Entity.__eq__(stock_entity(PLAIN), e),
}
"""Code of CPython and of the client that reads the storage of a dict subclass."""


@pytest.mark.parametrize("read", READ_BEFORE.values(), ids=READ_BEFORE.keys())
@pytest.mark.parametrize("consume", LOUD.values(), ids=LOUD.keys())
def test_loud_or_right(
    lazy_type: type[LazyEntity], consume: Consumer, read: Callable[[Any], object]
) -> None:
    """The result is stock's, or an error that names the sentinel; ``materialize()`` helps."""
    stock = in_order_of(lazy_type.from_bytes(PLAIN), stock_entity(PLAIN))
    expected = consume(stock)
    lazy = lazy_type.from_bytes(PLAIN)
    read(lazy)
    result = outcome(lambda: consume(lazy))
    if isinstance(result, Raised):
        assert result.kind is TypeError
        assert "not read yet" in result.text
    else:
        assert describe(result) == describe(expected)
    assert describe(consume(lazyentity.materialize(lazy))) == describe(expected)
