# The scanner of an entity: see _native_shapes.pyx.

from libc.stdint cimport uint32_t


cdef class Shape:
    cdef readonly dict template
    cdef readonly dict ordinals
    cdef tuple names
    cdef bytes headers
    cdef Py_ssize_t count
    cdef uint32_t* header_sizes


cdef Shape EMPTY


cdef enum:
    FEW = 8


cdef union Positions:
    uint32_t few[FEW]
    uint32_t* many


cdef struct Offsets:
    # Where the parts of an entity are, counted from the first byte of the owner.
    Positions values  # of each property, the length that precedes its value
    uint32_t capacity  # of the array in values.many; 0 for values.few
    uint32_t key_start  # 0 without a key: what precedes one takes two bytes at least
    uint32_t key_end
    uint32_t start  # of the entity itself
    uint32_t end
    uint32_t next_ordinal  # of the property that is most likely read next


cdef inline uint32_t* values_of(Offsets* offsets) noexcept nogil:
    if offsets.capacity == 0:
        return &offsets.values.few[0]
    return offsets.values.many


cdef void free_offsets(Offsets* offsets) noexcept
cdef Shape index_entity(bytes owner, Py_ssize_t start, Py_ssize_t end, Offsets* offsets)
