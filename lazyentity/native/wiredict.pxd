# The received bytes of an entity: see wiredict.pyx.

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.dict cimport PyDict_Next, PyDict_SetItem
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE

from lazyentity.native.wire cimport Bytes, read_length


cdef class EntityExtras:
    # The values read from an entity's bytes; they stay as they were read, whatever is assigned later.
    cdef object key
    cdef dict meanings
    # Attributes that most entities lack are kept here too, so that an entity is small.
    cdef object policy
    cdef object deleted_attributes


cdef class WireDict(dict):
    # The smaller an entity is, the more of them the processor's caches hold: these attributes, with those
    # that CPython before 3.12 adds for a dict of a class, fill two lines of 64 bytes (later it puts 16
    # bytes more in front of each). A cdef method would take a pointer more.
    cdef bytes _owner
    cdef readonly Shape _shape
    cdef Offsets _offsets
    cdef EntityExtras _extras
    # Declared here: in a subclass written in Python, CPython before 3.13 would use one object more.
    cdef dict __dict__


cdef int require_wire_dict(WireDict mapping) except -1
cdef Py_ssize_t require_name(WireDict mapping, object name) except -1
cdef EntityExtras extras_of(WireDict mapping)
cdef void set_extras(WireDict mapping, EntityExtras extras) noexcept
cdef dict meanings_read(WireDict mapping)
cdef object read_parsed(WireDict mapping, Bytes at, Bytes end, Value* value)
cdef object parsed_message(WireDict mapping, object name, Py_ssize_t ordinal)
cdef tuple read_slowly(WireDict mapping, object name, Py_ssize_t ordinal)
cdef object wire_dict_from_raw(type mapping_type, bytes raw)


cdef inline bint find(WireDict mapping, Py_ssize_t ordinal, Bytes* at, Bytes* end) noexcept:
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(mapping._owner)
    at[0] = end[0] = value_at(&mapping._offsets, mapping._shape, base, ordinal)
    return read_length(at, base + mapping._offsets.end, end)


cdef inline bint parse(WireDict mapping, Py_ssize_t ordinal, Value* value) noexcept:
    cdef Bytes at
    cdef Bytes end
    return find(mapping, ordinal, &at, &end) and parse_value(at, end, value)


cdef inline bint is_restricted(WireDict mapping) noexcept:
    return mapping._extras is not None and mapping._extras.policy is not None


cdef inline bint is_likely(WireDict mapping, object name) noexcept:
    # Properties are mostly read in order, and by the very strings that the entity gave out.
    cdef PyObject* names = <PyObject*>mapping._shape.names
    cdef Py_ssize_t ordinal = mapping._offsets.next_ordinal
    return (
        ordinal < PyTuple_GET_SIZE(<object>names)
        and <PyObject*>PyTuple_GET_ITEM(<object>names, ordinal) == <PyObject*>name
    )


cdef inline Py_ssize_t ordinal_of(WireDict mapping, object name) except -1:
    if is_likely(mapping, name):
        return mapping._offsets.next_ordinal
    return require_name(mapping, name)


cdef inline bint is_undecoded_at(WireDict mapping, object name, Py_ssize_t position) noexcept:
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
cdef inline object read_value(WireDict mapping, Py_ssize_t ordinal, Value* value):
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


cdef inline bint copy_storage(WireDict mapping, dict copied, bint decoded_only) except -1:
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
