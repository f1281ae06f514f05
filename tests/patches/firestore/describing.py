"""Everything that can be told of snapshots and values, to be compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1 import base_document, vector
from google.protobuf.timestamp_pb2 import Timestamp


def described(value: Any) -> Any:
    """Return nested types, digits, the sign of a zero, and all parts of snapshots."""
    kind = type(value)
    if kind is dict:
        return dict, {name: described(item) for name, item in value.items()}
    if kind in (list, tuple):
        return kind, [described(item) for item in value]
    if isinstance(value, float):
        return kind, math.copysign(1, value), repr(value)
    if isinstance(value, base_document.DocumentSnapshot):
        times = value.read_time, value.create_time, value.update_time
        parts = value.id, value.exists, value.reference, value.to_dict(), value._data
        return kind, [described(part) for part in (*times, *parts)]
    if isinstance(value, base_document.BaseDocumentReference):
        return kind, value._path, type(value._client), value._document_path
    if isinstance(value, (firestore.GeoPoint, vector.Vector)):
        return kind, repr(vars(value))
    if isinstance(value, Timestamp):
        return kind, value.seconds, value.nanos
    nanosecond = getattr(value, "nanosecond", None)
    return kind, repr(value), nanosecond, getattr(value, "tzinfo", None)


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result of a call in full, or its error."""
    try:
        return described(call())
    except Exception as error:  # noqa: BLE001  # it is compared
        return type(error), str(error)


def is_lazy(snapshot: Any) -> bool:
    """Whether the fields of a snapshot are not decoded."""
    assert type(snapshot) is firestore.DocumentSnapshot
    return "_data" not in vars(snapshot)
