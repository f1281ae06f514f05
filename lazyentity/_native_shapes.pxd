# The scanner of an entity: see _native_shapes.pyx.

from libc.stdint cimport uint32_t


cdef class Shape:
    cdef readonly dict template
    cdef readonly dict ordinals
    cdef bytes headers
    cdef Py_ssize_t count
    cdef uint32_t* header_sizes


cdef Shape EMPTY


cdef struct Offsets:
    # Where the parts of an entity are, counted from the first byte of the owner.
    uint32_t* values  # of each property, the length that precedes its value
    Py_ssize_t key_start  # 0 without a key: what precedes one takes two bytes at least
    Py_ssize_t key_end


cdef Shape index_entity(bytes owner, Py_ssize_t start, Py_ssize_t end, Offsets* offsets)
