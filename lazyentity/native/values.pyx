"""The native backend's decoders: a value or a key of the client from its bytes.

Protobuf and :mod:`lazyentity.codec.fallback` decide about malformed bytes, and about values that the
client converts in its own way. For these, parsers answer 0 and decoders answer ``UNDECODED``.
:mod:`lazyentity.native.mapping` composes arrays and embedded entities of values.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject, PyTypeObject
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
    TIMESTAMP_NANOS,
    TIMESTAMP_SECONDS,
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

import datetime

from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key
from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity.codec.values import TIMESTAMPS_DIRECT
from lazyentity.codec.keys import DIRECT as KEYS_DIRECT, make_key as _make_key

cdef extern from "datetime.h":
    ctypedef struct PyDateTime_CAPI:
        object (*DateTime_FromDateAndTime)(
            int, int, int, int, int, int, int, object, PyTypeObject*
        )
    PyDateTime_CAPI* PyDateTimeAPI
    void PyDateTime_IMPORT()
    bint PyDateTime_CheckExact(object)
    PyObject* PyDateTime_DATE_GET_TZINFO(object)
    int PyDateTime_GET_YEAR(object)
    int PyDateTime_GET_MONTH(object)
    int PyDateTime_GET_DAY(object)
    int PyDateTime_DATE_GET_HOUR(object)
    int PyDateTime_DATE_GET_MINUTE(object)
    int PyDateTime_DATE_GET_SECOND(object)
    int PyDateTime_DATE_GET_MICROSECOND(object)

PyDateTime_IMPORT

# Timestamps; unusual ones are left to lazyentity.codec.values.

cdef object UTC = datetime.timezone.utc
cdef PyTypeObject* TYPE = <PyTypeObject*>DatetimeWithNanoseconds
cdef bint DIRECTLY = TIMESTAMPS_DIRECT

# A datetime can hold the years 1 to 9999.
cdef int64_t FIRST_SECOND = -62_135_596_800
cdef int64_t LAST_SECOND = 253_402_300_799


cdef object decode_timestamp(Bytes at, Bytes end):
    # As DatetimeWithNanoseconds.from_timestamp_pb(); see lazyentity.codec.values.
    return timestamp_of_type(at, end, TYPE, 1) if DIRECTLY else UNDECODED


cdef bint is_timestamp(Bytes at, Bytes end) noexcept:
    # Whether decode_timestamp() makes an object of the bytes.
    cdef int64_t seconds, nanos
    return DIRECTLY and _parse(at, end, &seconds, &nanos)


cdef inline bint _parse(Bytes at, Bytes end, int64_t* seconds, int64_t* nanos) noexcept nogil:
    cdef uint64_t seconds_bits = 0
    cdef uint64_t nanos_bits = 0
    while at < end:
        if at[0] == TIMESTAMP_SECONDS:
            at += 1
            if not read_varint(&at, end, &seconds_bits):
                return 0
        elif at[0] == TIMESTAMP_NANOS:
            at += 1
            if not read_varint(&at, end, &nanos_bits):
                return 0
        else:
            return 0
    seconds[0] = <int64_t>seconds_bits
    nanos[0] = <int32_t><uint32_t>nanos_bits
    return (
        0 <= nanos[0] < 1_000_000_000 and FIRST_SECOND <= seconds[0] <= LAST_SECOND
    )


cdef object timestamp_of_type(Bytes at, Bytes end, PyTypeObject* type, bint keeps_nanoseconds):
    # The type is a subclass of datetime with an attribute _nanosecond, and nothing else beside.
    cdef int64_t seconds
    cdef int64_t nanos
    cdef int64_t days
    cdef int64_t second
    cdef int year, month, day
    if not _parse(at, end, &seconds, &nanos):
        return UNDECODED
    days = seconds // 86400
    second = seconds - days * 86400
    if second < 0:
        second += 86400
        days -= 1
    _civil_from_days(days, &year, &month, &day)
    timestamp = PyDateTimeAPI.DateTime_FromDateAndTime(
        year,
        month,
        day,
        <int>(second // 3600),
        <int>(second // 60 % 60),
        <int>(second % 60),
        <int>(nanos // 1000),
        UTC,
        type,
    )
    timestamp._nanosecond = nanos if keeps_nanoseconds else 0
    return timestamp


cdef object copied_timestamp(object value):
    # As copy.deepcopy() of a timestamp without nanoseconds.
    kind = type(value)
    timestamp = PyDateTimeAPI.DateTime_FromDateAndTime(
        PyDateTime_GET_YEAR(value),
        PyDateTime_GET_MONTH(value),
        PyDateTime_GET_DAY(value),
        PyDateTime_DATE_GET_HOUR(value),
        PyDateTime_DATE_GET_MINUTE(value),
        PyDateTime_DATE_GET_SECOND(value),
        PyDateTime_DATE_GET_MICROSECOND(value),
        <object>PyDateTime_DATE_GET_TZINFO(value),
        <PyTypeObject*>kind,
    )
    timestamp._nanosecond = 0
    return timestamp


cdef inline void _civil_from_days(int64_t days, int* year, int* month, int* day) noexcept nogil:
    # Days since 1970-01-01 to a date of the proleptic Gregorian calendar, after Howard Hinnant's
    # "chrono-Compatible Low-Level Date Algorithms" (civil_from_days): years start in March, so that the
    # leap day is their last.
    cdef int64_t shifted = days + 719468
    cdef int64_t era = (shifted if shifted >= 0 else shifted - 146096) // 146097
    cdef int64_t day_of_era = shifted - era * 146097
    cdef int64_t year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096
    ) // 365
    cdef int64_t day_of_year = day_of_era - (
        365 * year_of_era + year_of_era // 4 - year_of_era // 100
    )
    cdef int64_t shifted_month = (5 * day_of_year + 2) // 153
    day[0] = <int>(day_of_year - (153 * shifted_month + 2) // 5 + 1)
    month[0] = <int>(shifted_month + 3 if shifted_month < 10 else shifted_month - 9)
    year[0] = <int>(year_of_era + era * 400 + (1 if month[0] <= 2 else 0))


cdef bint is_naive_or_in_utc(object value) noexcept:
    # Whether a value is a datetime, of no subclass but the client's, that asks no zone for its offset.
    cdef PyObject* zone
    kind = type(value)
    if not PyDateTime_CheckExact(value) and <PyTypeObject*>kind != TYPE:
        return 0
    zone = PyDateTime_DATE_GET_TZINFO(value)
    return zone == <PyObject*>None or zone == <PyObject*>UTC


cdef bint read_microseconds(object value, int64_t* microseconds):
    # From 1970-01-01 to a datetime in UTC. Answers 0 for everything else, other subclasses included: a
    # pandas.Timestamp has another date in its fields if its year is beyond 9999.
    kind = type(value)
    if not PyDateTime_CheckExact(value) and <PyTypeObject*>kind != TYPE:
        return 0
    if PyDateTime_DATE_GET_TZINFO(value) != <PyObject*>UTC:
        return 0
    microseconds[0] = microseconds_of_fields(value)
    return 1


cdef int64_t microseconds_of_fields(object value) noexcept:
    # From 1970-01-01 to the date and time of a datetime, whatever its zone. The caller checked the type.
    cdef int64_t seconds = _days_from_civil(
        PyDateTime_GET_YEAR(value), PyDateTime_GET_MONTH(value), PyDateTime_GET_DAY(value)
    )
    seconds = seconds * 24 + PyDateTime_DATE_GET_HOUR(value)
    seconds = seconds * 60 + PyDateTime_DATE_GET_MINUTE(value)
    seconds = seconds * 60 + PyDateTime_DATE_GET_SECOND(value)
    return seconds * 1_000_000 + PyDateTime_DATE_GET_MICROSECOND(value)


cdef inline int64_t _days_from_civil(int year, int month, int day) noexcept nogil:
    # The inverse of _civil_from_days(), by the same author. A datetime has no years before 1.
    cdef int shifted_year = year - (month <= 2)
    cdef int era = shifted_year // 400
    cdef int year_of_era = shifted_year - era * 400
    cdef int shifted_month = month - 3 if month > 2 else month + 9
    cdef int day_of_year = (153 * shifted_month + 2) // 5 + day - 1
    return (
        <int64_t>era * 146097
        + year_of_era * 365
        + year_of_era // 4
        - year_of_era // 100
        + day_of_year
        - 719468
    )


# Values and keys.

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
