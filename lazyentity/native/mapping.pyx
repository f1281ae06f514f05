"""The native backend: the mapping compiled, with a scanner in place of protobuf's parser.

Theory of operation. One pass over the bytes of an entity finds where each property's value starts, and
checks the names against an earlier entity's names (its shape), entry header by entry header:
:mod:`lazyentity.native.shapes`. Nothing else is looked at; a value is decoded from its span when it is
read: :mod:`lazyentity.native.wiredict`, :mod:`lazyentity.native.values`.

The scanner knows the encoding that servers send: entries with a name and then a value, values with one
oneof case. Protobuf's own parser handles all other bytes, legal or malformed: it encodes an entity again
for the index, and :mod:`lazyentity.codec.fallback` converts a value. So there is one judge of unusual
bytes, and one source of errors.

:class:`lazyentity._backend.protocols.LazyMapping` documents the interface and the states of a property. No
Python code runs between the check that a property is still undecoded and the storing of its value. So
under the GIL two threads cannot give one property two objects.
"""

from cpython.dict cimport (
    PyDict_Copy,
    PyDict_GetItemWithError,
    PyDict_Next,
    PyDict_SetItem,
    PyDict_Update,
)
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE


from lazyentity.codec.values import meaning_of, plain_value

cdef extern from *:
    """
    static PyObject *lazyentity_dict_iter(PyObject *mapping) {
        return PyDict_Type.tp_iter(mapping);
    }
    """
    object dict_iter "lazyentity_dict_iter"(object mapping)


# Cython would call the slots of the subclass for these.
cdef object dict_getitem = dict.__getitem__
cdef object dict_values = dict.values
cdef object dict_pop = dict.pop
cdef object dict_popitem = dict.popitem
cdef object dict_setdefault = dict.setdefault
cdef object dict_update = dict.update
cdef object dict_or = dict.__or__
cdef object dict_ror = dict.__ror__


