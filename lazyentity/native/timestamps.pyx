"""The native backend's decoder of timestamps; unusual ones are left to ``lazyentity.codec.timestamps``."""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from lazyentity.native.tags cimport TIMESTAMP_NANOS, TIMESTAMP_SECONDS
from lazyentity.native.wire cimport Bytes, read_varint

import datetime

from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity.codec import timestamps

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

cdef object UTC = datetime.timezone.utc
cdef PyTypeObject* TYPE = <PyTypeObject*>DatetimeWithNanoseconds
cdef bint DIRECTLY = timestamps.DIRECT

# A datetime can hold the years 1 to 9999.
cdef int64_t FIRST_SECOND = -62_135_596_800
cdef int64_t LAST_SECOND = 253_402_300_799


cdef object decode_timestamp(Bytes at, Bytes end):
    # As DatetimeWithNanoseconds.from_timestamp_pb(); see lazyentity.codec.timestamps.
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
