"""The native backend's received bytes of an entity: one property's value, the key, flags.

Nothing here decodes in place: :mod:`lazyentity.native.mapping` does. :mod:`lazyentity.native.shapes` finds
the names and the values.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next, PyDict_SetItem, PyDict_Size, PyDict_Update
from cpython.object cimport PyObject
from cpython.set cimport PySet_GET_SIZE
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8

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
from lazyentity.native.wire cimport MAX_DEPTH, PROPERTY_DEPTH, TO_ITEM, Bytes, read_length, skip_any_field

from google.protobuf.message import DecodeError

from lazyentity.codec import errors, fallback
from lazyentity.codec.encodable import changes_of
from lazyentity.codec.values import meaning_of
from lazyentity.profiling import observer

# The part of a serialised entity that is written back as it came.

cdef int _mark(Shape shape, object names, bytearray marks) except -1:
    # Marks the properties of the wire that are among the names.
    cdef PyObject* ordinal
    for name in names:
        ordinal = PyDict_GetItemWithError(shape._ordinals, name)
        if ordinal != NULL:
            marks[<Py_ssize_t><object>ordinal] = 1
    return 0


cdef bytes untouched_bytes(
    bytes owner, Shape shape, Offsets* offsets, dict changed, object deleted, bint keeps_key
):
    # Returns the entity without some of its properties; None, if no property is left out.
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(owner)
    cdef Bytes at = base + offsets.start
    cdef Bytes end = base + offsets.end
    cdef Bytes field
    cdef Bytes entry_end
    cdef Bytes name_end
    cdef Bytes kept_from = at
    cdef tuple names = shape.names
    cdef Py_ssize_t index = 0
    cdef bint is_kept
    cdef bint any_deleted = bool(deleted)
    cdef list kept = []
    cdef bytearray touched = None
    if keeps_key and not changed and not any_deleted:
        return None
    if names:
        # Looked up once for each touched property, not for each property.
        touched = bytearray(PyTuple_GET_SIZE(names))
        _mark(shape, changed, touched)
        _mark(shape, deleted, touched)
    while at < end:
        field = at
        if at[0] == ENTITY_PROPERTIES:
            at += 1
            if not read_length(&at, end, &entry_end):
                raise AssertionError("the scanner read this length")
            if touched is not None:
                is_kept = not touched[index]
            else:
                at += 1
                if not read_length(&at, entry_end, &name_end):
                    raise AssertionError("the scanner read this length")
                name = PyUnicode_DecodeUTF8(<const char*>at, name_end - at, NULL)
                is_kept = name not in changed and not (any_deleted and name in deleted)
            at = entry_end
            index += 1
        else:
            is_kept = keeps_key or at[0] != ENTITY_KEY
            if not skip_any_field(&at, end):
                raise AssertionError("the scanner read this field")
        if not is_kept:
            if kept_from < field:
                kept.append(PyBytes_FromStringAndSize(<const char*>kept_from, field - kept_from))
            kept_from = at
    if kept_from == base + offsets.start:
        return None
    kept.append(PyBytes_FromStringAndSize(<const char*>kept_from, end - kept_from))
    return b"".join(kept)


cdef object NOTHING = frozenset()
cdef object dict_items = dict.items

cdef extern from *:
    """
    #define lazyentity_set_first(mapping, owner, shape, extras) ( \\
        (mapping)->_owner = (void *)Py_NewRef((PyObject *)(owner)), \\
        (mapping)->_shape = (void *)Py_NewRef((PyObject *)(shape)), \\
        (mapping)->_extras = (void *)Py_NewRef((PyObject *)(extras)))
    """
    # For attributes that are still NULL: Cython would release the value before.
    void set_first "lazyentity_set_first"(
        WireDict mapping, bytes owner, Shape shape, object extras
    ) noexcept


cdef class WireDict(dict):
    """A dict of properties with the serialised entity that they are decoded from."""

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
        require_wire_dict(self)
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
        require_wire_dict(self)
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


cdef WireDict _empty(type mapping_type):
    # As the constructor, without a dictionary of attributes that is dropped at once.
    cdef WireDict mapping = <WireDict>new_dict(mapping_type, ())
    set_first(mapping, b"", EMPTY, None)
    adapting.live += 1
    return mapping


cdef int _take_up(WireDict mapping, bytes owner, Py_ssize_t start, Py_ssize_t end) except -1:
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
    leave_untracked(WireDict, mapping)
    return 1


cdef bytes untouched(WireDict mapping, dict changed, object deleted, bint keeps_key):
    rest = untouched_bytes(
        mapping._owner, mapping._shape, &mapping._offsets, changed, deleted, keeps_key
    )
    return mapping._raw if rest is None else rest


cdef int require_wire_dict(WireDict mapping) except -1:
    # Checks that all undecoded properties were received: the twin of the pure _require_received().
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


cdef Py_ssize_t require_name(WireDict mapping, object name) except -1:
    # The ordinal of an undecoded property; raises TypeError if the property was not received.
    cdef PyObject* ordinal = PyDict_GetItemWithError(mapping._shape._ordinals, name)
    if ordinal == NULL:
        raise errors.undecoded_property(name, mapping._raw)
    return <object>ordinal


cdef EntityExtras extras_of(WireDict mapping):
    cdef EntityExtras made
    if mapping._extras is None:
        made = EntityExtras.__new__(EntityExtras)
        # Another thread may have been faster during the allocation.
        if mapping._extras is None:
            set_extras(mapping, made)
    return mapping._extras


cdef void set_extras(WireDict mapping, EntityExtras extras) noexcept:
    mapping._extras = extras
    track(mapping)


cdef dict meanings_read(WireDict mapping):
    cdef EntityExtras extras = extras_of(mapping)
    cdef dict made = {}
    if extras.meanings is None:
        extras.meanings = made
    return extras.meanings


# Functions that answer UNDECODED leave the value to protobuf.

cdef object read_parsed(WireDict mapping, Bytes at, Bytes end, Value* value):
    if not parse_value(at, end, value):
        return UNDECODED
    return _convert(mapping, value, PROPERTY_DEPTH)


cdef inline object _convert(WireDict mapping, Value* value, int depth):
    if value.tag == VALUE_ENTITY:
        return _embedded(mapping, value)
    if value.tag == VALUE_ARRAY:
        return _lazy_array(mapping, value, depth)
    return decode_leaf(value)


cdef object _embedded(WireDict mapping, Value* entity):
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(mapping._owner)
    cdef WireDict embedded = _empty(<type>type(mapping))
    if _take_up(embedded, mapping._owner, entity.at - base, entity.end - base):
        return embedded
    return UNDECODED


cdef object _lazy_array(WireDict mapping, Value* array, int depth):
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


cdef bytes serialised_value(WireDict mapping, Py_ssize_t ordinal):
    cdef Bytes at
    cdef Bytes end
    find(mapping, ordinal, &at, &end)
    return PyBytes_FromStringAndSize(<const char*>at, end - at)


cdef object parsed_message(WireDict mapping, object name, Py_ssize_t ordinal):
    # Has protobuf parse the value of a property.
    return fallback.value_message(serialised_value(mapping, ordinal), name, mapping._raw)


cdef tuple read_slowly(WireDict mapping, object name, Py_ssize_t ordinal):
    message = parsed_message(mapping, name, ordinal)
    value = fallback.convert(mapping._raw, name, message, type(mapping)._from_raw)
    return value, meaning_of(message)


cdef object wire_dict_from_raw(type mapping_type, bytes raw):
    # Makes a mapping as LazyMapping._from_raw() of the pure backend does.
    cdef WireDict mapping
    require_subclass(WireDict, mapping_type)
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


cdef int note_decoded(WireDict entity, list names, object operation) except -1:
    # Counts properties that were decoded; the operation is empty, if each was by itself.
    (<CountedExtras>entity._extras).counts.decode(names, operation)
    return 0


cdef int note_entity(WireDict entity, object counts) except -1:
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
