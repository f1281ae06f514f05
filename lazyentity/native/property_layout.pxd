# The layouts of properties of an EntityProto: as lazyentity.codec.property_layout finds them.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp

from lazyentity.native.property cimport (
    PROPERTY_MEANING,
    PROPERTY_MEANING_URI,
    PROPERTY_MULTIPLE,
    PROPERTY_VALUE,
)
from lazyentity.native.wire cimport Bytes, read_length, read_varint

cdef enum:
    LAYOUT_SIZE = 4
    OTHER_MEANING = 0xFF
    COMPRESSED = 2
    OTHER_URI = 4
    NOTHING = 0x00
    INTEGER = 0x08
    BOOLEAN = 0x10
    STRING = 0x1A
    DOUBLE = 0x21
    POINT = 0x2B
    REFERENCE = 0x63
    OTHER = 0xFF


cdef inline bint _skip_span(Bytes* cursor, Bytes end) noexcept nogil:
    cdef Bytes span_end
    if not read_length(cursor, end, &span_end):
        return 0
    cursor[0] = span_end
    return 1


cdef inline bint _is_tag(Bytes at, Bytes end, uint8_t first) noexcept nogil:
    # A tag of two bytes: the number of the field is 16 or more.
    return end - at >= 2 and at[0] == first and at[1] == 0x01


cdef inline bint _is_reference(Bytes at, Bytes end) noexcept nogil:
    # Whether the bytes after its tag are a key of the one form.
    cdef Bytes first
    cdef uint64_t ignored
    if at >= end or at[0] != 0x6A:
        return 0
    at += 1
    if not _skip_span(&at, end):
        return 0
    first = at
    while at < end and at[0] == 0x73:
        at += 1
        if at >= end or at[0] != 0x7A:
            return 0
        at += 1
        if not _skip_span(&at, end):
            return 0
        if _is_tag(at, end, 0x80):
            at += 2
            if not read_varint(&at, end, &ignored):
                return 0
        elif _is_tag(at, end, 0x8A):
            at += 2
            if not _skip_span(&at, end):
                return 0
        if at >= end or at[0] != 0x74:
            return 0
        at += 1
    if at == first:
        return 0
    if _is_tag(at, end, 0xA2):
        at += 2
        if not _skip_span(&at, end):
            return 0
    return end - at == 1 and at[0] == 0x64


cdef inline uint8_t _contents(Bytes at, Bytes end) noexcept nogil:
    cdef uint8_t kind
    cdef uint64_t ignored
    cdef bint is_whole = 0
    if at == end:
        return NOTHING
    kind = at[0]
    at += 1
    if kind == INTEGER or kind == BOOLEAN:
        is_whole = read_varint(&at, end, &ignored) and at == end
    elif kind == STRING:
        is_whole = _skip_span(&at, end) and at == end
    elif kind == DOUBLE:
        is_whole = end - at == 8
    elif kind == POINT:
        is_whole = end - at == 19 and at[0] == 0x31 and at[9] == 0x39 and at[18] == 0x2C
    elif kind == REFERENCE:
        is_whole = _is_reference(at, end)
    return kind if is_whole else OTHER


cdef inline void write_layout(Bytes at, Bytes end, uint8_t field, uint8_t* layout) noexcept nogil:
    # Writes the layout of a property that was indexed.
    cdef Bytes span_end
    cdef uint64_t meaning
    layout[0] = field
    layout[1] = layout[2] = 0
    layout[3] = OTHER
    if at[0] == PROPERTY_MEANING:
        at += 1
        read_varint(&at, end, &meaning)
        layout[1] = <uint8_t>meaning if 0 < meaning < OTHER_MEANING else OTHER_MEANING
    if at[0] == PROPERTY_MEANING_URI:
        at += 1
        read_length(&at, end, &span_end)
        layout[2] = OTHER_URI
        if span_end - at == 4 and memcmp(at, b"ZLIB", 4) == 0:
            layout[2] = COMPRESSED
        at = span_end
    # The name follows: the index has checked that.
    at += 1
    _skip_span(&at, end)
    if end - at < 4 or at[0] != PROPERTY_MULTIPLE or at[1] > 1 or at[2] != PROPERTY_VALUE:
        return
    layout[2] |= at[1]
    at += 3
    if read_length(&at, end, &span_end) and span_end == end:
        layout[3] = _contents(at, end)
