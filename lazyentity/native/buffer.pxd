# The bytes that an encoder writes: a buffer that grows, and fields in protobuf's wire format.
#
# Every length takes four bytes, needed or not: that is legal, and only upb sees it.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Realloc
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from lazyentity.native.tags cimport SECOND_BYTE

cdef enum:
    HEADER = 6  # a tag of up to two bytes and a length
    NUMBER = 12  # a tag of up to two bytes and a varint
    MAX_LENGTH = 0x0FFFFFFF  # that four bytes can tell


cdef struct Buffer:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t capacity
    Py_ssize_t runs  # how often Python code may have run
    bint is_quiet  # all that is being written was found to be QUIET: see walks.pxd
    bint is_flat  # no message in it can be deeper than MAX_DEPTH allows


cdef inline int reserve(Buffer* buffer, Py_ssize_t more) except -1:
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


cdef inline bint put_bytes(Buffer* buffer, uint8_t tag, const char* data, Py_ssize_t size) except -1:
    cdef Py_ssize_t start = begin(buffer, tag)
    reserve(buffer, size)
    memcpy(buffer.data + start, data, size)
    buffer.size += size
    return finish(buffer, start)


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
