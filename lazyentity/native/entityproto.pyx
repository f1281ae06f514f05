# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, auto_pickle=False
"""The native backend's index of an ``EntityProto``.

An ``EntityProto`` repeats its property's name in each entry of a list. So an entity is matched against
the :class:`~lazyentity.native.shapes.Shape` that it most likely has, as in
:mod:`lazyentity.native.index`, but a shape has an ordinal for each entry, and a name may have several.

The scanner knows the encoding that protobuf writes: fields in the order of their numbers. Anything else
has no index; protobuf has to write it again.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Check, PyDict_GetItemWithError, PyDict_SetItem, PyDict_Update
from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from lazyentity.native.entries cimport match_entries, scan_entries, slot_of_first
from lazyentity.native.property_layout cimport LAYOUT_SIZE, write_layout
from lazyentity.native.property cimport (
    ENTITY_KEY,
    ENTITY_RAW_PROPERTY,
    PROPERTY_MEANING,
    find_name,
    read_plain,
)
from lazyentity.native.reference cimport read_path
from lazyentity.native.entities cimport (
    EMPTY,
    FEW,
    Scan,
    Shape,
    allocate_offsets,
    becomes_likely,
    likely_shape,
    shape_of,
)
from lazyentity.native.entities cimport UNDECODED
from lazyentity.native.wire cimport Bytes, find_field, read_length, read_varint




cdef class PropertyIndex:
    """As :class:`lazyentity._backend.protocols.PropertyIndex`."""

    takes = True

    cdef readonly bytes raw
    cdef readonly Shape shape
    cdef uint32_t* _entries  # the offsets of the lengths that precede the properties
    cdef signed char _is_grouped  # whether the entries of each name stand together; -1: unknown

    def __cinit__(self):
        self.raw = b""
        self.shape = EMPTY
        self._entries = NULL
        self._is_grouped = -1

    def __dealloc__(self):
        PyMem_Free(self._entries)

    @classmethod
    def of(cls, bytes raw not None):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.of`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(raw)
        cdef Bytes end = base + PyBytes_GET_SIZE(raw)
        cdef PropertyIndex made
        cdef Scan scan
        cdef Shape shape
        cdef uint32_t* entries
        cdef uint32_t slot
        cdef Py_ssize_t index
        if PyBytes_GET_SIZE(raw) > <Py_ssize_t>0xFFFFFFFF:
            return None
        made = PropertyIndex.__new__(PropertyIndex)
        memset(&scan, 0, sizeof(Scan))
        slot = slot_of_first(base, end)
        shape = likely_shape(slot, match_entries, base, base, end, &scan)
        if shape is not None and shape.count > FEW:
            made._entries = scan.offsets
        elif shape is not None:
            made._entries = allocate_offsets(shape.count)
            memcpy(made._entries, scan.few, shape.count * sizeof(uint32_t))
        else:
            try:
                if not scan_entries(base, base, end, &scan):
                    return None
                shape = shape_of(&scan)
                if shape is None:
                    return None
                entries = made._entries = allocate_offsets(shape.count)
                for index in range(shape.count):
                    entries[index] = scan.entries[index].value
            finally:
                PyMem_Free(scan.entries)
            if shape._template is not None:
                becomes_likely(slot, shape)
        made.raw = raw
        made.shape = shape
        return made

    @property
    def names(self):
        """As :attr:`lazyentity._backend.protocols.PropertyIndex.names`."""
        return tuple(self.shape._ordinals)

    def fill(self, storage not None):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.fill`."""
        if not PyDict_Check(storage):
            raise TypeError("fill() takes a dict")
        if self.shape._template is not None:
            # CPython clones the key table as a whole, if the dict is empty.
            PyDict_Update(storage, self.shape._template)
            return
        for name in self.shape._ordinals:
            PyDict_SetItem(storage, name, UNDECODED)

    def properties(self, str name not None):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.properties`."""
        cdef Bytes at
        cdef Bytes end
        found = []
        for ordinal in _ordinals_of(self, name):
            _span(self, ordinal, &at, &end)
            found.append(PyBytes_FromStringAndSize(<const char*>at, end - at))
        return found

    def value(self, str name not None, bint text):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.value`."""
        cdef list ordinals
        cdef list values = []
        cdef bint multiple = 0
        cdef Py_ssize_t only
        if len(self.shape._ordinals) == self.shape.count:
            only = _only_ordinal(self, name)
            value = UNDECODED if only < 0 else _plain(self, only, text, &multiple)
            return [value] if multiple and value is not UNDECODED else value
        ordinals = _ordinals_of(self, name)
        for ordinal in ordinals:
            value = _plain(self, ordinal, text, &multiple)
            if value is UNDECODED or not (multiple or len(ordinals) == 1):
                return UNDECODED
            if not multiple:
                return value
            values.append(value)
        return values if values else UNDECODED

    def contents(self, str name not None, uint64_t refused, bint text):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.contents`."""
        cdef Py_ssize_t ordinal = _only_ordinal(self, name)
        cdef bint multiple = 0
        return UNDECODED if ordinal < 0 else _contents(self, ordinal, refused, text, &multiple)

    def take(self, storage not None, stored, str name not None, refused, kind):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.take`."""
        cdef Py_ssize_t ordinal
        cdef bint multiple = 0
        if not PyDict_Check(storage):
            raise TypeError("take() takes a dict")
        ordinal = _only_ordinal(self, name)
        if ordinal < 0:
            return UNDECODED
        if refused is None:
            value = _plain(self, ordinal, kind is not bytes, &multiple)
        else:
            value = _contents(self, ordinal, refused, kind is not bytes, &multiple)
        if multiple or value is UNDECODED:
            return UNDECODED
        if kind is not None and value is not None and type(value) is not kind:
            return UNDECODED
        # No other thread runs in between.
        if PyDict_GetItemWithError(storage, stored) != <PyObject*>UNDECODED:
            return UNDECODED
        PyDict_SetItem(storage, stored, value)
        return value

    def raw_names(self):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.raw_names`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes at
        cdef Bytes end
        cdef Bytes name_end
        cdef Py_ssize_t index
        names = set()
        for index in range(self.shape.count):
            if base[self._entries[index] - 1] == ENTITY_RAW_PROPERTY:
                _name(self, index, &at, &name_end, &end)
                names.add(PyUnicode_DecodeUTF8(<const char*>at, name_end - at, NULL))
        return frozenset(names)

    def has_meaning(self, uint32_t number):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.has_meaning`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes end = base + PyBytes_GET_SIZE(self.raw)
        cdef Bytes at
        cdef uint64_t meaning
        cdef Py_ssize_t index
        for index in range(self.shape.count):
            at = base + self._entries[index]
            # Past the length.
            while at[0] >= 0x80:
                at += 1
            at += 1
            if at[0] == PROPERTY_MEANING:
                at += 1
                # Protobuf takes 32 bits of a longer number.
                if read_varint(&at, end, &meaning) and <uint32_t>meaning == number:
                    return True
        return False

    def fields(self, names):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.fields`."""
        cdef PyObject* ordinal
        cdef bint are_single = len(self.shape._ordinals) == self.shape.count
        cdef Bytes start = NULL  # of properties that follow each other
        cdef Bytes end = NULL
        cdef list found = []
        for name in names:
            if are_single and type(name) is str:
                ordinal = PyDict_GetItemWithError(self.shape._ordinals, name)
                if ordinal != NULL:
                    _add_field(self, <Py_ssize_t>(<object>ordinal), &start, &end, found)
                continue
            for each in _ordinals_of(self, name):
                _add_field(self, each, &start, &end, found)
        if start != NULL:
            found.append(PyBytes_FromStringAndSize(<const char*>start, end - start))
        return found[0] if len(found) == 1 else b"".join(found)

    def layouts(self):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.layouts`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes at
        cdef Bytes end
        cdef Py_ssize_t index
        cdef uint8_t* layout
        found = PyBytes_FromStringAndSize(NULL, self.shape.count * LAYOUT_SIZE)
        layout = <uint8_t*>PyBytes_AS_STRING(found)
        for index in range(self.shape.count):
            _span(self, index, &at, &end)
            write_layout(at, end, base[self._entries[index] - 1], layout + index * LAYOUT_SIZE)
        return found

    def entry_names(self):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.entry_names`."""
        cdef Bytes at
        cdef Bytes name_end
        cdef Bytes end
        cdef Py_ssize_t index
        names = []
        for index in range(self.shape.count):
            _name(self, index, &at, &name_end, &end)
            names.append(PyUnicode_DecodeUTF8(<const char*>at, name_end - at, NULL))
        return names

    def key(self):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.key`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes at
        cdef Bytes end
        if not find_field(base, base + PyBytes_GET_SIZE(self.raw), ENTITY_KEY, &at, &end):
            return b""
        return PyBytes_FromStringAndSize(<const char*>at, end - at)

    def path(self):
        """As :meth:`lazyentity._backend.protocols.PropertyIndex.path`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self.raw)
        cdef Bytes at
        cdef Bytes end
        if not find_field(base, base + PyBytes_GET_SIZE(self.raw), ENTITY_KEY, &at, &end):
            return None
        return read_path(at, end)


# Indexing an entity has read everything down to the names.

cdef inline void _span(PropertyIndex index, Py_ssize_t ordinal, Bytes* at, Bytes* end) noexcept:
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(index.raw)
    at[0] = end[0] = base + index._entries[ordinal]
    read_length(at, base + PyBytes_GET_SIZE(index.raw), end)


cdef inline int _add_field(
    PropertyIndex index, Py_ssize_t ordinal, Bytes* start, Bytes* end, list found
) except -1:
    # Appends a property with its tag to the span; a property elsewhere puts the span into the list first.
    cdef Bytes at
    cdef Bytes at_end
    cdef Bytes tag = <Bytes>PyBytes_AS_STRING(index.raw) + index._entries[ordinal] - 1
    _span(index, ordinal, &at, &at_end)
    if tag != end[0]:
        if start[0] != NULL:
            found.append(PyBytes_FromStringAndSize(<const char*>start[0], end[0] - start[0]))
        start[0] = tag
    end[0] = at_end
    return 0


cdef inline void _name(
    PropertyIndex index, Py_ssize_t ordinal, Bytes* at, Bytes* name_end, Bytes* end
) noexcept:
    # Finds the text of an entry's name.
    _span(index, ordinal, at, end)
    find_name(at, end[0])
    at[0] += 1
    name_end[0] = at[0]
    read_length(at, end[0], name_end)


cdef inline Py_ssize_t _only_ordinal(PropertyIndex index, str name) except -2:
    # The only entry of a name; -1: there is none, or there may be several.
    cdef PyObject* last = PyDict_GetItemWithError(index.shape._ordinals, name)
    if last == NULL:
        return -1
    if len(index.shape._ordinals) == index.shape.count:
        return <object>last
    ordinals = _ordinals_of(index, name)
    return ordinals[0] if len(ordinals) == 1 else -1


cdef list _ordinals_of(PropertyIndex index, str name):
    # The entries of a name, in wire order.
    cdef PyObject* last = PyDict_GetItemWithError(index.shape._ordinals, name)
    cdef Bytes at
    cdef Bytes name_end
    cdef Bytes end
    cdef Bytes text
    cdef bytes encoded
    cdef Py_ssize_t ordinal
    if last == NULL:
        return []
    if len(index.shape._ordinals) == index.shape.count:
        return [<object>last]
    if index._is_grouped < 0:
        index._is_grouped = _count_groups(index) == len(index.shape._ordinals)
    encoded = PyUnicode_AsUTF8String(name)
    text = <Bytes>PyBytes_AS_STRING(encoded)
    found = []
    # From the last entry back, so that the time to read a list depends on its own length alone.
    for ordinal in range(<Py_ssize_t>(<object>last), -1, -1):
        _name(index, ordinal, &at, &name_end, &end)
        if _are_equal(at, name_end, text, text + PyBytes_GET_SIZE(encoded)):
            found.append(ordinal)
        elif index._is_grouped:
            break
    found.reverse()
    return found


cdef inline bint _are_equal(Bytes one, Bytes one_end, Bytes other, Bytes other_end) noexcept nogil:
    return one_end - one == other_end - other and memcmp(one, other, one_end - one) == 0


cdef Py_ssize_t _count_groups(PropertyIndex index) noexcept:
    # The number of sequences of entries with the same name.
    cdef Bytes previous = NULL
    cdef Bytes previous_end = NULL
    cdef Bytes at
    cdef Bytes name_end
    cdef Bytes end
    cdef Py_ssize_t ordinal
    cdef Py_ssize_t groups = 0
    for ordinal in range(index.shape.count):
        _name(index, ordinal, &at, &name_end, &end)
        if ordinal == 0 or not _are_equal(at, name_end, previous, previous_end):
            groups += 1
        previous = at
        previous_end = name_end
    return groups


cdef object _plain(PropertyIndex index, Py_ssize_t ordinal, bint text, bint* multiple):
    # The value of a property, if it has a name, the flag and a plain value, and nothing else.
    cdef Bytes at
    cdef Bytes end
    _span(index, ordinal, &at, &end)
    return read_plain(at, end, text, multiple, UNDECODED)


cdef object _contents(
    PropertyIndex index, Py_ssize_t ordinal, uint64_t refused, bint text, bint* multiple
):
    # As _plain(), of a property that may have any meaning but the refused one.
    cdef Bytes at
    cdef Bytes end
    cdef uint64_t meaning = 0
    _span(index, ordinal, &at, &end)
    if at[0] == PROPERTY_MEANING:
        at += 1
        if not read_varint(&at, end, &meaning) or meaning == refused:
            return UNDECODED
    return read_plain(at, end, text, multiple, UNDECODED)
