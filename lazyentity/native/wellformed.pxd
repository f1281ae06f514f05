# The check of bytes that an entity was received in, before they are sent as they came. A message of all of
# them, made for the error that protobuf might raise, would take longer than anything else in a write.
#
# Answers 1 only if protobuf's parser takes the bytes; 0 leaves them to it, malformed or merely unusual.

from cpython.exc cimport PyErr_Clear
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from lazyentity.native.tags cimport (
    ARRAY_VALUES,
    ENTITY_KEY,
    ENTITY_PROPERTIES,
    ENTRY_NAME,
    ENTRY_VALUE,
    KEY_PARTITION_ID,
    KEY_PATH,
    LATLNG_LATITUDE,
    LATLNG_LONGITUDE,
    PARTITION_DATABASE,
    PARTITION_NAMESPACE,
    PARTITION_PROJECT,
    PATH_ID,
    PATH_KIND,
    PATH_NAME,
    SECOND_BYTE,
    TIMESTAMP_NANOS,
    TIMESTAMP_SECONDS,
    VALUE_ARRAY,
    VALUE_BLOB,
    VALUE_BOOLEAN,
    VALUE_DOUBLE,
    VALUE_EXCLUDE,
    VALUE_GEO_POINT,
    VALUE_INTEGER,
    VALUE_KEY,
    VALUE_MEANING,
    VALUE_NULL,
    VALUE_STRING,
    VALUE_TIMESTAMP,
)
from lazyentity.native.wire cimport Bytes, read_length, read_varint

cdef extern from "Python.h":
    PyObject* decoded_utf8 "PyUnicode_DecodeUTF8"(const char* text, Py_ssize_t size, const char* errors)

cdef enum:
    LISTS = 4  # levels of lists, fewer than a request has room for
    DOUBLE_SIZE = 8

ctypedef bint (*Check)(Bytes at, Bytes end) noexcept


cdef inline bint is_text(Bytes at, Bytes end) noexcept:
    cdef uint64_t word
    cdef Bytes start = at
    cdef PyObject* decoded
    while end - at >= 8:
        memcpy(&word, at, sizeof(word))
        if word & <uint64_t>0x8080808080808080:
            break
        at += 8
    while at < end and at[0] < 0x80:
        at += 1
    if at == end:
        return 1
    decoded = decoded_utf8(<const char*>start, end - start, NULL)
    if decoded == NULL:
        PyErr_Clear()
        return 0
    Py_DECREF(<object>decoded)
    return 1


cdef inline bint are_texts(Bytes at, Bytes end, uint8_t first, uint8_t second, uint8_t third) noexcept:
    # Whether a message has no other fields than texts of these tags.
    cdef Bytes stop
    cdef uint8_t tag
    while at < end:
        tag = at[0]
        at += 1
        if (tag != first and tag != second and tag != third) or not read_length(&at, end, &stop):
            return 0
        if not is_text(at, stop):
            return 0
        at = stop
    return 1


cdef inline bint is_element(Bytes at, Bytes end) noexcept:
    cdef Bytes stop
    cdef uint64_t ignored
    while at < end:
        if at[0] == PATH_ID:
            at += 1
            if not read_varint(&at, end, &ignored):
                return 0
            continue
        if at[0] != PATH_KIND and at[0] != PATH_NAME:
            return 0
        at += 1
        if not read_length(&at, end, &stop) or not is_text(at, stop):
            return 0
        at = stop
    return 1


cdef inline bint are_messages(
    Bytes at, Bytes end, uint8_t first, Check is_first, uint8_t second, Check is_second
) noexcept:
    # Whether a message has no other fields than these two, of texts or messages.
    cdef Bytes stop
    cdef uint8_t tag
    while at < end:
        tag = at[0]
        at += 1
        if not read_length(&at, end, &stop):
            return 0
        if tag == first:
            if not is_first(at, stop):
                return 0
        elif tag != second or not is_second(at, stop):
            return 0
        at = stop
    return 1


cdef inline bint is_partition(Bytes at, Bytes end) noexcept:
    return are_texts(at, end, PARTITION_PROJECT, PARTITION_DATABASE, PARTITION_NAMESPACE)


cdef inline bint is_key(Bytes at, Bytes end) noexcept:
    return are_messages(at, end, KEY_PARTITION_ID, is_partition, KEY_PATH, is_element)


cdef inline bint are_numbers(Bytes at, Bytes end, uint8_t first, uint8_t second, bint fixed) noexcept nogil:
    # Whether a message has no other fields than numbers of these tags.
    cdef uint64_t ignored
    while at < end:
        if at[0] != first and at[0] != second:
            return 0
        at += 1
        if not fixed:
            if not read_varint(&at, end, &ignored):
                return 0
        elif end - at < DOUBLE_SIZE:
            return 0
        else:
            at += DOUBLE_SIZE
    return 1


cdef inline bint is_value(Bytes at, Bytes end, int lists) noexcept:
    cdef Bytes stop
    cdef Bytes item_end
    cdef uint64_t ignored
    cdef uint8_t tag
    while at < end:
        tag = at[0]
        at += 1
        if tag >= 0x80:
            if at == end or at[0] != SECOND_BYTE:
                return 0
            at += 1
        if tag in (VALUE_BOOLEAN, VALUE_INTEGER, VALUE_NULL, VALUE_MEANING, VALUE_EXCLUDE):
            if not read_varint(&at, end, &ignored):
                return 0
            continue
        if tag == VALUE_DOUBLE:
            if end - at < DOUBLE_SIZE:
                return 0
            at += DOUBLE_SIZE
            continue
        if not read_length(&at, end, &stop):
            return 0
        if tag == VALUE_STRING:
            if not is_text(at, stop):
                return 0
        elif tag == VALUE_TIMESTAMP:
            if not are_numbers(at, stop, TIMESTAMP_SECONDS, TIMESTAMP_NANOS, 0):
                return 0
        elif tag == VALUE_GEO_POINT:
            if not are_numbers(at, stop, LATLNG_LATITUDE, LATLNG_LONGITUDE, 1):
                return 0
        elif tag == VALUE_KEY:
            if not is_key(at, stop):
                return 0
        elif tag == VALUE_ARRAY and lists > 0:
            while at < stop:
                if at[0] != ARRAY_VALUES:
                    return 0
                at += 1
                if not read_length(&at, stop, &item_end) or not is_value(at, item_end, lists - 1):
                    return 0
                at = item_end
        elif tag != VALUE_BLOB:
            return 0
        at = stop
    return 1


cdef inline bint is_property_value(Bytes at, Bytes end) noexcept:
    return is_value(at, end, LISTS)


cdef inline bint is_entry(Bytes at, Bytes end) noexcept:
    return are_messages(at, end, ENTRY_NAME, is_text, ENTRY_VALUE, is_property_value)


cdef inline bint is_entity(Bytes at, Bytes end) noexcept:
    return are_messages(at, end, ENTITY_PROPERTIES, is_entry, ENTITY_KEY, is_key)
