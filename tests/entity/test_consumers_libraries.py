"""Without adapters, libraries give the same for a lazy entity as for a stock one, or raise.

Loudly: those that read a dict's storage past its interface meet the sentinel, and refuse it or are
refused by it. The exceptions are those that take any object for a value and do nothing with it.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import orjson
import pandas as pd
import proto
import pydantic
import pytest
import rich.pretty
import tabulate
from google.cloud.datastore.entity import Entity
from google.protobuf import json_format, struct_pb2

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches import adapters
from tests.entity.consumption import (
    READ_BEFORE,
    Consumer,
    comparison_of,
    describe,
)
from tests.support.snapshots import Raised, outcome
from tests.support.stock import encoded, in_order_of, stock_entity
from tests.support.strategies.samples import PLAIN, plain_properties


@pytest.fixture(scope="module", autouse=True)
def _without_adapters() -> None:
    """Other tests may have used ``wrap()``, which installs the adapters for good."""
    adapters.remove()


def _frame(frame: Any) -> Any:
    columns = {name: list(column) for name, column in frame.items()}
    return columns, [str(kind) for kind in frame.dtypes], list(frame.index)


def _series(series: Any) -> Any:
    return dict(series), str(series.dtype)


def _struct(entity: Any) -> str:
    struct = struct_pb2.Struct()
    struct.update(entity)
    return json.dumps(json_format.MessageToDict(struct), sort_keys=True)


class _Message(proto.Message):  # type: ignore[misc]  # proto-plus is untyped
    fields = proto.MapField(proto.STRING, struct_pb2.Value, number=1)
    struct = proto.Field(struct_pb2.Struct, number=2)


def _passed_through(entity: Any) -> bytes:
    return orjson.dumps(entity, default=dict, option=orjson.OPT_PASSTHROUGH_SUBCLASS)


def _holding(entity: Any) -> bytes:
    holder = Entity()
    holder["held"] = entity
    holder["several"] = [entity, dict(entity)]
    return encoded(holder)


RIGHT: dict[str, Consumer] = {
    "pandas.DataFrame": lambda e: _frame(pd.DataFrame([e, e])),
    "pandas.DataFrame with columns": lambda e: _frame(pd.DataFrame([e], columns=["text", "x"])),
    "pandas.DataFrame of a cell": lambda e: pd.DataFrame({"cell": [e]})["cell"][0]["text"],
    "pandas.DataFrame.from_records": lambda e: _frame(pd.DataFrame.from_records([e, e])),
    "pandas.DataFrame.from_dict": lambda e: _frame(
        pd.DataFrame.from_dict({"row": e}, orient="index")
    ),
    "pandas.Series": lambda e: _series(pd.Series(e)),
    "pandas.Series with index": lambda e: _series(pd.Series(e, index=["text"])),
    "pandas.Series of entities": lambda e: pd.Series([e]).str.get("text").tolist(),
    "pandas.Series.map": lambda e: pd.Series(["text", "missing"]).map(e).tolist(),
    "pandas.json_normalize": lambda e: _frame(pd.json_normalize([e])),
    "pandas.DataFrame.rename": lambda e: list(pd.DataFrame({"text": [1]}).rename(columns=e)),
    "pandas.DataFrame.assign": lambda e: _frame(pd.DataFrame({"x": [1]}).assign(text=e["text"])),
    "numpy.array": lambda e: np.array([e])[0],
    "numpy.array of values": lambda e: np.array(list(e.values()), dtype=object).tolist(),
    "orjson passed through": _passed_through,
    "orjson of dict()": lambda e: orjson.dumps(
        dict(e), default=str, option=orjson.OPT_PASSTHROUGH_SUBCLASS
    ).decode(),
    "protobuf Struct": _struct,
    "protobuf ParseDict": lambda e: str(json_format.ParseDict(e, struct_pb2.Struct())),
    "protobuf map": lambda e: str(struct_pb2.Struct(fields=e)),
    "protobuf Value": lambda e: str(struct_pb2.Value(struct_value=e)),
    "proto-plus": lambda e: str(_Message(struct=e)),
    "proto-plus map": lambda e: str(_Message(fields=e)),
    "proto-plus from mapping": lambda e: str(_Message(e)),
    "rich": lambda e: rich.pretty.pretty_repr(e),
    "rich of a list": lambda e: rich.pretty.pretty_repr([e], max_width=20),
    "tabulate": lambda e: tabulate.tabulate([e, e], headers="keys"),
    "datastore value": _holding,
}


test_same_result = comparison_of(RIGHT)


class _Struct(msgspec.Struct):
    text: str


class _Derived(dict):  # type: ignore[type-arg]  # any dict subclass
    pass


class _OtherEntity(Entity):
    pass


def _equal_other_entity(entity: Any) -> Any:
    other: Any = _OtherEntity(  # type: ignore[no-untyped-call]  # as Entity itself is
        key=entity.key, exclude_from_indexes=tuple(entity.exclude_from_indexes)
    )
    other.update(stock_entity(PLAIN))
    other._meanings = {
        name: (meaning, other[name]) for name, (meaning, _) in entity._meanings.items()
    }
    return other == entity


# This encoder writes the attributes of unknown objects, and raises different errors.
PANDAS_JSON: dict[str, Consumer] = {
    "pandas to_json of a cell": lambda e: pd.DataFrame({"cell": [e]}).to_json(),
    "pandas to_json of rows": lambda e: pd.DataFrame([e]).to_json(orient="records"),
    "pandas to_json of a series": lambda e: pd.Series([e]).to_json(),
    "pandas to_json of values": lambda e: pd.DataFrame({"x": [e["inner"]]}).to_json(
        orient="values"
    ),
}

LOUD: dict[str, Consumer] = {
    **PANDAS_JSON,
    "orjson": orjson.dumps,
    "orjson default": lambda e: orjson.dumps(e, default=str),
    "orjson sorted": lambda e: orjson.dumps(e, option=orjson.OPT_SORT_KEYS),
    "orjson indented": lambda e: orjson.dumps(e, option=orjson.OPT_INDENT_2),
    "orjson in a list": lambda e: orjson.dumps([{"entity": e}], default=str),
    "msgspec.json": msgspec.json.encode,
    "msgspec.json sorted": lambda e: msgspec.json.encode(e, order="sorted"),
    "msgspec.json hook": lambda e: msgspec.json.encode(e, enc_hook=str),
    "msgspec.msgpack": msgspec.msgpack.encode,
    "msgspec.msgpack hook": lambda e: msgspec.msgpack.encode(e, enc_hook=str),
    "msgspec.to_builtins": msgspec.to_builtins,
    "msgspec.convert": lambda e: msgspec.convert(e, _Struct).text,
    "OrderedDict ==": lambda e: OrderedDict(e) == e,
    "defaultdict ==": lambda e: defaultdict(None, e) == e,
    "subclass of dict ==": lambda e: _Derived(e) == e,
    "subclass of Entity ==": _equal_other_entity,
    "dict.__eq__": lambda e: dict.__eq__(stock_entity(PLAIN), e),
    "Entity.__eq__": lambda e: Entity.__eq__(stock_entity(PLAIN), e),
}
"""Readers of storage. With everything read there is nothing left to meet."""


@pytest.mark.parametrize("read", READ_BEFORE.values(), ids=READ_BEFORE.keys())
@pytest.mark.parametrize("consume", LOUD.values(), ids=LOUD.keys())
def test_loud_or_right(
    lazy_type: type[LazyEntity], consume: Consumer, read: Callable[[Any], object]
) -> None:
    """The result is stock's, or an error that names the sentinel (except pandas')."""
    stock = in_order_of(lazy_type.from_bytes(PLAIN), stock_entity(PLAIN))
    expected = outcome(lambda: consume(stock))
    assert not isinstance(expected, Raised)
    lazy = lazy_type.from_bytes(PLAIN)
    read(lazy)
    result = outcome(lambda: consume(lazy))
    if isinstance(result, Raised):
        if consume in PANDAS_JSON.values():
            assert issubclass(result.kind, (TypeError, ValueError, OverflowError))
        else:
            assert issubclass(result.kind, (TypeError, msgspec.ValidationError))
            assert "not read yet" in result.text or "undecoded" in result.text.lower()
    else:
        assert describe(result) == describe(expected)


class _Holder(pydantic.BaseModel):
    held: Any


QUIET: dict[str, Consumer] = {
    "pydantic": lambda e: _Holder(held=e).model_dump()["held"],
    "msgspec.convert": lambda e: msgspec.convert(e, dict[str, Any]),
    "orjson default": lambda e: orjson.loads(orjson.dumps(e, default=lambda _: "unknown")),
    "dict.get": lambda e: {name: dict.get(e, name) for name in e},
    "dict.values": lambda e: dict(zip(e, dict.values(e), strict=True)),
}
"""Libraries that read storage and pass the sentinel on."""


@pytest.mark.parametrize("consume", QUIET.values(), ids=QUIET.keys())
def test_handed_on(lazy_type: type[LazyEntity], consume: Consumer) -> None:
    """An unread property comes out as the sentinel; using it raises."""
    lazy = lazy_type.from_bytes(PLAIN)
    assert lazy["text"] == consume(lazy)["text"]
    others = {name: value for name, value in consume(lazy).items() if name != "text"}
    assert all(value is UNDECODED or value == "unknown" for value in others.values())
    assert others.keys() == plain_properties().keys() - {"text"}


STORAGE = {**LOUD, **{f"{name}, quiet": consume for name, consume in QUIET.items()}}


@pytest.mark.parametrize("consume", STORAGE.values(), ids=STORAGE.keys())
def test_right_once_materialized(lazy_type: type[LazyEntity], consume: Consumer) -> None:
    """``materialize()`` is the way to hand an entity to a reader of storage."""
    stock = in_order_of(lazy_type.from_bytes(PLAIN), stock_entity(PLAIN))
    plain = lazyentity.materialize(lazy_type.from_bytes(PLAIN))
    assert describe(consume(plain)) == describe(consume(stock))
