# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=True
"""The native backend: the mapping compiled, with a scanner in place of protobuf's parser.

Theory of operation. One pass over the bytes of an entity finds where each property's value starts, and
checks the names against those of an entity seen before (its shape), entry header by entry header:
:mod:`lazyentity._native_shapes`. Nothing else is looked at; a value is decoded from its span when it is
read: :mod:`lazyentity._native_values`.

The scanner knows the encoding that servers send: entries with a name and then a value, values with one
member of the oneof. Whatever is legal but otherwise encoded, and whatever is malformed, is left to
protobuf's own parser: an entity is encoded anew and indexed again, a value converted by the functions
of the pure backend. So there is one judge of what unusual bytes mean, and one source of errors.

The interface is that of :class:`lazyentity.codec.pure.LazyMapping`; the states of a property are told
there. Between looking whether a property is still undecoded and putting its value in place no Python
code runs, so under the GIL two threads cannot give one property two objects.
"""

from cython cimport final
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next, PyDict_SetItem, PyDict_Update
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport uint32_t

from lazyentity._instance_dict cimport drop_instance_dict, instance_dict
from lazyentity._native_shapes cimport EMPTY, Offsets, Shape, free_offsets, index_entity, values_of
from lazyentity._native_values cimport (
    VALUE_ARRAY,
    VALUE_BLOB,
    VALUE_BOOLEAN,
    VALUE_DOUBLE,
    VALUE_ENTITY,
    VALUE_INTEGER,
    VALUE_NULL,
    VALUE_STRING,
    Value,
    decode_key,
    decode_leaf,
    next_item,
    parse_value,
)
from lazyentity._new cimport new
from lazyentity._wire cimport Bytes, read_length

from google.protobuf.message import DecodeError

from lazyentity.codec import entries, errors
from lazyentity.codec.canonical import canonical_encodings
from lazyentity.codec.values import meaning_of
from lazyentity.undecoded import UNDECODED as _UNDECODED

cdef extern from *:
    """
    static PyObject *lazyentity_dict_iter(PyObject *mapping) {
        return PyDict_Type.tp_iter(mapping);
    }
    """
    object dict_iter "lazyentity_dict_iter"(object mapping)

cdef object UNDECODED = _UNDECODED

# Cython would call the slots of the subclass for these.
cdef object dict_getitem = dict.__getitem__
cdef object dict_reversed = dict.__reversed__
cdef object dict_items = dict.items
cdef object dict_values = dict.values
cdef object dict_copy = dict.copy
cdef object dict_pop = dict.pop
cdef object dict_popitem = dict.popitem
cdef object dict_setdefault = dict.setdefault
cdef object dict_eq = dict.__eq__
cdef object dict_or = dict.__or__
cdef object dict_ror = dict.__ror__
cdef object dict_repr = dict.__repr__

cdef enum:
    MAX_ARRAY_DEPTH = 40  # two messages a level: well inside protobuf's limit of 100


