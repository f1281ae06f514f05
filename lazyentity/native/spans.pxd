# The parts of a read response, found without parsing the entities.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint64_t

from lazyentity.native.tags cimport (
    ENTITY_KEY,
    ENTITY_PROPERTIES,
    RESULT_CREATE_TIME,
    RESULT_ENTITY,
    RESULT_UPDATE_TIME,
    TIMESTAMP_NANOS,
    TIMESTAMP_SECONDS,
)
from lazyentity.native.wellformed cimport are_numbers
from lazyentity.native.wire cimport Bytes, read_length, read_tag, skip_field


cdef struct ResultSpan:
    # Offsets in the response, of a result and of the entity in it.
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t entity_start
    Py_ssize_t entity_end


cdef inline bint skip_other(Bytes* cursor, Bytes end, uint64_t handled, uint64_t also_handled) noexcept nogil:
    # Skips a field other than those that are handled under these tags.
    cdef uint64_t tag
    if not read_tag(cursor, end, &tag) or tag >> 3 == handled >> 3 or tag >> 3 == also_handled >> 3:
        return 0
    return skip_field(cursor, end, tag)


cdef inline bint find_entity(Bytes base, Bytes at, Bytes end, ResultSpan* span) noexcept nogil:
    # Fills in the span of a result; answers 0, unless the result has at most one entity, and times that
    # protobuf takes.
    cdef Bytes entity_end
    cdef Bytes stop
    cdef uint64_t tag
    span.start = at - base
    span.end = end - base
    span.entity_start = -1
    while at < end:
        if at[0] == RESULT_ENTITY:
            at += 1
            if span.entity_start >= 0 or not read_length(&at, end, &entity_end):
                return 0
            span.entity_start = at - base
            span.entity_end = entity_end - base
            at = entity_end
        elif at[0] == RESULT_CREATE_TIME or at[0] == RESULT_UPDATE_TIME:
            at += 1
            if not read_length(&at, end, &stop) or not are_numbers(
                at, stop, TIMESTAMP_SECONDS, TIMESTAMP_NANOS, 0
            ):
                return 0
            at = stop
        elif (
            not read_tag(&at, end, &tag)
            # Tags of the above, in more bytes than they take.
            or tag >> 3 == RESULT_ENTITY >> 3
            or tag == RESULT_CREATE_TIME
            or tag == RESULT_UPDATE_TIME
            or not skip_field(&at, end, tag)
        ):
            return 0
    if span.entity_start < 0:
        # No entity is an empty entity.
        span.entity_start = span.entity_end = span.start
    return 1


cdef inline bint find_only_key(Bytes at, Bytes end, Bytes* key, Bytes* key_end) noexcept nogil:
    # Finds the key of an entity in the encoding that servers send; answers 0 in any other, and if
    # there is none.
    cdef Bytes span_end
    cdef uint8_t tag
    key[0] = NULL
    while at < end:
        tag = at[0]
        at += 1
        if not read_length(&at, end, &span_end):
            return 0
        if tag == ENTITY_KEY and key[0] == NULL:
            key[0] = at
            key_end[0] = span_end
        elif tag != ENTITY_PROPERTIES:
            return 0
        at = span_end
    return key[0] != NULL


cdef inline bytes only_key(bytes response, Py_ssize_t start, Py_ssize_t end):
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(response)
    cdef Bytes key
    cdef Bytes key_end
    if not find_only_key(base + start, base + end, &key, &key_end):
        return None
    return PyBytes_FromStringAndSize(<const char*>key, key_end - key)
