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

A survey of the dicts of the caller finds out if encoding them runs Python code, which may change them.
Keys, and the mutations around entities and keys in bytes, are written here, too.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Check, PyDict_Copy, PyDict_Next, PyDict_Size
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from lazyentity.native.buffer cimport Buffer, put_number, put_serialised, write_varint
from lazyentity.native.compact cimport begin_short, finish_short, put_double, put_short, put_text
from lazyentity.native.entities cimport is_naive_or_in_utc, microseconds_of_fields
from lazyentity.native.tags cimport (
    ARRAY_VALUES,
    COMMIT_MUTATIONS,
    ENTITY_KEY,
    ENTITY_PROPERTIES,
    ENTRY_NAME,
    ENTRY_VALUE,
    KEY_PARTITION_ID,
    KEY_PATH,
    MUTATION_DELETE,
    MUTATION_INSERT,
    MUTATION_UPSERT,
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
    VALUE_INTEGER,
    VALUE_NULL,
    VALUE_STRING,
    VALUE_TIMESTAMP,
)
from lazyentity.native.wellformed cimport is_entity
from lazyentity.native.wire cimport MAX_DEPTH, OUTERMOST, TO_ENTITY, TO_ITEM, TO_VALUE, Bytes

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key as _Key
from google.protobuf.message import DecodeError

from lazyentity.codec import messages
from lazyentity.codec.encodable import OF_DICT as _OF_DICT, EncodableEntity
from lazyentity.codec.keys import DIRECT as _DIRECT
from lazyentity.pure import writing as encoder

cdef extern from "Python.h":
    const char* utf8_of "PyUnicode_AsUTF8AndSize"(object text, Py_ssize_t* size) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1
    Py_ssize_t PyDict_GET_SIZE(object mapping)

cdef extern from *:
    """
    static int lazyentity_is_quiet(PyObject *value) {
        PyTypeObject *type = Py_TYPE(value);
        return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type
            || type == &PyBool_Type || value == Py_None || type == &PyBytes_Type;
    }

    static int lazyentity_is_like_text(PyObject *name) {
        return Py_TYPE(name)->tp_richcompare == PyUnicode_Type.tp_richcompare;
    }

    #define lazyentity_is_exact(value) (PyList_CheckExact(value) || PyDict_CheckExact(value))
    """
    # Whether nothing but an error of the value runs Python code while it is encoded.
    bint is_quiet "lazyentity_is_quiet"(PyObject *value) noexcept
    # Whether a comparison with a str runs no Python code.
    bint is_like_text "lazyentity_is_like_text"(object name) noexcept
    bint is_list "PyList_Check"(PyObject *value) noexcept
    bint is_dict "PyDict_Check"(PyObject *value) noexcept
    bint is_exact "lazyentity_is_exact"(PyObject *value) noexcept


cdef enum:
    SHALLOW = 30  # levels of lists and dicts in a value, which MAX_DEPTH allows in any case


cdef enum Survey:
    ODD  # a name is not exactly a str: only of these no two are the same to protobuf
    NOISY  # encoding a value may run Python code, and so other threads, which may change the dict
    QUIET  # it runs none, unless for an error
    DEEP  # a value may be too deep


cdef inline bint are_names(object excluded) except -1:
    # Whether these tell without Python code if a str is among them. Before version 3.12, CPython may
    # collect garbage where an iterator is made, and a finalizer may change them: no loop makes one there.
    kind = type(excluded)
    if kind is set:
        for name in <set>excluded:
            if not is_like_text(name):
                return 0
        return 1
    if kind is frozenset:
        for name in <frozenset>excluded:
            if not is_like_text(name):
                return 0
        return 1
    if kind is list or kind is tuple:
        for name in excluded:
            if not is_like_text(name):
                return 0
        return 1
    return 0


cdef inline Survey survey(object properties, bint for_depth) noexcept:
    # Tells what encoding the values of a dict may do. No Python code runs in here. Without for_depth,
    # DEEP is not among the answers.
    cdef Py_ssize_t position = 0
    cdef PyObject* name
    cdef PyObject* value
    cdef Survey found = QUIET
    cdef Survey inside
    while PyDict_Next(properties, &position, &name, &value):
        if type(<object>name) is not str:
            return ODD
        if not is_quiet(value) and (for_depth or found == QUIET):
            inside = survey_value(value, SHALLOW, for_depth)
            if inside == DEEP and for_depth:
                return DEEP
            if inside != QUIET:
                found = NOISY
    return found


