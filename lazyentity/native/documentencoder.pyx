"""The native backend's encoder of documents: a dict of values to the bytes that are sent.

Theory of operation. The first attempt runs no Python code, and so sees a document that nobody can change:
it takes values of the common types alone. If it meets another value, it starts anew: the maps of the
document are copied first, as the client copies them, and the client's own code encodes that value. Lists,
and all that is in them, are read while they are written, as the client does. A value that the client
refuses raises the client's error then.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next
from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t

from lazyentity.native.buffer cimport Buffer, put_number, put_serialised
from lazyentity.native.compact cimport (
    begin_short,
    finish_short,
    put_double,
    put_short,
    put_text,
)
from lazyentity.native.tags cimport (
    ARRAY_VALUES,
    ENTRY_NAME,
    ENTRY_VALUE,
    LATLNG_LATITUDE,
    LATLNG_LONGITUDE,
    TIMESTAMP_NANOS,
    TIMESTAMP_SECONDS,
    VALUE_ARRAY,
    VALUE_BLOB,
    VALUE_BOOLEAN,
    VALUE_DOUBLE,
    VALUE_GEO_POINT,
    VALUE_INTEGER,
    VALUE_NULL,
    VALUE_STRING,
    VALUE_TIMESTAMP,
)
from lazyentity.native.entities cimport microseconds_of_fields
from lazyentity.native.wire cimport MAX_DEPTH

import datetime

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1
    # Borrowed: Cython's declarations of these would not say so.
    Py_ssize_t PyList_GET_SIZE(object items)
    Py_ssize_t PyTuple_GET_SIZE(object items)
    PyObject* PyList_GET_ITEM(object items, Py_ssize_t at)
    PyObject* PyTuple_GET_ITEM(object items, Py_ssize_t at)

cdef object DATETIME = datetime.datetime
cdef object UTC = datetime.timezone.utc

cdef enum:
    WRITE_UPDATE = 0x0A

cdef enum:
    # As FIELD_DEPTH, from the request on: request, write, document, entry, Value.
    WRITTEN_DEPTH = 5

cdef int64_t LAST_EXACT = 1 << 32  # seconds: beyond, the client's float has no nanosecond


cdef class DocumentWriter:
    """Encodes the documents of a client.

    Args:
        other: serialises a ``Value`` of any other object, or raises the client's error.
        server_timestamp: the transform that has no class.
        transforms: the classes of the others.
        is_for_client: whether a document with this value has to be encoded by the client as a
            whole: a dict of a subclass, a transform.
        geo_point: the class of points, with floats as ``latitude`` and ``longitude``.
        references: the classes of references, with their name, once made, as
            ``_document_path_internal``.
        timestamp: the class of datetimes with a ``_nanosecond``.
        vector: the class of vectors, with a tuple of floats as ``_value``.
    """

    cdef object _other
    cdef object _server_timestamp
    cdef tuple _transforms
    cdef object _is_for_client
    cdef object _geo_point
    cdef tuple _references
    cdef object _timestamp
    cdef object _vector

    def __init__(
        self,
        *,
        other,
        server_timestamp,
        tuple transforms,
        is_for_client,
        geo_point,
        tuple references,
        timestamp,
        vector,
    ):
        self._other = other
        self._server_timestamp = server_timestamp
        self._transforms = transforms
        self._is_for_client = is_for_client
        self._geo_point = geo_point
        self._references = references
        self._timestamp = timestamp
        self._vector = vector

    def transforms(self, fields):
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
            if _is_common(value) or kind is dict or kind is list or kind is tuple:
                continue
            if value is self._server_timestamp or _is_one_of(kind, self._transforms):
                found[name] = value
            else:
                others.append(value)
        if 3 * len(found) > len(fields):
            return None
        for value in others:
            if self._is_for_client(value):
                return None
        return found

    def update(self, str name not None, dict fields not None):
        """Serialise a ``Write`` that holds a document, and nothing beside it.

        Args:
            name: of the document.
            fields: of the document, by their names.

        Returns:
            The bytes; None, if the client has to encode the document. Then no value was encoded.

        Raises:
            Exception: as the client raises it for a value.
        """
        cdef Buffer buffer
        buffer.data = NULL
        buffer.size = buffer.capacity = buffer.runs = buffer.is_quiet = buffer.is_flat = 0
        try:
            if not _put_update(self, &buffer, name, fields, 0):
                fields = _copied(self, fields, WRITTEN_DEPTH)
                buffer.size = 0
                if fields is None or not _put_update(self, &buffer, name, fields, 1):
                    return None
            return PyBytes_FromStringAndSize(<const char*>buffer.data, buffer.size)
        finally:
            PyMem_Free(buffer.data)


cdef dict _copied(DocumentWriter writer, dict fields, int depth):
    # The maps of a document in the client's order, without those in lists; None if the client has to
    # encode it.
    cdef dict copied = {}
    cdef Py_ssize_t size
    if depth > MAX_DEPTH:
        return None
    for name in fields:
        if type(name) is not str or not name:
            return None
        try:
            PyUnicode_AsUTF8AndSize(name, &size)
        except UnicodeEncodeError:
            return None
    for name, value in sorted(fields.items()):
        kind = type(value)
        if kind is dict:
            value = _copied(writer, value, depth + TO_FIELD)
            if value is None:
                return None
        elif kind is list or kind is tuple:
            if _is_deep(value, depth + TO_ELEMENT):
                return None
        elif not _is_common(value) and writer._is_for_client(value):
            return None
        copied[name] = value
    return copied


cdef bint _is_deep(object value, int depth):
    # Found out in advance: the client must not encode again what was encoded.
    if depth > MAX_DEPTH - TO_FIELD:
        return 1
    for item in value.values() if type(value) is dict else value:
        kind = type(item)
        if kind is dict or kind is list or kind is tuple:
            if _is_deep(item, depth + (TO_FIELD if kind is dict else TO_ELEMENT)):
                return 1
    return 0


cdef inline bint _is_common(object value):
    kind = type(value)
    return (
        kind is str
        or kind is int
        or kind is float
        or kind is bool
        or kind is bytes
        or kind is DATETIME
        or value is None
    )


cdef inline bint _is_one_of(object kind, tuple kinds):
    # Not by equality, which a metaclass may define.
    for each in kinds:
        if kind is each:
            return 1
    return 0


cdef int _put_update(
    DocumentWriter writer, Buffer* buffer, str name, dict fields, bint is_copied
) except -1:
    cdef Py_ssize_t start = begin_short(buffer, WRITE_UPDATE)
    return (
        put_text(buffer, DOCUMENT_NAME, name)
        and _put_map(writer, buffer, DOCUMENT_FIELDS, fields, WRITTEN_DEPTH, is_copied, 0)
        and finish_short(buffer, start)
    )


cdef int _put_map(
    DocumentWriter writer,
    Buffer* buffer,
    uint8_t tag,
    dict fields,
    int depth,
    bint is_copied,
    bint is_in_list,
) except -1:
    # Nobody else can change the map: no Python code runs, or it is a copy.
    cdef Py_ssize_t position = 0
    cdef PyObject* name_at
    cdef PyObject* value_at
    cdef Py_ssize_t entry
    cdef Py_ssize_t start
    if depth > MAX_DEPTH:
        return 0
    while PyDict_Next(fields, &position, &name_at, &value_at):
        name = <object>name_at
        if type(name) is not str or not (name or is_in_list):
            return 0
        entry = begin_short(buffer, tag)
        if not put_text(buffer, ENTRY_NAME, name):
            return 0
        start = begin_short(buffer, ENTRY_VALUE)
        if not _put_value(writer, buffer, <object>value_at, depth, is_copied, is_in_list):
            return 0
        finish_short(buffer, start)
        finish_short(buffer, entry)
    return 1


cdef int _put_value(
    DocumentWriter writer,
    Buffer* buffer,
    object value,
    int depth,
    bint is_copied,
    bint is_in_list,
) except -1:
    # Writes the fields of a Value. Answers 0 if that needs Python code, unless maps are copied; 0 then,
    # too, if values are nested too deep.
    cdef Py_ssize_t before = buffer.size
    cdef int written = _put_common(writer, buffer, value, depth, is_copied, is_in_list)
    if written or not is_copied:
        return written
    buffer.size = before
    if depth > MAX_DEPTH - TO_FIELD:
        return 0
    return put_serialised(buffer, writer._other(value))


cdef int _put_common(
    DocumentWriter writer,
    Buffer* buffer,
    object value,
    int depth,
    bint is_copied,
    bint is_in_list,
) except -1:
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
    if kind is dict:
        # One in a list can change: it is written at once, or by the client.
        start = begin_short(buffer, VALUE_MAP)
        return _put_map(
            writer,
            buffer,
            MAP_FIELDS,
            value,
            depth + TO_FIELD,
            is_copied and not is_in_list,
            is_in_list,
        ) and finish_short(buffer, start)
    if kind is list or kind is tuple:
        return _put_items(writer, buffer, value, depth + TO_ELEMENT, is_copied)
    if kind is bytes:
        return put_short(buffer, VALUE_BLOB, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    if kind is DATETIME or kind is writer._timestamp:
        return _put_timestamp(buffer, value, kind is not DATETIME)
    if kind is writer._geo_point:
        return _put_geo_point(buffer, value)
    if _is_one_of(kind, writer._references):
        path = value._document_path_internal
        return put_text(buffer, VALUE_REFERENCE, path) if type(path) is str else 0
    if kind is writer._vector:
        numbers = value._value
        if type(numbers) is not tuple:
            return 0
        return _put_vector(writer, buffer, numbers, depth + TO_FIELD)
    return 0


cdef int _put_vector(
    DocumentWriter writer, Buffer* buffer, tuple numbers, int depth
) except -1:
    # A map of two entries; the names are the client's.
    cdef Py_ssize_t outer = begin_short(buffer, VALUE_MAP)
    cdef Py_ssize_t entry = begin_short(buffer, MAP_FIELDS)
    cdef Py_ssize_t start
    put_text(buffer, ENTRY_NAME, "__type__")
    start = begin_short(buffer, ENTRY_VALUE)
    put_text(buffer, VALUE_STRING, "__vector__")
    finish_short(buffer, start)
    finish_short(buffer, entry)
    entry = begin_short(buffer, MAP_FIELDS)
    put_text(buffer, ENTRY_NAME, "value")
    start = begin_short(buffer, ENTRY_VALUE)
    if not _put_items(writer, buffer, numbers, depth + TO_ELEMENT, 0):
        return 0
    finish_short(buffer, start)
    finish_short(buffer, entry)
    return finish_short(buffer, outer)


cdef int _put_items(
    DocumentWriter writer, Buffer* buffer, object items, int depth, bint is_copied
) except -1:
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
        if not _put_value(writer, buffer, item, depth, is_copied, 1):
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
    if has_nanoseconds:
        nanosecond = getattr(value, "_nanosecond", None)
        if type(nanosecond) is not int or seconds < 0 or seconds > LAST_EXACT:
            return 0
        if nanosecond != 0:
            if not 0 < nanosecond < 1_000_000_000:
                return 0
            nanos = nanosecond
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