cdef class LazyMapping(WireDict):
    """A dict of an entity's properties that decodes each when it is first read.

    See :class:`lazyentity._backend.protocols.LazyMapping` for the states of a property and for the operations
    that decode.
    """

    @classmethod
    def _from_raw(cls, bytes raw not None):
        return wire_dict_from_raw(cls, raw)

    def _read_on_request(self, name):
        if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
            return _decode_anyway(self, name)
        return dict_getitem(self, name)

    def _decode_all(self, operation):
        # In two passes: an entity that cannot be read as a whole stays as it was.
        cdef Value parsed
        cdef dict ordinals = self._shape._ordinals
        cdef list values = None
        cdef dict meanings = None
        cdef Py_ssize_t ordinal
        cdef Py_ssize_t index = 0
        require_wire_dict(self)
        for name, ordinal in ordinals.items():
            if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
                if is_restricted(self):
                    self._extras.policy.refuse_all(self, operation)
                value = read_value(self, ordinal, &parsed)
                if value is UNDECODED:
                    value, meaning = read_slowly(self, name, ordinal)
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
                    _keep(self, name, value, meanings[name])
                else:
                    PyDict_SetItem(self, name, value)
        if is_profiled(self):
            names = [name for name, value in zip(ordinals, values) if value is not UNDECODED]
            note_decoded(self, names, operation)

    def _plain_values(self, names, copy):
        cdef PyObject* stored
        cdef Py_ssize_t ordinal
        cdef Py_ssize_t index = 0
        cdef dict plain = {}
        # As they were at one moment: decoding and copying may run Python code.
        cdef list values = None
        cdef list decoded = [] if is_profiled(self) else None
        cdef bint is_whole = not names
        if is_whole and _is_untouched(self):
            # CPython clones the key table as a whole.
            names = self._shape.names
            PyDict_Update(plain, self._shape._template)
        elif is_whole:
            copied = self._storage()
            names, values = list(copied), list(copied.values())
        else:
            values = []
            for name in names:
                stored = PyDict_GetItemWithError(self, name)
                if stored == NULL:
                    raise KeyError(name)
                values.append(<object>stored)
        for name in names:
            value = UNDECODED if values is None else values[index]
            index += 1
            if value is UNDECODED:
                ordinal = ordinal_of(self, name)
                if is_restricted(self):
                    if is_whole:
                        self._extras.policy.refuse_all(self, "to_dict()")
                    self._extras.policy.refuse(self, name)
                value = plain_property(self._owner, self._shape, &self._offsets, ordinal)
                if value is UNDECODED:
                    value = plain_value(read_slowly(self, name, ordinal)[0])
                if decoded is not None:
                    decoded.append(name)
            elif isinstance(value, (list, dict)):
                value = copy(value)
            PyDict_SetItem(plain, name, value)
        if decoded:
            note_decoded(self, decoded, "to_dict()" if is_whole else "")
        return plain

    def _wire_meanings(self, names=None):
        cdef dict ordinals = self._shape._ordinals
        cdef Py_ssize_t ordinal
        cdef Value parsed
        meanings = {}
        for name in ordinals if names is None else names:
            ordinal = ordinals[name]
            if parse(self, ordinal, &parsed) and has_no_meaning(&parsed):
                continue
            if meaning_of(parsed_message(self, name, ordinal)) is None:
                continue
            if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
                _decode_anyway(self, name)
            read = self._extras.meanings if self._extras is not None else None
            if read is not None and name in read:
                meanings[name] = read[name]
            else:
                # The property was replaced or deleted before it was ever read: its value exists nowhere yet.
                value, meaning = read_slowly(self, name, ordinal)
                meanings[name] = (meaning, value)
        return meanings

    # The operations of dict; none returns the sentinel.

    def __getitem__(self, name):
        cdef PyObject* stored
        cdef Py_ssize_t ordinal = self._offsets.next_ordinal
        if is_likely(self, name) and is_undecoded_at(self, name, ordinal) and not is_restricted(self):
            return _decode_at(self, name, ordinal)
        stored = PyDict_GetItemWithError(self, name)
        if stored == <PyObject*>UNDECODED:
            return _decode(self, name)
        if stored != NULL:
            return <object>stored
        return dict_getitem(self, name)

    def __iter__(self):
        # Overridden so that CPython does not read the storage directly; see lazyentity.storage.lazydict.
        return dict_iter(self)

    def get(self, name, default=None, /):
        cdef PyObject* stored = PyDict_GetItemWithError(self, name)
        if stored == NULL:
            return default
        if stored == <PyObject*>UNDECODED:
            return _decode(self, name)
        return <object>stored

    def __setitem__(self, name, value):
        require_decoded(name, value)
        PyDict_SetItem(self, name, value)

    def update(self, /, *args, **kwargs):
        cdef dict given
        if not args:
            given = kwargs
        elif len(args) == 1 and not kwargs and type(args[0]) is dict:
            given = args[0]
        else:
            given = None
        if given is not None:
            if args and holds_containers(given):
                # A copy: the check of a container may run Python code.
                given = PyDict_Copy(given)
            require_all_decoded(given)
            PyDict_Update(self, given)
            return
        given = {}
        try:
            dict_update(given, *args, **kwargs)
        finally:
            # Also the values before an error: dict sets one after the other.
            require_all_decoded(given)
            PyDict_Update(self, given)

    def __ior__(self, other):
        LazyMapping.update(self, other)
        return self

    def setdefault(self, name, default=None, /):
        require_decoded(name, default)
        value = dict_setdefault(self, name, default)
        return _decode(self, name) if value is UNDECODED else value

    def pop(self, name, /, *default):
        if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
            _decode(self, name)
        return dict_pop(self, name, *default)

    def popitem(self):
        # Taken out first: while a value is decoded, another item can become the last one.
        name, value = item = dict_popitem(self)
        if value is not UNDECODED:
            return item
        try:
            return name, _read_deleted(self, name)
        except BaseException:
            dict_setdefault(self, name, UNDECODED)
            raise

    def items(self):
        self._decode_all("items()")
        return dict_items(self)

    def values(self):
        self._decode_all("values()")
        return dict_values(self)

    def copy(self):
        self._decode_all("copy()")
        return self._storage()

    # Of a dict: that of a class with an __iter__ would look up one name after the other, and miss those
    # that are taken out meanwhile.

    def __or__(self, other):
        self._decode_all("|")
        return dict_or(self._storage(), other)

    def __ror__(self, other):
        self._decode_all("|")
        return dict_ror(self._storage(), other)


