# The decoder of timestamps, and their microseconds: see timestamps.pyx.

from cpython.object cimport PyTypeObject
from libc.stdint cimport int64_t

from lazyentity.native.wire cimport Bytes


cdef object decode_timestamp(Bytes at, Bytes end)
cdef bint is_timestamp(Bytes at, Bytes end) noexcept
cdef object timestamp_of_type(Bytes at, Bytes end, PyTypeObject* type, bint keeps_nanoseconds)
cdef bint read_microseconds(object value, int64_t* microseconds)
cdef int64_t microseconds_of_fields(object value) noexcept
cdef bint is_naive_or_in_utc(object value) noexcept
