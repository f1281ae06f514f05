# The parts of a serialised EntityProto: field tags, and readers of its fields and of a property.

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint64_t

from lazyentity.native.entities cimport Scan
from lazyentity.native.wire cimport (
    Bytes,
    read_double,
    read_length,
    read_tag,
    read_varint,
    skip_any_field,
    skip_field,
)

# Number << 3 | wire type.
cdef enum:
    ENTITY_KEY = 0x6A
    ENTITY_PROPERTY = 0x72
    ENTITY_RAW_PROPERTY = 0x7A
    PROPERTY_MEANING = 0x08
    PROPERTY_MEANING_URI = 0x12
    PROPERTY_NAME = 0x1A
    PROPERTY_MULTIPLE = 0x20
    PROPERTY_VALUE = 0x2A
    VALUE_INTEGER = 0x08
    VALUE_BOOLEAN = 0x10
    VALUE_STRING = 0x1A
    VALUE_DOUBLE = 0x21

cdef enum:
    # Clients refuse empty names and those that are longer than 1500 bytes when they read a value.
    LONGEST_NAME = 1500


cdef inline bint find_name(Bytes* cursor, Bytes end) noexcept nogil:
    # Moves from the start of a property to the tag of its name.
    cdef uint64_t meaning
    cdef Bytes span_end
    if cursor[0] < end and cursor[0][0] == PROPERTY_MEANING:
        cursor[0] += 1
        if not read_varint(cursor, end, &meaning):
            return 0
    if cursor[0] < end and cursor[0][0] == PROPERTY_MEANING_URI:
        cursor[0] += 1
        if not read_length(cursor, end, &span_end):
            return 0
        cursor[0] = span_end
    return cursor[0] < end and cursor[0][0] == PROPERTY_NAME


cdef inline bint is_rest(Bytes at, Bytes end) noexcept nogil:
    # Whether a property's bytes after its name have neither a name nor a meaning.
    cdef uint64_t tag
    cdef Bytes span_end
    if end - at > 3 and at[0] == PROPERTY_MULTIPLE and at[1] < 0x80 and at[2] == PROPERTY_VALUE:
        at += 3
        if not read_length(&at, end, &span_end):
            return 0
        at = span_end
    while at < end:
        if not read_tag(&at, end, &tag) or tag >> 3 <= 3 or not skip_field(&at, end, tag):
            return 0
    return 1


cdef inline bint next_other(Bytes* cursor, Bytes end, Scan* scan) noexcept nogil:
    # Reads one field of an entity that is no property.
    cdef uint64_t tag
    if cursor[0][0] == ENTITY_KEY:
        if scan.has_key:
            return 0
        scan.has_key = 1
        return skip_any_field(cursor, end)
    # A tag in a longer form than needed. With another wire type the field is an unknown one.
    if not read_tag(cursor, end, &tag) or 13 <= tag >> 3 <= 15:
        return 0
    return skip_field(cursor, end, tag)


cdef inline bint is_property(Bytes at, unsigned char* last_tag) noexcept nogil:
    # Whether a tag is that of a property. All raw properties come after the others.
    if at[0] != ENTITY_PROPERTY and at[0] != ENTITY_RAW_PROPERTY:
        return 0
    if at[0] < last_tag[0]:
        return 0
    last_tag[0] = at[0]
    return 1


cdef inline object _read_bare(Bytes at, Bytes end, bint text, object other):
    # A serialised value with a single plain field.
    cdef Bytes span_end
    cdef uint64_t number
    cdef double real
    cdef unsigned char tag
    if at == end:
        return None
    tag = at[0]
    at += 1
    if tag == VALUE_STRING:
        if not read_length(&at, end, &span_end) or span_end != end:
            return other
        if not text:
            return PyBytes_FromStringAndSize(<const char*>at, end - at)
        try:
            return PyUnicode_DecodeUTF8(<const char*>at, end - at, b"surrogatepass")
        except UnicodeDecodeError:
            return other
    if tag == VALUE_INTEGER or tag == VALUE_BOOLEAN:
        if not read_varint(&at, end, &number) or at != end:
            return other
        return <int64_t>number if tag == VALUE_INTEGER else number != 0
    if tag == VALUE_DOUBLE and read_double(&at, end, &real) and at == end:
        return real
    return other


cdef inline object read_plain(
    Bytes at, Bytes end, bint text, bint* multiple, object other
):
    # The value of a property that has a name, the flag and a plain value, and nothing else. For any
    # other property, ``other``.
    cdef Bytes span_end
    if at[0] != PROPERTY_NAME:
        return other
    at += 1
    read_length(&at, end, &span_end)
    if span_end == at or span_end - at > LONGEST_NAME:
        return other
    at = span_end
    if end - at < 4 or at[0] != PROPERTY_MULTIPLE or at[1] > 1 or at[2] != PROPERTY_VALUE:
        return other
    multiple[0] = at[1]
    at += 3
    if not read_length(&at, end, &span_end) or span_end != end:
        return other
    return _read_bare(at, end, text, other)
