# Declarations of entities.pyx, and of the functions that the other modules of the backend call from C.

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t

from lazyentity.native.wire cimport Bytes


cdef object UNDECODED

cdef object decode_timestamp(Bytes at, Bytes end)
cdef bint is_timestamp(Bytes at, Bytes end) noexcept
cdef object timestamp_of_type(Bytes at, Bytes end, PyTypeObject* type, bint keeps_nanoseconds)
cdef object copied_timestamp(object value)
cdef int64_t microseconds_of_fields(object value) noexcept
cdef bint is_naive_or_in_utc(object value) noexcept

include "shapes.pxd"
include "values.pxd"
include "index.pxd"
include "wiredict.pxd"
include "profiling.pxd"
