# The shapes of entities: see shapes.pyx.

from cpython.mem cimport PyMem_Realloc
from libc.stdint cimport uint32_t

from lazyentity.native.wire cimport Bytes


cdef struct Entry:
    # The value is the offset of the length that precedes it.
    Bytes header
    uint32_t header_size
    uint32_t value


cdef enum:
    FEW = 8  # so few offsets are in the scan itself


cdef struct Scan:
    # The result of a scan, in separate memory: a scan may be interrupted by another one.
    Entry* entries
    Py_ssize_t count
    Py_ssize_t capacity
    bint has_key
    uint32_t* offsets  # that matching found, by the ordinals of the shape
    uint32_t few[FEW]


cdef class Shape:
    cdef dict _template  # None, until the shape was learned
    cdef dict stock_template  # in the order of the stock client; None until it is needed
    cdef dict _ordinals
    cdef tuple names
    cdef bytes headers
    cdef Py_ssize_t count
    cdef uint32_t* header_sizes

    cdef int _learn(self, bytes signature, Scan* scan) except -1
    cdef int keep_stock_template(self, dict template) except -1


cdef Shape EMPTY

cdef enum:
    SETS = 64  # of likely shapes: an entity's is told by the name in its first entry
    # An Entity and an EntityProto never have the same shape: their headers differ.
    FIRST_SET_OF_PROTOS = SETS
    ALL_SETS = FIRST_SET_OF_PROTOS + SETS

# Scans an entity that should have a shape, from its first byte on; answers 0 if it has another one.
ctypedef bint (*Match)(Shape shape, Bytes base, Bytes at, Bytes end, Scan* scan) noexcept


cdef uint32_t* allocate_offsets(Py_ssize_t count) except NULL
cdef Shape shape_of(Scan* scan)
cdef Shape likely_shape(uint32_t slot, Match match, Bytes base, Bytes at, Bytes end, Scan* scan)
cdef void becomes_likely(uint32_t slot, Shape shape)


cdef inline Entry* room_for_entry(Scan* scan) except NULL:
    # Where the next entry of a scan is to be put.
    cdef Entry* grown
    if scan.count == scan.capacity:
        scan.capacity = max(32, scan.capacity * 2)
        grown = <Entry*>PyMem_Realloc(scan.entries, scan.capacity * sizeof(Entry))
        if grown == NULL:
            raise MemoryError
        scan.entries = grown
    return &scan.entries[scan.count]
