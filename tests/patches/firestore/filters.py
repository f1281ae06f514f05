"""The filters and orders of queries, for the types of values that the tests use."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from google.cloud.firestore_v1.types import document as document_types
from google.cloud.firestore_v1.types import query as query_types

_Value = document_types.Value.pb()
_Composite = query_types.StructuredQuery.CompositeFilter.Operator
_Operator = query_types.StructuredQuery.FieldFilter.Operator
_Unary = query_types.StructuredQuery.UnaryFilter.Operator
_ARRAY = 3
_TESTS: dict[int, Callable[[Any, Any], bool]] = {
    _Operator.EQUAL: lambda one, other: bool(one == other),
    _Operator.NOT_EQUAL: lambda one, other: bool(one != other),
    _Operator.LESS_THAN: lambda one, other: bool(one < other),
    _Operator.LESS_THAN_OR_EQUAL: lambda one, other: bool(one <= other),
    _Operator.GREATER_THAN: lambda one, other: bool(one > other),
    _Operator.GREATER_THAN_OR_EQUAL: lambda one, other: bool(one >= other),
    _Operator.IN: lambda one, other: one in other[1],
    _Operator.NOT_IN: lambda one, other: one not in other[1],
    _Operator.ARRAY_CONTAINS: lambda one, other: one[0] == _ARRAY and other in one[1],
    _Operator.ARRAY_CONTAINS_ANY: lambda one, other: (
        one[0] == _ARRAY and any(each in one[1] for each in other[1])
    ),
}


def field(document: Any, path: str) -> Any:
    if path == "__name__":
        return _Value(reference_value=document.name)
    *parents, name = path.split(".")
    fields = document.fields
    for parent in parents:
        if parent not in fields:
            return None
        fields = fields[parent].map_value.fields
    return fields.get(name, None)


def key(value: Any) -> tuple[int, Any]:
    """Return a sort key, for the types that the tests order by."""
    case = value.WhichOneof("value_type")
    held = getattr(value, case)
    if case in ("integer_value", "double_value"):
        return 1, -math.inf if held != held else held
    if case in ("string_value", "reference_value"):
        return 2, held
    if case == "array_value":
        return _ARRAY, [key(item) for item in held.values]
    return 0, 0


def passes(document: Any, where: Any) -> bool:
    case = where.WhichOneof("filter_type")
    if case is None:
        return True
    if case == "composite_filter":
        of_all = any if where.composite_filter.op == _Composite.OR else all
        return of_all(passes(document, each) for each in where.composite_filter.filters)
    if case == "unary_filter":
        value = field(document, where.unary_filter.field.field_path)
        is_null = value is not None and value.WhichOneof("value_type") == "null_value"
        return is_null is (where.unary_filter.op == _Unary.IS_NULL)
    value = field(document, where.field_filter.field.field_path)
    if value is None:
        return False
    test = _TESTS[where.field_filter.op]
    return test(key(value), key(where.field_filter.value))


def is_after(document: Any, orders: list[Any], cursor: Any) -> bool:
    """Whether a document is at a cursor or after it; after it only, unless the cursor is before."""
    for order, bound in zip(orders, cursor.values, strict=False):
        one, other = key(field(document, order.field.field_path)), key(bound)
        if one != other:
            is_descending = order.direction == query_types.StructuredQuery.Direction.DESCENDING
            return (one < other) if is_descending else (one > other)
    return bool(cursor.before)
