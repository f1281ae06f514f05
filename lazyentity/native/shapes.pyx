"""The native backend's scanner: the shape of an entity, and where to find its values and its key.

Entities of a kind mostly have the same names in the same order, and so do documents. So an entity
is first matched, byte for byte, against the shapes that it most likely has. If none matches, the
entity's entries are collected, and their shape is looked up or learned.

An entity in another encoding than the canonical one has no shape. :mod:`lazyentity.native.mapping` has
protobuf encode it again.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.dict cimport PyDictProxy_New
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from lazyentity.native.tags cimport ENTITY_KEY, ENTITY_PROPERTIES, ENTRY_NAME, ENTRY_VALUE
from lazyentity.native.wire cimport Bytes, differ, find_field, hash_bytes, read_length, read_tag, skip_field

from sys import intern

from lazyentity.codec.cache import MAX_BYTES, BoundedCache, learned_bytes
from lazyentity.codec.undecoded import undecoded_template

# So many names are interned. Some versions of CPython never free an interned string.
cdef Py_ssize_t left_to_intern = 4096


# Names lead to no other object. The collector would clear the attributes one by one.
@cython.no_gc
cdef class Shape:
    """The names of an entity's properties, with the bytes that introduce each on the wire.

    Of entities that arrive in the canonical encoding. Only a learned shape has a template, names and
    headers.
    """

    # Without __init__: called from Python, it could change a shape that entities have.

    def __cinit__(self):
        self.header_sizes = NULL
        self.count = 0
        self.headers = b""
        self.names = ()
        self._ordinals = {}

    def __dealloc__(self):
        PyMem_Free(self.header_sizes)

    # Read-only, because all entities of this shape share them.

    @property
    def ordinals(self):
        return PyDictProxy_New(self._ordinals)

    @property
    def template(self):
        return None if self._template is None else PyDictProxy_New(self._template)

    cdef int _learn(self, bytes signature, Scan* scan) except -1:
        # Keeps the headers, by which the values of the next entities of this shape are found.
        cdef Py_ssize_t index
        cdef uint32_t* sizes = _allocate(self.count)
        global left_to_intern
        if self.count <= left_to_intern:
            left_to_intern -= self.count
            # Names in source code are interned: a dict finds them by identity then.
            self._ordinals = {intern(name): ordinal for name, ordinal in self._ordinals.items()}
        for index in range(self.count):
            sizes[index] = scan.entries[index].header_size
        self.header_sizes = sizes
        # The last entry of a repeated name counts: positions tell nothing then.
        self.names = tuple(self._ordinals) if len(self._ordinals) == self.count else ()
        self.headers = signature
        self._template = undecoded_template(self._ordinals)
        return 0

    cdef int keep_stock_template(self, dict template) except -1:
        if self.stock_template is None:
            self.stock_template = template
        return 0


cdef uint32_t* _allocate(Py_ssize_t count) except NULL:
    cdef uint32_t* offsets = <uint32_t*>PyMem_Malloc(max(1, count) * sizeof(uint32_t))
    if offsets == NULL:
        raise MemoryError
    return offsets


cdef int take_offsets(Scan* scan) except -1:
    # Puts the offsets of the entries into an array, as matching does.
    cdef Py_ssize_t index
    scan.offsets = _allocate(scan.count)
    for index in range(scan.count):
        scan.offsets[index] = scan.entries[index].value
    return 0


cdef Shape _named(Scan* scan):
    # Makes the shape of an entity, for itself alone.
    cdef Shape shape = Shape.__new__(Shape)
    cdef Bytes at
    cdef Bytes end
    cdef Bytes name_end
    cdef Py_ssize_t index
    cdef dict ordinals = {}
    for index in range(scan.count):
        at = scan.entries[index].header + 1
        end = scan.entries[index].header + scan.entries[index].header_size
        if not read_length(&at, end, &name_end):
            raise AssertionError("the scanner has read this header")
        ordinals[PyUnicode_DecodeUTF8(<const char*>at, name_end - at, NULL)] = index
    shape._ordinals = ordinals
    shape.names = ()
    shape.count = scan.count
    return shape


cdef Shape _no_names():
    cdef Scan scan
    cdef Shape shape
    memset(&scan, 0, sizeof(Scan))
    shape = _named(&scan)
    shape._learn(b"", &scan)
    return shape


EMPTY = _no_names()


cdef enum:
    WAYS = 4  # of each set

# The learned shapes that an entity most likely has: in each set, the last one that was scanned comes first.
# References, or NULL. The global interpreter lock guards them, and free-threaded Python a critical section
# of an object. List operations would end that section, so this is an array.
cdef PyObject* LIKELY[ALL_SETS][WAYS]


def _forget_likely():
    # So that likely shapes are always kept ones, and take no extra memory.
    cdef int slot
    cdef int way
    for slot in range(ALL_SETS):
        for way in range(WAYS):
            _shift(slot, NULL)


SHAPES = BoundedCache(MAX_BYTES, _forget_likely)
cdef object known_shape = SHAPES.get


cdef bytes _signature(Scan* scan):
    # Joins the headers.
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t index
    cdef char* at
    for index in range(scan.count):
        size += scan.entries[index].header_size
    joined = PyBytes_FromStringAndSize(NULL, size)
    at = PyBytes_AS_STRING(joined)
    for index in range(scan.count):
        memcpy(at, scan.entries[index].header, scan.entries[index].header_size)
        at += scan.entries[index].header_size
    return joined


cdef Shape new_shape(bytes signature, Scan* scan):
    # Keeps the shape if another entity like that came before. None, if a name is not UTF-8.
    cdef Shape shape
    try:
        shape = _named(scan)
    except UnicodeDecodeError:
        return None
    if SHAPES.comes_again(signature):
        shape._learn(signature, scan)
        SHAPES.keep(signature, shape, learned_bytes(signature, shape._template))
    return shape


cdef Shape shape_of(Scan* scan):
    # The shape of an entity that was scanned.
    cdef bytes signature = _signature(scan)
    cdef Shape shape = known_shape(signature)
    return new_shape(signature, scan) if shape is None else shape


cdef Shape likely_shape(uint32_t slot, Match match, Bytes base, Bytes at, Bytes end, Scan* scan):
    # Finds the shape of an entity among the likely ones; None, if none of them matches.
    cdef PyObject* found
    cdef Shape shape = None
    cdef int way
    for way in range(WAYS):
        with cython.critical_section(EMPTY):
            found = LIKELY[slot][way]
            if found != NULL:
                shape = <Shape>found
        if found == NULL:
            return None
        scan.offsets = _allocate(shape.count)
        if match(shape, base, at, end, scan):
            return shape
        PyMem_Free(scan.offsets)
        scan.has_key = 0
    return None


cdef void becomes_likely(uint32_t slot, Shape shape):
    Py_INCREF(shape)
    _shift(slot, <PyObject*>shape)


cdef void _shift(uint32_t slot, PyObject* first):
    # Puts a reference, or NULL, before the others of a set.
    cdef PyObject* moved = first
    cdef int way
    with cython.critical_section(EMPTY):
        for way in range(WAYS):
            LIKELY[slot][way], moved = moved, LIKELY[slot][way]
    # Outside of the critical section, because this may free a shape.
    Py_XDECREF(moved)


cdef inline int _next_entry(
    Bytes* cursor, Bytes end, Bytes base, Entry* entry
) noexcept nogil:
    # Reads one canonical entry; the cursor stands behind its tag.
    cdef Bytes entry_end
    cdef Bytes span_end
    if not read_length(cursor, end, &entry_end):
        return 0
    entry.header = cursor[0]
    if cursor[0] >= entry_end or cursor[0][0] != ENTRY_NAME:
        return 0
    cursor[0] += 1
    if not read_length(cursor, entry_end, &span_end):
        return 0
    cursor[0] = span_end
    if cursor[0] >= entry_end or cursor[0][0] != ENTRY_VALUE:
        return 0
    cursor[0] += 1
    entry.header_size = <uint32_t>(cursor[0] - entry.header)
    entry.value = <uint32_t>(cursor[0] - base)
    if not read_length(cursor, entry_end, &span_end):
        return 0
    if span_end != entry_end:
        return 0
    cursor[0] = entry_end
    return 1


cdef inline int _next_other(Bytes* cursor, Bytes end, Scan* scan) noexcept nogil:
    # Reads one field of an entity that is not an entry in the canonical encoding.
    cdef uint64_t tag
    cdef Bytes span_end
    if cursor[0][0] == ENTITY_KEY:
        cursor[0] += 1
        if scan.has_key or not read_length(cursor, end, &span_end):
            return 0
        scan.has_key = 1
        cursor[0] = span_end
        return 1
    if not read_tag(cursor, end, &tag):
        return 0
    # A tag in a longer form than needed. With another wire type the field is an unknown one.
    if tag == ENTITY_KEY or tag == scan.tag:
        return 0
    return skip_field(cursor, end, tag)


cdef bint _match(Shape shape, Bytes base, Bytes at, Bytes end, Scan* scan) noexcept:
    # Scans an entity or a document that is expected to have this shape, and finds the offsets of its values.
    cdef Bytes header = <Bytes>PyBytes_AS_STRING(shape.headers)
    cdef Bytes entry_end
    cdef Bytes span_end
    cdef Py_ssize_t index = 0
    cdef uint32_t size
    cdef uint8_t tag = scan.tag
    while at < end:
        if at[0] != tag:
            if not _next_other(&at, end, scan):
                return 0
            continue
        if index == shape.count:
            return 0
        at += 1
        if not read_length(&at, end, &entry_end):
            return 0
        size = shape.header_sizes[index]
        if size > entry_end - at or differ(at, header, size):
            return 0
        header += size
        at += size
        scan.offsets[index] = <uint32_t>(at - base)
        if not read_length(&at, entry_end, &span_end) or span_end != entry_end:
            return 0
        at = entry_end
        index += 1
    return index == shape.count


cdef int _scan(Bytes base, Bytes at, Bytes end, Scan* scan) except -1:
    # Scans an entity or a document of any shape.
    while at < end:
        if at[0] != scan.tag:
            if not _next_other(&at, end, scan):
                return 0
            continue
        at += 1
        if not _next_entry(&at, end, base, room_for_entry(scan)):
            return 0
        scan.count += 1
    return 1


cdef inline uint32_t _likely_slot(uint8_t tag, Bytes at, Bytes end) noexcept nogil:
    # Hashes the start of the first entry's header, wherever the key is.
    cdef Bytes entry_end
    cdef Bytes span_end
    if at < end and at[0] == ENTITY_KEY:
        at += 1
        if not read_length(&at, end, &span_end):
            return 0
        at = span_end
    if at >= end or at[0] != tag:
        return 0
    at += 1
    if not read_length(&at, end, &entry_end) or entry_end - at < 2:
        return 0
    at += 1
    if not read_length(&at, entry_end, &span_end):
        return 0
    return hash_bytes(at, span_end - at) % SETS


cdef Shape index_map(bytes owner, Py_ssize_t start, Py_ssize_t end, uint8_t tag, Offsets* offsets):
    # Finds the parts of an entity or a document, in a span of the owner's bytes. Its map of values has this
    # tag. None, if it is not in the canonical encoding; the offsets are then as they were.
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(owner)
    cdef Scan scan
    cdef Shape shape
    cdef uint32_t slot
    if end > <Py_ssize_t>0xFFFFFFFF:
        return None
    memset(&scan, 0, sizeof(Scan))
    scan.tag = tag
    slot = _likely_slot(tag, base + start, base + end)
    shape = likely_shape(slot, _match, base, base + start, base + end, &scan)
    if shape is None:
        try:
            if not _scan(base, base + start, base + end, &scan):
                return None
            shape = shape_of(&scan)
            # An entry that another one of the same name overrides has to be valid, too: protobuf checks.
            if shape is None or len(shape._ordinals) != shape.count:
                return None
            take_offsets(&scan)
        finally:
            PyMem_Free(scan.entries)
        if shape._template is not None:
            becomes_likely(slot, shape)
    offsets.values = scan.offsets
    offsets.start = <uint32_t>start
    offsets.end = <uint32_t>end
    return shape


cdef Shape index_entity(bytes owner, Py_ssize_t start, Py_ssize_t end, Offsets* offsets):
    return index_map(owner, start, end, ENTITY_PROPERTIES, offsets)


cdef void free_offsets(Offsets* offsets) noexcept:
    PyMem_Free(offsets.values)
    offsets.values = NULL


cdef bint find_key(Bytes at, Bytes end, Bytes* key, Bytes* key_end) noexcept nogil:
    # Finds the key in an entity that was indexed; answers 0 if there is none.
    return find_field(at, end, ENTITY_KEY, key, key_end)