cdef class LazyMapping(dict):
    """A dict of an entity's properties that decodes each when it is first read.

    See :class:`lazyentity.codec.pure.LazyMapping` for the states of a property and what decodes what.
    """

    _INSTANCE_DICT_ON_DEMAND = True

    # The smaller an entity is, the more of them the processor's caches hold.
    cdef bytes _owner
    cdef readonly Shape _layout
    cdef Offsets _offsets
    cdef dict _meanings_read
    cdef object _key_read
    # Here, for CPython before 3.13 gives those that are declared in Python another object each.
    cdef dict __dict__

    def __cinit__(self):
        drop_instance_dict(self)
        self._owner = b""
        self._layout = EMPTY

    def __dealloc__(self):
        # Cython empties it, which somebody else may have.
        drop_instance_dict(self)
        free_offsets(&self._offsets)

    @classmethod
    def _from_raw(cls, bytes raw not None):
        return mapping_from_raw(cls, raw)

    @final
    cdef int _index(self, bytes owner, Py_ssize_t start, Py_ssize_t end) except -1:
        # Takes up a span of the owner's bytes; answers 0 if it is not in the canonical encoding.
        cdef Shape shape = index_entity(owner, start, end, &self._offsets)
        if shape is None:
            return 0
        self._owner = owner
        self._layout = shape
        # CPython clones the key table as a whole when an empty dict is updated from a dict that never
        # had a key deleted.
        PyDict_Update(self, shape.template)
        return 1

    @property
    def _raw(self):
        if self._offsets.start == 0 and self._offsets.end == PyBytes_GET_SIZE(self._owner):
            return self._owner
        return self._owner[self._offsets.start : self._offsets.end]

    def _instance_dict(self):
        """As :meth:`lazyentity.codec.pure.LazyMapping._instance_dict`."""
        return instance_dict(self)

    # Decoding

    @final
    cdef object _read(self, Py_ssize_t ordinal, Value* value):
        # Decodes a property from its span; UNDECODED, if that is for protobuf to do.
        if not self._parse(ordinal, value):
            return UNDECODED
        return self._convert(value, 0)

    @final
    cdef object _convert(self, Value* value, int array_depth):
        if value.member == VALUE_ARRAY:
            return self._array(value, array_depth)
        if value.member == VALUE_ENTITY:
            return self._embedded(value)
        return decode_leaf(value)

    @final
    cdef object _embedded(self, Value* entity):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        cdef LazyMapping embedded = new(LazyMapping, <type>type(self), ())
        if embedded._index(self._owner, entity.at - base, entity.end - base):
            return embedded
        return UNDECODED

    @final
    cdef object _array(self, Value* array, int array_depth):
        cdef Bytes at = array.at
        cdef Value value
        cdef list items = []
        cdef int excluded = -1
        # The client looks at flags and meanings of the elements of a property's array, no deeper.
        if array_depth == MAX_ARRAY_DEPTH or (array_depth == 0 and array.meaning != 0):
            return UNDECODED
        while at < array.end:
            if not next_item(&at, array.end, &value):
                return UNDECODED
            if array_depth == 0:
                if value.meaning != 0 or (excluded != -1 and excluded != value.excluded):
                    return UNDECODED
                excluded = value.excluded
            item = self._convert(&value, array_depth + 1)
            if item is UNDECODED:
                return UNDECODED
            items.append(item)
        return items

    @final
    cdef object _message(self, object name, Py_ssize_t ordinal):
        # Has protobuf parse the value of a property.
        return entries.value_message(self._serialised_value(ordinal), name, self._raw)

    @final
    cdef tuple _read_slowly(self, object name, Py_ssize_t ordinal):
        message = self._message(name, ordinal)
        value = entries.convert(self._raw, name, message, type(self)._from_raw)
        return value, meaning_of(message)

    @final
    cdef object _keep(self, object name, object value, object meaning):
        # Puts a value in place unless somebody was faster; returns what is in place.
        # What allocates may run the garbage collector, and other threads, and so comes first.
        cdef object read = (meaning, value) if meaning else None
        cdef dict meanings_read = {} if meaning else None
        cdef PyObject* current
        if self._meanings_read is None:
            self._meanings_read = meanings_read
        current = PyDict_GetItemWithError(self, name)
        if current == NULL:
            # Somebody was faster to delete it.
            return value
        if current != <PyObject*>UNDECODED:
            return <object>current
        if read is not None:
            # The client writes a meaning back only with the very object it was read with.
            self._meanings_read[name] = read
        PyDict_SetItem(self, name, value)
        return value

    @final
    cdef Py_ssize_t _ordinal(self, object name) except -1:
        # Properties are mostly read in order, and by the very strings that the entity gave out.
        cdef PyObject* names = <PyObject*>self._layout.names
        cdef Py_ssize_t ordinal = self._offsets.next_ordinal
        if (
            ordinal >= PyTuple_GET_SIZE(<object>names)
            or <PyObject*>PyTuple_GET_ITEM(<object>names, ordinal) != <PyObject*>name
        ):
            ordinal = self._layout.ordinals[name]
        self._offsets.next_ordinal = <uint32_t>ordinal + 1
        return ordinal

    @final
    cdef object _decode(self, object name):
        # Decodes an undecoded property and keeps the value.
        cdef Value parsed
        cdef Py_ssize_t ordinal = self._ordinal(name)
        value = self._read(ordinal, &parsed)
        if value is UNDECODED:
            value, meaning = self._read_slowly(name, ordinal)
            return self._keep(name, value, meaning)
        if is_plain(&parsed) and type(name) is str:
            # Nothing was allocated that may run the garbage collector: nobody was faster.
            PyDict_SetItem(self, name, value)
            return value
        return self._keep(name, value, parsed.meaning)

    cpdef object _decode_all(self):
        """As :meth:`lazyentity.codec.pure.LazyMapping._decode_all`."""
        # In two passes: an entity that cannot be read as a whole stays as it was.
        cdef Value parsed
        cdef dict ordinals = self._layout.ordinals
        cdef list values = None
        cdef dict meanings = None
        cdef Py_ssize_t ordinal
        cdef Py_ssize_t index = 0
        for name, ordinal in ordinals.items():
            if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
                value = self._read(ordinal, &parsed)
                if value is UNDECODED:
                    value, meaning = self._read_slowly(name, ordinal)
                else:
                    meaning = parsed.meaning
                if meaning:
                    if meanings is None:
                        meanings = {}
                    meanings[name] = meaning
                if values is None:
                    values = [UNDECODED] * len(ordinals)
                values[index] = value
            index += 1
        if values is None:
            return
        index = 0
        for name in ordinals:
            value = values[index]
            index += 1
            if value is UNDECODED:
                continue
            if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
                if meanings is not None and name in meanings:
                    self._keep(name, value, meanings[name])
                else:
                    PyDict_SetItem(self, name, value)

    cpdef list _undecoded(self):
        """As :meth:`lazyentity.codec.pure.LazyMapping._undecoded`."""
        return [name for name, value in dict_items(self) if value is UNDECODED]

    def _decoded(self):
        """As :meth:`lazyentity.codec.pure.LazyMapping._decoded`."""
        cdef dict decoded = {}
        cdef Py_ssize_t position = 0
        cdef PyObject* name
        cdef PyObject* value
        while PyDict_Next(self, &position, &name, &value):
            if value != <PyObject*>UNDECODED:
                decoded[<object>name] = <object>value
        return decoded

    def _serialised_values(self, names):
        """As :meth:`lazyentity.codec.pure.LazyMapping._serialised_values`."""
        return [self._serialised_value(self._layout.ordinals[name]) for name in names]

    @final
    cdef bytes _serialised_value(self, Py_ssize_t ordinal):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        cdef Bytes at = base + values_of(&self._offsets)[ordinal]
        cdef Bytes end = at
        read_length(&at, base + self._offsets.end, &end)
        return PyBytes_FromStringAndSize(<const char*>at, end - at)

    # What the wire says of the entity, whatever the caller changed since.

    def _wire_members(self, names):
        """As :meth:`lazyentity.codec.pure.LazyMapping._wire_members`."""
        cdef Value value
        cdef Py_ssize_t ordinal
        cdef dict ordinals = self._layout.ordinals
        numbers = bytearray()
        for name in names:
            ordinal = ordinals[name]
            if self._parse(ordinal, &value):
                numbers.append(value.member >> 3)
            else:
                numbers.append(entries.member_number(self._serialised_value(ordinal)))
        return bytes(numbers)

    def _wire_key(self):
        """As :meth:`lazyentity.codec.pure.LazyMapping._wire_key`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        if self._key_read is None and self._offsets.key_start != 0:
            key = decode_key(base + self._offsets.key_start, base + self._offsets.key_end)
            if key is UNDECODED:
                key = entries.key(self._raw)
            if self._key_read is None:
                self._key_read = key
        return self._key_read

    def _wire_excluded(self, names=None):
        """As :meth:`lazyentity.codec.pure.LazyMapping._wire_excluded`."""
        cdef int excluded
        cdef dict ordinals = self._layout.ordinals
        cdef Py_ssize_t ordinal
        found = set()
        for name in ordinals if names is None else names:
            ordinal = ordinals[name]
            excluded = self._is_excluded(ordinal)
            if excluded < 0:
                excluded = entries.excluded(self._raw, name, self._message(name, ordinal))
            if excluded:
                found.add(name)
        return found

    @final
    cdef int _is_excluded(self, Py_ssize_t ordinal):
        # Answers -1 if that is for protobuf to say.
        cdef Bytes at
        cdef Value value
        cdef Value item
        cdef int excluded = -1
        if not self._parse(ordinal, &value):
            return -1
        if value.member != VALUE_ARRAY or value.at == value.end:
            return value.excluded
        at = value.at
        while at < value.end:
            if not next_item(&at, value.end, &item):
                return -1
            if excluded != -1 and excluded != item.excluded:
                return -1
            excluded = item.excluded
        return excluded

    def _wire_meanings(self, names=None):
        """As :meth:`lazyentity.codec.pure.LazyMapping._wire_meanings`."""
        cdef dict ordinals = self._layout.ordinals
        cdef Py_ssize_t ordinal
        meanings = {}
        for name in ordinals if names is None else names:
            ordinal = ordinals[name]
            if self._has_no_meaning(ordinal):
                continue
            if meaning_of(self._message(name, ordinal)) is None:
                continue
            if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
                self._decode(name)
            if self._meanings_read is not None and name in self._meanings_read:
                meanings[name] = self._meanings_read[name]
            else:
                # Replaced or deleted before it was ever read: nobody holds the value that it had.
                value, meaning = self._read_slowly(name, ordinal)
                meanings[name] = (meaning, value)
        return meanings

    @final
    cdef bint _has_no_meaning(self, Py_ssize_t ordinal):
        # Answers 0 as well if that is for protobuf to say.
        cdef Bytes at
        cdef Value value
        cdef Value item
        if not self._parse(ordinal, &value) or value.meaning != 0:
            return 0
        if value.member == VALUE_ARRAY:
            at = value.at
            while at < value.end:
                if not next_item(&at, value.end, &item) or item.meaning != 0:
                    return 0
        return 1

    @final
    cdef bint _parse(self, Py_ssize_t ordinal, Value* value):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        cdef Bytes at
        cdef Bytes end
        at = base + values_of(&self._offsets)[ordinal]
        return read_length(&at, base + self._offsets.end, &end) and parse_value(at, end, value)

    # dict, without the sentinel ever coming out.

    def __getitem__(self, name):
        cdef PyObject* stored = PyDict_GetItemWithError(self, name)
        if stored == <PyObject*>UNDECODED:
            return self._decode(name)
        if stored != NULL:
            return <object>stored
        return dict_getitem(self, name)

    def __iter__(self):
        # That this is overridden is what keeps CPython from reading the storage directly; see the pure
        # backend.
        return dict_iter(self)

    def get(self, name, default=None, /):
        cdef PyObject* stored = PyDict_GetItemWithError(self, name)
        if stored == NULL:
            return default
        if stored == <PyObject*>UNDECODED:
            return self._decode(name)
        return <object>stored

    def setdefault(self, name, default=None, /):
        value = dict_setdefault(self, name, default)
        return self._decode(name) if value is UNDECODED else value

    def pop(self, name, /, *default):
        if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
            self._decode(name)
        return dict_pop(self, name, *default)

    def popitem(self):
        for last in dict_reversed(self):
            if PyDict_GetItemWithError(self, last) == <PyObject*>UNDECODED:
                self._decode(last)
            break
        return dict_popitem(self)

    def items(self):
        self._decode_all()
        return dict_items(self)

    def values(self):
        self._decode_all()
        return dict_values(self)

    def copy(self):
        self._decode_all()
        return dict_copy(self)

    def __or__(self, other):
        self._decode_all()
        return dict_or(self, other)

    def __ror__(self, other):
        self._decode_all()
        return dict_ror(self, other)

    def __eq__(self, other):
        if isinstance(other, dict):
            self._decode_all()
            if isinstance(other, LazyMapping):
                (<LazyMapping>other)._decode_all()
        return dict_eq(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __repr__(self):
        self._decode_all()
        return dict_repr(self)


cdef inline bint is_plain(Value* value) noexcept nogil:
    # Whether the value is of a type that the garbage collector takes no interest in, without a meaning.
    return value.meaning == 0 and (
        value.member == VALUE_STRING
        or value.member == VALUE_INTEGER
        or value.member == VALUE_BOOLEAN
        or value.member == VALUE_DOUBLE
        or value.member == VALUE_BLOB
        or value.member == VALUE_NULL
    )


cdef object mapping_from_raw(type mapping_type, bytes raw):
    # As LazyMapping._from_raw(), for whoever has no need to call it by its name.
    cdef LazyMapping mapping = new(LazyMapping, mapping_type, ())
    if mapping._index(raw, 0, PyBytes_GET_SIZE(raw)):
        return mapping
    try:
        for encoded in canonical_encodings(raw):
            if mapping._index(encoded, 0, PyBytes_GET_SIZE(encoded)):
                return mapping
    except DecodeError as error:
        raise errors.undecodable_entity(error, raw) from error
    raise AssertionError("protobuf encodes a map as entries of one name and one value")
