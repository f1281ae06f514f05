# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=True, auto_pickle=False
"""The native backend's scanner: the shape of an entity, and where to find its values and its key.

Entities of one kind mostly have the same names in the same order. So an entity is first matched, byte
for byte, against the :class:`~lazyentity.native.shapes.Shape` that it most likely has. Where that fails
its entries are collected, and their shape is looked up or learned.

An entity that is not in the canonical encoding has no shape; :mod:`lazyentity.native.received` has it
encoded again.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from lazyentity.native.shapes cimport (
    LIKELY,
    LIKELY_NAMES,
    SETS,
    WAYS,
    Entry,
    Scan,
    Shape,
    becomes_likely,
    shape_of,
)
from lazyentity.native.tags cimport ENTITY_KEY, ENTITY_PROPERTIES, ENTRY_NAME, ENTRY_VALUE
from lazyentity.native.wire cimport Bytes, read_length, read_varint, skip_field

# The offsets of the values that matching found, until it is known whether the shape is the right one.
# Until they are copied, no Python code may run and no object may be made, for that may collect garbage:
# either may read other entities.
cdef uint32_t MATCHED[LIKELY_NAMES]

cdef enum:
    # An entity with no more properties than these has no array of offsets: looking for a value from
    # entry to entry takes less than memory does. Properties are mostly read in order, too.
    FEW = 8


cdef inline uint32_t _hash(Bytes at, Py_ssize_t size) noexcept nogil:
    # FNV-1a
    cdef uint32_t hashed = 2166136261
    cdef Py_ssize_t index
    for index in range(size):
        hashed = (hashed ^ at[index]) * 16777619
    return hashed


cdef inline int _next_entry(
    Bytes* cursor, Bytes end, Bytes base, Entry* entry
) noexcept nogil:
    # Reads one canonical entry; the cursor stands behind its tag.
    cdef Bytes entry_end
    cdef Bytes span_end
    if not read_length(cursor, end, &entry_end):
        return 0
    entry.header = cursor[0]
    if cursor[0] >= entry_end or cursor[0][0] != ENTRY_NAME:
        return 0
    cursor[0] += 1
    if not read_length(cursor, entry_end, &span_end):
        return 0
    cursor[0] = span_end
    if cursor[0] >= entry_end or cursor[0][0] != ENTRY_VALUE:
        return 0
    cursor[0] += 1
    entry.header_size = <uint32_t>(cursor[0] - entry.header)
    entry.value = <uint32_t>(cursor[0] - base)
    if not read_length(cursor, entry_end, &span_end):
        return 0
    if span_end != entry_end:
        return 0
    cursor[0] = entry_end
    return 1


cdef inline int _next_other(Bytes* cursor, Bytes end, Scan* scan) noexcept nogil:
    # Reads one field of an entity that is not an entry in the canonical encoding.
    cdef uint64_t tag
    cdef Bytes span_end
    if cursor[0][0] == ENTITY_KEY:
        cursor[0] += 1
        if scan.has_key or not read_length(cursor, end, &span_end):
            return 0
        scan.has_key = 1
        cursor[0] = span_end
        return 1
    if not read_varint(cursor, end, &tag):
        return 0
    # In a longer form than it needs; with another wire type it is an unknown field.
    if tag == ENTITY_KEY or tag == ENTITY_PROPERTIES:
        return 0
    return skip_field(cursor, end, tag)


cdef inline uint32_t _half_word(Bytes at) noexcept nogil:
    cdef uint32_t word
    memcpy(&word, at, sizeof(word))
    return word


cdef inline uint64_t _word(Bytes at) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, at, sizeof(word))
    return word


cdef inline bint _differ(Bytes one, Bytes other, uint32_t size) noexcept nogil:
    # Word by word, the last ones overlapping: headers are so short that it would take longer to call
    # memcmp().
    cdef uint32_t index = 0
    if size < 4:
        return memcmp(one, other, size) != 0
    if size < 8:
        return (
            _half_word(one) != _half_word(other)
            or _half_word(one + size - 4) != _half_word(other + size - 4)
        )
    while index + 8 < size:
        if _word(one + index) != _word(other + index):
            return 1
        index += 8
    return _word(one + size - 8) != _word(other + size - 8)


cdef int _match(Shape shape, Bytes base, Bytes at, Bytes end, Scan* scan) noexcept:
    # Scans an entity that is expected to have this shape; the offsets of its values are in MATCHED.
    cdef Bytes header = <Bytes>PyBytes_AS_STRING(shape.headers)
    cdef Bytes entry_end
    cdef Bytes span_end
    cdef Py_ssize_t index = 0
    cdef uint32_t size
    while at < end:
        if at[0] != ENTITY_PROPERTIES:
            if not _next_other(&at, end, scan):
                return 0
            continue
        if index == shape.count:
            return 0
        at += 1
        if not read_length(&at, end, &entry_end):
            return 0
        size = shape.header_sizes[index]
        if size > entry_end - at or _differ(at, header, size):
            return 0
        header += size
        at += size
        MATCHED[index] = <uint32_t>(at - base)
        if not read_length(&at, entry_end, &span_end) or span_end != entry_end:
            return 0
        at = entry_end
        index += 1
    return index == shape.count


cdef int _scan(Bytes base, Bytes at, Bytes end, Scan* scan) except -1:
    # Scans an entity of any shape.
    cdef Entry* grown
    while at < end:
        if at[0] != ENTITY_PROPERTIES:
            if not _next_other(&at, end, scan):
                return 0
            continue
        at += 1
        if scan.count == scan.capacity:
            scan.capacity = max(32, scan.capacity * 2)
            grown = <Entry*>PyMem_Realloc(scan.entries, scan.capacity * sizeof(Entry))
            if grown == NULL:
                raise MemoryError
            scan.entries = grown
        if not _next_entry(&at, end, base, &scan.entries[scan.count]):
            return 0
        scan.count += 1
    return 1


cdef Shape _likely(uint32_t slot, Py_ssize_t start, Py_ssize_t end, Bytes base, Scan* scan):
    # Finds the shape of an entity among the likely ones; the offsets of its values are in MATCHED.
    cdef Shape shape
    cdef int way
    for way in range(WAYS):
        shape = LIKELY[slot + way * SETS]
        if shape is None:
            return None
        if _match(shape, base, base + start, base + end, scan):
            return shape
        memset(scan, 0, sizeof(Scan))
    return None


cdef inline uint32_t _likely_slot(Bytes at, Bytes end) noexcept nogil:
    # Hashes the start of the first entry's header, wherever the key is.
    cdef Bytes entry_end
    cdef Bytes span_end
    if at < end and at[0] == ENTITY_KEY:
        at += 1
        if not read_length(&at, end, &span_end):
            return 0
        at = span_end
    if at >= end or at[0] != ENTITY_PROPERTIES:
        return 0
    at += 1
    if not read_length(&at, end, &entry_end) or entry_end - at < 2:
        return 0
    at += 1
    if not read_length(&at, entry_end, &span_end):
        return 0
    return _hash(at, span_end - at) % SETS


cdef Shape index_entity(bytes owner, Py_ssize_t start, Py_ssize_t end, Offsets* offsets):
    # Finds the parts of the entity in a span of the owner's bytes; None, if it is not in the canonical
    # encoding, and then the offsets are as they were.
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(owner)
    cdef Scan scan
    cdef Shape shape
    cdef uint32_t slot
    cdef Py_ssize_t index
    if end > <Py_ssize_t>0xFFFFFFFF:
        return None
    memset(&scan, 0, sizeof(Scan))
    slot = _likely_slot(base + start, base + end)
    shape = _likely(slot, start, end, base, &scan)
    if shape is not None:
        if shape.count > FEW:
            offsets.values = _allocate(shape.count)
            memcpy(offsets.values, MATCHED, shape.count * sizeof(uint32_t))
    else:
        try:
            if not _scan(base, base + start, base + end, &scan):
                return None
            shape = shape_of(&scan)
            if shape is None:
                return None
            if shape.count > FEW or shape._template is None:
                offsets.values = _allocate(shape.count)
                for index in range(shape.count):
                    offsets.values[index] = scan.entries[index].value
        finally:
            PyMem_Free(scan.entries)
        if shape._template is not None and shape.count <= LIKELY_NAMES:
            becomes_likely(slot, shape)
    offsets.start = offsets.next_entry = <uint32_t>start
    offsets.end = <uint32_t>end
    return shape


cdef uint32_t* _allocate(Py_ssize_t count) except NULL:
    cdef uint32_t* values = <uint32_t*>PyMem_Malloc(max(1, count) * sizeof(uint32_t))
    if values == NULL:
        raise MemoryError
    return values


cdef void free_offsets(Offsets* offsets) noexcept:
    PyMem_Free(offsets.values)


cdef bint find_key(Bytes at, Bytes end, Bytes* key, Bytes* key_end) noexcept nogil:
    # Finds the key in an entity that was indexed; answers 0 if there is none.
    while at < end:
        if at[0] == ENTITY_KEY:
            at += 1
            if not read_length(&at, end, key_end):
                return 0
            key[0] = at
            return 1
        if not skip_any_field(&at, end):
            return 0
    return 0
