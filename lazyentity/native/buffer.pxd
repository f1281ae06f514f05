# The bytes that an encoder writes: a buffer that grows, and fields in protobuf's wire format.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Realloc
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from lazyentity.native.tags cimport SECOND_BYTE

cdef enum:
    HEADER = 3  # a tag of up to two bytes and a one-byte length
    NUMBER = 12  # a tag of up to two bytes and a varint


cdef struct Buffer:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t capacity
    Py_ssize_t runs  # how often Python code may have run
    bint is_quiet  # all that is being written was found to be QUIET: see encoder.pyx
    bint is_flat  # no message in it can be deeper than MAX_DEPTH allows


cdef inline int reserve(Buffer* buffer, Py_ssize_t more) except -1:
    cdef Py_ssize_t capacity
    cdef uint8_t* grown
    if buffer.capacity - buffer.size >= more:
        return 0
    capacity = max(512, 2 * buffer.capacity, buffer.size + more)
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


cdef inline uint8_t* write_varint(uint8_t* at, uint64_t number) noexcept nogil:
    # Answers where the next field begins.
    while number > 0x7F:
        at[0] = <uint8_t>(number & 0x7F) | 0x80
        at += 1
        number >>= 7
    at[0] = <uint8_t>number
    return at + 1


cdef inline void put_varint(Buffer* buffer, uint64_t number) noexcept nogil:
    buffer.size = write_varint(buffer.data + buffer.size, number) - buffer.data


cdef inline int put_number(Buffer* buffer, uint8_t tag, uint64_t number) except -1:
    reserve(buffer, NUMBER)
    put_tag(buffer, tag)
    put_varint(buffer, number)
    return 1


cdef inline int put_serialised(Buffer* buffer, bytes fields) except -1:
    cdef Py_ssize_t size = PyBytes_GET_SIZE(fields)
    # An empty buffer has no memory, which memcpy() must not be given, even for no bytes.
    if size:
        reserve(buffer, size)
        memcpy(buffer.data + buffer.size, PyBytes_AS_STRING(fields), size)
        buffer.size += size
    return 1
