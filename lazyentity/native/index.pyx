"""The native backend's scanner: the shape of an entity, and where to find its values and its key.

Entities of a kind mostly have the same names in the same order. So an entity is first matched, byte
for byte, against the :class:`~lazyentity.native.shapes.Shape` that it most likely has. If no likely shape
matches, the entity's entries are collected, and their shape is looked up or learned.

An entity in another encoding than the canonical one has no shape. :mod:`lazyentity.native.wiredict` has
protobuf encode it again.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_Free
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from lazyentity.native.tags cimport (
    ENTITY_KEY,
    ENTITY_PROPERTIES,
    ENTRY_NAME,
    ENTRY_VALUE,
    KEY_PATH,
    PATH_KIND,
)
from lazyentity.native.wire cimport (
    Bytes,
    differ,
    find_field,
    hash_bytes,
    read_length,
    read_tag,
    skip_any_field,
    skip_field,
)


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
    if not read_tag(cursor, end, &tag):
        return 0
    # A tag in a longer form than needed. With another wire type the field is an unknown one.
    if tag == ENTITY_KEY or tag == ENTITY_PROPERTIES:
        return 0
    return skip_field(cursor, end, tag)


cdef bint _match(Shape shape, Bytes base, Bytes at, Bytes end, Scan* scan) noexcept:
    # Scans an entity that is expected to have this shape, and finds the offsets of its values.
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
        if size > entry_end - at or differ(at, header, size):
            return 0
        header += size
        at += size
        scan.offsets[index] = <uint32_t>(at - base)
        if not read_length(&at, entry_end, &span_end) or span_end != entry_end:
            return 0
        at = entry_end
        index += 1
    return index == shape.count


cdef int _scan(Bytes base, Bytes at, Bytes end, Scan* scan) except -1:
    # Scans an entity of any shape.
    while at < end:
        if at[0] != ENTITY_PROPERTIES:
            if not _next_other(&at, end, scan):
                return 0
            continue
        at += 1
        if not _next_entry(&at, end, base, room_for_entry(scan)):
            return 0
        scan.count += 1
    return 1


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
    return hash_bytes(at, span_end - at) % SETS


cdef Shape index_entity(bytes owner, Py_ssize_t start, Py_ssize_t end, Offsets* offsets):
    # Finds the parts of the entity in a span of the owner's bytes. None, if the entity is not in the
    # canonical encoding; the offsets are then as they were.
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(owner)
    cdef Scan scan
    cdef Shape shape
    cdef uint32_t slot
    cdef Py_ssize_t index
    if end > <Py_ssize_t>0xFFFFFFFF:
        return None
    memset(&scan, 0, sizeof(Scan))
    slot = _likely_slot(base + start, base + end)
    shape = likely_shape(slot, _match, base, base + start, base + end, &scan)
    if shape is not None:
        # Without an array of offsets, looking for a value from entry to entry takes less time than
        # memory for the array. Properties are mostly read in order, too.
        if shape.count > FEW:
            offsets.values = scan.offsets
    else:
        try:
            if not _scan(base, base + start, base + end, &scan):
                return None
            shape = shape_of(&scan)
            # An entry that another one of the same name overrides has to be valid, too: protobuf checks.
            if shape is None or len(shape._ordinals) != shape.count:
                return None
            if shape.count > FEW or shape._template is None:
                offsets.values = allocate_offsets(shape.count)
                for index in range(shape.count):
                    offsets.values[index] = scan.entries[index].value
        finally:
            PyMem_Free(scan.entries)
        if shape._template is not None:
            becomes_likely(slot, shape)
    offsets.start = offsets.next_entry = <uint32_t>start
    offsets.end = <uint32_t>end
    return shape


cdef void free_offsets(Offsets* offsets) noexcept:
    PyMem_Free(offsets.values)


cdef bint find_key(Bytes at, Bytes end, Bytes* key, Bytes* key_end) noexcept nogil:
    # Finds the key in an entity that was indexed; answers 0 if there is none.
    return find_field(at, end, ENTITY_KEY, key, key_end)


cdef bint find_kind(Bytes at, Bytes end, Bytes* kind, Bytes* kind_end) noexcept nogil:
    # Finds the kind in the key of an entity; answers 0 if there is none.
    cdef Bytes element
    cdef Bytes element_end
    cdef Bytes key_end
    kind[0] = NULL
    if not find_key(at, end, &element, &key_end):
        return 0
    at = element
    while at < key_end:
        if at[0] != KEY_PATH:
            if not skip_any_field(&at, key_end):
                break
            continue
        at += 1
        if not read_length(&at, key_end, &element_end):
            break
        while at < element_end:
            if at[0] == PATH_KIND:
                at += 1
                if not read_length(&at, element_end, kind_end):
                    return kind[0] != NULL
                kind[0] = at
                at = kind_end[0]
            elif not skip_any_field(&at, element_end):
                break
        at = element_end
    return kind[0] != NULL