cdef bint _is_untouched(WireDict mapping):
    # Whether all properties of a learned shape are there, undecoded and in wire order.
    cdef tuple names = mapping._shape.names
    cdef Py_ssize_t position = 0
    cdef Py_ssize_t count = 0
    cdef PyObject* name
    cdef PyObject* value
    while PyDict_Next(mapping, &position, &name, &value):
        if value != <PyObject*>UNDECODED or count == PyTuple_GET_SIZE(names):
            return 0
        if <PyObject*>PyTuple_GET_ITEM(names, count) != name:
            return 0
        count += 1
    return count > 0 and count == PyTuple_GET_SIZE(names)


cdef object _keep(WireDict mapping, object name, object value, object meaning):
    # Puts a value in place unless another thread was faster; returns the value in place.
    # Allocation may run the garbage collector, and other threads, and so comes first.
    cdef object read = None
    cdef dict meanings = None
    cdef PyObject* current
    if meaning:
        read = (meaning, value)
        meanings = meanings_read(mapping)
    current = PyDict_GetItemWithError(mapping, name)
    if current == NULL:
        # Another thread deleted the property.
        return value
    if current != <PyObject*>UNDECODED:
        return <object>current
    if read is not None:
        # The client writes a meaning back only with the very object it was read with.
        meanings[name] = read
    PyDict_SetItem(mapping, name, value)
    return value


cdef inline object _decode(WireDict mapping, object name):
    # Decodes an undecoded property for a reader, and keeps the value.
    if is_restricted(mapping):
        mapping._extras.policy.refuse(mapping, name)
    return _decode_anyway(mapping, name)


cdef object _decode_anyway(WireDict mapping, object name):
    return _decode_at(mapping, name, ordinal_of(mapping, name))


cdef object _decode_at(WireDict mapping, object name, Py_ssize_t ordinal):
    value = _value_at(mapping, name, ordinal)
    note_read(mapping, name)
    return value


cdef inline object _value_at(WireDict mapping, object name, Py_ssize_t ordinal):
    cdef Value parsed
    value = read_value(mapping, ordinal, &parsed)
    if value is UNDECODED:
        value, meaning = read_slowly(mapping, name, ordinal)
        return _keep(mapping, name, value, meaning)
    if is_plain(&parsed) and type(name) is str:
        # No allocation ran the garbage collector: no other thread was faster.
        PyDict_SetItem(mapping, name, value)
        return value
    # Lists and entities were allocated: look again.
    if parsed.meaning == 0 and is_undecoded_at(mapping, name, ordinal):
        PyDict_SetItem(mapping, name, value)
        return value
    return _keep(mapping, name, value, parsed.meaning)


cdef object _read_deleted(WireDict mapping, object name):
    # Decodes an undecoded property that was taken out of storage.
    cdef Value parsed
    cdef Py_ssize_t ordinal
    if is_restricted(mapping):
        mapping._extras.policy.refuse(mapping, name)
    ordinal = require_name(mapping, name)
    value = read_value(mapping, ordinal, &parsed)
    if value is UNDECODED:
        value, meaning = read_slowly(mapping, name, ordinal)
    else:
        meaning = parsed.meaning
    if meaning:
        meanings_read(mapping).setdefault(name, (meaning, value))
    note_read(mapping, name)
    return value
