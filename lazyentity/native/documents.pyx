# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, auto_pickle=False
"""The native backend's responses with one document: the parts beside the fields are found on demand.

Theory of operation. ``DocumentBytes.from_bytes()`` checks all that later calls rely on: one
document with a name, and times that can be decoded. :class:`DocumentFields` decodes the fields.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp

from lazyentity.native.entities cimport UNDECODED, decode_text, decode_timestamp, is_timestamp
from lazyentity.native.wire cimport (
    VARINT,
    Bytes,
    find_field,
    read_length,
    read_varint,
    skip_any_field,
)

include "documentreader.pyx"
include "documentfields.pyx"
include "documentencoder.pyx"

cdef enum:
    RESPONSE_DOCUMENT = 0x0A
    DOCUMENT_NAME = 0x0A
    DOCUMENT_CREATE_TIME = 0x1A
    DOCUMENT_UPDATE_TIME = 0x22

cdef enum:
    SLASH = 0x2F


cdef bint _is_name(Bytes at, Bytes end) noexcept nogil:
    # Whether a name is one as servers send it: projects/{}/databases/{}/documents/{}/{}, and further pairs.
    cdef Bytes start = at
    cdef int slashes = 0
    if end - at < 9 or memcmp(at, "projects/", 9) != 0 or (end - 1)[0] == SLASH:
        return 0
    while at < end:
        if at[0] == SLASH:
            if at > start and (at - 1)[0] == SLASH:
                return 0
            slashes += 1
        at += 1
    return slashes >= 6 and slashes % 2 == 0


cdef bint _is_document(Bytes at, Bytes end) except -1:
    # Whether there are a name, times that can be decoded, and nothing twice but the fields.
    cdef Bytes field_end
    cdef uint8_t tag
    cdef int seen = 0
    while at < end:
        tag = at[0]
        if tag >= 0x80:
            # No field of a document needs two bytes, but protobuf takes tags in longer encodings.
            return 0
        if tag & 7 != 2 or tag > DOCUMENT_UPDATE_TIME:
            if not skip_any_field(&at, end):
                return 0
            continue
        at += 1
        if not read_length(&at, end, &field_end):
            return 0
        if tag != DOCUMENT_FIELDS:
            if seen & 1 << (tag >> 3):
                return 0
            seen |= 1 << (tag >> 3)
            if tag == DOCUMENT_NAME:
                if not _is_name(at, field_end) or decode_text(at, field_end) is UNDECODED:
                    return 0
            elif (
                tag != DOCUMENT_CREATE_TIME and tag != DOCUMENT_UPDATE_TIME
            ) or not is_timestamp(at, field_end):
                return 0
        at = field_end
    return seen & 1 << (DOCUMENT_NAME >> 3) != 0


cdef inline object _time(Bytes at, Bytes end, uint8_t tag):
    cdef Bytes value
    cdef Bytes value_end
    return decode_timestamp(value, value_end) if find_field(at, end, tag, &value, &value_end) else None


cdef class DocumentBytes:
    """A serialised response with one document, and perhaps the time of the read and numbers.

    Attributes:
        raw: the response.
    """

    cdef readonly bytes raw
    cdef int _read_time_tag
    cdef Py_ssize_t _start
    cdef Py_ssize_t _end

    def __cinit__(self):
        self.raw = b""

    @classmethod
    def from_bytes(cls, bytes raw not None, int read_time_number):
        """Split a response.

        Args:
            raw: the serialised response. Its field 1 is the document.
            read_time_number: the number of the field with the time.

        Returns:
            An instance; None, if there is anything else but numbers in the response, if the document
            has no usual name, or if the parts beside the fields are malformed.
        """
        cdef DocumentBytes self = DocumentBytes.__new__(cls)
        self.raw = raw
        self._read_time_tag = read_time_number << 3 | 2
        return self if self._split() else None

    cdef bint _split(self) except -1:
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes at = base
        cdef Bytes end = base + PyBytes_GET_SIZE(self.raw)
        cdef Bytes field_end
        cdef uint64_t ignored
        cdef uint8_t tag
        cdef bint has_time = 0
        self._end = -1
        while at < end:
            tag = at[0]
            at += 1
            if tag < 0x80 and tag & 7 == VARINT and tag >> 3 != 0:
                # A number: whether the query is done, or how many results it skipped.
                if not read_varint(&at, end, &ignored):
                    return 0
                continue
            if tag == RESPONSE_DOCUMENT and self._end < 0:
                if not read_length(&at, end, &field_end) or not _is_document(at, field_end):
                    return 0
                self._start = at - base
                self._end = field_end - base
            elif tag == self._read_time_tag and not has_time:
                if not read_length(&at, end, &field_end) or not is_timestamp(at, field_end):
                    return 0
                has_time = 1
            else:
                return 0
            at = field_end
        return self._end >= 0

    @property
    def name(self):
        """The name of the document."""
        cdef Bytes at
        cdef Bytes end
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        if not find_field(base + self._start, base + self._end, DOCUMENT_NAME, &at, &end):
            return ""
        return decode_text(at, end)

    def times(self):
        """Return when the document was read, created and changed.

        Each is a new ``DatetimeWithNanoseconds`` of proto-plus, or None.
        """
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes at = base + self._start
        cdef Bytes end = base + self._end
        return (
            _time(base, base + PyBytes_GET_SIZE(self.raw), <uint8_t>self._read_time_tag),
            _time(at, end, DOCUMENT_CREATE_TIME),
            _time(at, end, DOCUMENT_UPDATE_TIME),
        )

    def fields(self, DocumentCodec codec not None, client):
        """Return the fields of the document, which are not decoded."""
        cdef DocumentFields fields = DocumentFields.__new__(DocumentFields)
        fields._codec, fields._client = codec, client
        fields._raw, fields._start, fields._end = self.raw, self._start, self._end
        return fields
