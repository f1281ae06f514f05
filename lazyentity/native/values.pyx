"""The native backend's decoders: a value or a key of the client from its bytes.

Protobuf and :mod:`lazyentity.codec.fallback` decide about malformed bytes, and about values that the
client converts in its own way. For these, parsers answer 0 and decoders answer ``UNDECODED``.
:mod:`lazyentity.native.wiredict` composes arrays and embedded entities of values.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from lazyentity.native.tags cimport (
    ARRAY_VALUES,
    KEY_PARTITION_ID,
    KEY_PATH,
    PARTITION_DATABASE,
    PARTITION_NAMESPACE,
    PARTITION_PROJECT,
    PATH_ID,
    PATH_KIND,
    PATH_NAME,
    VALUE_ARRAY,
    VALUE_BLOB,
    VALUE_BOOLEAN,
    VALUE_DOUBLE,
    VALUE_ENTITY,
    VALUE_EXCLUDE,
    VALUE_GEO_POINT,
    VALUE_INTEGER,
    VALUE_KEY,
    VALUE_MEANING,
    VALUE_NULL,
    VALUE_STRING,
    VALUE_TIMESTAMP,
)
from lazyentity.native.wire cimport Bytes, read_double, read_length, read_tag, read_varint, skip_field

from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key

from lazyentity.codec.keys import DIRECT as KEYS_DIRECT, make_key as _make_key

cdef bint KEYS_DIRECTLY = KEYS_DIRECT
cdef object make_key = _make_key

cdef bint parse_value(Bytes at, Bytes end, Value* value) noexcept nogil:
    # Reads the fields of a Value; answers 0 unless exactly one oneof case is set, once.
    cdef uint64_t tag
    cdef uint64_t number
    value.tag = 0
    value.meaning = 0
    value.excluded = 0
    while at < end:
        if not read_tag(&at, end, &tag):
            return 0
        if tag == VALUE_MEANING:
            if not read_varint(&at, end, &number):
                return 0
            value.meaning = <int32_t><uint32_t>number
            continue
        if tag == VALUE_EXCLUDE:
            if not read_varint(&at, end, &number):
                return 0
            value.excluded = number != 0
            continue
        if tag == VALUE_BOOLEAN or tag == VALUE_INTEGER or tag == VALUE_NULL:
            if value.tag != 0 or not read_varint(&at, end, &value.number):
                return 0
            value.tag = <int>tag
            continue
        if tag == VALUE_DOUBLE:
            if value.tag != 0 or not read_double(&at, end, &value.floating):
                return 0
            value.tag = <int>tag
            continue
        if (
            tag == VALUE_STRING
            or tag == VALUE_BLOB
            or tag == VALUE_TIMESTAMP
            or tag == VALUE_ENTITY
            or tag == VALUE_ARRAY
            or tag == VALUE_KEY
            or tag == VALUE_GEO_POINT
        ):
            if value.tag != 0 or not read_length(&at, end, &value.end):
                return 0
            value.at = at
            at = value.end
            value.tag = <int>tag
            continue
        # A known field with another wire type is unknown to protobuf, too, which handles it.
        number = tag >> 3
        if number <= 3 or (number >= 5 and number <= 6) or (number >= 8 and number <= 11):
            return 0
        if number == 14 or (number >= 17 and number <= 19):
            return 0
        if not skip_field(&at, end, tag):
            return 0
    return value.tag != 0


cdef bint next_item(Bytes* cursor, Bytes end, Value* value) noexcept nogil:
    # Reads the next element of an ArrayValue.
    cdef Bytes item_end
    if cursor[0][0] != ARRAY_VALUES:
        return 0
    cursor[0] += 1
    if not read_length(cursor, end, &item_end) or not parse_value(cursor[0], item_end, value):
        return 0
    cursor[0] = item_end
    return 1


cdef object decode_leaf(Value* value):
    # Decodes a value that holds no further ones: neither an array nor an entity.
    if value.tag == VALUE_STRING:
        return decode_text(value.at, value.end)
    if value.tag == VALUE_INTEGER:
        return <int64_t>value.number
    if value.tag == VALUE_DOUBLE:
        return value.floating
    if value.tag == VALUE_BOOLEAN:
        return value.number != 0
    if value.tag == VALUE_TIMESTAMP:
        return decode_timestamp(value.at, value.end)
    if value.tag == VALUE_BLOB:
        return PyBytes_FromStringAndSize(<const char*>value.at, value.end - value.at)
    if value.tag == VALUE_NULL:
        return None
    if value.tag == VALUE_KEY:
        return decode_key(value.at, value.end)
    return _geo_point(value.at, value.end)


cdef object decode_long_text(Bytes at, Bytes end):
    try:
        return PyUnicode_DecodeUTF8(<const char*>at, end - at, NULL)
    except UnicodeDecodeError:
        return UNDECODED


cdef object _geo_point(Bytes at, Bytes end):
    cdef double latitude
    cdef double longitude
    if not read_point(at, end, &latitude, &longitude):
        return UNDECODED
    return GeoPoint(latitude, longitude)


cdef object decode_key(Bytes at, Bytes end):
    # As the client's key_from_protobuf(), if every element of the path but perhaps the last is complete.
    # key_from_protobuf() raises every error.
    cdef Bytes span_end
    cdef uint64_t bits
    cdef bint partial = 0
    cdef dict element
    project = namespace = database = None
    cdef list flat_path = []
    cdef list path = []
    while at < end:
        if at[0] == KEY_PARTITION_ID and project is None:
            at += 1
            if not read_length(&at, end, &span_end):
                return UNDECODED
            while at < span_end:
                if at[0] == PARTITION_PROJECT and project is None:
                    project = _next_text(&at, span_end)
                elif at[0] == PARTITION_DATABASE and database is None:
                    database = _next_text(&at, span_end)
                elif at[0] == PARTITION_NAMESPACE and namespace is None:
                    namespace = _next_text(&at, span_end)
                else:
                    return UNDECODED
            if project is UNDECODED or database is UNDECODED or namespace is UNDECODED:
                return UNDECODED
            if not project:
                return UNDECODED
        elif at[0] == KEY_PATH and not partial:
            at += 1
            if not read_length(&at, end, &span_end):
                return UNDECODED
            kind = id_or_name = None
            element = {}
            while at < span_end:
                if at[0] == PATH_KIND and kind is None:
                    kind = _next_text(&at, span_end)
                elif at[0] == PATH_ID and id_or_name is None:
                    at += 1
                    if not read_varint(&at, span_end, &bits) or bits == 0:
                        return UNDECODED
                    id_or_name = <int64_t>bits
                elif at[0] == PATH_NAME and id_or_name is None:
                    id_or_name = _next_text(&at, span_end)
                else:
                    return UNDECODED
                if kind is UNDECODED or id_or_name is UNDECODED or id_or_name == "":
                    return UNDECODED
            if kind is None:
                return UNDECODED
            flat_path.append(kind)
            element["kind"] = kind
            if id_or_name is None:
                partial = 1
            else:
                flat_path.append(id_or_name)
                element["name" if isinstance(id_or_name, str) else "id"] = id_or_name
            path.append(element)
        else:
            return UNDECODED
    if project is None or not path:
        return UNDECODED
    if not KEYS_DIRECTLY:
        return Key(*flat_path, project=project, namespace=namespace or None, database=database or None)
    return make_key(tuple(flat_path), path, project, namespace or None, database or None)


cdef object _next_text(Bytes* cursor, Bytes end):
    # Reads a string field, tag included; UNDECODED, if it is malformed.
    cdef Bytes at = cursor[0] + 1
    cdef Bytes span_end
    if not read_length(&at, end, &span_end):
        cursor[0] = end
        return UNDECODED
    cursor[0] = span_end
    return decode_text(at, span_end)


cdef int is_excluded(Value* value):
    # Whether a property's value is excluded from indexes; answers -1 if protobuf has to say.
    cdef Bytes at
    cdef Value item
    cdef int excluded = -1
    if value.tag != VALUE_ARRAY or value.at == value.end:
        return value.excluded
    at = value.at
    while at < value.end:
        if not next_item(&at, value.end, &item):
            return -1
        if excluded != -1 and excluded != item.excluded:
            return -1
        excluded = item.excluded
    return excluded


cdef bint has_no_meaning(Value* value):
    # Answers 0 as well if protobuf has to say.
    cdef Bytes at
    cdef Value item
    if value.meaning != 0:
        return 0
    if value.tag == VALUE_ARRAY:
        at = value.at
        while at < value.end:
            if not next_item(&at, value.end, &item) or item.meaning != 0:
                return 0
    return 1
