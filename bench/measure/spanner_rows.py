"""Rows of Spanner whose columns are the properties of entities, as a server sends them."""

from __future__ import annotations

import base64
import datetime
import importlib
from collections.abc import Callable, Sequence
from typing import Any

Read = Callable[[], list[list[Any]]]
"""Reads some columns of all rows."""


def _timestamp(value: datetime.datetime) -> str:
    return f"{value:%Y-%m-%dT%H:%M:%S.%f}Z"


_ENCODINGS: dict[type, tuple[str, str, Callable[[Any], Any]]] = {
    bool: ("BOOL", "bool_value", bool),
    bytes: ("BYTES", "string_value", lambda value: base64.b64encode(value).decode()),
    datetime.datetime: ("TIMESTAMP", "string_value", _timestamp),
    float: ("FLOAT64", "number_value", float),
    int: ("INT64", "string_value", str),
    str: ("STRING", "string_value", str),
}
"""By the type of a property: that of the column, and the oneof case and the value on the wire."""


def result_set(rows: Sequence[dict[str, Any]]) -> bytes:
    """Return a serialised ``google.spanner.v1.PartialResultSet`` with all rows.

    Args:
        rows: with values of the same types under the same names, at least one.

    Raises:
        ImportError: google-cloud-spanner is not installed.
        KeyError: a value is of another type.
    """
    types = importlib.import_module("google.cloud.spanner_v1.types")
    struct = importlib.import_module("google.protobuf.struct_pb2")
    message = types.PartialResultSet.pb()(last=True)
    for name, value in rows[0].items():
        code, _, _ = _ENCODINGS[type(value)]
        field = message.metadata.row_type.fields.add(name=name)
        field.type_.code = types.TypeCode[code]
    for row in rows:
        for value in row.values():
            _, case, encode = _ENCODINGS[type(value)]
            message.values.append(struct.Value(**{case: encode(value)}))
    raw: bytes = message.SerializeToString()
    return raw


def reading(raw: bytes, names: Sequence[str], *, is_lazy: bool) -> Read:
    """Return the function that reads the columns ``names`` of a result set.

    Args:
        raw: as of :func:`result_set`.
        names: of columns.
        is_lazy: whether only these are decoded, by ``lazy_decode=True``.

    Raises:
        ImportError: google-cloud-spanner is not installed.
    """
    streamed = importlib.import_module("google.cloud.spanner_v1.streamed")
    message = importlib.import_module("google.cloud.spanner_v1.types").PartialResultSet
    deserialize = message.deserialize
    columns = [field.name for field in deserialize(raw).metadata.row_type.fields]
    positions = [columns.index(name) for name in names]

    def read() -> list[list[Any]]:
        results = streamed.StreamedResultSet(iter([deserialize(raw)]), lazy_decode=is_lazy)
        if is_lazy:
            decode = results.decode_column
            return [[decode(row, position) for position in positions] for row in results]
        return [[row[position] for position in positions] for row in results]

    return read
