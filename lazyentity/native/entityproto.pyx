# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, auto_pickle=False
"""The native backend's index of an ``EntityProto``.

An ``EntityProto`` repeats its property's name in each entry of a list. So an entity is matched against
the :class:`~lazyentity.native.shapes.Shape` that it most likely has, as in
:mod:`lazyentity.native.shapes`, but a shape has an ordinal for each entry, and a name may have several.

The scanner knows the encoding that protobuf writes: fields in the order of their numbers. Anything else
has no index; protobuf has to write it again.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Check, PyDict_GetItemWithError, PyDict_SetItem, PyDict_Update
from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from lazyentity.native.entities cimport (
    EMPTY,
    FIRST_SET_OF_PROTOS,
    SETS,
    UNDECODED,
    Entry,
    Scan,
    Shape,
    becomes_likely,
    likely_shape,
    room_for_entry,
    shape_of,
    take_offsets,
)
from lazyentity.native.wire cimport (
    Bytes,
    differ,
    find_field,
    hash_bytes,
    read_double,
    read_length,
    read_tag,
    read_varint,
    skip_any_field,
    skip_field,
)

# The fields of a serialised EntityProto and of its properties.

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


# The parts of a serialised Reference, the key of an EntityProto.

# Number << 3 | wire type.
cdef enum:
    REFERENCE_APP = 0x6A
    REFERENCE_PATH = 0x72
    ELEMENT_BEGIN = 0x0B
    ELEMENT_KIND = 0x12
    ELEMENT_ID = 0x18
    ELEMENT_NAME = 0x22
    ELEMENT_END = 0x0C
    # The tag of the namespace has two bytes.
    NAMESPACE_FIRST = 0xA2
    NAMESPACE_SECOND = 0x01


cdef inline bytes _read_ascii(Bytes* cursor, Bytes end):
    # The text of a string after its tag; None, if it is not ASCII: protobuf judges other text.
    cdef Bytes at = cursor[0]
    cdef Bytes span_end
    if not read_length(&at, end, &span_end):
        return None
    cursor[0] = at
    while cursor[0] < span_end:
        if cursor[0][0] >= 0x80:
            return None
        cursor[0] += 1
    return PyBytes_FromStringAndSize(<const char*>at, span_end - at)


cdef inline tuple _read_pair(Bytes* cursor, Bytes end):
    # One element of a path, without its first tag.
    cdef uint64_t number
    identifier = None
    if cursor[0] == end or cursor[0][0] != ELEMENT_KIND:
        return None
    cursor[0] += 1
    kind = _read_ascii(cursor, end)
    if kind is None or cursor[0] == end:
        return None
    if cursor[0][0] == ELEMENT_ID:
        cursor[0] += 1
        if not read_varint(cursor, end, &number):
            return None
        identifier = <int64_t>number or None
    elif cursor[0][0] == ELEMENT_NAME:
        cursor[0] += 1
        identifier = _read_ascii(cursor, end)
        if identifier is None:
            return None
        identifier = identifier or None
    if cursor[0] == end or cursor[0][0] != ELEMENT_END:
        return None
    cursor[0] += 1
    return kind, identifier


cdef inline tuple read_path(Bytes at, Bytes end):
    # As PropertyIndex.path(), for the encoding that protobuf writes.
    cdef Bytes path_end
    cdef list pairs = []
    cdef bytes namespace = b""
    if at == end or at[0] != REFERENCE_APP:
        return None
    at += 1
    app = _read_ascii(&at, end)
    if app is None or at == end or at[0] != REFERENCE_PATH:
        return None
    at += 1
    if not read_length(&at, end, &path_end) or at == path_end:
        return None
    while at < path_end:
        if at[0] != ELEMENT_BEGIN:
            return None
        at += 1
        pair = _read_pair(&at, path_end)
        if pair is None:
            return None
        pairs.append(pair)
    if end - at > 2 and at[0] == NAMESPACE_FIRST and at[1] == NAMESPACE_SECOND:
        at += 2
        namespace = _read_ascii(&at, end)
        if namespace is None:
            return None
    return (app, namespace, tuple(pairs)) if at == end else None


# The layouts of properties, four bytes for each: all of a property but its name and the contents of its
# value. They are the tag of the field, the meaning, flags, and the kind of the contents.

cdef enum:
    LAYOUT_SIZE = 4
    OTHER_MEANING = 0xFF  # does not fit into the byte
    COMPRESSED = 2
    OTHER_URI = 4
    NOTHING = 0x00
    POINT = 0x2B
    REFERENCE = 0x63
    OTHER = 0xFF  # unknown fields, several values


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


cdef inline uint8_t _kind_of_contents(Bytes at, Bytes end) noexcept nogil:
    cdef uint8_t kind
    cdef uint64_t ignored
    cdef bint is_whole = 0
    if at == end:
        return NOTHING
    kind = at[0]
    at += 1
    if kind == VALUE_INTEGER or kind == VALUE_BOOLEAN:
        is_whole = read_varint(&at, end, &ignored) and at == end
    elif kind == VALUE_STRING:
        is_whole = _skip_span(&at, end) and at == end
    elif kind == VALUE_DOUBLE:
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
        layout[3] = _kind_of_contents(at, end)


# The scanner: finds the entries of the properties, and so the shape.

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


# The index.

cdef class PropertyIndex:
    """As :class:`lazyentity._backend.protocols.PropertyIndex`."""


    cdef readonly bytes raw
    cdef readonly Shape shape
    cdef uint32_t* _entries  # the offsets of the lengths that precede the properties
    cdef signed char _is_grouped  # whether the entries of each name stand together; -1: unknown

    def __cinit__(self):
        self.raw = b""
        self.shape = EMPTY
        self._entries = NULL
        self._is_grouped = -1

    def __dealloc__(self):
        PyMem_Free(self._entries)

    @classmethod
    def from_bytes(cls, bytes raw not None):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(raw)
        cdef Bytes end = base + PyBytes_GET_SIZE(raw)
        cdef PropertyIndex made
        cdef Scan scan
        cdef Shape shape
        cdef uint32_t slot
        if PyBytes_GET_SIZE(raw) > <Py_ssize_t>0xFFFFFFFF:
            return None
        made = PropertyIndex.__new__(PropertyIndex)
        memset(&scan, 0, sizeof(Scan))
        slot = slot_of_first(base, end)
        shape = likely_shape(slot, match_entries, base, base, end, &scan)
        if shape is None:
            try:
                if not scan_entries(base, base, end, &scan):
                    return None
                shape = shape_of(&scan)
                if shape is None:
                    return None
                take_offsets(&scan)
            finally:
                PyMem_Free(scan.entries)
            if shape._template is not None:
                becomes_likely(slot, shape)
        made._entries = scan.offsets
        made.raw = raw
        made.shape = shape
        return made

    @property
    def names(self):
        return tuple(self.shape._ordinals)

    def fill(self, storage not None):
        if not PyDict_Check(storage):
            raise TypeError("fill() takes a dict")
        if self.shape._template is not None:
            # CPython clones the key table as a whole, if the dict is empty.
            PyDict_Update(storage, self.shape._template)
            return
        for name in self.shape._ordinals:
            PyDict_SetItem(storage, name, UNDECODED)

    def properties(self, str name not None):
        cdef Bytes at
        cdef Bytes end
        found = []
        for ordinal in _ordinals_of(self, name):
            _span(self, ordinal, &at, &end)
            found.append(PyBytes_FromStringAndSize(<const char*>at, end - at))
        return found

    def value(self, str name not None, bint text):
        cdef list ordinals
        cdef list values = []
        cdef bint multiple = 0
        cdef Py_ssize_t only
        if len(self.shape._ordinals) == self.shape.count:
            only = _only_ordinal(self, name)
            value = UNDECODED if only < 0 else _plain(self, only, text, &multiple)
            return [value] if multiple and value is not UNDECODED else value
        ordinals = _ordinals_of(self, name)
        for ordinal in ordinals:
            value = _plain(self, ordinal, text, &multiple)
            if value is UNDECODED or not (multiple or len(ordinals) == 1):
                return UNDECODED
            if not multiple:
                return value
            values.append(value)
        return values if values else UNDECODED

    def contents(self, str name not None, uint64_t refused):
        cdef Py_ssize_t ordinal = _only_ordinal(self, name)
        cdef bint multiple = 0
        return UNDECODED if ordinal < 0 else _contents(self, ordinal, refused, False, &multiple)

    def take(self, storage not None, stored, str name not None, refused, kind):
        cdef Py_ssize_t ordinal
        cdef bint multiple = 0
        if not PyDict_Check(storage):
            raise TypeError("take() takes a dict")
        ordinal = _only_ordinal(self, name)
        if ordinal < 0:
            return UNDECODED
        if refused is None:
            value = _plain(self, ordinal, kind is not bytes, &multiple)
        else:
            value = _contents(self, ordinal, refused, kind is not bytes, &multiple)
        if multiple or value is UNDECODED:
            return UNDECODED
        if kind is not None and value is not None and type(value) is not kind:
            return UNDECODED
        # No other thread runs in between.
        if PyDict_GetItemWithError(storage, stored) != <PyObject*>UNDECODED:
            return UNDECODED
        PyDict_SetItem(storage, stored, value)
        return value

    def raw_names(self):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes at
        cdef Bytes end
        cdef Bytes name_end
        cdef Py_ssize_t index
        names = set()
        for index in range(self.shape.count):
            if base[self._entries[index] - 1] == ENTITY_RAW_PROPERTY:
                _name(self, index, &at, &name_end, &end)
                names.add(PyUnicode_DecodeUTF8(<const char*>at, name_end - at, NULL))
        return frozenset(names)

    def has_meaning(self, uint32_t number):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes end = base + PyBytes_GET_SIZE(self.raw)
        cdef Bytes at
        cdef uint64_t meaning
        cdef Py_ssize_t index
        for index in range(self.shape.count):
            at = base + self._entries[index]
            # Past the length.
            while at[0] >= 0x80:
                at += 1
            at += 1
            if at[0] == PROPERTY_MEANING:
                at += 1
                # Protobuf takes 32 bits of a longer number.
                if read_varint(&at, end, &meaning) and <uint32_t>meaning == number:
                    return True
        return False

    def fields(self, names):
        cdef PyObject* ordinal
        cdef bint are_single = len(self.shape._ordinals) == self.shape.count
        cdef Bytes start = NULL  # of properties that follow each other
        cdef Bytes end = NULL
        cdef list found = []
        for name in names:
            if are_single and type(name) is str:
                ordinal = PyDict_GetItemWithError(self.shape._ordinals, name)
                if ordinal != NULL:
                    _add_field(self, <Py_ssize_t>(<object>ordinal), &start, &end, found)
                continue
            for each in _ordinals_of(self, name):
                _add_field(self, each, &start, &end, found)
        if start != NULL:
            found.append(PyBytes_FromStringAndSize(<const char*>start, end - start))
        return found[0] if len(found) == 1 else b"".join(found)

    def layouts(self):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes at
        cdef Bytes end
        cdef Py_ssize_t index
        cdef uint8_t* layout
        found = PyBytes_FromStringAndSize(NULL, self.shape.count * LAYOUT_SIZE)
        layout = <uint8_t*>PyBytes_AS_STRING(found)
        for index in range(self.shape.count):
            _span(self, index, &at, &end)
            write_layout(at, end, base[self._entries[index] - 1], layout + index * LAYOUT_SIZE)
        return found

    def entry_names(self):
        cdef Bytes at
        cdef Bytes name_end
        cdef Bytes end
        cdef Py_ssize_t index
        names = []
        for index in range(self.shape.count):
            _name(self, index, &at, &name_end, &end)
            names.append(PyUnicode_DecodeUTF8(<const char*>at, name_end - at, NULL))
        return names

    def key(self):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes at
        cdef Bytes end
        if not find_field(base, base + PyBytes_GET_SIZE(self.raw), ENTITY_KEY, &at, &end):
            return b""
        return PyBytes_FromStringAndSize(<const char*>at, end - at)

    def path(self):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes at
        cdef Bytes end
        if not find_field(base, base + PyBytes_GET_SIZE(self.raw), ENTITY_KEY, &at, &end):
            return None
        return read_path(at, end)


# Indexing an entity has read everything down to the names.

cdef inline void _span(PropertyIndex index, Py_ssize_t ordinal, Bytes* at, Bytes* end) noexcept:
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(index.raw)
    at[0] = end[0] = base + index._entries[ordinal]
    read_length(at, base + PyBytes_GET_SIZE(index.raw), end)


cdef inline int _add_field(
    PropertyIndex index, Py_ssize_t ordinal, Bytes* start, Bytes* end, list found
) except -1:
    # Appends a property with its tag to the span; a property elsewhere puts the span into the list first.
    cdef Bytes at
    cdef Bytes at_end
    cdef Bytes tag = <Bytes>PyBytes_AS_STRING(index.raw) + index._entries[ordinal] - 1
    _span(index, ordinal, &at, &at_end)
    if tag != end[0]:
        if start[0] != NULL:
            found.append(PyBytes_FromStringAndSize(<const char*>start[0], end[0] - start[0]))
        start[0] = tag
    end[0] = at_end
    return 0


cdef inline void _name(
    PropertyIndex index, Py_ssize_t ordinal, Bytes* at, Bytes* name_end, Bytes* end
) noexcept:
    # Finds the text of an entry's name.
    _span(index, ordinal, at, end)
    find_name(at, end[0])
    at[0] += 1
    name_end[0] = at[0]
    read_length(at, end[0], name_end)


cdef inline Py_ssize_t _only_ordinal(PropertyIndex index, str name) except -2:
    # The only entry of a name; -1: there is none, or there may be several.
    cdef PyObject* last = PyDict_GetItemWithError(index.shape._ordinals, name)
    if last == NULL:
        return -1
    if len(index.shape._ordinals) == index.shape.count:
        return <object>last
    ordinals = _ordinals_of(index, name)
    return ordinals[0] if len(ordinals) == 1 else -1


cdef list _ordinals_of(PropertyIndex index, str name):
    # The entries of a name, in wire order.
    cdef PyObject* last = PyDict_GetItemWithError(index.shape._ordinals, name)
    cdef Bytes at
    cdef Bytes name_end
    cdef Bytes end
    cdef Bytes text
    cdef bytes encoded
    cdef Py_ssize_t ordinal
    if last == NULL:
        return []
    if len(index.shape._ordinals) == index.shape.count:
        return [<object>last]
    if index._is_grouped < 0:
        index._is_grouped = _count_groups(index) == len(index.shape._ordinals)
    encoded = PyUnicode_AsUTF8String(name)
    text = <Bytes>PyBytes_AS_STRING(encoded)
    found = []
    # From the last entry back, so that the time to read a list depends on its own length alone.
    for ordinal in range(<Py_ssize_t>(<object>last), -1, -1):
        _name(index, ordinal, &at, &name_end, &end)
        if _are_equal(at, name_end, text, text + PyBytes_GET_SIZE(encoded)):
            found.append(ordinal)
        elif index._is_grouped:
            break
    found.reverse()
    return found


cdef inline bint _are_equal(Bytes one, Bytes one_end, Bytes other, Bytes other_end) noexcept nogil:
    return one_end - one == other_end - other and memcmp(one, other, one_end - one) == 0


cdef Py_ssize_t _count_groups(PropertyIndex index) noexcept:
    # The number of sequences of entries with the same name.
    cdef Bytes previous = NULL
    cdef Bytes previous_end = NULL
    cdef Bytes at
    cdef Bytes name_end
    cdef Bytes end
    cdef Py_ssize_t ordinal
    cdef Py_ssize_t groups = 0
    for ordinal in range(index.shape.count):
        _name(index, ordinal, &at, &name_end, &end)
        if ordinal == 0 or not _are_equal(at, name_end, previous, previous_end):
            groups += 1
        previous = at
        previous_end = name_end
    return groups


cdef object _plain(PropertyIndex index, Py_ssize_t ordinal, bint text, bint* multiple):
    # The value of a property, if it has a name, the flag and a plain value, and nothing else.
    cdef Bytes at
    cdef Bytes end
    _span(index, ordinal, &at, &end)
    return read_plain(at, end, text, multiple, UNDECODED)


cdef object _contents(
    PropertyIndex index, Py_ssize_t ordinal, uint64_t refused, bint text, bint* multiple
):
    # As _plain(), of a property that may have any meaning but the refused one.
    cdef Bytes at
    cdef Bytes end
    cdef uint64_t meaning = 0
    _span(index, ordinal, &at, &end)
    if at[0] == PROPERTY_MEANING:
        at += 1
        if not read_varint(&at, end, &meaning) or meaning == refused:
            return UNDECODED
    return read_plain(at, end, text, multiple, UNDECODED)
