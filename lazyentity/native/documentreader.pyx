"""The native backend's decoder of documents: a format in which a dict is a map of values.

Theory of operation. It knows the encoding that servers send: maps whose entries have a name and then a
value, values with one oneof case and nothing beside it. The client's own code decodes any other value,
legal or malformed, as the field of the document that it is or that it is in, and raises every error.

The client copies what it decoded each time that it hands it out. :func:`_copy_of` copies the values that
this decoder makes as ``copy.deepcopy()`` does: containers, timestamps, references, points and vectors are
new objects, all others are shared.

A value has the field numbers of :mod:`lazyentity.native.tags`, with a reference in place of a key,
and a map in place of an entity.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Copy, PyDict_Next, PyDict_SetItem
from cpython.list cimport PyList_GET_SIZE, PyList_GetSlice
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.unicode cimport PyUnicode_1BYTE_DATA, PyUnicode_GET_LENGTH
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from lazyentity.native.tags cimport (
    ARRAY_VALUES,
    ENTRY_NAME,
    ENTRY_VALUE,
    SECOND_BYTE,
    TIMESTAMP_NANOS,
    VALUE_ARRAY,
    VALUE_BLOB,
    VALUE_GEO_POINT,
    VALUE_STRING,
    VALUE_TIMESTAMP,
)
from lazyentity.native.entities cimport (
    UNDECODED,
    copied_timestamp,
    decode_bare,
    decode_text,
    read_point,
    timestamp_of_type,
)
from lazyentity.native.wire cimport (
    MAX_DEPTH,
    Bytes,
    differ,
    hash_bytes,
    read_length,
    read_varint,
    skip_any_field,
)

import copy
import datetime

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)

cdef object deepcopy = copy.deepcopy

cdef enum:
    DOCUMENT_FIELDS = 0x12
    MAP_FIELDS = 0x0A
    VALUE_REFERENCE = 0x2A
    VALUE_MAP = 0x32

cdef enum:
    # Messages in messages, as in lazyentity.native.wire, but from the response on.
    FIELD_DEPTH = 4  # response, document, entry, Value
    TO_FIELD = 3  # from a Value to one in its map: map, entry, Value
    TO_ELEMENT = 2  # from a Value to one in its array: array, Value


cdef class DocumentCodec:
    """The values that the documents of a client hold, and the client's own conversions.

    Args:
        geo_point: the class of points: made of a latitude and a longitude, which are its attributes.
        references: the classes of references. Their attributes are ``_path``, ``_client`` and
            ``_document_path_internal``: the name, or None before it was made.
        vector: the class of vectors, whose only attribute is ``_value``, a tuple of floats; with a
            method ``to_map_value``.
        timestamp: the class of timestamps, a subclass of ``datetime`` with an attribute
            ``_nanosecond``, which is 0 in all that are decoded; None, if the client has to make them.
        reference: makes a reference of a name and a client; ``UNDECODED``, if the client has to.
        field: decodes a serialised ``Value`` of any kind for a client. The result is new. Raises the
            client's error.
        document: decodes the fields of a serialised ``Document`` for a client, likewise. The result
            need not be a dict.
        errors: the classes of these errors. After one, all fields are decoded at once.
        other: serialises a ``Value`` of any other object, or raises the client's error.
        server_timestamp: the transform that has no class.
        transforms: the classes of the others.
        for_client: the classes of values for which the client encodes the whole document:
            transforms, and dict for its subclasses.

    Raises:
        TypeError: if ``timestamp`` is something else.
    """

    cdef object _geo_point
    cdef tuple _references
    cdef object _vector
    cdef object _timestamp
    cdef object _reference
    cdef object _field
    cdef object _document
    cdef tuple _errors
    cdef object _other
    cdef object _server_timestamp
    cdef tuple _transforms
    cdef tuple _for_client

    def __init__(
        self,
        *,
        geo_point,
        tuple references,
        vector,
        type timestamp,
        reference,
        field,
        document,
        tuple errors,
        other,
        server_timestamp,
        tuple transforms,
        tuple for_client,
    ):
        if timestamp is not None and not issubclass(timestamp, datetime.datetime):
            # Its instances are made past its constructor.
            raise TypeError("timestamp must be a subclass of datetime")
        self._geo_point = geo_point
        self._references = references
        self._vector = vector
        self._timestamp = timestamp
        self._reference = reference
        self._field = field
        self._document = document
        self._errors = errors
        self._other = other
        self._server_timestamp = server_timestamp
        self._transforms = transforms
        self._for_client = for_client


cdef struct Reading:
    # One pass over values.
    PyObject* codec
    PyObject* client
    bint is_exact  # the values decoded so far have all that the bytes have


cdef object _value(Reading* reading, Bytes at, Bytes end, int depth):
    # Decodes a value; UNDECODED, if the client has to.
    cdef Bytes span_end
    cdef uint8_t tag
    cdef DocumentCodec codec = <DocumentCodec>reading.codec
    value = decode_bare(at, end)
    if value is not UNDECODED or end - at < 2:
        return value
    tag = at[0]
    if tag >= 0x80:
        if at[1] != SECOND_BYTE:
            return UNDECODED
        at += 1
    at += 1
    if tag & 7 != 2 or not read_length(&at, end, &span_end) or span_end != end:
        return UNDECODED
    if tag == VALUE_STRING:
        return decode_text(at, end)
    if tag == VALUE_TIMESTAMP:
        if codec._timestamp is None:
            return UNDECODED
        reading.is_exact &= not _has_nanoseconds(at, end)
        return timestamp_of_type(at, end, <PyTypeObject*>codec._timestamp, 0)
    if tag == VALUE_MAP:
        return _map(reading, at, end, depth + TO_FIELD)
    if tag == VALUE_ARRAY:
        return _array(reading, at, end, depth + TO_ELEMENT)
    if tag == VALUE_REFERENCE:
        value = decode_text(at, end)
        return value if value is UNDECODED else codec._reference(value, <object>reading.client)
    if tag == VALUE_BLOB:
        return PyBytes_FromStringAndSize(<const char*>at, end - at)
    if tag == VALUE_GEO_POINT:
        return _geo_point(codec, at, end)
    return UNDECODED


cdef inline bint _has_nanoseconds(Bytes at, Bytes end) noexcept nogil:
    # Whether a timestamp has a part of a microsecond, which the client loses.
    cdef uint64_t number
    cdef uint8_t tag
    while at < end:
        tag = at[0]
        at += 1
        if not read_varint(&at, end, &number):
            return 1
        if tag == TIMESTAMP_NANOS and number % 1000 != 0:
            return 1
    return 0


cdef object _geo_point(DocumentCodec codec, Bytes at, Bytes end):
    cdef double latitude
    cdef double longitude
    if not read_point(at, end, &latitude, &longitude):
        return UNDECODED
    return codec._geo_point(latitude, longitude)


cdef object _array(Reading* reading, Bytes at, Bytes end, int depth):
    cdef Bytes item_end
    cdef list items = []
    if depth > MAX_DEPTH:
        return UNDECODED
    while at < end:
        if at[0] != ARRAY_VALUES:
            return UNDECODED
        at += 1
        if not read_length(&at, end, &item_end):
            return UNDECODED
        item = _value(reading, at, item_end, depth)
        if item is UNDECODED:
            return UNDECODED
        items.append(item)
        at = item_end
    return items


cdef struct MapEntry:
    # An entry of a map; its header is the name with both tags.
    Bytes header
    Bytes name
    Bytes name_end
    Bytes header_end
    Bytes value
    Bytes end


cdef inline bint _next_entry(Bytes* cursor, Bytes end, uint8_t tag, MapEntry* entry) noexcept nogil:
    # Reads an entry of a map, tag included; otherwise leaves the cursor where it is.
    cdef Bytes at = cursor[0]
    cdef Bytes value_end
    if at[0] != tag:
        return 0
    at += 1
    if not read_length(&at, end, &entry.end) or at == entry.end or at[0] != ENTRY_NAME:
        return 0
    entry.header = at
    at += 1
    if not read_length(&at, entry.end, &entry.name_end):
        return 0
    entry.name = at
    at = entry.name_end
    if at == entry.end or at[0] != ENTRY_VALUE:
        return 0
    at += 1
    entry.header_end = at
    if not read_length(&at, entry.end, &value_end) or value_end != entry.end:
        return 0
    entry.value = at
    cursor[0] = entry.end
    return 1


cdef inline bint _is_special(Bytes name, Bytes name_end) noexcept nogil:
    # The client makes a vector of a map with the right __type__, and another type of a map of a single
    # entry, whose name begins with two underscores.
    return name_end - name >= 2 and name[0] == 0x5F and name[1] == 0x5F


cdef inline bint _is_vector(dict fields):
    kind = fields.get("__type__")
    return type(kind) is str and kind == "__vector__"


cdef enum:
    # Of the names that were read last. Names can be ids or dates: their number has no bound.
    NAME_SETS = 512
    NAME_WAYS = 2  # of each set
    LONGEST_NAME = 64

# References, or NULL: guarded as the likely shapes of lazyentity.native.shapes.
cdef PyObject* NAMES[NAME_SETS][NAME_WAYS]
cdef object NAMES_LOCK = object()


cdef inline object _name(Bytes at, Bytes end):
    # Documents of a collection have the same names: a known string needs no hash and no memory.
    cdef Py_ssize_t size = end - at
    cdef PyObject** known
    cdef PyObject* forgotten
    cdef int way
    if size < 2 or size > LONGEST_NAME:
        return decode_text(at, end)
    known = NAMES[hash_bytes(at, size) % NAME_SETS]
    with cython.critical_section(NAMES_LOCK):
        for way in range(NAME_WAYS):
            if known[way] == NULL:
                break
            if PyUnicode_GET_LENGTH(<object>known[way]) == size and not differ(
                <Bytes>PyUnicode_1BYTE_DATA(<object>known[way]), at, <uint32_t>size
            ):
                return <object>known[way]
    name = decode_text(at, end)
    if name is UNDECODED or not PyUnicode_IS_ASCII(name):
        return name
    Py_INCREF(name)
    with cython.critical_section(NAMES_LOCK):
        forgotten = known[NAME_WAYS - 1]
        for way in range(NAME_WAYS - 1, 0, -1):
            known[way] = known[way - 1]
        known[0] = <PyObject*>name
    Py_XDECREF(forgotten)
    return name


cdef object _map(Reading* reading, Bytes at, Bytes end, int depth):
    cdef MapEntry entry
    cdef bint is_special = 0
    cdef dict fields = {}
    if depth > MAX_DEPTH:
        return UNDECODED
    while at < end:
        if not _next_entry(&at, end, MAP_FIELDS, &entry):
            return UNDECODED
        is_special |= _is_special(entry.name, entry.name_end)
        name = _name(entry.name, entry.name_end)
        if name is UNDECODED:
            return UNDECODED
        value = _value(reading, entry.value, entry.end, depth)
        if value is UNDECODED:
            return UNDECODED
        PyDict_SetItem(fields, name, value)
    if is_special and _is_vector(fields):
        return _vector(reading, fields)
    if is_special and len(fields) == 1:
        return UNDECODED
    return fields


cdef object _vector(Reading* reading, dict fields):
    # The client takes numbers of any kind, and ignores other entries.
    numbers = fields.get("value")
    if type(numbers) is not list:
        return UNDECODED
    for number in <list>numbers:
        if type(number) is not float:
            return UNDECODED
    reading.is_exact &= len(fields) == 2
    return _made_vector(<DocumentCodec>reading.codec, tuple(<list>numbers))


cdef inline object _made_vector(DocumentCodec codec, numbers):
    vector = codec._vector.__new__(codec._vector)
    vector._value = numbers
    return vector


cdef inline bint _is_shared(object value) noexcept:
    # Whether a copy shares the value.
    kind = type(value)
    return (
        kind is str
        or kind is int
        or kind is float
        or kind is bool
        or kind is bytes
        or value is None
    )


cdef object _copy_of(DocumentCodec codec, object value, int depth):
    # Copies a value as copy.deepcopy() does. Nobody else has the copies of containers.
    cdef Py_ssize_t position = 0
    cdef PyObject* name_at
    cdef PyObject* value_at
    kind = type(value)
    if _is_shared(value):
        return value
    if kind is codec._timestamp:
        return copied_timestamp(value)
    if depth < MAX_DEPTH:
        if kind is dict:
            fields = PyDict_Copy(value)
            while PyDict_Next(fields, &position, &name_at, &value_at):
                if not _is_shared(<object>value_at):
                    # The name is there: no entry moves.
                    PyDict_SetItem(
                        fields, <object>name_at, _copy_of(codec, <object>value_at, depth + 1)
                    )
            return fields
        if kind is list:
            items = PyList_GetSlice(value, 0, PyList_GET_SIZE(value))
            for position in range(PyList_GET_SIZE(items)):
                item = (<list>items)[position]
                if not _is_shared(item):
                    (<list>items)[position] = _copy_of(codec, item, depth + 1)
            return items
    if kind is codec._geo_point:
        return codec._geo_point(value.latitude, value.longitude)
    if kind is codec._vector:
        return _made_vector(codec, value._value)
    if _is_one_of(kind, codec._references):
        return _copied_reference(kind, value)
    return deepcopy(value)


cdef inline bint _is_one_of(object kind, tuple kinds):
    # Not by equality, which a metaclass may define.
    for each in kinds:
        if kind is each:
            return 1
    return 0


cdef object _copied_reference(kind, value):
    reference = kind.__new__(kind)
    reference._path = value._path
    reference._client = value._client
    reference._document_path_internal = value._document_path_internal
    return reference
