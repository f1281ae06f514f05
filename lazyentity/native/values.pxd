# The decoders of values and keys: see values.pyx.

from cpython.unicode cimport PyUnicode_1BYTE_DATA, PyUnicode_New
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from lazyentity.native.tags cimport (
    LATLNG_LATITUDE,
    LATLNG_LONGITUDE,
    SECOND_BYTE,
    VALUE_BLOB,
    VALUE_BOOLEAN,
    VALUE_DOUBLE,
    VALUE_INTEGER,
    VALUE_NULL,
    VALUE_STRING,
)
from lazyentity.native.wire cimport Bytes, read_double, read_varint

cdef enum:
    SHORT_TEXT = 64


cdef struct Value:
    # A google.datastore.v1.Value: the tag of its oneof case, and that case's number or span.
    int tag
    uint64_t number
    double floating
    Bytes at
    Bytes end
    int32_t meaning
    bint excluded


cdef bint parse_value(Bytes at, Bytes end, Value* value) noexcept nogil
cdef bint next_item(Bytes* cursor, Bytes end, Value* value) noexcept nogil
cdef object decode_leaf(Value* value)
cdef object decode_long_text(Bytes at, Bytes end)
cdef object decode_key(Bytes at, Bytes end)
cdef int is_excluded(Value* value)
cdef bint has_no_meaning(Value* value)


# Here, so that compilers can inline them in other modules.

cdef inline object decode_text(Bytes at, Bytes end):
    # Most strings are short and ASCII, for which CPython's decoder takes longer.
    cdef Py_ssize_t size = end - at
    cdef Py_ssize_t index
    cdef uint8_t seen = 0
    cdef object text
    # CPython has one object for each single-character string, and for the empty one.
    if 1 < size <= SHORT_TEXT:
        for index in range(size):
            seen |= at[index]
        if seen < 0x80:
            text = PyUnicode_New(size, 0x7F)
            memcpy(PyUnicode_1BYTE_DATA(text), at, size)
            return text
    return decode_long_text(at, end)


cdef inline object decode_bare(Bytes at, Bytes end):
    # Decodes a string, a number, a boolean or null with nothing beside it, as most values are.
    # parse_value() handles all others, malformed ones included.
    cdef Py_ssize_t size = end - at
    cdef uint64_t number
    cdef double floating
    if size < 2:
        return UNDECODED
    if at[0] == VALUE_STRING:
        if size >= 3 and at[1] == SECOND_BYTE and at[2] < 0x80 and at[2] == size - 3:
            return decode_text(at + 3, end)
    elif at[0] == VALUE_DOUBLE:
        at += 1
        if size == 9 and read_double(&at, end, &floating):
            return floating
    elif at[0] == VALUE_BOOLEAN:
        if size == 2 and at[1] <= 1:
            return at[1] == 1
    elif at[0] == VALUE_INTEGER:
        at += 1
        if read_varint(&at, end, &number) and at == end:
            return <int64_t>number
    elif at[0] == VALUE_NULL:
        if size == 2 and at[1] == 0:
            return None
    return UNDECODED


cdef inline bint read_point(Bytes at, Bytes end, double* latitude, double* longitude) noexcept nogil:
    # Reads a google.type.LatLng, whose fields that are left out are zero.
    latitude[0] = longitude[0] = 0
    while at < end:
        at += 1
        if at[-1] == LATLNG_LATITUDE:
            if not read_double(&at, end, latitude):
                return 0
        elif at[-1] != LATLNG_LONGITUDE or not read_double(&at, end, longitude):
            return 0
    return 1


cdef inline bint is_plain(Value* value) noexcept nogil:
    # Whether the value has no meaning, and a type that the garbage collector does not track; both are
    # true of a bare value.
    return value.tag == 0 or (
        value.meaning == 0
        and (
            value.tag == VALUE_STRING
            or value.tag == VALUE_INTEGER
            or value.tag == VALUE_BOOLEAN
            or value.tag == VALUE_DOUBLE
            or value.tag == VALUE_BLOB
            or value.tag == VALUE_NULL
        )
    )
