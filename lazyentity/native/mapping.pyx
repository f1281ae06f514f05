"""The native backend: the mapping compiled, with a scanner in place of protobuf's parser.

Theory of operation. One pass over the bytes of an entity finds where each property's value starts, and
checks the names against an earlier entity's names (its shape), entry header by entry header:
:mod:`lazyentity.native.shapes`. Nothing else is looked at; a value is decoded from its span when it is
read: :mod:`lazyentity.native.values`.

The scanner knows the encoding that servers send: entries with a name and then a value, values with one
oneof case. Protobuf's own parser handles all other bytes, legal or malformed: it encodes an entity again
for the index, and :mod:`lazyentity.codec.fallback` converts a value. So there is one judge of unusual
bytes, and one source of errors.

:class:`lazyentity._backend.protocols.LazyMapping` documents the interface and the states of a property. No
Python code runs between the check that a property is still undecoded and the storing of its value. So
under the GIL two threads cannot give one property two objects.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport (
    PyDict_Check,
    PyDict_GetItemWithError,
    PyDict_Next,
    PyDict_SetItem,
    PyDict_Size,
    PyDict_Update,
)
from cpython.list cimport PyList_Check
from cpython.object cimport PyObject
from cpython.set cimport PySet_GET_SIZE
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE

from lazyentity.native cimport adapting
from lazyentity.native.cpython cimport (
    drop_instance_dict,
    instance_dict,
    leave_untracked,
    new_dict,
    require_subclass,
    set_instance_dict,
    track,
)
from lazyentity.native.tags cimport ENTITY_KEY, ENTITY_PROPERTIES, VALUE_ARRAY, VALUE_ENTITY
from lazyentity.native.wire cimport MAX_DEPTH, PROPERTY_DEPTH, TO_ITEM, Bytes, skip_any_field

from google.protobuf.message import DecodeError

from lazyentity.codec import errors, fallback
from lazyentity.codec.encodable import changes_of
from lazyentity.codec.undecoded import UNDECODED as _UNDECODED, require_decoded as _require_decoded
from lazyentity.codec.values import meaning_of, plain_value
from lazyentity.profiling import observer

UNDECODED = _UNDECODED

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
cdef object dict_items = dict.items


cdef int require_decoded(object name, object value) except -1:
    # As lazyentity.codec.undecoded.require_decoded(), which scalars need not be given.
    if value is UNDECODED or PyList_Check(value) or PyDict_Check(value):
        _require_decoded(name, value)
    return 0


# The part of a serialised entity that is written back as it came.

cdef int _mark(Shape shape, object names, bytearray marks) except -1:
    # Marks the properties of the wire that are among the names.
    cdef PyObject* ordinal
    for name in names:
        ordinal = PyDict_GetItemWithError(shape._ordinals, name)
        if ordinal != NULL:
            marks[<Py_ssize_t><object>ordinal] = 1
    return 0


cdef bytes untouched(LazyMapping mapping, dict changed, object deleted, bint keeps_key):
    # Returns the entity without some of its properties.
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(mapping._owner)
    cdef Bytes at = base + mapping._offsets.start
    cdef Bytes end = base + mapping._offsets.end
    cdef Bytes field
    cdef Bytes kept_from = at
    cdef Py_ssize_t index = 0
    cdef bint is_kept
    cdef list kept = []
    # Looked up once for each touched property, not for each property.
    cdef bytearray touched = bytearray(mapping._shape.count)
    if keeps_key and not changed and not deleted:
        return mapping._raw
    _mark(mapping._shape, changed, touched)
    _mark(mapping._shape, deleted, touched)
    while at < end:
        field = at
        if at[0] == ENTITY_PROPERTIES:
            is_kept = not touched[index]
            index += 1
        else:
            is_kept = keeps_key or at[0] != ENTITY_KEY
        if not skip_any_field(&at, end):
            raise AssertionError("the scanner read this field")
        if not is_kept:
            if kept_from < field:
                kept.append(PyBytes_FromStringAndSize(<const char*>kept_from, field - kept_from))
            kept_from = at
    if not kept and kept_from == base + mapping._offsets.start:
        return mapping._raw
    kept.append(PyBytes_FromStringAndSize(<const char*>kept_from, end - kept_from))
    return b"".join(kept)


cdef object NOTHING = frozenset()

cdef extern from *:
    """
    #define lazyentity_set_first(mapping, owner, shape, extras) ( \\
        (mapping)->_owner = (void *)Py_NewRef((PyObject *)(owner)), \\
        (mapping)->_shape = (void *)Py_NewRef((PyObject *)(shape)), \\
        (mapping)->_extras = (void *)Py_NewRef((PyObject *)(extras)))
    """
    # For attributes that are still NULL: Cython would release the value before.
    void set_first "lazyentity_set_first"(
        LazyMapping mapping, bytes owner, Shape shape, object extras
    ) noexcept


cdef class LazyMapping(dict):
    """A dict of an entity's properties that decodes each when it is first read.

    See :class:`lazyentity._backend.protocols.LazyMapping` for the states of a property and for the operations
    that decode.
    """

    def __cinit__(self):
        adapting.live += 1
        drop_instance_dict(self)
        self._owner = b""
        self._shape = EMPTY

    def __dealloc__(self):
        adapting.live -= 1
        # Cython empties the dictionary, which other code may hold.
        drop_instance_dict(self)
        free_offsets(&self._offsets)

    @property
    def _raw(self):
        if self._offsets.start == 0 and self._offsets.end == PyBytes_GET_SIZE(self._owner):
            return self._owner
        return self._owner[self._offsets.start : self._offsets.end]

    def _instance_dict(self):
        return instance_dict(self)

    def _replace_instance_dict(self, dict attributes not None):
        set_instance_dict(self, attributes)

    @property
    def _policy(self):
        return None if self._extras is None else self._extras.policy

    @_policy.setter
    def _policy(self, policy):
        extras_of(self).policy = policy

    @property
    def _entity_counts(self):
        return (<CountedExtras>self._extras).counts if is_profiled(self) else None

    @_entity_counts.setter
    def _entity_counts(self, counts):
        note_entity(self, counts)

    @property
    def _deleted_attributes(self):
        if self._extras is None or self._extras.deleted_attributes is None:
            return NOTHING
        return self._extras.deleted_attributes

    @_deleted_attributes.setter
    def _deleted_attributes(self, frozenset names not None):
        extras_of(self).deleted_attributes = names

    def _storage(self):
        cdef dict stored = {}
        if not copy_storage(self, stored, 0):
            stored = dict(list(dict_items(self)))
        return stored

    def _undecoded(self):
        cdef list names = []
        cdef Py_ssize_t position = 0
        cdef PyObject* name
        cdef PyObject* value
        # No Python code runs in here, which could change the storage.
        while PyDict_Next(self, &position, &name, &value):
            if value == <PyObject*>UNDECODED:
                names.append(<object>name)
        return names

    def _changes(self):
        # Allocated first, for that may run the garbage collector, and so Python code.
        cdef dict decoded = {}
        cdef set rewritten = set()
        cdef set deleted = set()
        cdef dict ordinals = self._shape._ordinals
        cdef Py_ssize_t size = PyDict_Size(self)
        cdef Py_ssize_t present
        require_received(self)
        if not copy_storage(self, decoded, 1):
            return changes_of(self._storage(), ordinals, self)
        for name in decoded:
            if name in ordinals:
                rewritten.add(name)
        present = size - PyDict_Size(decoded) + PySet_GET_SIZE(rewritten)
        if present < PyDict_Size(ordinals):
            for name in ordinals:
                if PyDict_GetItemWithError(self, name) == NULL:
                    deleted.add(name)
        return decoded, rewritten, deleted, size

    def _decoded(self):
        cdef dict decoded = {}
        require_received(self)
        return decoded if copy_storage(self, decoded, 1) else self._changes()[0]

    def _serialised_values(self, names):
        return [serialised_value(self, self._shape._ordinals[name]) for name in names]

    def _untouched(self, dict changed not None, deleted not None, bint keeps_key):
        return untouched(self, changed, deleted, keeps_key)

    def _merge_untouched(self, target, dict changed not None, deleted not None, bint keeps_key):
        target.MergeFromString(untouched(self, changed, deleted, keeps_key))

    # The entity as it was received, whatever the caller changed since.

    def _wire_entity(self):
        if is_restricted(self):
            return None
        entity = rest_of_entity(self._owner, self._shape, &self._offsets, <PyObject*>self)
        return None if entity is UNDECODED else entity

    def _wire_cases(self, names):
        cdef Value value
        cdef Py_ssize_t ordinal
        cdef dict ordinals = self._shape._ordinals
        numbers = bytearray()
        for name in names:
            ordinal = ordinals[name]
            if parse(self, ordinal, &value):
                numbers.append(value.tag >> 3)
            else:
                numbers.append(fallback.case_number(serialised_value(self, ordinal)))
        return bytes(numbers)

    def _wire_key(self):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        cdef Bytes start
        cdef Bytes end
        cdef EntityExtras extras = self._extras
        if extras is not None and extras.key is not None:
            return extras.key
        if not find_key(base + self._offsets.start, base + self._offsets.end, &start, &end):
            return None
        key = decode_key(start, end)
        if key is UNDECODED:
            key = fallback.key(self._raw)
        extras = extras_of(self)
        if extras.key is None:
            extras.key = key
        return extras.key

    def _wire_key_bytes(self):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        cdef Bytes start
        cdef Bytes end
        if not find_key(base + self._offsets.start, base + self._offsets.end, &start, &end):
            return b""
        return PyBytes_FromStringAndSize(<const char*>start, end - start)

    def _wire_excluded(self, names=None):
        cdef int excluded
        cdef Value value
        cdef dict ordinals = self._shape._ordinals
        cdef Py_ssize_t ordinal
        found = set()
        for name in ordinals if names is None else names:
            ordinal = ordinals[name]
            excluded = is_excluded(&value) if parse(self, ordinal, &value) else -1
            if excluded < 0:
                excluded = fallback.excluded(self._raw, name, parsed_message(self, name, ordinal))
            if excluded:
                found.add(name)
        return found

    # The properties.

    @classmethod
    def _from_raw(cls, bytes raw not None):
        return mapping_from_raw(cls, raw)

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
        require_received(self)
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
        # As they were at one moment: decoding and copying may run Python code.
        cdef dict plain = {} if names else self._storage()
        cdef list decoded = []
        cdef bint is_whole = not names
        for name in names:
            stored = PyDict_GetItemWithError(self, name)
            if stored == NULL:
                raise KeyError(name)
            PyDict_SetItem(plain, name, <object>stored)
        for name, value in plain.items():
            if value is UNDECODED:
                ordinal = ordinal_of(self, name)
                if is_restricted(self):
                    if is_whole:
                        self._extras.policy.refuse_all(self, "to_dict()")
                    self._extras.policy.refuse(self, name)
                value = plain_property(self._owner, &self._offsets, ordinal)
                if value is UNDECODED:
                    value = plain_value(read_slowly(self, name, ordinal)[0])
                if is_profiled(self):
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
        # A copy: the check of a container may run Python code.
        cdef dict given = {}
        try:
            dict_update(given, *args, **kwargs)
        finally:
            # Also the values before an error: dict sets one after the other.
            for name, value in given.items():
                require_decoded(name, value)
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


cdef object _keep(LazyMapping mapping, object name, object value, object meaning):
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


cdef inline object _decode(LazyMapping mapping, object name):
    # Decodes an undecoded property for a reader, and keeps the value.
    if is_restricted(mapping):
        mapping._extras.policy.refuse(mapping, name)
    return _decode_anyway(mapping, name)


cdef object _decode_anyway(LazyMapping mapping, object name):
    return _decode_at(mapping, name, ordinal_of(mapping, name))


cdef object _decode_at(LazyMapping mapping, object name, Py_ssize_t ordinal):
    cdef Value parsed
    value = read_value(mapping, ordinal, &parsed)
    if value is UNDECODED:
        value, meaning = read_slowly(mapping, name, ordinal)
        value = _keep(mapping, name, value, meaning)
    elif is_plain(&parsed) and type(name) is str:
        # No allocation ran the garbage collector: no other thread was faster.
        PyDict_SetItem(mapping, name, value)
    else:
        value = _keep(mapping, name, value, parsed.meaning)
    note_read(mapping, name)
    return value


cdef object _read_deleted(LazyMapping mapping, object name):
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


cdef LazyMapping _empty(type mapping_type):
    # As the constructor, without a dictionary of attributes that is dropped at once.
    cdef LazyMapping mapping = <LazyMapping>new_dict(mapping_type, ())
    set_first(mapping, b"", EMPTY, None)
    adapting.live += 1
    return mapping


cdef int _take_up(LazyMapping mapping, bytes owner, Py_ssize_t start, Py_ssize_t end) except -1:
    # Indexes a span of the owner's bytes; answers 0 if it is not in the canonical encoding.
    cdef Shape shape = index_entity(owner, start, end, &mapping._offsets)
    if shape is None:
        return 0
    mapping._owner = owner
    mapping._shape = shape
    if shape._template is None:
        for name in shape._ordinals:
            PyDict_SetItem(mapping, name, UNDECODED)
    else:
        # CPython clones the key table as a whole when an empty dict is updated from a dict that never
        # had a key deleted.
        PyDict_Update(mapping, shape._template)
    leave_untracked(LazyMapping, mapping)
    return 1


cdef int require_received(LazyMapping mapping) except -1:
    # Checks that all undecoded properties were received.
    cdef tuple names = mapping._shape.names
    cdef Py_ssize_t position = 0
    cdef Py_ssize_t index = 0
    cdef PyObject* name
    cdef PyObject* value
    while PyDict_Next(mapping, &position, &name, &value):
        # Mostly nothing was deleted, and the names are in the order that they came in.
        if value == <PyObject*>UNDECODED and not (
            index < PyTuple_GET_SIZE(names)
            and <PyObject*>PyTuple_GET_ITEM(names, index) == name
        ):
            require_name(mapping, <object>name)
        index += 1
    return 0


cdef Py_ssize_t require_name(LazyMapping mapping, object name) except -1:
    # The ordinal of an undecoded property; raises TypeError if the property was not received.
    cdef PyObject* ordinal = PyDict_GetItemWithError(mapping._shape._ordinals, name)
    if ordinal == NULL:
        raise errors.undecoded_property(name, mapping._raw)
    return <object>ordinal


cdef EntityExtras extras_of(LazyMapping mapping):
    cdef EntityExtras made
    if mapping._extras is None:
        made = EntityExtras.__new__(EntityExtras)
        # Another thread may have been faster during the allocation.
        if mapping._extras is None:
            set_extras(mapping, made)
    return mapping._extras


cdef void set_extras(LazyMapping mapping, EntityExtras extras) noexcept:
    mapping._extras = extras
    track(mapping)


cdef dict meanings_read(LazyMapping mapping):
    cdef EntityExtras extras = extras_of(mapping)
    cdef dict made = {}
    if extras.meanings is None:
        extras.meanings = made
    return extras.meanings


# Functions that answer UNDECODED leave the value to protobuf.

cdef object read_parsed(LazyMapping mapping, Bytes at, Bytes end, Value* value):
    if not parse_value(at, end, value):
        return UNDECODED
    return _convert(mapping, value, PROPERTY_DEPTH)


cdef inline object _convert(LazyMapping mapping, Value* value, int depth):
    if value.tag == VALUE_ENTITY:
        return _embedded(mapping, value)
    if value.tag == VALUE_ARRAY:
        return _lazy_array(mapping, value, depth)
    return decode_leaf(value)


cdef object _embedded(LazyMapping mapping, Value* entity):
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(mapping._owner)
    cdef LazyMapping embedded = _empty(<type>type(mapping))
    if _take_up(embedded, mapping._owner, entity.at - base, entity.end - base):
        return embedded
    return UNDECODED


cdef object _lazy_array(LazyMapping mapping, Value* array, int depth):
    cdef Bytes at = array.at
    cdef Value value
    cdef list items = []
    cdef int excluded = -1
    cdef bint is_property = depth == PROPERTY_DEPTH
    # The client looks at flags and meanings of the elements of a property's array, no deeper.
    if depth > MAX_DEPTH or (is_property and array.meaning != 0):
        return UNDECODED
    while at < array.end:
        if not next_item(&at, array.end, &value):
            return UNDECODED
        if is_property:
            if value.meaning != 0 or (excluded != -1 and excluded != value.excluded):
                return UNDECODED
            excluded = value.excluded
        item = _convert(mapping, &value, depth + TO_ITEM)
        if item is UNDECODED:
            return UNDECODED
        items.append(item)
    return items


cdef bytes serialised_value(LazyMapping mapping, Py_ssize_t ordinal):
    cdef Bytes at
    cdef Bytes end
    find(mapping, ordinal, &at, &end)
    return PyBytes_FromStringAndSize(<const char*>at, end - at)


cdef object parsed_message(LazyMapping mapping, object name, Py_ssize_t ordinal):
    # Has protobuf parse the value of a property.
    return fallback.value_message(serialised_value(mapping, ordinal), name, mapping._raw)


cdef tuple read_slowly(LazyMapping mapping, object name, Py_ssize_t ordinal):
    message = parsed_message(mapping, name, ordinal)
    value = fallback.convert(mapping._raw, name, message, type(mapping)._from_raw)
    return value, meaning_of(message)


cdef object mapping_from_raw(type mapping_type, bytes raw):
    # Makes a mapping as LazyMapping._from_raw() of the pure backend does.
    cdef LazyMapping mapping
    require_subclass(LazyMapping, mapping_type)
    mapping = _empty(mapping_type)
    if _take_up(mapping, raw, 0, PyBytes_GET_SIZE(raw)):
        return mapping
    try:
        for encoded in fallback.canonical_encodings(raw):
            if _take_up(mapping, encoded, 0, PyBytes_GET_SIZE(encoded)):
                return mapping
    except DecodeError as error:
        raise errors.undecodable_entity(error, raw) from error
    raise AssertionError("protobuf encodes a map as entries of one name and one value")


# The hook of a profile, which lazyentity.profiling.counters counts. An entity that arrives while a profile
# runs gets CountedExtras in place of its extras. So decoding a property tests one pointer of the entity,
# whether a profile runs or not.

DATA = None


cdef class CountedExtras(EntityExtras):
    pass


cdef int note_decoded(LazyMapping entity, list names, object operation) except -1:
    # Counts properties that were decoded; the operation is empty, if each was by itself.
    (<CountedExtras>entity._extras).counts.decode(names, operation)
    return 0


cdef int note_entity(LazyMapping entity, object counts) except -1:
    # An entity that was read before keeps what was read.
    cdef CountedExtras made = CountedExtras.__new__(CountedExtras)
    cdef EntityExtras read = entity._extras
    if read is not None:
        made.key, made.meanings = read.key, read.meanings
        made.policy, made.deleted_attributes = read.policy, read.deleted_attributes
    made.counts = counts
    set_extras(entity, made)
    return 0


def _follow(data):
    global DATA
    DATA = data


observer.listen(_follow)
