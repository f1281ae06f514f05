# Declarations of entities.pyx, and of the functions that the other modules of the backend call from C.

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.dict cimport PyDict_Next, PyDict_SetItem
from cpython.mem cimport PyMem_Realloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_1BYTE_DATA, PyUnicode_New
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from lazyentity.native.tags cimport (
    LATLNG_LATITUDE,
    LATLNG_LONGITUDE,
    SECOND_BYTE,
    VALUE_BLOB,
    VALUE_BOOLEAN,
    VALUE_DOUBLE,
    VALUE_INTEGER,
    VALUE_NULL,
    VALUE_STRING,
)
from lazyentity.native.wire cimport Bytes, read_double, read_length, read_varint

cdef object UNDECODED

cdef object decode_timestamp(Bytes at, Bytes end)
cdef bint is_timestamp(Bytes at, Bytes end) noexcept
cdef object timestamp_of_type(Bytes at, Bytes end, PyTypeObject* type, bint keeps_nanoseconds)
cdef object copied_timestamp(object value)
cdef int64_t microseconds_of_fields(object value) noexcept
cdef bint is_naive_or_in_utc(object value) noexcept


# shapes.pyx: the shapes of entities.

cdef struct Entry:
    # The value is the offset of the length that precedes it.
    Bytes header
    uint32_t header_size
    uint32_t value


cdef struct Scan:
    # The result of a scan, in separate memory: a scan may be interrupted by another one.
    Entry* entries
    Py_ssize_t count
    Py_ssize_t capacity
    uint8_t tag  # of the map of values
    bint has_key
    uint32_t* offsets  # by the ordinals of the shape


cdef class Shape:
    cdef dict _template  # None, until the shape was learned
    cdef dict stock_template  # in the order of the stock client; None until it is needed
    cdef dict _ordinals
    cdef tuple names
    cdef bytes headers
    cdef Py_ssize_t count
    cdef uint32_t* header_sizes

    cdef int _learn(self, bytes signature, Scan* scan) except -1
    cdef int keep_stock_template(self, dict template) except -1


cdef Shape EMPTY

cdef enum:
    SETS = 64  # of likely shapes: an entity's is told by the name in its first entry
    # An Entity and an EntityProto never have the same shape: their headers differ.
    FIRST_SET_OF_PROTOS = SETS
    ALL_SETS = FIRST_SET_OF_PROTOS + SETS

# Scans an entity that should have a shape, from its first byte on; answers 0 if it has another one.
ctypedef bint (*Match)(Shape shape, Bytes base, Bytes at, Bytes end, Scan* scan) noexcept


cdef int take_offsets(Scan* scan) except -1
cdef Shape shape_of(Scan* scan)
cdef Shape likely_shape(uint32_t slot, Match match, Bytes base, Bytes at, Bytes end, Scan* scan)
cdef void becomes_likely(uint32_t slot, Shape shape)


cdef inline Entry* room_for_entry(Scan* scan) except NULL:
    # Where the next entry of a scan is to be put.
    cdef Entry* grown
    if scan.count == scan.capacity:
        scan.capacity = max(32, scan.capacity * 2)
        grown = <Entry*>PyMem_Realloc(scan.entries, scan.capacity * sizeof(Entry))
        if grown == NULL:
            raise MemoryError
        scan.entries = grown
    return &scan.entries[scan.count]


# values.pyx: the decoders of values and keys.

cdef enum:
    SHORT_TEXT = 64


cdef struct Value:
    # A google.datastore.v1.Value: the tag of its oneof case, and that case's number or span.
    int tag
    uint64_t number
    double floating
    Bytes at
    Bytes end
    int32_t meaning
    bint excluded


cdef bint parse_value(Bytes at, Bytes end, Value* value) noexcept nogil
cdef bint next_item(Bytes* cursor, Bytes end, Value* value) noexcept nogil
cdef object decode_leaf(Value* value)
cdef object decode_long_text(Bytes at, Bytes end)
cdef object decode_key(Bytes at, Bytes end)
cdef int is_excluded(Value* value)
cdef bint has_no_meaning(Value* value)


# Here, so that compilers can inline them in other modules.

