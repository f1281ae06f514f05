# The scanner of a serialised EntityProto: finds the entries of its properties, and so its shape.

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint32_t

from lazyentity.native.property cimport (
    ENTITY_PROPERTY,
    find_name,
    is_property,
    is_rest,
    next_other,
)
from lazyentity.native.entities cimport FIRST_SET_OF_PROTOS, SETS, Entry, Scan, Shape, room_for_entry
from lazyentity.native.wire cimport Bytes, differ, find_field, hash_bytes, read_length


cdef inline bint match_entries(Shape shape, Bytes base, Bytes at, Bytes end, Scan* scan) noexcept:
    # Scans an entity that is expected to have this shape, and finds the offsets of its entries.
    cdef Bytes header = <Bytes>PyBytes_AS_STRING(shape.headers)
    cdef Bytes entry_end
    cdef unsigned char last_tag = 0
    cdef Py_ssize_t index = 0
    cdef uint32_t size
    while at < end:
        if not is_property(at, &last_tag):
            if not next_other(&at, end, scan):
                return 0
            continue
        if index == shape.count:
            return 0
        at += 1
        scan.offsets[index] = <uint32_t>(at - base)
        if not read_length(&at, end, &entry_end) or not find_name(&at, entry_end):
            return 0
        size = shape.header_sizes[index]
        if size > entry_end - at or differ(at, header, size) or not is_rest(at + size, entry_end):
            return 0
        header += size
        at = entry_end
        index += 1
    return index == shape.count


cdef inline int scan_entries(Bytes base, Bytes at, Bytes end, Scan* scan) except -1:
    # Scans an entity of any shape.
    cdef Entry* entry
    cdef Bytes entry_end
    cdef Bytes name_end
    cdef unsigned char last_tag = 0
    while at < end:
        if not is_property(at, &last_tag):
            if not next_other(&at, end, scan):
                return 0
            continue
        at += 1
        entry = room_for_entry(scan)
        entry.value = <uint32_t>(at - base)
        if not read_length(&at, end, &entry_end) or not find_name(&at, entry_end):
            return 0
        entry.header = at
        at += 1
        if not read_length(&at, entry_end, &name_end) or not is_rest(name_end, entry_end):
            return 0
        entry.header_size = <uint32_t>(name_end - entry.header)
        at = entry_end
        scan.count += 1
    return 1


cdef inline uint32_t slot_of_first(Bytes at, Bytes end) noexcept nogil:
    # Hashes the name of the first property.
    cdef Bytes entry_end
    cdef Bytes name_end
    if not find_field(at, end, ENTITY_PROPERTY, &at, &entry_end) or not find_name(&at, entry_end):
        return FIRST_SET_OF_PROTOS
    at += 1
    if not read_length(&at, entry_end, &name_end):
        return FIRST_SET_OF_PROTOS
    return FIRST_SET_OF_PROTOS + hash_bytes(at, name_end - at) % SETS
