# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=True
"""The native backend's encoder of properties.

They are written in protobuf's wire format and parsed into the message by upb, which takes less time than
setting them one by one. Every length takes four bytes, needed or not: that is legal, and nobody but upb
sees it.

Only values of the types that the client itself returns are written here, of these only what has nothing
unusual about it. All else, and so every error, is for the pure backend's encoder.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from lazyentity._tags cimport (
    ARRAY_VALUES,
    ENTITY_PROPERTIES,
    ENTRY_NAME,
    ENTRY_VALUE,
    SECOND_BYTE,
    TIMESTAMP_NANOS,
    TIMESTAMP_SECONDS,
    VALUE_ARRAY,
    VALUE_BLOB,
    VALUE_BOOLEAN,
    VALUE_DOUBLE,
    VALUE_ENTITY,
    VALUE_EXCLUDE,
    VALUE_INTEGER,
    VALUE_NULL,
    VALUE_STRING,
    VALUE_TIMESTAMP,
)

import datetime

from google.protobuf.message import DecodeError
from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity.codec import messages, write

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef object STAMP = datetime.datetime
cdef object NANO_STAMP = DatetimeWithNanoseconds
cdef object UTC = datetime.timezone.utc
cdef object EPOCH = datetime.date(1970, 1, 1).toordinal()

cdef enum:
    HEADER = 6  # a tag of up to two bytes and a length
    NUMBER = 12  # a tag of up to two bytes and a varint
    FLAG = 3
    MAX_LENGTH = 0x0FFFFFFF  # that four bytes can tell
    MAX_DEPTH = 90  # messages in messages: protobuf's parsers go down 100


cdef struct Buffer:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t capacity
    int deepest  # messages in messages


cdef int reserve(Buffer* buffer, Py_ssize_t more) except -1:
    cdef Py_ssize_t capacity
    cdef uint8_t* grown
    if buffer.capacity - buffer.size >= more:
        return 0
    capacity = max(1024, 2 * buffer.capacity, buffer.size + more)
    grown = <uint8_t*>PyMem_Realloc(buffer.data, capacity)
    if grown == NULL:
        raise MemoryError
    buffer.data = grown
    buffer.capacity = capacity
    return 0


cdef inline void put_tag(Buffer* buffer, uint8_t tag) noexcept nogil:
    buffer.data[buffer.size] = tag
    buffer.size += 1
    if tag >= 0x80:
        buffer.data[buffer.size] = SECOND_BYTE
        buffer.size += 1


cdef inline void put_varint(Buffer* buffer, uint64_t number) noexcept nogil:
    while number > 0x7F:
        buffer.data[buffer.size] = <uint8_t>(number & 0x7F) | 0x80
        buffer.size += 1
        number >>= 7
    buffer.data[buffer.size] = <uint8_t>number
    buffer.size += 1


cdef inline Py_ssize_t begin(Buffer* buffer, uint8_t tag) except -1:
    # Leaves room for a length; answers where what has that length starts.
    reserve(buffer, HEADER)
    put_tag(buffer, tag)
    buffer.size += 4
    return buffer.size


cdef inline bint finish(Buffer* buffer, Py_ssize_t start) noexcept nogil:
    cdef Py_ssize_t length = buffer.size - start
    cdef uint8_t* at = buffer.data + start - 4
    if length > MAX_LENGTH:
        return 0
    at[0] = <uint8_t>(length & 0x7F) | 0x80
    at[1] = <uint8_t>(length >> 7 & 0x7F) | 0x80
    at[2] = <uint8_t>(length >> 14 & 0x7F) | 0x80
    at[3] = <uint8_t>(length >> 21)
    return 1


cdef bint put_bytes(Buffer* buffer, uint8_t tag, const char* data, Py_ssize_t size) except -1:
    cdef Py_ssize_t start = begin(buffer, tag)
    reserve(buffer, size)
    memcpy(buffer.data + start, data, size)
    buffer.size += size
    return finish(buffer, start)


cdef bint put_text(Buffer* buffer, uint8_t tag, object text) except -1:
    cdef Py_ssize_t size
    cdef const char* encoded = PyUnicode_AsUTF8AndSize(text, &size)
    return put_bytes(buffer, tag, encoded, size)


cdef int put_number(Buffer* buffer, uint8_t tag, uint64_t number) except -1:
    reserve(buffer, NUMBER)
    put_tag(buffer, tag)
    put_varint(buffer, number)
    return 1


cdef bint put_stamp(Buffer* buffer, object stamp) except -1:
    cdef int64_t days = stamp.toordinal() - EPOCH
    cdef int64_t seconds = days * 86400 + <int>stamp.hour * 3600 + <int>stamp.minute * 60
    cdef Py_ssize_t start = begin(buffer, VALUE_TIMESTAMP)
    seconds += <int>stamp.second
    put_number(buffer, TIMESTAMP_SECONDS, <uint64_t>seconds)
    # The client writes no more than microseconds.
    put_number(buffer, TIMESTAMP_NANOS, <int>stamp.microsecond * 1000)
    return finish(buffer, start)


cdef bint put_list(
    Buffer* buffer, list items, bint excluded, int depth, object entity_message
) except -1:
    cdef Py_ssize_t array = begin(buffer, VALUE_ARRAY)
    cdef Py_ssize_t start
    for item in items:
        start = begin(buffer, ARRAY_VALUES)
        if not put_value(buffer, item, 0, depth + 2, entity_message):
            return 0
        if excluded:
            put_number(buffer, VALUE_EXCLUDE, 1)
        if not finish(buffer, start):
            return 0
    return finish(buffer, array)


cdef bint put_dict(Buffer* buffer, dict properties, int depth, object entity_message) except -1:
    cdef Py_ssize_t entity = begin(buffer, VALUE_ENTITY)
    cdef Py_ssize_t entry
    cdef Py_ssize_t start
    for name, value in properties.items():
        if type(name) is not str:
            return 0
        entry = begin(buffer, ENTITY_PROPERTIES)
        if not put_text(buffer, ENTRY_NAME, name):
            return 0
        start = begin(buffer, ENTRY_VALUE)
        if not put_value(buffer, value, 0, depth + 3, entity_message):
            return 0
        if not finish(buffer, start) or not finish(buffer, entry):
            return 0
    return finish(buffer, entity)


cdef bint put_value(
    Buffer* buffer, object value, bint excluded, int depth, object entity_message
) except -1:
    # Writes the fields of a Value. The flag is for the elements of a list. Answers 0 if the pure backend
    # is to write the whole.
    cdef double floating
    kind = type(value)
    if kind is str:
        return put_text(buffer, VALUE_STRING, value)
    if kind is int:
        return put_number(buffer, VALUE_INTEGER, <uint64_t><int64_t>value)
    if kind is float:
        floating = value
        reserve(buffer, NUMBER)
        put_tag(buffer, VALUE_DOUBLE)
        memcpy(buffer.data + buffer.size, &floating, sizeof(floating))
        buffer.size += sizeof(floating)
        return 1
    if kind is bool:
        return put_number(buffer, VALUE_BOOLEAN, 1 if value is True else 0)
    if value is None:
        return put_number(buffer, VALUE_NULL, 0)
    if kind is bytes:
        return put_bytes(
            buffer, VALUE_BLOB, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
        )
    buffer.deepest = max(buffer.deepest, depth + 1)
    if kind is STAMP or kind is NANO_STAMP:
        zone = value.tzinfo
        if zone is None or zone is UTC:
            return put_stamp(buffer, value)
    elif depth > MAX_DEPTH:
        return 0
    elif kind is dict:
        return put_dict(buffer, value, depth, entity_message)
    elif kind is list:
        return put_list(buffer, value, excluded, depth, entity_message)
    elif isinstance(value, list):
        return 0
    serialised, levels = write.serialised_value(value, entity_message)
    buffer.deepest = max(buffer.deepest, depth + <int>levels)
    return put_serialised(buffer, serialised)


cdef int put_serialised(Buffer* buffer, bytes fields) except -1:
    cdef Py_ssize_t size = PyBytes_GET_SIZE(fields)
    reserve(buffer, size)
    memcpy(buffer.data + buffer.size, PyBytes_AS_STRING(fields), size)
    buffer.size += size
    return 1


cdef bint put_properties(
    Buffer* buffer, object properties, object excluded, object meanings, object entity_message
) except -1:
    # Properties are those of any subclass of dict.
    cdef Py_ssize_t position = 0
    cdef PyObject* name_at
    cdef PyObject* value_at
    cdef Py_ssize_t entry
    cdef Py_ssize_t start
    cdef bint is_excluded
    # Not properties.items(): of an entity, that is its own.
    while PyDict_Next(properties, &position, &name_at, &value_at):
        name = <object>name_at
        value = <object>value_at
        if type(name) is not str:
            return 0
        if name in meanings:
            alone = messages.Entity()
            levels = write.write_properties(
                alone, {name: value}, excluded, meanings, entity_message
            )
            buffer.deepest = max(buffer.deepest, <int>levels)
            put_serialised(buffer, alone.SerializeToString())
            continue
        is_excluded = name in excluded
        entry = begin(buffer, ENTITY_PROPERTIES)
        if not put_text(buffer, ENTRY_NAME, name):
            return 0
        start = begin(buffer, ENTRY_VALUE)
        if not put_value(buffer, value, is_excluded, 3, entity_message):
            return 0
        if is_excluded and type(value) is not list:
            put_number(buffer, VALUE_EXCLUDE, 1)
        if not finish(buffer, start) or not finish(buffer, entry):
            return 0
    return 1


def write_properties(message, properties, excluded, meanings, entity_message):
    """As :func:`lazyentity.codec.write.write_properties`."""
    cdef Buffer buffer
    cdef bint written = 0
    buffer.data = NULL
    buffer.size = buffer.capacity = 0
    buffer.deepest = 3
    try:
        if type(meanings) is dict and type(excluded) in (set, frozenset, tuple, list):
            written = put_properties(&buffer, properties, excluded, meanings, entity_message)
            if written:
                # Of entries of the same name, the last one parsed is the one that counts.
                message.MergeFromString(
                    PyBytes_FromStringAndSize(<const char*>buffer.data, buffer.size)
                )
    except (OverflowError, UnicodeEncodeError):
        # A number or a text that is none of protobuf's.
        written = 0
    except DecodeError:
        # An embedded entity goes deeper than parsers do. What was parsed before is written again.
        written = 0
    finally:
        PyMem_Free(buffer.data)
    if written:
        return buffer.deepest
    return write.write_properties(message, properties, excluded, meanings, entity_message)
