# Readers for protobuf's wire format. Each checks every bound, and answers 0 where it cannot go on: the
# caller then leaves the bytes, malformed or merely unusual, to protobuf's own parser.
#
# Encoding: https://protobuf.dev/programming-guides/encoding/

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef enum:
    VARINT = 0
    FIXED64 = 1
    LENGTH_DELIMITED = 2
    START_GROUP = 3
    END_GROUP = 4
    FIXED32 = 5

cdef enum:
    # Messages in messages, from an entity down to the Value of the innermost list or dict, both included.
    # Protobuf's parsers go down 100: there is room for a request around them, and for the parts of a list,
    # a dict and a key.
    MAX_DEPTH = 90
    # Groups in groups, in any message: protobuf counts them as messages in messages, and judges deeper ones.
    MAX_GROUPS = 4

cdef enum:
    # The depth of a message counts itself and the messages around it, from the entity on that is decoded
    # or encoded as a whole. A lazy entity in another one is decoded by itself.
    OUTERMOST = 1
    TO_VALUE = 2  # from an entity to the Value of a property: entry, Value
    TO_ITEM = 2  # from a Value to that of an item of its array: array, Value
    TO_ENTITY = 1  # from a Value to its entity

cdef enum:
    PROPERTY_DEPTH = OUTERMOST + TO_VALUE  # of the Value of a property

cdef enum:
    # Bytes. Protobuf refuses a tag or a length in more bytes than 32 bits take.
    MAX_VARINT = 10
    MAX_VARINT_32 = 5

ctypedef const uint8_t* Bytes


cdef inline bint _read_varint(Bytes* cursor, Bytes end, uint64_t* value, int most) noexcept nogil:
    # Of so many bytes at most.
    cdef Bytes at = cursor[0]
    cdef Bytes stop
    cdef uint64_t result
    cdef unsigned int shift = 7
    if at >= end:
        return 0
    if at[0] < 0x80:
        value[0] = at[0]
        cursor[0] = at + 1
        return 1
    result = at[0] & 0x7F
    # Not a fixed number of bytes: compilers would unroll the loop in every reader.
    stop = at + most if end - at > most else end
    at += 1
    while at < stop:
        # The tenth byte has room for one bit only; protobuf may say what more in it means.
        if shift == 63 and at[0] > 1:
            return 0
        result |= <uint64_t>(at[0] & 0x7F) << shift
        if at[0] < 0x80:
            value[0] = result
            cursor[0] = at + 1
            return 1
        at += 1
        shift += 7
    return 0


cdef inline bint read_varint(Bytes* cursor, Bytes end, uint64_t* value) noexcept nogil:
    return _read_varint(cursor, end, value, MAX_VARINT)


cdef inline bint read_tag(Bytes* cursor, Bytes end, uint64_t* tag) noexcept nogil:
    return _read_varint(cursor, end, tag, MAX_VARINT_32)


cdef inline bint read_length(Bytes* cursor, Bytes end, Bytes* span_end) noexcept nogil:
    # Reads a length and leaves the cursor at the first of the measured bytes.
    cdef uint64_t length
    if not _read_varint(cursor, end, &length, MAX_VARINT_32):
        return 0
    if length > <uint64_t>(end - cursor[0]):
        return 0
    span_end[0] = cursor[0] + length
    return 1


cdef inline bint read_double(Bytes* cursor, Bytes end, double* value) noexcept nogil:
    cdef uint64_t bits = 0
    cdef int index
    if end - cursor[0] < 8:
        return 0
    for index in range(8):
        bits |= <uint64_t>cursor[0][index] << (8 * index)
    memcpy(value, &bits, 8)
    cursor[0] += 8
    return 1


cdef inline bint skip_field(Bytes* cursor, Bytes end, uint64_t tag) noexcept nogil:
    # Field numbers that do not exist are left to protobuf to refuse.
    if tag & 7 == START_GROUP:
        return skip_group(cursor, end, tag)
    return skip_plain_field(cursor, end, tag)