cdef inline object decode_text(Bytes at, Bytes end):
    # Most strings are short and ASCII, for which CPython's decoder takes longer.
    cdef Py_ssize_t size = end - at
    cdef Py_ssize_t index
    cdef uint8_t seen = 0
    cdef object text
    # CPython has one object for each single-character string, and for the empty one.
    if 1 < size <= SHORT_TEXT:
        for index in range(size):
            seen |= at[index]
        if seen < 0x80:
            text = PyUnicode_New(size, 0x7F)
            memcpy(PyUnicode_1BYTE_DATA(text), at, size)
            return text
    return decode_long_text(at, end)


cdef inline object decode_bare(Bytes at, Bytes end):
    # Decodes a string, a number, a boolean or null with nothing beside it, as most values are.
    # parse_value() handles all others, malformed ones included.
    cdef Py_ssize_t size = end - at
    cdef uint64_t number
    cdef double floating
    if size < 2:
        return UNDECODED
    if at[0] == VALUE_STRING:
        if size >= 3 and at[1] == SECOND_BYTE and at[2] < 0x80 and at[2] == size - 3:
            return decode_text(at + 3, end)
    elif at[0] == VALUE_DOUBLE:
        at += 1
        if size == 9 and read_double(&at, end, &floating):
            return floating
    elif at[0] == VALUE_BOOLEAN:
        if size == 2 and at[1] <= 1:
            return at[1] == 1
    elif at[0] == VALUE_INTEGER:
        at += 1
        if read_varint(&at, end, &number) and at == end:
            return <int64_t>number
    elif at[0] == VALUE_NULL:
        if size == 2 and at[1] == 0:
            return None
    return UNDECODED


cdef inline bint read_point(Bytes at, Bytes end, double* latitude, double* longitude) noexcept nogil:
    # Reads a google.type.LatLng, whose fields that are left out are zero.
    latitude[0] = longitude[0] = 0
    while at < end:
        at += 1
        if at[-1] == LATLNG_LATITUDE:
            if not read_double(&at, end, latitude):
                return 0
        elif at[-1] != LATLNG_LONGITUDE or not read_double(&at, end, longitude):
            return 0
    return 1


cdef inline bint is_plain(Value* value) noexcept nogil:
    # Whether the value has no meaning, and a type that the garbage collector does not track; both are
    # true of a bare value.
    return value.tag == 0 or (
        value.meaning == 0
        and (
            value.tag == VALUE_STRING
            or value.tag == VALUE_INTEGER
            or value.tag == VALUE_BOOLEAN
            or value.tag == VALUE_DOUBLE
            or value.tag == VALUE_BLOB
            or value.tag == VALUE_NULL
        )
    )


# shapes.pyx: the index of an entity.

cdef struct Offsets:
    # Where the parts of an entity are, counted from the first byte of the owner.
    uint32_t start  # of the entity itself
    uint32_t end
    uint32_t next_ordinal  # of the property that is most likely read next
    uint32_t* values  # of each property, the length that precedes its value


cdef bint find_key(Bytes at, Bytes end, Bytes* key, Bytes* key_end) noexcept nogil
cdef void free_offsets(Offsets* offsets) noexcept
cdef Shape index_map(bytes owner, Py_ssize_t start, Py_ssize_t end, uint8_t tag, Offsets* offsets)


cdef inline Bytes value_at(Offsets* offsets, Bytes base, Py_ssize_t ordinal) noexcept:
    # Finds the length that precedes a value. Indexing the entity has read all of it.
    offsets.next_ordinal = <uint32_t>ordinal + 1
    return base + offsets.values[ordinal]


# mapping.pyx: the received bytes of an entity.

cdef class EntityExtras:
    # The values read from an entity's bytes; they stay as they were read, whatever is assigned later.
    cdef object key
    cdef dict meanings
    # Attributes that most entities lack are kept here too, so that an entity is small.
    cdef object policy
    cdef object deleted_attributes


cdef class LazyMapping(dict):
    # The smaller an entity is, the more of them the processor's caches hold: these attributes, with those
    # that CPython before 3.12 adds for a dict of a class, fill two lines of 64 bytes (later it puts 16
    # bytes more in front of each). A cdef method would take a pointer more.
    cdef bytes _owner
    cdef readonly Shape _shape
    cdef Offsets _offsets
    cdef EntityExtras _extras
    # Declared here: in a subclass written in Python, CPython before 3.13 would use one object more.
    cdef dict __dict__


