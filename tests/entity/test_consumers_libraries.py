"""Libraries that need no adapter give the same for a lazy entity as for a stock one.

tests/adapters calls every library that has an adapter, and those that are loud without one.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import proto
import pytest
import rich.pretty
import tabulate
from google.cloud.datastore.entity import Entity
from google.protobuf import json_format, struct_pb2

import lazyentity
from lazyentity import LazyEntity
from lazyentity.patches import adapters
from tests.entity.consumption import READ_BEFORE, Consumer, comparison_of, describe
from tests.support.snapshots import Raised, outcome
from tests.support.stock import in_order_of, stock_entity
from tests.support.strategies.samples import PLAIN


@pytest.fixture(scope="module", autouse=True)
def _without_adapters() -> None:
    """Other tests may have used ``wrap()``, which installs the adapters for good."""
    adapters.remove()


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


RIGHT: dict[str, Consumer] = {
    "pandas.DataFrame": lambda e: _frame(pd.DataFrame([e, e])),
    "pandas.DataFrame.from_records": lambda e: _frame(pd.DataFrame.from_records([e, e])),
    "pandas.Series": lambda e: dict(pd.Series(e)),
    "pandas.Series.map": lambda e: pd.Series(["text", "missing"]).map(e).tolist(),
    "pandas.json_normalize": lambda e: _frame(pd.json_normalize([e])),
    "numpy.array": lambda e: np.array([e])[0],
    "protobuf Struct": _struct,
    "protobuf ParseDict": lambda e: str(json_format.ParseDict(e, struct_pb2.Struct())),
    "protobuf map": lambda e: str(struct_pb2.Struct(fields=e)),
    "proto-plus": lambda e: str(_Message(struct=e)),
    "proto-plus from mapping": lambda e: str(_Message(e)),
    "rich": lambda e: rich.pretty.pretty_repr([e], max_width=20),
    "tabulate": lambda e: tabulate.tabulate([e, e], headers="keys"),
}


test_same_result = comparison_of(RIGHT)


class _Derived(dict):  # type: ignore[type-arg]  # any dict subclass
    pass


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
