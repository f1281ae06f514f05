# The index of an entity: see index.pyx.

from libc.stdint cimport uint32_t

from lazyentity.native.tags cimport ENTITY_PROPERTIES
from lazyentity.native.wire cimport Bytes, read_length, skip_any_field


cdef struct Offsets:
    # Where the parts of an entity are, counted from the first byte of the owner.
    uint32_t start  # of the entity itself
    uint32_t end
    uint32_t next_ordinal  # of the property that is most likely read next
    uint32_t next_entry  # where to look for it, if there is no array
    uint32_t* values  # of each property, the length that precedes its value; NULL for few properties


cdef bint find_key(Bytes at, Bytes end, Bytes* key, Bytes* key_end) noexcept nogil
cdef bint find_kind(Bytes at, Bytes end, Bytes* kind, Bytes* kind_end) noexcept nogil
cdef void free_offsets(Offsets* offsets) noexcept
cdef Shape index_entity(bytes owner, Py_ssize_t start, Py_ssize_t end, Offsets* offsets)


cdef inline Bytes value_at(Offsets* offsets, Shape shape, Bytes base, Py_ssize_t ordinal) noexcept:
    # Finds the length that precedes a value. Indexing the entity has read all of it.
    cdef Bytes at = base + offsets.next_entry
    cdef Bytes end = base + offsets.end
    cdef Bytes entry_end
    cdef uint32_t index = offsets.next_ordinal
    if offsets.values != NULL:
        offsets.next_ordinal = <uint32_t>ordinal + 1
        return base + offsets.values[ordinal]
    if ordinal < index:
        index = 0
        at = base + offsets.start
    while at < end:
        if at[0] != ENTITY_PROPERTIES:
            if not skip_any_field(&at, end):
                break
            continue
        at += 1
        if not read_length(&at, end, &entry_end):
            break
        if index == ordinal:
            offsets.next_ordinal = index + 1
            offsets.next_entry = <uint32_t>(entry_end - base)
            return at + shape.header_sizes[index]
        at = entry_end
        index += 1
    return end
