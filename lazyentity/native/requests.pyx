"""The native backend's encoder of requests: keys, the mutations around entities and keys in bytes, and
the stock entities that it takes one walk to serialise. :mod:`encoder` includes it.

Fields are written in protobuf's wire format, as upb writes them. Having upb parse that takes less time
than setting them one by one.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memmove

from lazyentity.native.buffer cimport write_varint
from lazyentity.native.tags cimport (
    COMMIT_MUTATIONS,
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
)

from google.cloud.datastore.key import Key as _Key

from lazyentity.codec import messages
from lazyentity.codec.keys import DIRECT as _DIRECT

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef object Key = _Key
cdef bint DIRECT = _DIRECT
cdef object parse_key = messages.Key.FromString

cdef enum:
    CAPACITY = 2048  # of a key as Datastore takes it; two bytes can tell any length in it
    HEADER = 3  # tag, and length in one or two bytes
    ID = 11  # tag and varint


cdef struct Writer:
    uint8_t* at
    uint8_t* end
    bint is_complete  # whether the last element of the path has an id or a name


cdef inline uint8_t* begin(Writer* writer, uint8_t tag) noexcept nogil:
    # Leaves room for a length; NULL, if there is none left.
    if writer.end - writer.at < HEADER:
        return NULL
    writer.at[0] = tag
    writer.at += HEADER
    return writer.at


cdef inline void finish(Writer* writer, uint8_t* start) noexcept nogil:
    cdef Py_ssize_t size = writer.at - start
    if size < 0x80:
        memmove(start - 1, start, size)
        (start - 2)[0] = <uint8_t>size
        writer.at -= 1
        return
    (start - 2)[0] = <uint8_t>(size & 0x7F) | 0x80
    (start - 1)[0] = <uint8_t>(size >> 7)


cdef bint put_key_text(Writer* writer, uint8_t tag, object text) except -1:
    # Answers 0 if the text is no plain str, or if there is no room.
    cdef Py_ssize_t size
    cdef const char* encoded
    cdef uint8_t* start
    if type(text) is not str:
        return 0
    encoded = PyUnicode_AsUTF8AndSize(text, &size)
    if size == 0 and tag != PATH_NAME:
        # The default value of a field outside of a oneof.
        return 1
    start = begin(writer, tag)
    if start == NULL or writer.end - start < size:
        return 0
    memcpy(start, encoded, size)
    writer.at += size
    finish(writer, start)
    return 1


cdef bint put_id(Writer* writer, object number) except -1:
    # Answers 0 if the number is no plain int, or if there is no room.
    cdef int64_t bits
    if type(number) is not int or writer.end - writer.at < ID:
        return 0
    bits = number
    writer.at[0] = PATH_ID
    writer.at = write_varint(writer.at + 1, <uint64_t>bits)
    return 1


cdef bint put_element(Writer* writer, dict element) except -1:
    cdef uint8_t* start = begin(writer, KEY_PATH)
    if start == NULL:
        return 0
    writer.is_complete = 0
    for name, value in element.items():
        if writer.is_complete:
            # upb would write these in another order, or only one of an id and a name.
            return 0
        if name == "kind":
            if not put_key_text(writer, PATH_KIND, value):
                return 0
            continue
        if name == "id":
            if not put_id(writer, value):
                return 0
        elif name != "name" or not put_key_text(writer, PATH_NAME, value):
            return 0
        writer.is_complete = 1
    finish(writer, start)
    return 1


cdef bint put_key(Writer* writer, dict fields) except -1:
    cdef uint8_t* start = begin(writer, KEY_PARTITION_ID)
    if "to_protobuf" in fields:
        # A replacement for this key alone.
        return 0
    if not put_key_text(writer, PARTITION_PROJECT, fields["_project"]):
        return 0
    database = fields["_database"]
    if database and not put_key_text(writer, PARTITION_DATABASE, database):
        return 0
    namespace = fields["_namespace"]
    if namespace and not put_key_text(writer, PARTITION_NAMESPACE, namespace):
        return 0
    finish(writer, start)
    for element in <list?>fields["_path"]:
        if not put_element(writer, <dict?>element):
            return 0
    return 1


cdef bytes serialised_key(key, project=None, database=None):
    # None, if the client has to make the message; given a project and a database, for a partial key
    # and for one of another project or database, too.
    cdef uint8_t buffer[CAPACITY]
    cdef Writer writer
    cdef dict fields
    writer.is_complete = 0
    writer.at = buffer
    writer.end = buffer + CAPACITY
    try:
        fields = <dict?>key.__dict__
        if not put_key(&writer, fields):
            return None
        if project is not None and not (
            writer.is_complete
            and fields["_project"] == project
            and (fields["_database"] or "") == database
        ):
            return None
    except (KeyError, OverflowError, TypeError, UnicodeEncodeError):
        # Not a key as the constructor makes it, or a key without a message.
        return None
    return PyBytes_FromStringAndSize(<const char*>buffer, writer.at - buffer)


cdef object known_key(object key):
    # None, if the method of the key has to make the message.
    return serialised_key(key) if DIRECT and type(key) is Key else None


def key_bytes(key):
    """As :meth:`lazyentity._backend.protocols.Backend.key_bytes`."""
    return serialised_key(key)


def complete_key_bytes(key, project not None, database not None):
    """As :meth:`lazyentity._backend.protocols.Backend.complete_key_bytes`."""
    return serialised_key(key, project, database) if type(key) is Key else None


def key_message(key):
    """As :meth:`lazyentity._backend.protocols.Backend.key_message`."""
    cdef bytes message = serialised_key(key)
    return None if message is None else parse_key(message)


cdef bytes serialised_quietly(object entity, object encodable_of):
    # As serialised(), of an entity of the client's own class, in one walk. None, if Python code may run.
    cdef Buffer buffer
    key = entity.key
    serialised = known_key(key)
    if serialised is None and key is not None:
        return None
    try:
        excluded, meanings = entity.exclude_from_indexes, entity._meanings
    except AttributeError:
        return None
    if not are_names(excluded) or type(meanings) is not dict or meanings:
        return None
    buffer.data = NULL
    buffer.size = buffer.capacity = buffer.runs = 0
    buffer.is_flat = buffer.is_quiet = 1
    try:
        if key is not None:
            put_short(&buffer, ENTITY_KEY, PyBytes_AS_STRING(serialised), PyBytes_GET_SIZE(serialised))
        if put_quietly(&buffer, entity, excluded or None, encodable_of):
            return PyBytes_FromStringAndSize(<const char*>buffer.data, buffer.size)
        return None
    finally:
        PyMem_Free(buffer.data)


cdef bint put_quietly(Buffer* buffer, object properties, object excluded, object encodable_of) except -1:
    # As put_properties(). Answers 0 at the first name or value that may run Python code.
    cdef Py_ssize_t position = 0
    cdef Py_ssize_t used = PyDict_Size(properties)
    cdef Py_ssize_t left = used
    cdef PyObject* name_at
    cdef PyObject* value_at
    cdef Py_ssize_t entry
    cdef Py_ssize_t start
    cdef bint is_excluded
    while next_property(properties, used, &left, &position, &name_at, &value_at):
        name = <object>name_at
        value = <object>value_at
        if type(name) is not str:
            return 0
        is_excluded = excluded is not None and name in excluded
        if not is_quiet(value_at) and survey_value(value_at, SHALLOW, 1) != QUIET:
            return 0
        entry = begin_short(buffer, ENTITY_PROPERTIES)
        put_name(buffer, name)
        start = begin_short(buffer, ENTRY_VALUE)
        if not put_value(buffer, value, is_excluded, OUTERMOST + TO_VALUE, encodable_of) or buffer.runs:
            return 0
        if is_excluded and type(value) is not list:
            put_number(buffer, VALUE_EXCLUDE, 1)
        finish_short(buffer, start)
        finish_short(buffer, entry)
    return 1


cdef dict OPERATIONS = {
    "insert": MUTATION_INSERT,
    "upsert": MUTATION_UPSERT,
    "delete": MUTATION_DELETE,
}

cdef enum:
    HEADERS = 24  # two tags of a byte and two lengths


def mutation_parts(mutations):
    """As :meth:`lazyentity._backend.protocols.Backend.mutation_parts`."""
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
