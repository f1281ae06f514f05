# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=True
"""The native backend: the mapping compiled, with a scanner in place of protobuf's parser.

Theory of operation. One pass over the bytes of an entity finds where each property's value starts, and
checks the names against those of an entity seen before (its :class:`Shape`), entry header by entry
header. Nothing else is looked at; a value is decoded from its span when it is read.

The scanner knows the encoding that servers send: entries with a name and then a value, values with one
member of the oneof. Whatever is legal but otherwise encoded, and whatever is malformed, it leaves to
protobuf's own parser: an entity is encoded anew and indexed again, a value converted by the functions
of the pure backend. So there is one judge of what unusual bytes mean, and one source of errors.

The interface is that of :class:`lazyentity.codec.pure.LazyMapping`; the states of a property are told
there. Between looking whether a property is still undecoded and putting its value in place no Python
code runs, so under the GIL two threads cannot give one property two objects.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError, PyDict_SetItem, PyDict_Update
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from lazyentity._wire cimport (
    Bytes,
    read_double,
    read_length,
    read_varint,
    skip_field,
)

import datetime

from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError
from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity.codec import entries, errors
from lazyentity.codec.key import DIRECT as KEYS_DIRECT, make_key as _make_key
from lazyentity.codec.canonical import canonical_encodings
from lazyentity.codec.layout import LayoutCache
from lazyentity.codec.timestamps import DIRECT as STAMPS_DIRECT
from lazyentity.codec.values import meaning_of
from lazyentity.undecoded import UNDECODED as _UNDECODED

cdef extern from "datetime.h":
    ctypedef struct PyDateTime_CAPI:
        object (*DateTime_FromDateAndTime)(
            int, int, int, int, int, int, int, object, PyTypeObject*
        )
    PyDateTime_CAPI* PyDateTimeAPI
    void PyDateTime_IMPORT()

PyDateTime_IMPORT

cdef object UNDECODED = _UNDECODED
cdef object UTC = datetime.timezone.utc
cdef PyTypeObject* STAMP_TYPE = <PyTypeObject*>DatetimeWithNanoseconds
cdef bint STAMPS_DIRECTLY = STAMPS_DIRECT
cdef bint KEYS_DIRECTLY = KEYS_DIRECT
cdef object make_key = _make_key

# Cython would call the slots of the subclass for these.
cdef object dict_get = dict.get
cdef object dict_getitem = dict.__getitem__
cdef object dict_iter = dict.__iter__
cdef object dict_reversed = dict.__reversed__
cdef object dict_items = dict.items
cdef object dict_values = dict.values
cdef object dict_copy = dict.copy
cdef object dict_pop = dict.pop
cdef object dict_popitem = dict.popitem
cdef object dict_setdefault = dict.setdefault
cdef object dict_eq = dict.__eq__
cdef object dict_or = dict.__or__
cdef object dict_ror = dict.__ror__
cdef object dict_repr = dict.__repr__

# Field tags of google.datastore.v1: number << 3 | wire type.
cdef enum:
    ENTITY_KEY = 0x0A
    ENTITY_PROPERTIES = 0x1A
    ENTRY_NAME = 0x0A
    ENTRY_VALUE = 0x12
    KEY_PARTITION_ID = 0x0A
    KEY_PATH = 0x12
    PATH_KIND = 0x0A
    PATH_ID = 0x10
    PATH_NAME = 0x1A
    PARTITION_PROJECT = 0x12
    PARTITION_DATABASE = 0x1A
    PARTITION_NAMESPACE = 0x22
    VALUE_BOOLEAN = 0x08
    VALUE_INTEGER = 0x10
    VALUE_DOUBLE = 0x19
    VALUE_KEY = 0x2A
    VALUE_ENTITY = 0x32
    VALUE_GEO_POINT = 0x42
    VALUE_ARRAY = 0x4A
    VALUE_TIMESTAMP = 0x52
    VALUE_NULL = 0x58
    VALUE_MEANING = 0x70
    VALUE_STRING = 0x8A  # 17 << 3 | 2, which takes two bytes
    VALUE_BLOB = 0x92
    VALUE_EXCLUDE = 0x98
    ARRAY_VALUES = 0x0A
    TIMESTAMP_SECONDS = 0x08
    TIMESTAMP_NANOS = 0x10
    LATLNG_LATITUDE = 0x09
    LATLNG_LONGITUDE = 0x11
    MAX_ARRAY_DEPTH = 40  # two messages a level: well inside protobuf's limit of 100

# What a datetime can hold: the years 1 to 9999.
cdef int64_t FIRST_SECOND = -62_135_596_800
cdef int64_t LAST_SECOND = 253_402_300_799


cdef class Shape:
    """The names of an entity's properties, with the bytes that introduce each on the wire.

    As :class:`lazyentity.codec.layout.Layout`, for entities that arrive in the canonical encoding.
    """

    cdef readonly dict template
    cdef readonly dict ordinals
    cdef bytes headers
    cdef Py_ssize_t count
    cdef uint32_t* header_sizes

    def __cinit__(self):
        self.header_sizes = NULL

    def __dealloc__(self):
        PyMem_Free(self.header_sizes)

    def __init__(self, list headers):
        cdef Py_ssize_t index
        layout = {}
        for index, header in enumerate(headers):
            layout[_name_of_header(header)] = index
        self.ordinals = layout
        self.template = dict.fromkeys(layout, UNDECODED)
        self.headers = b"".join(headers)
        self.count = len(headers)
        self.header_sizes = <uint32_t*>PyMem_Malloc(max(1, self.count) * sizeof(uint32_t))
        if self.header_sizes == NULL:
            raise MemoryError
        for index, header in enumerate(headers):
            self.header_sizes[index] = len(header)


cdef object _name_of_header(bytes header):
    cdef Bytes at = <Bytes>PyBytes_AS_STRING(header) + 1
    cdef Bytes end = <Bytes>PyBytes_AS_STRING(header) + PyBytes_GET_SIZE(header)
    cdef Bytes name_end
    if not read_length(&at, end, &name_end):
        raise AssertionError("the scanner made this header")
    return PyUnicode_DecodeUTF8(<const char*>at, name_end - at, NULL)


SHAPES = LayoutCache(max_names=100_000, layout_type=Shape)

cdef Shape EMPTY = Shape([])

# The shape that an entity most likely has, by the name in its first entry. Bounded like SHAPES: shapes
# with very many names are not kept here.
cdef list LIKELY = [None] * 64
cdef uint32_t LIKELY_MASK = 63
cdef Py_ssize_t LIKELY_NAMES = 16384


cdef inline uint32_t _hash(Bytes at, Py_ssize_t size) noexcept nogil:
    # FNV-1a
    cdef uint32_t hashed = 2166136261
    cdef Py_ssize_t index
    for index in range(size):
        hashed = (hashed ^ at[index]) * 16777619
    return hashed


cdef struct Entry:
    # The value is the offset of the length that precedes it.
    Bytes header
    uint32_t header_size
    uint32_t value


cdef struct Scan:
    # Where a scan leaves what it found.
    Entry* entries
    Py_ssize_t count
    Py_ssize_t capacity
    Bytes key
    Bytes key_end


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
        if scan.key != NULL or not read_length(cursor, end, &span_end):
            return 0
        scan.key = cursor[0]
        scan.key_end = cursor[0] = span_end
        return 1
    if not read_varint(cursor, end, &tag):
        return 0
    # In a longer form than it needs; with another wire type it is an unknown field.
    if tag == ENTITY_KEY or tag == ENTITY_PROPERTIES:
        return 0
    return skip_field(cursor, end, tag)


cdef int _match(Shape shape, Bytes base, Bytes at, Bytes end, uint32_t* values, Scan* scan) noexcept:
    # Scans an entity that is expected to have this shape.
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
        if size > entry_end - at or memcmp(at, header, size) != 0:
            return 0
        header += size
        at += size
        values[index] = <uint32_t>(at - base)
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


cdef Shape _shape_of(Scan* scan):
    # Looks a scanned shape up, or learns it. None, if a name is not UTF-8.
    cdef Py_ssize_t index
    cdef list headers = [
        PyBytes_FromStringAndSize(
            <const char*>scan.entries[index].header, scan.entries[index].header_size
        )
        for index in range(scan.count)
    ]
    signature = b"".join(headers)
    shape = SHAPES.get(signature)
    if shape is None:
        try:
            shape = SHAPES.add(signature, headers)
        except UnicodeDecodeError:
            return None
    return shape


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
    return _hash(at, span_end - at) & LIKELY_MASK


cdef struct Value:
    # A google.datastore.v1.Value: which member of the oneof is set, and what stands there.
    int member
    uint64_t number
    double floating
    Bytes at
    Bytes end
    int32_t meaning
    bint excluded


cdef bint _parse_value(Bytes at, Bytes end, Value* value) noexcept nogil:
    # Reads the fields of a Value; answers 0 unless exactly one member is set, once.
    cdef uint64_t tag
    cdef uint64_t number
    cdef Bytes tag_start
    memset(value, 0, sizeof(Value))
    while at < end:
        tag_start = at
        # upb refuses tags of more than five bytes.
        if not read_varint(&at, end, &tag) or at - tag_start > 5:
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
            if value.member != 0 or not read_varint(&at, end, &value.number):
                return 0
            value.member = <int>tag
            continue
        if tag == VALUE_DOUBLE:
            if value.member != 0 or not read_double(&at, end, &value.floating):
                return 0
            value.member = <int>tag
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
            if value.member != 0 or not read_length(&at, end, &value.end):
                return 0
            value.at = at
            at = value.end
            value.member = <int>tag
            continue
        # A known field with another wire type is unknown to protobuf, too; let it say so itself.
        number = tag >> 3
        if number <= 3 or (number >= 5 and number <= 6) or (number >= 8 and number <= 11):
            return 0
        if number == 14 or (number >= 17 and number <= 19):
            return 0
        if not skip_field(&at, end, tag):
            return 0
    return value.member != 0


cdef inline bint _next_item(Bytes* cursor, Bytes end, Value* value) noexcept nogil:
    # Reads the next element of an ArrayValue.
    cdef Bytes item_end
    if cursor[0][0] != ARRAY_VALUES:
        return 0
    cursor[0] += 1
    if not read_length(cursor, end, &item_end) or not _parse_value(cursor[0], item_end, value):
        return 0
    cursor[0] = item_end
    return 1


cdef object _text(Bytes at, Bytes end):
    try:
        return PyUnicode_DecodeUTF8(<const char*>at, end - at, NULL)
    except UnicodeDecodeError:
        return UNDECODED


cdef object _timestamp(Bytes at, Bytes end):
    # As DatetimeWithNanoseconds.from_timestamp_pb(); see lazyentity.codec.timestamps.
    cdef uint64_t seconds_bits = 0
    cdef uint64_t nanos_bits = 0
    cdef int64_t seconds
    cdef int64_t nanos
    cdef int64_t days
    cdef int64_t second
    cdef int year, month, day
    while at < end:
        if at[0] == TIMESTAMP_SECONDS:
            at += 1
            if not read_varint(&at, end, &seconds_bits):
                return UNDECODED
        elif at[0] == TIMESTAMP_NANOS:
            at += 1
            if not read_varint(&at, end, &nanos_bits):
                return UNDECODED
        else:
            return UNDECODED
    seconds = <int64_t>seconds_bits
    nanos = <int32_t><uint32_t>nanos_bits
    if not STAMPS_DIRECTLY or nanos < 0 or nanos >= 1_000_000_000:
        return UNDECODED
    if seconds < FIRST_SECOND or seconds > LAST_SECOND:
        return UNDECODED
    days = seconds // 86400
    second = seconds - days * 86400
    if second < 0:
        second += 86400
        days -= 1
    _civil_from_days(days, &year, &month, &day)
    stamp = PyDateTimeAPI.DateTime_FromDateAndTime(
        year,
        month,
        day,
        <int>(second // 3600),
        <int>(second // 60 % 60),
        <int>(second % 60),
        <int>(nanos // 1000),
        UTC,
        STAMP_TYPE,
    )
    stamp._nanosecond = nanos
    return stamp


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


cdef object _geo_point(Bytes at, Bytes end):
    cdef double latitude = 0
    cdef double longitude = 0
    while at < end:
        if at[0] == LATLNG_LATITUDE:
            at += 1
            if not read_double(&at, end, &latitude):
                return UNDECODED
        elif at[0] == LATLNG_LONGITUDE:
            at += 1
            if not read_double(&at, end, &longitude):
                return UNDECODED
        else:
            return UNDECODED
    return GeoPoint(latitude, longitude)


cdef object _key(Bytes at, Bytes end):
    # As the client's key_from_protobuf(), where every element of the path is complete, but perhaps for
    # the last. What would be an error there is left to it.
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
    return _text(at, span_end)


cdef class LazyMapping(dict):
    """A dict of an entity's properties that decodes each when it is first read.

    See :class:`lazyentity.codec.pure.LazyMapping` for the states of a property and what decodes what.
    """

    cdef bytes _owner
    cdef Py_ssize_t _start
    cdef Py_ssize_t _end
    cdef Py_ssize_t _key_start
    cdef Py_ssize_t _key_end
    cdef uint32_t* _values
    cdef readonly Shape _layout
    cdef dict _meanings_read

    def __cinit__(self):
        self._owner = b""
        self._layout = EMPTY
        self._values = NULL
        self._key_start = -1

    def __dealloc__(self):
        PyMem_Free(self._values)

    @classmethod
    def _from_raw(cls, bytes raw not None):
        cdef LazyMapping mapping = LazyMapping.__new__(cls)
        if mapping._index(raw, 0, PyBytes_GET_SIZE(raw)):
            return mapping
        try:
            for encoded in canonical_encodings(raw):
                if mapping._index(encoded, 0, PyBytes_GET_SIZE(encoded)):
                    return mapping
        except DecodeError as error:
            raise errors.undecodable_entity(error, raw) from error
        raise AssertionError("protobuf encodes a map as entries of one name and one value")

    cdef int _index(self, bytes owner, Py_ssize_t start, Py_ssize_t end) except -1:
        # Indexes a span of the owner's bytes; answers 0 if it is not in the canonical encoding.
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(owner)
        cdef Scan scan
        cdef Shape shape
        cdef uint32_t slot
        cdef Py_ssize_t index
        if end > <Py_ssize_t>0xFFFFFFFF:
            return 0
        memset(&scan, 0, sizeof(Scan))
        slot = _likely_slot(base + start, base + end)
        shape = LIKELY[slot]
        if shape is not None:
            self._reserve(shape.count)
            if not _match(shape, base, base + start, base + end, self._values, &scan):
                shape = None
                memset(&scan, 0, sizeof(Scan))
        if shape is None:
            try:
                if not _scan(base, base + start, base + end, &scan):
                    return 0
                shape = _shape_of(&scan)
                if shape is None:
                    return 0
                self._reserve(scan.count)
                for index in range(scan.count):
                    self._values[index] = scan.entries[index].value
            finally:
                PyMem_Free(scan.entries)
            if shape.count <= LIKELY_NAMES:
                LIKELY[slot] = shape
        if scan.key != NULL:
            self._key_start = scan.key - base
            self._key_end = scan.key_end - base
        self._owner = owner
        self._start = start
        self._end = end
        self._layout = shape
        # CPython clones the key table as a whole when an empty dict is updated from a dict that never
        # had a key deleted.
        PyDict_Update(self, shape.template)
        return 1

    cdef int _reserve(self, Py_ssize_t count) except -1:
        cdef uint32_t* values = <uint32_t*>PyMem_Realloc(
            self._values, max(1, count) * sizeof(uint32_t)
        )
        if values == NULL:
            raise MemoryError
        self._values = values
        return 0

    @property
    def _raw(self):
        if self._start == 0 and self._end == PyBytes_GET_SIZE(self._owner):
            return self._owner
        return self._owner[self._start : self._end]

    # Decoding

    cdef object _read(self, object ordinal, int32_t* meaning):
        # Decodes a property from its span; UNDECODED, if that is for protobuf to do.
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        cdef Bytes at
        cdef Bytes end
        cdef Value value
        at = base + self._values[<Py_ssize_t>ordinal]
        if not read_length(&at, base + self._end, &end) or not _parse_value(at, end, &value):
            return UNDECODED
        meaning[0] = value.meaning
        return self._convert(&value, 0)

    cdef object _convert(self, Value* value, int array_depth):
        cdef LazyMapping embedded
        cdef Bytes base
        if value.member == VALUE_STRING:
            return _text(value.at, value.end)
        if value.member == VALUE_INTEGER:
            return <int64_t>value.number
        if value.member == VALUE_DOUBLE:
            return value.floating
        if value.member == VALUE_BOOLEAN:
            return value.number != 0
        if value.member == VALUE_TIMESTAMP:
            return _timestamp(value.at, value.end)
        if value.member == VALUE_BLOB:
            return PyBytes_FromStringAndSize(<const char*>value.at, value.end - value.at)
        if value.member == VALUE_NULL:
            return None
        if value.member == VALUE_KEY:
            return _key(value.at, value.end)
        if value.member == VALUE_GEO_POINT:
            return _geo_point(value.at, value.end)
        if value.member == VALUE_ARRAY:
            return self._array(value, array_depth)
        base = <Bytes>PyBytes_AS_STRING(self._owner)
        embedded = <LazyMapping>LazyMapping.__new__(type(self))
        if embedded._index(self._owner, value.at - base, value.end - base):
            return embedded
        return UNDECODED

    cdef object _array(self, Value* array, int array_depth):
        cdef Bytes at = array.at
        cdef Value value
        cdef list items = []
        cdef int excluded = -1
        # The client looks at flags and meanings of the elements of a property's array, no deeper.
        if array_depth == MAX_ARRAY_DEPTH or (array_depth == 0 and array.meaning != 0):
            return UNDECODED
        while at < array.end:
            if not _next_item(&at, array.end, &value):
                return UNDECODED
            if array_depth == 0:
                if value.meaning != 0 or (excluded != -1 and excluded != value.excluded):
                    return UNDECODED
                excluded = value.excluded
            item = self._convert(&value, array_depth + 1)
            if item is UNDECODED:
                return UNDECODED
            items.append(item)
        return items

    cdef object _message(self, object name, object ordinal):
        # Has protobuf parse the value of a property.
        return entries.value_message(self._serialised_value(ordinal), name, self._raw)

    cdef tuple _read_slowly(self, object name, object ordinal):
        message = self._message(name, ordinal)
        value = entries.convert(self._raw, name, message, type(self)._from_raw)
        return value, meaning_of(message)

    cdef object _keep(self, object name, object value, object meaning):
        # Puts a value in place unless somebody was faster; returns what is in place.
        # What allocates may run the garbage collector, and other threads, and so comes first.
        cdef object read = (meaning, value) if meaning else None
        cdef PyObject* current
        if read is not None and self._meanings_read is None:
            self._meanings_read = {}
        current = PyDict_GetItemWithError(self, name)
        if current == NULL:
            raise KeyError(name)
        if current != <PyObject*>UNDECODED:
            return <object>current
        if read is not None:
            # The client writes a meaning back only with the very object it was read with.
            self._meanings_read[name] = read
        PyDict_SetItem(self, name, value)
        return value

    cdef object _decode(self, object name):
        # Decodes an undecoded property and keeps the value.
        cdef int32_t meaning = 0
        ordinal = self._layout.ordinals[name]
        value = self._read(ordinal, &meaning)
        if value is not UNDECODED:
            return self._keep(name, value, meaning)
        value, slow_meaning = self._read_slowly(name, ordinal)
        return self._keep(name, value, slow_meaning)

    cpdef object _decode_all(self):
        """As :meth:`lazyentity.codec.pure.LazyMapping._decode_all`."""
        cdef int32_t meaning
        cdef list names = []
        cdef list values = []
        cdef list meanings = []
        cdef Py_ssize_t index
        cdef dict ordinals = self._layout.ordinals
        for name, ordinal in ordinals.items():
            if PyDict_GetItemWithError(self, name) != <PyObject*>UNDECODED:
                continue
            meaning = 0
            value = self._read(ordinal, &meaning)
            names.append(name)
            if value is not UNDECODED:
                values.append(value)
                meanings.append(meaning)
            else:
                value, slow_meaning = self._read_slowly(name, ordinal)
                values.append(value)
                meanings.append(slow_meaning)
        for index in range(len(names)):
            if PyDict_GetItemWithError(self, names[index]) == <PyObject*>UNDECODED:
                self._keep(names[index], values[index], meanings[index])

    cpdef list _undecoded(self):
        """As :meth:`lazyentity.codec.pure.LazyMapping._undecoded`."""
        return [name for name, value in dict_items(self) if value is UNDECODED]

    def _serialised_values(self, names):
        """As :meth:`lazyentity.codec.pure.LazyMapping._serialised_values`."""
        return [self._serialised_value(self._layout.ordinals[name]) for name in names]

    cdef bytes _serialised_value(self, object ordinal):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        cdef Bytes at = base + self._values[<Py_ssize_t>ordinal]
        cdef Bytes end = at
        read_length(&at, base + self._end, &end)
        return PyBytes_FromStringAndSize(<const char*>at, end - at)

    # What the wire says of the entity, whatever the caller changed since.

    def _wire_key(self):
        """As :meth:`lazyentity.codec.pure.LazyMapping._wire_key`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        if self._key_start < 0:
            return None
        key = _key(base + self._key_start, base + self._key_end)
        return entries.key(self._raw) if key is UNDECODED else key

    def _wire_excluded(self):
        """As :meth:`lazyentity.codec.pure.LazyMapping._wire_excluded`."""
        cdef int excluded
        names = set()
        for name, ordinal in self._layout.ordinals.items():
            excluded = self._is_excluded(ordinal)
            if excluded < 0:
                excluded = entries.excluded(self._raw, name, self._message(name, ordinal))
            if excluded:
                names.add(name)
        return names

    cdef int _is_excluded(self, object ordinal):
        # Answers -1 if that is for protobuf to say.
        cdef Bytes at
        cdef Value value
        cdef Value item
        cdef int excluded = -1
        if not self._parse(ordinal, &value):
            return -1
        if value.member != VALUE_ARRAY or value.at == value.end:
            return value.excluded
        at = value.at
        while at < value.end:
            if not _next_item(&at, value.end, &item):
                return -1
            if excluded != -1 and excluded != item.excluded:
                return -1
            excluded = item.excluded
        return excluded

    def _wire_meanings(self):
        """As :meth:`lazyentity.codec.pure.LazyMapping._wire_meanings`."""
        meanings = {}
        for name, ordinal in self._layout.ordinals.items():
            if self._has_no_meaning(ordinal):
                continue
            if meaning_of(self._message(name, ordinal)) is None:
                continue
            if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
                self._decode(name)
            if self._meanings_read is not None and name in self._meanings_read:
                meanings[name] = self._meanings_read[name]
            else:
                # Replaced or deleted before it was ever read: nobody holds the value that it had.
                value, meaning = self._read_slowly(name, ordinal)
                meanings[name] = (meaning, value)
        return meanings

    cdef bint _has_no_meaning(self, object ordinal):
        # Answers 0 as well if that is for protobuf to say.
        cdef Bytes at
        cdef Value value
        cdef Value item
        if not self._parse(ordinal, &value) or value.meaning != 0:
            return 0
        if value.member == VALUE_ARRAY:
            at = value.at
            while at < value.end:
                if not _next_item(&at, value.end, &item) or item.meaning != 0:
                    return 0
        return 1

    cdef bint _parse(self, object ordinal, Value* value):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        cdef Bytes at
        cdef Bytes end
        at = base + self._values[<Py_ssize_t>ordinal]
        return read_length(&at, base + self._end, &end) and _parse_value(at, end, value)

    # dict, without the sentinel ever coming out.

    def __getitem__(self, name):
        cdef PyObject* stored = PyDict_GetItemWithError(self, name)
        if stored == <PyObject*>UNDECODED:
            return self._decode(name)
        if stored != NULL:
            return <object>stored
        return dict_getitem(self, name)

    def __iter__(self):
        # That this is overridden is what keeps CPython from reading the storage directly; see the pure
        # backend.
        return dict_iter(self)

    def get(self, name, default=None, /):
        cdef PyObject* stored = PyDict_GetItemWithError(self, name)
        if stored == NULL:
            return default
        if stored == <PyObject*>UNDECODED:
            return self._decode(name)
        return <object>stored

    def setdefault(self, name, default=None, /):
        value = dict_setdefault(self, name, default)
        return self._decode(name) if value is UNDECODED else value

    def pop(self, name, /, *default):
        if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
            self._decode(name)
        return dict_pop(self, name, *default)

    def popitem(self):
        for last in dict_reversed(self):
            if PyDict_GetItemWithError(self, last) == <PyObject*>UNDECODED:
                self._decode(last)
            break
        return dict_popitem(self)

    def items(self):
        self._decode_all()
        return dict_items(self)

    def values(self):
        self._decode_all()
        return dict_values(self)

    def copy(self):
        self._decode_all()
        return dict_copy(self)

    def __or__(self, other):
        self._decode_all()
        return dict_or(self, other)

    def __ror__(self, other):
        self._decode_all()
        return dict_ror(self, other)

    def __eq__(self, other):
        if isinstance(other, dict):
            self._decode_all()
            if isinstance(other, LazyMapping):
                (<LazyMapping>other)._decode_all()
        return dict_eq(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __repr__(self):
        self._decode_all()
        return dict_repr(self)
