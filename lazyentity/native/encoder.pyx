# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=True
"""The native backend's encoder of entities.

One recursion writes an entity, with all that is in it, in protobuf's wire format; upb parses that into
the message, which takes less time than setting properties one by one. Every length takes four bytes,
needed or not: that is legal, and only upb sees it.

Values of the types that the client itself returns are written here, and so are lists, dicts and entities.
The pure backend's encoder serialises any other value, which is spliced in; its errors reach the caller.
The pure encoder also writes the whole entity, from the beginning, in three cases:

- lists, dicts and entities are nested too deep for this encoder,
- a length takes more than four bytes,
- upb refuses the result, because of bytes that were to be written as they came.

The pure encoder never calls this one. So no value is encoded more than twice, however deep it is.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next
from cpython.exc cimport PyErr_Clear
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from lazyentity.native.tags cimport (
    ARRAY_VALUES,
    ENTITY_KEY,
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
from lazyentity.native.wire cimport MAX_DEPTH, OUTERMOST, TO_ENTITY, TO_ITEM, TO_VALUE

import datetime

from google.cloud.datastore.entity import Entity
from google.protobuf.message import DecodeError
from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity.codec import messages
from lazyentity.pure import encoder

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size)
    const char* utf8_of "PyUnicode_AsUTF8AndSize"(object text, Py_ssize_t* size) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

cdef object DATETIME = datetime.datetime
cdef object NANO_TIMESTAMP = DatetimeWithNanoseconds
cdef object UTC = datetime.timezone.utc
cdef tuple FLAGS = (set, tuple, frozenset, list)
# Held as objects: Cython would turn a check against a named type into one of the object's memory.
cdef object CONTAINERS = (list, dict)
cdef object DICT = dict
cdef object LIST = list
cdef dict NOTHING = {}
cdef object EPOCH = datetime.date(1970, 1, 1).toordinal()

cdef enum:
    HEADER = 6  # a tag of up to two bytes and a length
    NUMBER = 12  # a tag of up to two bytes and a varint
    MAX_LENGTH = 0x0FFFFFFF  # that four bytes can tell


cdef struct Buffer:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t capacity
    bint is_flat  # no message in it can be deeper than MAX_DEPTH allows


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
    # Leaves room for a length; answers where the measured bytes start.
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


cdef bint put_name(Buffer* buffer, object name) except -1:
    cdef Py_ssize_t size
    cdef const char* encoded = utf8_of(name, &size)
    return put_bytes(buffer, ENTRY_NAME, encoded, size)


cdef int put_number(Buffer* buffer, uint8_t tag, uint64_t number) except -1:
    reserve(buffer, NUMBER)
    put_tag(buffer, tag)
    put_varint(buffer, number)
    return 1


cdef bint put_timestamp(Buffer* buffer, object timestamp) except -1:
    cdef int64_t days = timestamp.toordinal() - EPOCH
    cdef int64_t seconds = days * 86400 + <int>timestamp.hour * 3600 + <int>timestamp.minute * 60
    cdef Py_ssize_t start = begin(buffer, VALUE_TIMESTAMP)
    seconds += <int>timestamp.second
    put_number(buffer, TIMESTAMP_SECONDS, <uint64_t>seconds)
    # The client writes no more than microseconds.
    put_number(buffer, TIMESTAMP_NANOS, <int>timestamp.microsecond * 1000)
    return finish(buffer, start)


cdef bint put_list(
    Buffer* buffer, list items, bint excluded, int depth, object contents_of
) except -1:
    cdef Py_ssize_t array = begin(buffer, VALUE_ARRAY)
    cdef Py_ssize_t start
    for item in items:
        start = begin(buffer, ARRAY_VALUES)
        if not put_value(buffer, item, 0, depth + TO_ITEM, contents_of):
            return 0
        if excluded:
            put_number(buffer, VALUE_EXCLUDE, 1)
        if not finish(buffer, start):
            return 0
    return finish(buffer, array)


cdef bint put_entity_value(
    Buffer* buffer, tuple contents, int depth, object contents_of
) except -1:
    cdef Py_ssize_t entity = begin(buffer, VALUE_ENTITY)
    return put_entity(buffer, contents, depth + TO_ENTITY, contents_of) and finish(buffer, entity)


cdef bint put_dict(Buffer* buffer, dict properties, int depth, object contents_of) except -1:
    cdef Py_ssize_t entity = begin(buffer, VALUE_ENTITY)
    if has_plain_names(properties):
        if not put_properties(buffer, properties, (), NOTHING, depth + TO_ENTITY, contents_of):
            return 0
    else:
        put_slowly(buffer, (None, (), False, None, properties, (), NOTHING), contents_of)
    return finish(buffer, entity)


cdef bint put_value(
    Buffer* buffer, object value, bint excluded, int depth, object contents_of
) except -1:
    # Writes the fields of a Value. The flag is for the elements of a list. Answers 0 if the pure backend
    # must write the whole entity.
    cdef double floating
    cdef long long number
    cdef int overflow = 0
    cdef Py_ssize_t size
    cdef const char* encoded
    kind = type(value)
    if kind is str:
        encoded = PyUnicode_AsUTF8AndSize(value, &size)
        if encoded != NULL:
            return put_bytes(buffer, VALUE_STRING, encoded, size)
        PyErr_Clear()
    elif kind is int:
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow:
            return put_number(buffer, VALUE_INTEGER, <uint64_t>number)
    elif kind is float:
        floating = value
        reserve(buffer, NUMBER)
        put_tag(buffer, VALUE_DOUBLE)
        memcpy(buffer.data + buffer.size, &floating, sizeof(floating))
        buffer.size += sizeof(floating)
        return 1
    elif kind is bool:
        return put_number(buffer, VALUE_BOOLEAN, 1 if value is True else 0)
    elif value is None:
        return put_number(buffer, VALUE_NULL, 0)
    elif kind is bytes:
        return put_bytes(
            buffer, VALUE_BLOB, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
        )
    elif kind is DATETIME or kind is NANO_TIMESTAMP:
        zone = value.tzinfo
        if zone is None or zone is UTC:
            return put_timestamp(buffer, value)
    elif kind is dict or kind is list or isinstance(value, CONTAINERS):
        if depth > MAX_DEPTH:
            return 0
        if kind is dict:
            return put_dict(buffer, value, depth, contents_of)
        if kind is list:
            return put_list(buffer, value, excluded, depth, contents_of)
        if isinstance(value, Entity):
            return put_entity_value(buffer, contents_of(value), depth, contents_of)
        if isinstance(value, DICT):
            return put_dict(buffer, dict(value), depth, contents_of)
        items = [] if len(value) == 0 else list(value)
        return put_list(buffer, items, excluded, depth, contents_of)
    return put_serialised(buffer, encoder.serialised_value(value))


cdef int put_serialised(Buffer* buffer, bytes fields) except -1:
    cdef Py_ssize_t size = PyBytes_GET_SIZE(fields)
    reserve(buffer, size)
    memcpy(buffer.data + buffer.size, PyBytes_AS_STRING(fields), size)
    buffer.size += size
    return 1


cdef bint put_entity(Buffer* buffer, tuple contents, int depth, object contents_of) except -1:
    # Writes the fields of an Entity at a depth.
    source, deleted, keeps_key, key, properties, excluded, meanings = contents
    if (
        type(meanings) is not dict
        or type(excluded) not in FLAGS
        or not has_plain_names(properties)
    ):
        # The pure encoder then asks these objects, as the client does.
        return put_slowly(buffer, contents, contents_of)
    if source is not None:
        if depth > OUTERMOST:
            buffer.is_flat = 0
        put_serialised(buffer, source._untouched(properties, deleted, keeps_key))
    if key is not None:
        serialised = encoder.serialised_key(key)
        if not put_bytes(
            buffer, ENTITY_KEY, PyBytes_AS_STRING(serialised), PyBytes_GET_SIZE(serialised)
        ):
            return 0
    return put_properties(buffer, properties, excluded, meanings, depth, contents_of)


cdef bint has_plain_names(object properties) except -1:
    # Whether each name is exactly a str: then no two names are the same to protobuf.
    cdef Py_ssize_t position = 0
    cdef PyObject* name
    while PyDict_Next(properties, &position, &name, NULL):
        if type(<object>name) is not str:
            return 0
    return 1


cdef int put_slowly(Buffer* buffer, tuple contents, object contents_of) except -1:
    # Has the pure backend write an entity of which nothing was written yet.
    message = messages.Entity()
    if not encoder.write_entity(message, contents, contents_of):
        buffer.is_flat = 0
    return put_serialised(buffer, message.SerializeToString())


cdef bint put_properties(
    Buffer* buffer, object properties, object excluded, dict meanings, int depth, object contents_of
) except -1:
    # Properties are those of any subclass of dict.
    cdef Py_ssize_t position = 0
    cdef PyObject* name_at
    cdef PyObject* value_at
    cdef Py_ssize_t entry
    cdef Py_ssize_t start
    cdef bint is_excluded
    cdef bint has_meanings = bool(meanings)
    cdef bint has_excluded = bool(excluded)
    # Not properties.items(), which entities override.
    while PyDict_Next(properties, &position, &name_at, &value_at):
        name = <object>name_at
        value = <object>value_at
        if has_meanings and name in meanings:
            alone = (None, (), False, None, {name: value}, excluded, meanings)
            put_slowly(buffer, alone, contents_of)
            continue
        is_excluded = has_excluded and name in excluded
        entry = begin(buffer, ENTITY_PROPERTIES)
        if not put_name(buffer, name):
            return 0
        start = begin(buffer, ENTRY_VALUE)
        if not put_value(buffer, value, is_excluded, depth + TO_VALUE, contents_of):
            return 0
        if is_excluded and not isinstance(value, LIST):
            put_number(buffer, VALUE_EXCLUDE, 1)
        if not finish(buffer, start) or not finish(buffer, entry):
            return 0
    return 1


def write_entity(target, contents, contents_of):
    """As :func:`lazyentity.pure.encoder.write_entity`."""
    cdef Buffer buffer
    cdef object serialised = None
    buffer.data = NULL
    buffer.size = buffer.capacity = 0
    buffer.is_flat = 1
    try:
        if put_entity(&buffer, contents, OUTERMOST, contents_of):
            serialised = PyBytes_FromStringAndSize(<const char*>buffer.data, buffer.size)
    finally:
        PyMem_Free(buffer.data)
    if serialised is not None:
        try:
            target.MergeFromString(serialised)
        except DecodeError:
            # Bytes that were to be written as they came are malformed, or too deep by now.
            target.Clear()
        else:
            return bool(buffer.is_flat)
    return encoder.write_entity(target, contents, contents_of)
