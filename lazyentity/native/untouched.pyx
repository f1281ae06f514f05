"""The native backend's part of a serialised entity that is written back as it came."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8

from lazyentity.native.tags cimport ENTITY_KEY, ENTITY_PROPERTIES
from lazyentity.native.wire cimport Bytes, read_length, skip_any_field


cdef int _mark(Shape shape, object names, bytearray marks) except -1:
    # Marks the properties of the wire that are among the names.
    cdef PyObject* ordinal
    for name in names:
        ordinal = PyDict_GetItemWithError(shape._ordinals, name)
        if ordinal != NULL:
            marks[<Py_ssize_t><object>ordinal] = 1
    return 0


cdef bytes untouched_bytes(
    bytes owner, Shape shape, Offsets* offsets, dict changed, object deleted, bint keeps_key
):
    # Returns the entity without some of its properties; None, if no property is left out.
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(owner)
    cdef Bytes at = base + offsets.start
    cdef Bytes end = base + offsets.end
    cdef Bytes field
    cdef Bytes entry_end
    cdef Bytes name_end
    cdef Bytes kept_from = at
    cdef tuple names = shape.names
    cdef Py_ssize_t index = 0
    cdef bint is_kept
    cdef bint any_deleted = bool(deleted)
    cdef list kept = []
    cdef bytearray touched = None
    if keeps_key and not changed and not any_deleted:
        return None
    if names:
        # Looked up once for each touched property, not for each property.
        touched = bytearray(PyTuple_GET_SIZE(names))
        _mark(shape, changed, touched)
        _mark(shape, deleted, touched)
    while at < end:
        field = at
        if at[0] == ENTITY_PROPERTIES:
            at += 1
            if not read_length(&at, end, &entry_end):
                raise AssertionError("the scanner read this length")
            if touched is not None:
                is_kept = not touched[index]
            else:
                at += 1
                if not read_length(&at, entry_end, &name_end):
                    raise AssertionError("the scanner read this length")
                name = PyUnicode_DecodeUTF8(<const char*>at, name_end - at, NULL)
                is_kept = name not in changed and not (any_deleted and name in deleted)
            at = entry_end
            index += 1
        else:
            is_kept = keeps_key or at[0] != ENTITY_KEY
            if not skip_any_field(&at, end):
                raise AssertionError("the scanner read this field")
        if not is_kept:
            if kept_from < field:
                kept.append(PyBytes_FromStringAndSize(<const char*>kept_from, field - kept_from))
            kept_from = at
    if kept_from == base + offsets.start:
        return None
    kept.append(PyBytes_FromStringAndSize(<const char*>kept_from, end - kept_from))
    return b"".join(kept)
