# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=True
"""The native backend's encoder of entities.

One recursion writes an entity, with all that is in it, in protobuf's wire format. Where a message is
asked for, upb parses that, which takes less time than setting properties one by one.

Values of the types that the client itself returns are written here, and so are lists, dicts and entities.
The pure backend's encoder serialises any other value, which is spliced in; its errors reach the caller.
The pure encoder also writes the whole entity if lists, dicts and entities are nested too deep for this
one, which is found out before a value is encoded; and, from the beginning, if upb refuses the result,
because of bytes that were to be written as they came. The pure encoder never calls this one. So no value
is encoded more than twice, however deep it is.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Check, PyDict_Copy, PyDict_Size
from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from lazyentity.native.buffer cimport Buffer, put_number, put_serialised
from lazyentity.native.compact cimport (
    begin_short,
    finish_short,
    put_double,
    put_short,
    put_text,
)
from lazyentity.native.entities cimport is_naive_or_in_utc, microseconds_of_fields
from lazyentity.native.tags cimport (
    ARRAY_VALUES,
    ENTITY_KEY,
    ENTITY_PROPERTIES,
    ENTRY_NAME,
    ENTRY_VALUE,
    TIMESTAMP_NANOS,
    TIMESTAMP_SECONDS,
    VALUE_ARRAY,
    VALUE_BLOB,
    VALUE_BOOLEAN,
    VALUE_DOUBLE,
    VALUE_ENTITY,
    VALUE_EXCLUDE,
    VALUE_INTEGER,
    VALUE_NULL,
    VALUE_STRING,
    VALUE_TIMESTAMP,
)
from lazyentity.native.walks cimport DEEP, ODD, QUIET, SHALLOW, Survey, are_names, is_quiet
from lazyentity.native.walks cimport next_property, survey, survey_value
from lazyentity.native.wellformed cimport is_entity
from lazyentity.native.wire cimport Bytes, MAX_DEPTH, OUTERMOST, TO_ENTITY, TO_ITEM, TO_VALUE

include "requests.pyx"

from google.cloud.datastore.entity import Entity
from google.protobuf.message import DecodeError

from lazyentity.codec import messages
from lazyentity.codec.encodable import OF_DICT as _OF_DICT
from lazyentity.pure import writing as encoder

cdef extern from "Python.h":
    const char* utf8_of "PyUnicode_AsUTF8AndSize"(object text, Py_ssize_t* size) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1


cdef object ITEMS = dict.items
# Held as objects: Cython would turn a check against a named type into one of the object's memory.
cdef object CONTAINERS = (list, dict)
cdef object DICT = dict
cdef object LIST = list
cdef tuple OF_DICT = _OF_DICT

cdef bint put_name(Buffer* buffer, object name) except -1:
    cdef Py_ssize_t size
    cdef const char* encoded = utf8_of(name, &size)
    return put_short(buffer, ENTRY_NAME, encoded, size)


cdef bint put_timestamp(Buffer* buffer, object timestamp) except -1:
    cdef int64_t microseconds = microseconds_of_fields(timestamp)
    cdef int64_t seconds = microseconds // 1_000_000
    cdef Py_ssize_t start = begin_short(buffer, VALUE_TIMESTAMP)
    microseconds -= seconds * 1_000_000
    if microseconds < 0:
        # The division rounds towards zero.
        seconds -= 1
        microseconds += 1_000_000
    if seconds:
        put_number(buffer, TIMESTAMP_SECONDS, <uint64_t>seconds)
    # The client writes no more than microseconds.
    if microseconds:
        put_number(buffer, TIMESTAMP_NANOS, microseconds * 1000)
    return finish_short(buffer, start)


cdef bint put_list(
    Buffer* buffer, object items, bint excluded, int depth, object encodable_of
) except -1:
    # As the client, takes one item after the other: a list may change meanwhile. Writes nothing if an
    # iterator gives none.
    cdef Py_ssize_t before = buffer.size
    cdef Py_ssize_t array = begin_short(buffer, VALUE_ARRAY)
    cdef Py_ssize_t start = 0
    for item in items:
        start = begin_short(buffer, ARRAY_VALUES)
        if not put_value(buffer, item, 0, depth + TO_ITEM, encodable_of):
            return 0
        if excluded:
            put_number(buffer, VALUE_EXCLUDE, 1)
        finish_short(buffer, start)
    if start == 0 and type(items) is not list:
        buffer.size = before
        return 1
    return finish_short(buffer, array)


cdef bint put_entity_value(
    Buffer* buffer, tuple encodable, int depth, object encodable_of
) except -1:
    cdef Py_ssize_t entity = begin_short(buffer, VALUE_ENTITY)
    return put_entity(buffer, encodable, depth + TO_ENTITY, encodable_of) and finish_short(buffer, entity)


cdef bint put_dict(Buffer* buffer, dict properties, int depth, object encodable_of) except -1:
    # The client makes an entity of a dict: a copy, which nobody else can change.
    cdef Py_ssize_t entity = begin_short(buffer, VALUE_ENTITY)
    cdef Survey found = QUIET
    cdef bint was_quiet = buffer.is_quiet
    if not was_quiet:
        found = survey(properties, 0)
        if found == QUIET:
            buffer.is_quiet = 1
        else:
            properties = PyDict_Copy(properties)
    if found == ODD:
        put_items(buffer, properties.items(), OF_DICT, encodable_of)
    elif not put_properties(buffer, properties, OF_DICT, depth + TO_ENTITY, encodable_of):
        return 0
    buffer.is_quiet = was_quiet
    return finish_short(buffer, entity)


cdef bint put_value(
    Buffer* buffer, object value, bint excluded, int depth, object encodable_of
) except -1:
    # Writes the fields of a Value. The flag is for the elements of a list. Answers 0 if the pure backend
    # must write the whole entity.
    cdef long long number
    cdef int overflow = 0
    kind = type(value)
    if kind is str:
        if put_text(buffer, VALUE_STRING, value):
            return 1
    elif kind is int:
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow:
            return put_number(buffer, VALUE_INTEGER, <uint64_t>number)
    elif kind is float:
        return put_double(buffer, VALUE_DOUBLE, value)
    elif kind is bool:
        return put_number(buffer, VALUE_BOOLEAN, 1 if value is True else 0)
    elif value is None:
        return put_number(buffer, VALUE_NULL, 0)
    elif kind is bytes:
        return put_short(buffer, VALUE_BLOB, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    elif is_naive_or_in_utc(value):
        return put_timestamp(buffer, value)
    elif kind is dict or kind is list:
        if depth > MAX_DEPTH:
            return 0
        if kind is dict:
            return put_dict(buffer, value, depth, encodable_of)
        return put_list(buffer, value, excluded, depth, encodable_of)
    buffer.runs += 1
    if isinstance(value, CONTAINERS):
        if depth > MAX_DEPTH:
            return 0
        if isinstance(value, Entity):
            return put_entity_value(buffer, contents_of(value, encodable_of), depth, encodable_of)
        if isinstance(value, DICT):
            return put_dict(buffer, dict(value), depth, encodable_of)
        items = [] if len(value) == 0 else value
        return put_list(buffer, items, excluded, depth, encodable_of)
    return put_serialised(buffer, encoder.serialised_value(value))


cdef tuple contents_of(object entity, object encodable_of):
    # As encodable_of(), which takes longer for an entity of the client's own class.
    if type(entity) is Entity and Entity.items is ITEMS:
        return None, (), False, entity.key, entity, entity, -1, (), None
    return encodable_of(entity)


cdef bint put_entity(Buffer* buffer, tuple encodable, int depth, object encodable_of) except -1:
    # Writes the fields of an Entity at a depth.
    cdef Survey found = ODD
    source, deleted, keeps_key, key, properties, owner, _, _, _ = encodable
    serialised = known_key(key)
    if PyDict_Check(properties):
        found = survey(properties, depth == OUTERMOST)
    if found == DEEP:
        return 0
    if found == ODD:
        return put_slowly(buffer, encodable, encodable_of)
    if source is not None:
        if depth > OUTERMOST:
            buffer.is_flat = 0
        put_serialised(buffer, source._untouched(properties, deleted, keeps_key))
    if key is not None:
        if serialised is None:
            serialised = encoder.serialised_key(key)
            # Its class may be the caller's.
            found = survey(properties, 0)
        put_short(buffer, ENTITY_KEY, PyBytes_AS_STRING(serialised), PyBytes_GET_SIZE(serialised))
    if found == QUIET:
        buffer.is_quiet = 1
    elif PyDict_Check(owner):
        # Of a lazy entity, properties is a copy: a stock one is its own dict.
        properties = owner
    if not put_properties(buffer, properties, encodable, depth, encodable_of):
        return 0
    buffer.is_quiet = 0
    return 1


cdef int put_slowly(Buffer* buffer, tuple encodable, object encodable_of) except -1:
    # Has the pure backend write an entity of which nothing was written yet.
    message = messages.Entity()
    buffer.runs += 1
    if not encoder.write_entity(message, encodable, encodable_of):
        buffer.is_flat = 0
    return put_serialised(buffer, message.SerializeToString())


cdef int put_items(
    Buffer* buffer, object items, tuple encodable, object encodable_of
) except -1:
    # Has the pure backend write properties.
    message = messages.Entity()
    buffer.runs += 1
    if not encoder.write_properties(message, items, encodable, encodable_of):
        buffer.is_flat = 0
    return put_serialised(buffer, message.SerializeToString())


cdef int put_flags(
    Buffer* buffer, Py_ssize_t start, object name, object value, bint is_list, tuple encodable
) except -1:
    # Has the pure backend put the flag and the meaning of a property into its value.
    message = messages.Value.FromString(
        PyBytes_FromStringAndSize(<const char*>buffer.data + start, buffer.size - start)
    )
    for item in message.array_value.values if is_list else ():
        item.ClearField("exclude_from_indexes")
    encoder.write_flags(message, encodable, name, value, is_list)
    buffer.size = start
    return put_serialised(buffer, message.SerializeToString())


cdef bint put_properties(
    Buffer* buffer, object properties, tuple encodable, int depth, object encodable_of
) except -1:
    # Properties can be any subclass of dict; a lazy entity's storage has undecoded ones, too.
    cdef Py_ssize_t position = 0
    cdef Py_ssize_t used = PyDict_Size(properties)
    cdef Py_ssize_t left
    cdef Py_ssize_t runs = buffer.runs
    cdef PyObject* name_at
    cdef PyObject* value_at
    cdef Py_ssize_t entry
    cdef Py_ssize_t start
    cdef bint is_excluded
    cdef bint has_meanings
    cdef bint has_excluded
    cdef bint is_known
    cdef bint is_storage
    is_storage = has_meanings = has_excluded = 0
    is_known = 1
    owner = excluded = meanings = copied = None
    if encodable is not OF_DICT:
        _, _, _, _, copied, owner, size, excluded, meanings = encodable
        if <Py_ssize_t>size < 0 and used:
            try:
                excluded = owner.exclude_from_indexes
                meanings = owner._meanings
            except AttributeError:
                # The client raises it after the first value.
                excluded = None
        elif <Py_ssize_t>size >= 0 and owner is properties:
            is_storage = 1
            used = size
        is_known = type(meanings) is dict and are_names(excluded)
        has_meanings = is_known and bool(meanings)
        has_excluded = is_known and bool(excluded)
    left = used
    # Not properties.items(), which entities override.
    while next_property(properties, used, &left, &position, &name_at, &value_at):
        name = <object>name_at
        value = <object>value_at
        if is_storage and not (type(name) is str and name in copied):
            if name in owner._shape.ordinals:
                if name not in encodable[1]:
                    # It was written as it came.
                    continue
                encoder.recall_flag(encodable, name)
                has_excluded = is_known and bool(excluded)
        if not is_known or type(name) is not str or (has_meanings and name in meanings):
            # The pure encoder then asks these objects, as the client does.
            current = None, (), False, None, {}, owner, encodable[6], excluded, meanings
            put_items(buffer, ((name, value),), current, encodable_of)
            is_excluded = 0
            entry = start = 0
        else:
            is_excluded = has_excluded and name in excluded
            entry = begin_short(buffer, ENTITY_PROPERTIES)
            put_name(buffer, name)
            start = begin_short(buffer, ENTRY_VALUE)
            if not put_value(buffer, value, is_excluded, depth + TO_VALUE, encodable_of):
                return 0
        if buffer.runs != runs and owner is not None:
            # Anything may have changed. The client asks for flag and meaning after the value.
            runs = buffer.runs
            buffer.is_quiet = 0
            excluded, meanings = encoder.flags_of(encodable)
            is_known = type(meanings) is dict and are_names(excluded)
            has_meanings = is_known and bool(meanings)
            has_excluded = is_known and bool(excluded)
            if entry and (
                not is_known
                or (has_meanings and name in meanings)
                or is_excluded != (has_excluded and name in excluded)
            ):
                put_flags(buffer, start, name, value, isinstance(value, LIST), encodable)
                is_excluded = 0
        if entry:
            if is_excluded and not isinstance(value, LIST):
                put_number(buffer, VALUE_EXCLUDE, 1)
            finish_short(buffer, start)
            finish_short(buffer, entry)
    return 1


cdef object serialised(tuple encodable, object encodable_of, bint* is_flat):
    # None, if the pure backend must write the whole entity.
    cdef Buffer buffer
    buffer.data = NULL
    buffer.size = buffer.capacity = buffer.runs = buffer.is_quiet = 0
    buffer.is_flat = 1
    try:
        if not put_entity(&buffer, encodable, OUTERMOST, encodable_of):
            return None
        is_flat[0] = buffer.is_flat
        return PyBytes_FromStringAndSize(<const char*>buffer.data, buffer.size)
    finally:
        PyMem_Free(buffer.data)


def serialise_entity(entity, encodable_of):
    """As :meth:`lazyentity._backend.protocols.Backend.serialise_entity`."""
    cdef bint is_flat = 0
    cdef tuple encodable
    if type(entity) is Entity and Entity.items is ITEMS:
        made = serialised_quietly(entity, encodable_of)
        if made is not None:
            return made, True, True
    encodable = contents_of(entity, encodable_of)
    made = serialised(encodable, encodable_of, &is_flat)
    if made is None:
        return encoder.serialise_contents(encodable, encodable_of)
    return made, bool(is_flat), encodable[0] is None


def is_well_formed(bytes serialised not None):
    """As :meth:`lazyentity._backend.protocols.Backend.is_well_formed`."""
    cdef Bytes at = <Bytes>PyBytes_AS_STRING(serialised)
    return bool(is_entity(at, at + PyBytes_GET_SIZE(serialised)))


def write_entity(target, encodable, encodable_of):
    """As :meth:`lazyentity._backend.protocols.Backend.write_entity`."""
    cdef bint is_flat = 0
    made = serialised(encodable, encodable_of, &is_flat)
    if made is not None:
        try:
            target.MergeFromString(made)
        except DecodeError:
            # Bytes that were to be written as they came are malformed, or too deep by now.
            target.Clear()
        else:
            return bool(is_flat)
    return encoder.write_entity(target, encodable, encodable_of)
