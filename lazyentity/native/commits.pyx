"""The native backend's encoder of commits: the tags and lengths around the entities and keys."""

from cpython.bytes cimport PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t

from lazyentity.native.tags cimport (
    COMMIT_MUTATIONS,
    MUTATION_DELETE,
    MUTATION_INSERT,
    MUTATION_UPSERT,
)

cdef dict OPERATIONS = {
    "insert": MUTATION_INSERT,
    "upsert": MUTATION_UPSERT,
    "delete": MUTATION_DELETE,
}

cdef enum:
    HEADERS = 24  # two tags of a byte and two lengths


cdef inline uint8_t* put_length(uint8_t* at, uint64_t size) noexcept nogil:
    while size > 0x7F:
        at[0] = <uint8_t>(size & 0x7F) | 0x80
        at += 1
        size >>= 7
    at[0] = <uint8_t>size
    return at + 1


def mutation_parts(mutations):
    """As :meth:`lazyentity._backend.abc.Backend.mutation_parts`."""
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
            inner_end = put_length(inner + 1, PyBytes_GET_SIZE(message))
            size = (inner_end - inner) + PyBytes_GET_SIZE(message)
        outer[0] = COMMIT_MUTATIONS
        outer_end = put_length(outer + 1, size)
        memcpy(outer_end, inner, inner_end - inner)
        outer_end += inner_end - inner
        parts.append(PyBytes_FromStringAndSize(<const char*>outer, outer_end - outer))
        parts.append(message)
    return parts
