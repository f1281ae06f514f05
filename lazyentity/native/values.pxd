# The decoders of values and keys: see values.pyx.

from libc.stdint cimport int32_t, uint64_t

from lazyentity.native.wire cimport Bytes


cdef struct Value:
    # A google.datastore.v1.Value: the tag of its oneof case, and the number, or the span, of that.
    int tag
    uint64_t number
    double floating
    Bytes at
    Bytes end
    int32_t meaning
    bint excluded


cdef bint parse_value(Bytes at, Bytes end, Value* value) noexcept nogil
cdef bint next_item(Bytes* cursor, Bytes end, Value* value) noexcept nogil
cdef object decode_bare(Bytes at, Bytes end)
cdef object decode_leaf(Value* value)
cdef object decode_key(Bytes at, Bytes end)
cdef int is_excluded(Value* value)
cdef bint has_no_meaning(Value* value)
