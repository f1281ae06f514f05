# Fields in protobuf's wire format that a server gets: lengths take as few bytes as they can. Room for one
# byte is left, and what follows moves if more are needed.

from cpython.exc cimport PyErr_Clear
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memmove

from lazyentity.native.buffer cimport HEADER, NUMBER, Buffer, put_tag, put_varint, reserve

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size)


cdef inline Py_ssize_t begin_short(Buffer* buffer, uint8_t tag) except -1:
    # Leaves room for a length below 128; answers where the measured bytes start.
    reserve(buffer, HEADER)
    put_tag(buffer, tag)
    buffer.size += 1
    return buffer.size


cdef inline int finish_short(Buffer* buffer, Py_ssize_t start) except -1:
    cdef Py_ssize_t size = buffer.size - start
    cdef Py_ssize_t more = 0
    cdef Py_ssize_t rest = size >> 7
    while rest:
        more += 1
        rest >>= 7
    if more:
        reserve(buffer, more)
        memmove(buffer.data + start + more, buffer.data + start, size)
    buffer.size = start - 1
    put_varint(buffer, <uint64_t>size)
    buffer.size += size
    return 1


cdef inline int put_short(Buffer* buffer, uint8_t tag, const char* data, Py_ssize_t size) except -1:
    reserve(buffer, NUMBER + size)
    put_tag(buffer, tag)
    put_varint(buffer, <uint64_t>size)
    memcpy(buffer.data + buffer.size, data, size)
    buffer.size += size
    return 1


cdef inline int put_text(Buffer* buffer, uint8_t tag, object text) except -1:
    # Answers 0 if the text has no UTF-8.
    cdef Py_ssize_t size
    cdef const char* encoded = PyUnicode_AsUTF8AndSize(text, &size)
    if encoded == NULL:
        PyErr_Clear()
        return 0
    return put_short(buffer, tag, encoded, size)


cdef inline int put_double(Buffer* buffer, uint8_t tag, double number) except -1:
    reserve(buffer, NUMBER)
    put_tag(buffer, tag)
    memcpy(buffer.data + buffer.size, &number, sizeof(number))
    buffer.size += sizeof(number)
    return 1