cdef inline Survey survey_value(PyObject* value, int levels, bint for_depth) noexcept:
    cdef Py_ssize_t position = 0
    cdef PyObject* name
    cdef PyObject* held
    cdef Survey found = NOISY
    cdef Survey inside
    if is_list(value):
        if is_exact(value):
            found = QUIET
        if levels == 0:
            return DEEP
        for position in range(PyList_GET_SIZE(<object>value)):
            held = <PyObject*>PyList_GET_ITEM(<object>value, position)
            if not is_quiet(held):
                inside = survey_value(held, levels - 1, for_depth)
                if inside == DEEP or not (inside == QUIET or for_depth):
                    return inside
                if inside != QUIET:
                    found = NOISY
    elif is_dict(value):
        if is_exact(value):
            found = QUIET
        if levels == 0:
            return DEEP
        while PyDict_Next(<object>value, &position, &name, &held):
            if type(<object>name) is not str:
                found = NOISY
            if not is_quiet(held):
                inside = survey_value(held, levels - 1, for_depth)
                if inside == DEEP or not (inside == QUIET or for_depth):
                    return inside
                if inside != QUIET:
                    found = NOISY
    elif is_naive_or_in_utc(<object>value):
        return QUIET
    return found


cdef inline bint next_property(
    object properties,
    Py_ssize_t used,
    Py_ssize_t* left,
    Py_ssize_t* position,
    PyObject** name,
    PyObject** value,
) except -1:
    # As the iterator of dict.items(), which tells its caller if the dict changed.
    if PyDict_GET_SIZE(properties) != used:
        raise RuntimeError("dictionary changed size during iteration")
    if not PyDict_Next(properties, position, name, value):
        return 0
    if left[0] == 0:
        raise RuntimeError("dictionary keys changed during iteration")
    left[0] -= 1
    return 1


cdef object Key = _Key
cdef bint DIRECT = _DIRECT
cdef object parse_key = messages.Key.FromString


cdef bint put_key_text(Buffer* buffer, uint8_t tag, object text) except -1:
    # Of a field outside of a oneof, whose default is not written. Answers 0 if the text is no plain str,
    # or has no UTF-8.
    if type(text) is not str:
        return 0
    return put_text(buffer, tag, text) if text else 1


cdef bint put_element(Buffer* buffer, dict element, bint* is_complete) except -1:
    # Tells whether the element has an id or a name.
    cdef Py_ssize_t start = begin_short(buffer, KEY_PATH)
    is_complete[0] = 0
    for name, value in element.items():
        if is_complete[0]:
            # upb would write these in another order, or only one of an id and a name.
            return 0
        if name == "kind":
            if not put_key_text(buffer, PATH_KIND, value):
                return 0
            continue
        if name == "id" and type(value) is int:
            put_number(buffer, PATH_ID, <uint64_t><int64_t>value)
        elif name != "name" or type(value) is not str or not put_text(buffer, PATH_NAME, value):
            return 0
        is_complete[0] = 1
    return finish_short(buffer, start)


cdef bint put_key(Buffer* buffer, dict fields, bint* is_complete) except -1:
    cdef Py_ssize_t start = begin_short(buffer, KEY_PARTITION_ID)
    if "to_protobuf" in fields:
        # A replacement for this key alone.
        return 0
    if not (
        put_key_text(buffer, PARTITION_PROJECT, fields["_project"])
        and put_key_text(buffer, PARTITION_DATABASE, fields["_database"] or "")
        and put_key_text(buffer, PARTITION_NAMESPACE, fields["_namespace"] or "")
    ):
        return 0
    finish_short(buffer, start)
    for element in <list?>fields["_path"]:
        if not put_element(buffer, <dict?>element, is_complete):
            return 0
    return 1


cdef bytes serialised_key(key, project=None, database=None):
    # None, if the client has to make the message; given a project and a database, for a partial key
    # and for one of another project or database, too.
    cdef Buffer buffer
    cdef dict fields
    cdef bint is_complete = 0
    memset(&buffer, 0, sizeof(Buffer))
    try:
        fields = <dict?>key.__dict__
        if not put_key(&buffer, fields, &is_complete):
            return None
        if project is not None and not (
            is_complete and fields["_project"] == project and (fields["_database"] or "") == database
        ):
            return None
        return PyBytes_FromStringAndSize(<const char*>buffer.data, buffer.size)
    except (KeyError, OverflowError, TypeError):
        # Not a key as the constructor makes it, or a key without a message.
        return None
    finally:
        PyMem_Free(buffer.data)


cdef object known_key(object key):
    # None, if the method of the key has to make the message.
    return serialised_key(key) if DIRECT and type(key) is Key else None


def key_bytes(key):
    return serialised_key(key)


def complete_key_bytes(key, project not None, database not None):
    return serialised_key(key, project, database) if type(key) is Key else None


def key_message(key):
    cdef bytes message = serialised_key(key)
    return None if message is None else parse_key(message)


cdef dict OPERATIONS = {
    "insert": MUTATION_INSERT,
    "upsert": MUTATION_UPSERT,
    "delete": MUTATION_DELETE,
}

cdef enum:
    HEADERS = 24  # two tags of a byte and two lengths


