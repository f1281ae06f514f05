# cython: language_level=3, binding=True, auto_pickle=False
"""The native backend's columns: properties of many entities, decoded from their bytes."""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject

from lazyentity.native.eager cimport plain_property
from lazyentity.native.received cimport Received, is_restricted, ordinal_of, read_slowly
from lazyentity.native.undecoded cimport UNDECODED

from lazyentity.codec.values import plain_value


cdef object _value(Received entity, object name, object copy):
    cdef PyObject* stored = PyDict_GetItemWithError(entity, name)
    cdef Py_ssize_t ordinal
    if stored == NULL:
        return None
    value = <object>stored
    if value is not UNDECODED:
        return copy(value) if isinstance(value, (list, dict)) else value
    ordinal = ordinal_of(entity, name)
    if is_restricted(entity):
        entity._originals.policy.refuse(entity, name)
    value = plain_property(entity._owner, entity._shape, &entity._offsets, ordinal)
    if value is UNDECODED:
        return plain_value(read_slowly(entity, name, ordinal)[0])
    return value


def append_columns(entities, tuple names not None, list columns not None, copy, other):
    """As :func:`lazyentity.pure.columns.append_columns`."""
    cdef Py_ssize_t index
    if len(columns) != len(names):
        raise ValueError(f"{len(columns)} columns for {len(names)} names")
    for entity in entities:
        if isinstance(entity, Received):
            for index, name in enumerate(names):
                columns[index].append(_value(<Received>entity, name, copy))
        else:
            for column, value in zip(columns, other(entity), strict=True):
                column.append(value)
