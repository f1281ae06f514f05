# The decoder of timestamps: see timestamps.pyx.

from lazyentity.native.wire cimport Bytes


cdef object decode_timestamp(Bytes at, Bytes end)
