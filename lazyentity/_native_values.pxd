# The decoders of values and keys: see _native_values.pyx.

from libc.stdint cimport int32_t, uint64_t

from lazyentity._wire cimport Bytes

# Field tags of a google.datastore.v1.Value, those of its oneof: number << 3 | wire type.
cdef enum:
    VALUE_BOOLEAN = 0x08
    VALUE_INTEGER = 0x10
    VALUE_DOUBLE = 0x19
    VALUE_KEY = 0x2A
    VALUE_ENTITY = 0x32
    VALUE_GEO_POINT = 0x42
    VALUE_ARRAY = 0x4A
    VALUE_TIMESTAMP = 0x52
    VALUE_NULL = 0x58
    VALUE_STRING = 0x8A  # 17 << 3 | 2, which takes two bytes
    VALUE_BLOB = 0x92


cdef struct Value:
    # A google.datastore.v1.Value: which member of the oneof is set, and what stands there.
    int member
    uint64_t number
    double floating
    Bytes at
    Bytes end
    int32_t meaning
    bint excluded


cdef bint parse_value(Bytes at, Bytes end, Value* value) noexcept nogil
cdef bint next_item(Bytes* cursor, Bytes end, Value* value) noexcept nogil
cdef object decode_leaf(Value* value)
cdef object decode_key(Bytes at, Bytes end)
