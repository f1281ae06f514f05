"""The native backend's encoder of documents: a dict of values to the bytes that are sent.

Theory of operation. One pass writes the values of the common types; the client's own code encodes each
other value. That code, and other threads meanwhile, may change the document, so each map is copied when
the pass comes to it. If the client treats a value specially, or refuses it, the pass is given up, and the
client encodes the document as a whole: so its error is the client's, too.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free
from libc.stdint cimport int64_t

from lazyentity.native.buffer cimport Buffer, put_number, put_serialised
from lazyentity.native.compact cimport (
    begin_short,
    finish_short,
    put_double,
    put_short,
    put_text,
)
from lazyentity.native.tags cimport (
    LATLNG_LATITUDE,
    LATLNG_LONGITUDE,
    TIMESTAMP_SECONDS,
    VALUE_BOOLEAN,
    VALUE_DOUBLE,
    VALUE_INTEGER,
    VALUE_NULL,
)
from lazyentity.native.entities cimport microseconds_of_fields

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1
    # Borrowed: Cython's declarations of these would not say so.
    Py_ssize_t PyList_GET_SIZE(object items)
    Py_ssize_t PyTuple_GET_SIZE(object items)
    PyObject* PyList_GET_ITEM(object items, Py_ssize_t at)
    PyObject* PyTuple_GET_ITEM(object items, Py_ssize_t at)

cdef object DATETIME = datetime.datetime
cdef tuple COMMON = (dict, list, tuple, DATETIME)
cdef object UTC = datetime.timezone.utc

cdef enum:
    WRITE_UPDATE = 0x0A

cdef enum:
    # As FIELD_DEPTH, from the request on: request, write, document, entry, Value.
    WRITTEN_DEPTH = 5

cdef int64_t LAST_EXACT = 1 << 32  # seconds: beyond, the client's float has no nanosecond


def find_transforms(DocumentCodec codec not None, fields):
    """Return the fields of a document that are transforms: one look at each of its values.

    Returns:
        A new dict; None, if the client has to encode the document as a whole. It has to if
        there is a name that it refuses or a value that it treats specially, or if there are
        less than two fields beside each transform, which the client encodes in any case.
    """
    cdef Py_ssize_t position = 0
    cdef PyObject* name_at
    cdef PyObject* value_at
    cdef dict found = {}
    cdef list others = []
    if type(fields) is not dict:
        return None
    while PyDict_Next(fields, &position, &name_at, &value_at):
        name, value = <object>name_at, <object>value_at
        if type(name) is not str or not name:
            return None
        kind = type(value)
        if _is_shared(value) or _is_one_of(kind, COMMON):
            continue
        if value is codec._server_timestamp or _is_one_of(kind, codec._transforms):
            found[name] = value
        else:
            others.append(value)
    if 3 * len(found) > len(fields):
        return None
    for value in others:
        if isinstance(value, codec._for_client):
            return None
    return found


def encode_update(DocumentCodec codec not None, str name not None, dict fields not None):
    """Serialise a ``Write`` that holds a document, and nothing beside it.

    Args:
        name: of the document.
        fields: of the document, by their names.

    Returns:
        The bytes; None, if the client has to encode the document as a whole.

    Raises:
        Exception: as the client raises it for a value. It may find another error first.
    """
    cdef Buffer buffer
    cdef Py_ssize_t start
    buffer.data = NULL
    buffer.size = buffer.capacity = buffer.runs = buffer.is_quiet = buffer.is_flat = 0
    try:
        start = begin_short(&buffer, WRITE_UPDATE)
        if not put_text(&buffer, DOCUMENT_NAME, name) or not _put_map(
            codec, &buffer, DOCUMENT_FIELDS, fields, WRITTEN_DEPTH
        ):
            return None
        finish_short(&buffer, start)
        return PyBytes_FromStringAndSize(<const char*>buffer.data, buffer.size)
    finally:
        PyMem_Free(buffer.data)


cdef int _put_map(
    DocumentCodec codec, Buffer* buffer, uint8_t tag, dict fields, int depth
) except -1:
    cdef Py_ssize_t position = 0
    cdef PyObject* name_at
    cdef PyObject* value_at
    cdef Py_ssize_t entry
    cdef Py_ssize_t start
    if depth > MAX_DEPTH:
        return 0
    fields = PyDict_Copy(fields)
    while PyDict_Next(fields, &position, &name_at, &value_at):
        name = <object>name_at
        if type(name) is not str or not name:
            return 0
        entry = begin_short(buffer, tag)
        if not put_text(buffer, ENTRY_NAME, name):
            return 0
        start = begin_short(buffer, ENTRY_VALUE)
        if not _put_value(codec, buffer, <object>value_at, depth):
            return 0
        finish_short(buffer, start)
        finish_short(buffer, entry)
    return 1


cdef int _put_value(DocumentCodec codec, Buffer* buffer, object value, int depth) except -1:
    # Writes the fields of a Value.
    cdef long long number
    cdef int overflow = 0
    cdef Py_ssize_t start
    kind = type(value)
    if kind is str:
        return put_text(buffer, VALUE_STRING, value)
    if kind is int:
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        return 0 if overflow else put_number(buffer, VALUE_INTEGER, <uint64_t>number)
    if kind is float:
        return put_double(buffer, VALUE_DOUBLE, value)
    if kind is bool:
        return put_number(buffer, VALUE_BOOLEAN, 1 if value is True else 0)
    if value is None:
        return put_number(buffer, VALUE_NULL, 0)
    if kind is codec._vector:
        value = value.to_map_value()
        kind = type(value)
    if kind is dict:
        start = begin_short(buffer, VALUE_MAP)
        return _put_map(
            codec, buffer, MAP_FIELDS, value, depth + TO_FIELD
        ) and finish_short(buffer, start)
    if kind is list or kind is tuple:
        return _put_items(codec, buffer, value, depth + TO_ELEMENT)
    if kind is bytes:
        return put_short(buffer, VALUE_BLOB, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    if kind is DATETIME or kind is codec._timestamp:
        if _put_timestamp(buffer, value, kind is not DATETIME):
            return 1
    elif kind is codec._geo_point:
        if _put_geo_point(buffer, value):
            return 1
    elif _is_one_of(kind, codec._references):
        path = value._document_path_internal
        if type(path) is str:
            return put_text(buffer, VALUE_REFERENCE, path)
    elif isinstance(value, codec._for_client):
        return 0
    if depth > MAX_DEPTH - TO_FIELD:
        return 0
    return put_serialised(buffer, codec._other(value))


cdef int _put_items(DocumentCodec codec, Buffer* buffer, object items, int depth) except -1:
    # Of a list or a tuple, one after the other: a list may change meanwhile.
    cdef Py_ssize_t array = begin_short(buffer, VALUE_ARRAY)
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t start
    cdef bint is_list = type(items) is list
    if depth > MAX_DEPTH:
        return 0
    while at < (PyList_GET_SIZE(items) if is_list else PyTuple_GET_SIZE(items)):
        item = <object>(PyList_GET_ITEM(items, at) if is_list else PyTuple_GET_ITEM(items, at))
        at += 1
        start = begin_short(buffer, ARRAY_VALUES)
        if not _put_value(codec, buffer, item, depth):
            return 0
        finish_short(buffer, start)
    return finish_short(buffer, array)


cdef int _put_timestamp(Buffer* buffer, object value, bint has_nanoseconds) except -1:
    cdef Py_ssize_t start
    cdef int64_t microseconds
    cdef int64_t seconds
    cdef int64_t nanos
    zone = value.tzinfo
    if zone is not UTC and (zone is not None or has_nanoseconds):
        return 0
    microseconds = microseconds_of_fields(value)
    seconds = microseconds // 1_000_000
    if seconds * 1_000_000 > microseconds:
        seconds -= 1
    nanos = (microseconds - seconds * 1_000_000) * 1000
    if has_nanoseconds and (
        getattr(value, "_nanosecond", None) != 0 or not 0 <= seconds <= LAST_EXACT
    ):
        return 0
    start = begin_short(buffer, VALUE_TIMESTAMP)
    put_number(buffer, TIMESTAMP_SECONDS, <uint64_t>seconds)
    put_number(buffer, TIMESTAMP_NANOS, <uint64_t>nanos)
    return finish_short(buffer, start)


cdef int _put_geo_point(Buffer* buffer, object point) except -1:
    cdef Py_ssize_t start
    latitude = getattr(point, "latitude", None)
    longitude = getattr(point, "longitude", None)
    if type(latitude) is not float or type(longitude) is not float:
        return 0
    start = begin_short(buffer, VALUE_GEO_POINT)
    put_double(buffer, LATLNG_LATITUDE, latitude)
    put_double(buffer, LATLNG_LONGITUDE, longitude)
    return finish_short(buffer, start)