cdef int require_received(LazyMapping mapping) except -1
cdef Py_ssize_t require_name(LazyMapping mapping, object name) except -1
cdef EntityExtras extras_of(LazyMapping mapping)
cdef void set_extras(LazyMapping mapping, EntityExtras extras) noexcept
cdef dict meanings_read(LazyMapping mapping)
cdef object read_parsed(LazyMapping mapping, Bytes at, Bytes end, Value* value)
cdef object parsed_message(LazyMapping mapping, object name, Py_ssize_t ordinal)
cdef tuple read_slowly(LazyMapping mapping, object name, Py_ssize_t ordinal)
cdef object mapping_from_raw(type mapping_type, bytes raw)


cdef inline bint find(LazyMapping mapping, Py_ssize_t ordinal, Bytes* at, Bytes* end) noexcept:
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(mapping._owner)
    at[0] = end[0] = value_at(&mapping._offsets, base, ordinal)
    return read_length(at, base + mapping._offsets.end, end)


cdef inline bint parse(LazyMapping mapping, Py_ssize_t ordinal, Value* value) noexcept:
    cdef Bytes at
    cdef Bytes end
    return find(mapping, ordinal, &at, &end) and parse_value(at, end, value)


cdef inline bint is_restricted(LazyMapping mapping) noexcept:
    return mapping._extras is not None and mapping._extras.policy is not None


cdef inline bint is_likely(LazyMapping mapping, object name) noexcept:
    # Properties are mostly read in order, and by the very strings that the entity gave out.
    cdef PyObject* names = <PyObject*>mapping._shape.names
    cdef Py_ssize_t ordinal = mapping._offsets.next_ordinal
    return (
        ordinal < PyTuple_GET_SIZE(<object>names)
        and <PyObject*>PyTuple_GET_ITEM(<object>names, ordinal) == <PyObject*>name
    )


cdef inline Py_ssize_t ordinal_of(LazyMapping mapping, object name) except -1:
    if is_likely(mapping, name):
        return mapping._offsets.next_ordinal
    return require_name(mapping, name)


cdef inline bint is_undecoded_at(LazyMapping mapping, object name, Py_ssize_t position) noexcept:
    # Whether a property is undecoded, without hashing; answers 0 as well if storage has it elsewhere,
    # as it may after a deletion. Storage has the order of the names at first.
    cdef PyObject* stored_name
    cdef PyObject* stored
    return (
        PyDict_Next(mapping, &position, &stored_name, &stored)
        and stored_name == <PyObject*>name
        and stored == <PyObject*>UNDECODED
    )


# read_value() answers UNDECODED if it leaves the value to protobuf.
cdef inline object read_value(LazyMapping mapping, Py_ssize_t ordinal, Value* value):
    # The tag is 0 afterwards if the value is a bare one: then only the tag and the meaning may be
    # used.
    cdef Bytes at
    cdef Bytes end
    if not find(mapping, ordinal, &at, &end):
        return UNDECODED
    value.tag = 0
    value.meaning = 0
    read = decode_bare(at, end)
    if read is not UNDECODED:
        return read
    return read_parsed(mapping, at, end, value)


cdef inline bint copy_storage(LazyMapping mapping, dict copied, bint decoded_only) except -1:
    # A consistent copy of names and values: no Python code runs in here. Answers 0 if a name is no
    # plain str: its hash is its own, and could change the storage.
    cdef Py_ssize_t position = 0
    cdef PyObject* name
    cdef PyObject* value
    while PyDict_Next(mapping, &position, &name, &value):
        if decoded_only and value == <PyObject*>UNDECODED:
            continue
        if type(<object>name) is not str:
            return 0
        PyDict_SetItem(copied, <object>name, <object>value)
    return 1


# mapping.pyx: the hook of a profile.

cdef object DATA  # None, while no profile runs


cdef class CountedExtras(EntityExtras):
    # Takes the place of an entity's extras, instead of another attribute: while no profile runs, an
    # entity is as small as before.
    cdef object counts


cdef inline bint is_profiled(LazyMapping entity) noexcept:
    return entity._extras is not None and type(entity._extras) is CountedExtras


cdef int note_entity(LazyMapping entity, object counts) except -1
cdef int note_decoded(LazyMapping entity, list names, object operation) except -1


cdef inline int note_read(LazyMapping entity, object name) except -1:
    # Counts the decoding of a property, if the entity arrived while a profile ran.
    return note_decoded(entity, [name], "") if is_profiled(entity) else 0