cdef inline bint skip_any_field(Bytes* cursor, Bytes end) noexcept nogil:
    # As skip_field(), tag included.
    cdef uint64_t tag
    return read_tag(cursor, end, &tag) and skip_field(cursor, end, tag)


cdef inline bint find_field(
    Bytes at, Bytes end, unsigned char tag, Bytes* field, Bytes* field_end
) noexcept nogil:
    # Finds the first length-delimited field with a one-byte tag.
    while at < end:
        if at[0] == tag:
            at += 1
            if not read_length(&at, end, field_end):
                return 0
            field[0] = at
            return 1
        if not skip_any_field(&at, end):
            return 0
    return 0


cdef inline bint find_last_field(
    Bytes at, Bytes end, uint64_t wanted, Bytes* field, Bytes* field_end
) noexcept nogil:
    # As find_field(), with a tag in any form. Of several fields the last one counts, as in protobuf.
    cdef uint64_t tag
    field[0] = NULL
    while at < end:
        if not read_tag(&at, end, &tag):
            return 0
        if tag != wanted:
            if not skip_field(&at, end, tag):
                return 0
            continue
        if not read_length(&at, end, field_end):
            return 0
        field[0] = at
        at = field_end[0]
    return field[0] != NULL


cdef inline bint skip_group(Bytes* cursor, Bytes end, uint64_t tag) noexcept nogil:
    # Skips a group, and the groups in it. Protobuf judges those that are nested deeper.
    cdef uint64_t open_groups[MAX_GROUPS]
    cdef int depth = 1
    if tag >> 3 == 0 or tag >> 3 > 0x1FFFFFFF:
        return 0
    open_groups[0] = tag >> 3
    while depth > 0:
        if not read_tag(cursor, end, &tag):
            return 0
        if tag & 7 == START_GROUP:
            if depth == MAX_GROUPS or tag >> 3 == 0 or tag >> 3 > 0x1FFFFFFF:
                return 0
            open_groups[depth] = tag >> 3
            depth += 1
        elif tag & 7 == END_GROUP:
            depth -= 1
            if tag >> 3 != open_groups[depth]:
                return 0
        elif not skip_plain_field(cursor, end, tag):
            return 0
    return 1


cdef inline bint skip_plain_field(Bytes* cursor, Bytes end, uint64_t tag) noexcept nogil:
    cdef uint64_t ignored
    cdef Bytes span_end
    cdef unsigned int wire_type = tag & 7
    if tag >> 3 == 0 or tag >> 3 > 0x1FFFFFFF:
        return 0
    if wire_type == VARINT:
        return read_varint(cursor, end, &ignored)
    if wire_type == LENGTH_DELIMITED:
        if not read_length(cursor, end, &span_end):
            return 0
        cursor[0] = span_end
        return 1
    if wire_type == FIXED64:
        if end - cursor[0] < 8:
            return 0
        cursor[0] += 8
        return 1
    if wire_type == FIXED32:
        if end - cursor[0] < 4:
            return 0
        cursor[0] += 4
        return 1
    return 0


cdef inline uint32_t _half_word(Bytes at) noexcept nogil:
    cdef uint32_t word
    memcpy(&word, at, sizeof(word))
    return word


cdef inline uint32_t hash_bytes(Bytes at, Py_ssize_t size) noexcept nogil:
    # FNV-1a, of four bytes at a time, the last ones overlapping. The first byte of each word alone
    # would decide the lowest bits, so the highest bits, which all bytes decide, are mixed in.
    cdef uint32_t hashed = 2166136261
    cdef Py_ssize_t index = 0
    if size >= 4:
        while index + 4 < size:
            hashed = (hashed ^ _half_word(at + index)) * 16777619
            index += 4
        hashed = (hashed ^ _half_word(at + size - 4)) * 16777619
        return hashed ^ (hashed >> 24)
    for index in range(size):
        hashed = (hashed ^ at[index]) * 16777619
    return hashed


cdef inline uint64_t _word(Bytes at) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, at, sizeof(word))
    return word


cdef inline bint differ(Bytes one, Bytes other, uint32_t size) noexcept nogil:
    # Word by word, the last ones overlapping: headers are so short that a call of memcmp() would take
    # longer.
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
