# The parts of a serialised Reference, the key of an EntityProto.

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint64_t

from lazyentity.native.wire cimport Bytes, read_length, read_varint

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
