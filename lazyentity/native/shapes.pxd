# The shapes of entities: see shapes.pyx.

from libc.stdint cimport uint32_t

from lazyentity.native.wire cimport Bytes


cdef struct Entry:
    # The value is the offset of the length that precedes it.
    Bytes header
    uint32_t header_size
    uint32_t value


cdef struct Scan:
    # The result of a scan.
    Entry* entries
    Py_ssize_t count
    Py_ssize_t capacity
    bint has_key


cdef class Shape:
    cdef dict _template  # None, until the shape was learned
    cdef dict stock_template  # in the order of the stock client; None until it is needed
    cdef dict _ordinals
    cdef tuple names
    cdef bytes headers
    cdef Py_ssize_t count
    cdef uint32_t* header_sizes

    cdef int _learn(self, bytes signature, Scan* scan) except -1


cdef Shape EMPTY

# The learned shapes that an entity most likely has, by the name in its first entry: of each set of names,
# the last shape that was scanned comes first, SETS further on the one before it, and so on.
cdef enum:
    SETS = 64
    WAYS = 4
    LIKELY_NAMES = 16384  # a shape with more is looked up each time

cdef list LIKELY


cdef Shape shape_of(Scan* scan)
cdef void becomes_likely(uint32_t slot, Shape shape)
