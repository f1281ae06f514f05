"""The native backend's columns: properties of many entities, decoded from their bytes."""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.dict cimport PyDict_GetItemWithError
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLong, PyLong_CheckExact
from cpython.object cimport PyObject
from libc.stdint cimport int64_t


import datetime

from lazyentity.codec.values import plain_value


cdef object _column_value(LazyMapping entity, object name, object copy):
    cdef PyObject* stored = PyDict_GetItemWithError(entity, name)
    cdef Py_ssize_t ordinal
    if stored == NULL:
        return None
    value = <object>stored
    if value is not UNDECODED:
        return copy(value) if isinstance(value, (list, dict)) else value
    ordinal = ordinal_of(entity, name)
    if is_restricted(entity):
        entity._extras.policy.refuse(entity, name)
    value = plain_property(entity._owner, &entity._offsets, ordinal)
    if value is UNDECODED:
        value = plain_value(read_slowly(entity, name, ordinal)[0])
    if is_profiled(entity):
        note_decoded(entity, [name], "columns()")
    return value


@cython.final
@cython.no_gc  # No instance is part of a cycle: what it refers to never refers back.
cdef class UnboxedEntity:
    """An entity of a response without storage: its properties are found, and decoded for columns."""

    cdef type _lazy_type
    cdef bytes _response
    cdef Shape _shape
    cdef Offsets _offsets

    def __cinit__(self):
        self._response = b""
        self._shape = EMPTY

    def __dealloc__(self):
        free_offsets(&self._offsets)


cdef object unboxed_of(type lazy_type, bytes response, Py_ssize_t start, Py_ssize_t end):
    # None, if the entity is not in the canonical encoding.
    cdef UnboxedEntity unboxed = UnboxedEntity.__new__(UnboxedEntity)
    cdef Shape shape = index_entity(response, start, end, &unboxed._offsets)
    if shape is None:
        return None
    unboxed._shape = shape
    unboxed._lazy_type = lazy_type
    unboxed._response = response
    return unboxed


cdef object _entity_of(UnboxedEntity unboxed):
    raw = unboxed._response[unboxed._offsets.start : unboxed._offsets.end]
    return mapping_from_raw(unboxed._lazy_type, raw)


cdef object _value_of(UnboxedEntity unboxed, object name, object copy):
    cdef PyObject* ordinal = PyDict_GetItemWithError(unboxed._shape._ordinals, name)
    if ordinal == NULL:
        return None
    value = plain_property(unboxed._response, &unboxed._offsets, <Py_ssize_t><object>ordinal)
    if value is UNDECODED:
        # The entity has protobuf decode it, and names itself in errors.
        return _column_value(<LazyMapping>_entity_of(unboxed), name, copy)
    return value


cdef object _require_names(object entity, tuple names, object refuse):
    # Calls refuse() for the first of the names that an entity lacks.
    cdef bint is_unboxed = isinstance(entity, UnboxedEntity)
    cdef object known = (<UnboxedEntity>entity)._shape._ordinals if is_unboxed else entity
    for name in names:
        if PyDict_GetItemWithError(known, name) == NULL:
            refuse(_entity_of(<UnboxedEntity>entity) if is_unboxed else entity, name)


# Checked: copying a value may run Python code, which may change the lists.
@cython.boundscheck(True)
def append_columns(
    entities,
    tuple names not None,
    list columns not None,
    copy,
    other,
    list keys=None,
    key_of=None,
    refuse=None,
):
    cdef Py_ssize_t index
    if len(columns) != len(names):
        raise ValueError(f"{len(columns)} columns for {len(names)} names")
    for entity in entities:
        if refuse is not None and isinstance(entity, (UnboxedEntity, LazyMapping)):
            _require_names(entity, names, refuse)
        if isinstance(entity, UnboxedEntity):
            for index, name in enumerate(names):
                columns[index].append(_value_of(<UnboxedEntity>entity, name, copy))
        elif isinstance(entity, LazyMapping):
            for index, name in enumerate(names):
                columns[index].append(_column_value(<LazyMapping>entity, name, copy))
        else:
            for column, value in zip(columns, other(entity), strict=True):
                column.append(value)
        if keys is not None and key_of is not None:
            if isinstance(entity, UnboxedEntity):
                entity = _entity_of(<UnboxedEntity>entity)
            keys.append(key_of(entity))


cdef bint _write(object value, object kind, char* target) except -1:
    # Answers 0 if the value has another type.
    if kind is bool:
        target[0] = value is True
        return value is True or value is False
    if kind is int:
        if not PyLong_CheckExact(value):
            return 0
        (<int64_t*>target)[0] = PyLong_AsLongLong(value)
        return 1
    if kind is float:
        if not PyFloat_CheckExact(value):
            return 0
        (<double*>target)[0] = PyFloat_AS_DOUBLE(value)
        return 1
    return read_microseconds(value, <int64_t*>target)


@cython.boundscheck(True)
def fixed_width(list values not None):
    cdef Py_ssize_t count = len(values)
    cdef Py_ssize_t size
    cdef Py_ssize_t index
    cdef char* target
    if not count:
        return None
    kind = type(values[0])
    if kind not in (bool, int, float):
        kind = datetime.datetime
    size = 1 if kind is bool else 8
    made = PyByteArray_FromStringAndSize(NULL, count * size)
    target = PyByteArray_AS_STRING(made)
    try:
        for index in range(count):
            if not _write(values[index], kind, target + index * size):
                return None
    except OverflowError:
        return None
    return kind, made
