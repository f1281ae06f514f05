"""The native backend's decoder of documents: a format in which a dict is a map of values.

Theory of operation. One pass over the bytes makes the dict. It knows the encoding that servers send: maps
whose entries have a name and then a value, values with one oneof case and nothing beside it. Any other
bytes, legal or malformed, at any depth, end the attempt: the caller then has the client's own code convert
the document as a whole. So every document is decoded at most twice, and the client raises every error.

A value has the field numbers of :mod:`lazyentity.native.tags`, with a reference in place of a key,
and a map in place of an entity.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_SetItem
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.unicode cimport PyUnicode_1BYTE_DATA, PyUnicode_GET_LENGTH
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp

from lazyentity.native.tags cimport (
    ARRAY_VALUES,
    ENTRY_NAME,
    ENTRY_VALUE,
    SECOND_BYTE,
    VALUE_ARRAY,
    VALUE_BLOB,
    VALUE_GEO_POINT,
    VALUE_STRING,
    VALUE_TIMESTAMP,
)
from lazyentity.native.entities cimport (
    UNDECODED,
    decode_bare,
    decode_text,
    read_point,
    timestamp_of_type,
)
from lazyentity.native.wire cimport (
    MAX_DEPTH,
    Bytes,
    differ,
    hash_bytes,
    read_double,
    read_length,
    skip_any_field,
)

import datetime

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    bint PyUnicode_IS_ASCII(object text)

cdef enum:
    DOCUMENT_FIELDS = 0x12
    MAP_FIELDS = 0x0A
    VALUE_REFERENCE = 0x2A
    VALUE_MAP = 0x32

cdef enum:
    # Messages in messages, as in lazyentity.native.wire, but from the response on.
    FIELD_DEPTH = 4  # response, document, entry, Value
    TO_FIELD = 3  # from a Value to one in its map: map, entry, Value
    TO_ELEMENT = 2  # from a Value to one in its array: array, Value


cdef class DocumentReader:
    """Decodes the documents of a client.

    See :class:`lazyentity._backend.protocols.DocumentReader`.
    """

    cdef object _geo_point
    cdef object _reference
    cdef object _map
    cdef object _timestamp

    def __init__(self, *, geo_point, reference, other_map, type timestamp):
        if timestamp is not None and not issubclass(timestamp, datetime.datetime):
            # Its instances are made past its constructor.
            raise TypeError("timestamp must be a subclass of datetime")
        self._geo_point = geo_point
        self._reference = reference
        self._map = other_map
        self._timestamp = timestamp


cdef object _value(DocumentReader reader, Bytes at, Bytes end, object client, int depth):
    cdef Bytes span_end
    cdef uint8_t tag
    value = decode_bare(at, end)
    if value is not UNDECODED or end - at < 2:
        return value
    tag = at[0]
    if tag >= 0x80:
        if at[1] != SECOND_BYTE:
            return UNDECODED
        at += 1
    at += 1
    if tag & 7 != 2 or not read_length(&at, end, &span_end) or span_end != end:
        return UNDECODED
    if tag == VALUE_STRING:
        return decode_text(at, end)
    if tag == VALUE_TIMESTAMP:
        if reader._timestamp is None:
            return UNDECODED
        return timestamp_of_type(at, end, <PyTypeObject*>reader._timestamp, 0)
    if tag == VALUE_MAP:
        return _map(reader, at, end, MAP_FIELDS, client, depth + TO_FIELD)
    if tag == VALUE_ARRAY:
        return _array(reader, at, end, client, depth + TO_ELEMENT)
    if tag == VALUE_REFERENCE:
        value = decode_text(at, end)
        return value if value is UNDECODED else reader._reference(value, client)
    if tag == VALUE_BLOB:
        return PyBytes_FromStringAndSize(<const char*>at, end - at)
    if tag == VALUE_GEO_POINT:
        return _geo_point(reader, at, end)
    return UNDECODED


cdef object _geo_point(DocumentReader reader, Bytes at, Bytes end):
    cdef double latitude
    cdef double longitude
    if not read_point(at, end, &latitude, &longitude):
        return UNDECODED
    return reader._geo_point(latitude, longitude)


cdef object _array(DocumentReader reader, Bytes at, Bytes end, object client, int depth):
    cdef Bytes item_end
    cdef list items = []
    if depth > MAX_DEPTH:
        return UNDECODED
    while at < end:
        if at[0] != ARRAY_VALUES:
            return UNDECODED
        at += 1
        if not read_length(&at, end, &item_end):
            return UNDECODED
        item = _value(reader, at, item_end, client, depth)
        if item is UNDECODED:
            return UNDECODED
        items.append(item)
        at = item_end
    return items


cdef inline bint _next_entry(
    Bytes* cursor, Bytes end, uint8_t tag, Bytes* name, Bytes* name_end, Bytes* value, Bytes* value_end
) noexcept nogil:
    # Reads an entry of a map, tag included; otherwise leaves the cursor where it is.
    cdef Bytes at = cursor[0]
    cdef Bytes entry_end
    if at[0] != tag:
        return 0
    at += 1
    if not read_length(&at, end, &entry_end) or at == entry_end or at[0] != ENTRY_NAME:
        return 0
    at += 1
    if not read_length(&at, entry_end, name_end):
        return 0
    name[0] = at
    at = name_end[0]
    if at == entry_end or at[0] != ENTRY_VALUE:
        return 0
    at += 1
    if not read_length(&at, entry_end, value_end) or value_end[0] != entry_end:
        return 0
    value[0] = at
    cursor[0] = entry_end
    return 1


cdef enum:
    # Of the names that were read last. Names can be ids or dates: their number has no bound.
    NAME_SETS = 512
    NAME_WAYS = 2  # of each set
    LONGEST_NAME = 64

# References, or NULL: guarded as the likely shapes of lazyentity.native.shapes.
cdef PyObject* NAMES[NAME_SETS][NAME_WAYS]
cdef object NAMES_LOCK = object()


cdef inline object _name(Bytes at, Bytes end):
    # Documents of a collection have the same names: a known string needs no hash and no memory.
    cdef Py_ssize_t size = end - at
    cdef PyObject** known
    cdef PyObject* forgotten
    cdef int way
    if size < 2 or size > LONGEST_NAME:
        return decode_text(at, end)
    known = NAMES[hash_bytes(at, size) % NAME_SETS]
    with cython.critical_section(NAMES_LOCK):
        for way in range(NAME_WAYS):
            if known[way] == NULL:
                break
            if PyUnicode_GET_LENGTH(<object>known[way]) == size and not differ(
                <Bytes>PyUnicode_1BYTE_DATA(<object>known[way]), at, <uint32_t>size
            ):
                return <object>known[way]
    name = decode_text(at, end)
    if name is UNDECODED or not PyUnicode_IS_ASCII(name):
        return name
    Py_INCREF(name)
    with cython.critical_section(NAMES_LOCK):
        forgotten = known[NAME_WAYS - 1]
        for way in range(NAME_WAYS - 1, 0, -1):
            known[way] = known[way - 1]
        known[0] = <PyObject*>name
    Py_XDECREF(forgotten)
    return name


cdef inline bint _is_special(Bytes name, Bytes name_end) noexcept nogil:
    # A map with such a name may be a vector or another special type.
    return name_end - name >= 2 and name[0] == 0x5F and name[1] == 0x5F


cdef object _map(DocumentReader reader, Bytes at, Bytes end, uint8_t tag, object client, int depth):
    # The fields of a document, or of a MapValue.
    cdef Bytes start = at
    cdef Bytes name_at
    cdef Bytes name_end
    cdef Bytes value_at
    cdef Bytes value_end
    cdef bint is_special = 0
    cdef dict fields = {}
    if depth > MAX_DEPTH:
        return UNDECODED
    while at < end:
        if not _next_entry(&at, end, tag, &name_at, &name_end, &value_at, &value_end):
            if tag == DOCUMENT_FIELDS and at[0] != tag and skip_any_field(&at, end):
                continue
            return UNDECODED
        is_special |= _is_special(name_at, name_end)
        name = _name(name_at, name_end)
        if name is UNDECODED:
            return UNDECODED
        value = _value(reader, value_at, value_end, client, depth)
        if value is UNDECODED:
            return UNDECODED
        PyDict_SetItem(fields, name, value)
    if is_special:
        if tag == DOCUMENT_FIELDS:
            return UNDECODED
        return reader._map(PyBytes_FromStringAndSize(<const char*>start, end - start), client)
    return fields


cdef bint _find_field(
    Bytes* start, Bytes* end, uint8_t tag, const char* wanted, Py_ssize_t size
) noexcept nogil:
    # Goes from the fields of a document, or of a MapValue, to the value of a field.
    cdef Bytes at = start[0]
    cdef Bytes name_at
    cdef Bytes name_end
    cdef Bytes value_at
    cdef Bytes value_end
    cdef Bytes found_end = NULL
    while at < end[0]:
        if not _next_entry(&at, end[0], tag, &name_at, &name_end, &value_at, &value_end):
            if tag == DOCUMENT_FIELDS and at[0] != tag and skip_any_field(&at, end[0]):
                continue
            return 0
        if _is_special(name_at, name_end):
            return 0
        if name_end - name_at == size and memcmp(name_at, wanted, size) == 0:
            # Of several entries with one name the last one counts.
            start[0] = value_at
            found_end = value_end
    if found_end == NULL:
        return 0
    end[0] = found_end
    return 1


cdef object decode_fields(DocumentReader reader, Bytes at, Bytes end, object client):
    # Decodes a document; UNDECODED, if the client has to convert it.
    return _map(reader, at, end, DOCUMENT_FIELDS, client, FIELD_DEPTH)


cdef object decode_path(DocumentReader reader, Bytes at, Bytes end, object client, object names):
    # Decodes the value of a field in fields; UNDECODED, if the client has to find or to convert it.
    cdef Bytes map_end
    cdef uint8_t tag = DOCUMENT_FIELDS
    cdef int depth = FIELD_DEPTH
    cdef const char* wanted
    cdef Py_ssize_t size
    if not names:
        return UNDECODED
    for name in names:
        if tag == MAP_FIELDS:
            if at == end or at[0] != VALUE_MAP:
                return UNDECODED
            at += 1
            if not read_length(&at, end, &map_end) or map_end != end:
                return UNDECODED
            depth += TO_FIELD
        wanted = PyUnicode_AsUTF8AndSize(name, &size)
        if depth > MAX_DEPTH or not _find_field(&at, &end, tag, wanted, size):
            return UNDECODED
        tag = MAP_FIELDS
    return _value(reader, at, end, client, depth)