def mutation_parts(mutations):
    cdef uint8_t inner[HEADERS]
    cdef uint8_t outer[HEADERS]
    cdef uint8_t* inner_end
    cdef uint8_t* outer_end
    cdef Py_ssize_t size
    cdef list parts = []
    cdef bytes message
    for fields in mutations:
        inner_end = inner
        size = 0
        message = b""
        for operation, serialised in fields.items():
            message = <bytes?>serialised
            inner[0] = <uint8_t>OPERATIONS[operation]
            inner_end = write_varint(inner + 1, PyBytes_GET_SIZE(message))
            size = (inner_end - inner) + PyBytes_GET_SIZE(message)
        outer[0] = COMMIT_MUTATIONS
        outer_end = write_varint(outer + 1, size)
        memcpy(outer_end, inner, inner_end - inner)
        outer_end += inner_end - inner
        parts.append(PyBytes_FromStringAndSize(<const char*>outer, outer_end - outer))
        parts.append(message)
    return parts


cdef object ITEMS = dict.items
# Held as objects: Cython would turn a check against a named type into one of the object's memory.
cdef object CONTAINERS = (list, dict)
cdef object DICT = dict
cdef object LIST = list
cdef tuple OF_DICT = <tuple>_OF_DICT
cdef object new_tuple = tuple.__new__

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
    elif kind is Entity and Entity.items is ITEMS and depth <= MAX_DEPTH:
        # Runs none of the caller's code; what may run within its values counts itself.
        return put_entity_value(buffer, contents_of(value, encodable_of), depth, encodable_of)
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
        return entity, entity, entity.key, None, (), False, -1, (), None
    return fields_of(encodable_of(entity))


cdef Py_ssize_t FIELDS = len(EncodableEntity._fields)


cdef tuple fields_of(object encodable):
    if not PyTuple_Check(encodable) or PyTuple_GET_SIZE(encodable) != FIELDS:
        raise TypeError(f"{encodable!r} is no EncodableEntity")
    # Cython takes a subclass of tuple for one only where it does not check.
    return <tuple>encodable


cdef object named(tuple encodable):
    # The class that the pure backend takes, whose making takes time.
    return encodable if type(encodable) is EncodableEntity else new_tuple(EncodableEntity, encodable)


cdef bint put_entity(Buffer* buffer, tuple encodable, int depth, object encodable_of) except -1:
    # Writes the fields of an Entity at a depth.
    cdef Survey found = ODD
    properties, owner, key, source, deleted, keeps_key, _, _, _ = encodable
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
            # Its class may be the caller's.
            buffer.runs += 1
            serialised = encoder.serialised_key(key)
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
    if not encoder.write_contents(message, named(encodable), encodable_of):
        buffer.is_flat = 0
    return put_serialised(buffer, message.SerializeToString())


cdef int put_items(
    Buffer* buffer, object items, tuple encodable, object encodable_of
) except -1:
    # Has the pure backend write properties.
    message = messages.Entity()
    buffer.runs += 1
    if not encoder.write_properties(message, items, named(encodable), encodable_of):
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
    encoder.write_flags(message, named(encodable), name, value, is_list)
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
    owner = excluded = meanings = copied = deleted = None
    size = -1
    if encodable is not OF_DICT:
        copied, owner, _, _, deleted, _, size, excluded, meanings = encodable
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
                if name not in deleted:
                    # It was written as it came.
                    continue
                encoder.recall_flag(named(encodable), name)
                has_excluded = is_known and bool(excluded)
        if not is_known or type(name) is not str or (has_meanings and name in meanings):
            # The pure encoder then asks these objects, as the client does.
            current = EncodableEntity({}, owner, size=size, excluded=excluded, meanings=meanings)
            put_items(buffer, ((name, value),), <tuple>current, encodable_of)
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
            excluded, meanings = encoder.flags_of(named(encodable))
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
    memset(&buffer, 0, sizeof(Buffer))
    buffer.is_flat = 1
    try:
        if not put_entity(&buffer, encodable, OUTERMOST, encodable_of):
            return None
        is_flat[0] = buffer.is_flat
        return PyBytes_FromStringAndSize(<const char*>buffer.data, buffer.size)
    finally:
        PyMem_Free(buffer.data)


def serialise_entity(entity, encodable_of):
    cdef bint is_flat = 0
    cdef tuple encodable
    encodable = contents_of(entity, encodable_of)
    source = encodable[3]
    made = serialised(encodable, encodable_of, &is_flat)
    if made is None:
        return encoder.serialise_contents(named(encodable), encodable_of)
    return made, bool(is_flat), source is None


def is_well_formed(bytes serialised not None):
    cdef Bytes at = <Bytes>PyBytes_AS_STRING(serialised)
    return bool(is_entity(at, at + PyBytes_GET_SIZE(serialised)))


def write_entity(target, entity, encodable_of):
    cdef bint is_flat = 0
    cdef tuple encodable = contents_of(entity, encodable_of)
    made = serialised(encodable, encodable_of, &is_flat)
    if made is not None:
        try:
            target.MergeFromString(made)
        except DecodeError:
            # Bytes that were to be written as they came are malformed, or too deep by now.
            target.Clear()
        else:
            return
    encoder.write_contents(target, named(encodable), encodable_of)
