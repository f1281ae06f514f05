# The decoder of documents: see documentreader.pyx.

from lazyentity.native.wire cimport Bytes

cdef enum:
    DOCUMENT_FIELDS = 0x12
    MAP_FIELDS = 0x0A


cdef class DocumentReader:
    cdef object _geo_point
    cdef object _reference
    cdef object _map
    cdef object _timestamp


cdef object decode_fields(DocumentReader reader, Bytes at, Bytes end, object client)
cdef object decode_path(DocumentReader reader, Bytes at, Bytes end, object client, object names)
