# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, auto_pickle=False
"""The native backend: the mapping compiled, with a scanner in place of protobuf's parser.

Theory of operation. One pass over the bytes of an entity finds where each property's value starts, and
checks the names against those of an entity seen before (its shape), entry header by entry header:
:mod:`lazyentity.native.shapes`. Nothing else is looked at; a value is decoded from its span when it is
read: :mod:`lazyentity.native.values`.

The scanner knows the encoding that servers send: entries with a name and then a value, values with one
member of the oneof. Whatever is legal but otherwise encoded, and whatever is malformed, is left to
protobuf's own parser: an entity is encoded anew and indexed again, a value converted by the functions
of the pure backend. So there is one judge of what unusual bytes mean, and one source of errors.

The interface is that of :class:`lazyentity.pure.mapping.LazyMapping`; the states of a property are told
there. Between looking whether a property is still undecoded and putting its value in place no Python
code runs, so under the GIL two threads cannot give one property two objects.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport (
    PyDict_Check,
    PyDict_GetItemWithError,
    PyDict_Next,
    PyDict_SetItem,
    PyDict_Update,
)
from cpython.list cimport PyList_Check, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8

from lazyentity.native.instance_dict cimport drop_instance_dict, instance_dict, set_instance_dict
from lazyentity.native.eager cimport plain_property, rest_of_entity
from lazyentity.native.shapes cimport (
    EMPTY,
    Offsets,
    Shape,
    find_key,
    free_offsets,
    index_entity,
    value_at,
)
from lazyentity.native.values cimport Value, decode_bare, decode_key, decode_leaf, next_item, parse_value
from lazyentity.native.new cimport new
from lazyentity.native.tags cimport (
    ENTITY_KEY,
    ENTITY_PROPERTIES,
    VALUE_ARRAY,
    VALUE_BLOB,
    VALUE_BOOLEAN,
    VALUE_DOUBLE,
    VALUE_ENTITY,
    VALUE_INTEGER,
    VALUE_NULL,
    VALUE_STRING,
)
from lazyentity.native.wire cimport Bytes, read_length, skip_any_field

from google.protobuf.message import DecodeError

from lazyentity.codec import errors
from lazyentity.codec import fallback
from lazyentity.codec.canonical import canonical_encodings
from lazyentity.codec.eager import plain_value
from lazyentity.codec.values import meaning_of
from lazyentity.codec.undecoded import UNDECODED as _UNDECODED, assigned, keeps_undecoded

cdef extern from *:
    """
    static PyObject *lazyentity_dict_iter(PyObject *mapping) {
        return PyDict_Type.tp_iter(mapping);
    }
    """
    object dict_iter "lazyentity_dict_iter"(object mapping)

cdef object UNDECODED = _UNDECODED
cdef object NOTHING = frozenset()

# Cython would call the slots of the subclass for these.
cdef object dict_getitem = dict.__getitem__
cdef object dict_items = dict.items
cdef object dict_values = dict.values
cdef object dict_copy = dict.copy
cdef object dict_pop = dict.pop
cdef object dict_popitem = dict.popitem
cdef object dict_setdefault = dict.setdefault
cdef object dict_update = dict.update
cdef object dict_eq = dict.__eq__
cdef object dict_or = dict.__or__
cdef object dict_ror = dict.__ror__
cdef object dict_repr = dict.__repr__

cdef enum:
    MAX_ARRAY_DEPTH = 40  # two messages a level: well inside protobuf's limit of 100


cdef class Originals:
    """What was read of an entity's bytes and stays as it was read, whatever is assigned later."""

    cdef object key
    cdef dict meanings
    # What most entities have not is kept here too, for an entity to be small.
    cdef object policy
    cdef object deleted_attributes


cdef class LazyMapping(dict):
    """A dict of an entity's properties that decodes each when it is first read.

    See :class:`lazyentity.pure.mapping.LazyMapping` for the states of a property and what decodes what.
    """

    # The smaller an entity is, the more of them the processor's caches hold: what is in here, with what
    # CPython before 3.12 adds for a dict of a class, fills two lines of 64 bytes (later it puts 16 bytes
    # more in front of each). A cdef method would take a pointer more.
    cdef bytes _owner
    cdef readonly Shape _layout
    cdef Offsets _offsets
    cdef Originals _originals
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

    @property
    def _raw(self):
        if self._offsets.start == 0 and self._offsets.end == PyBytes_GET_SIZE(self._owner):
            return self._owner
        return self._owner[self._offsets.start : self._offsets.end]

    def _instance_dict(self):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._instance_dict`."""
        return instance_dict(self)

    def _replace_instance_dict(self, dict attributes not None):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._replace_instance_dict`."""
        set_instance_dict(self, attributes)

    @property
    def _policy(self):
        """As :attr:`lazyentity.pure.mapping.LazyMapping._policy`."""
        return None if self._originals is None else self._originals.policy

    @_policy.setter
    def _policy(self, policy):
        _originals_of(self).policy = policy

    @property
    def _deleted_attributes(self):
        """As :attr:`lazyentity.pure.mapping.LazyMapping._deleted_attributes`."""
        if self._originals is None or self._originals.deleted_attributes is None:
            return NOTHING
        return self._originals.deleted_attributes

    @_deleted_attributes.setter
    def _deleted_attributes(self, frozenset names not None):
        _originals_of(self).deleted_attributes = names

    def _read_on_request(self, name):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._read_on_request`."""
        if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
            return _decode_anyway(self, name)
        return dict_getitem(self, name)

    def _decode_all(self, operation):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._decode_all`."""
        # In two passes: an entity that cannot be read as a whole stays as it was.
        cdef Value parsed
        cdef dict ordinals = self._layout._ordinals
        cdef list values = None
        cdef dict meanings = None
        cdef Py_ssize_t ordinal
        cdef Py_ssize_t index = 0
        _require_received(self)
        for name, ordinal in ordinals.items():
            if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
                if _is_restricted(self):
                    self._originals.policy.refuse_all(self, operation)
                value = _read(self, ordinal, &parsed)
                if value is UNDECODED:
                    value, meaning = _read_slowly(self, name, ordinal)
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

    def _undecoded(self):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._undecoded`."""
        return [name for name, value in dict_items(self) if value is UNDECODED]

    def _decoded(self):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._decoded`."""
        cdef dict decoded = {}
        cdef Py_ssize_t position = 0
        cdef PyObject* name
        cdef PyObject* value
        _require_received(self)
        while PyDict_Next(self, &position, &name, &value):
            if value != <PyObject*>UNDECODED:
                decoded[<object>name] = <object>value
        return decoded

    def _plain_values(self, names, copy):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._plain_values`."""
        cdef PyObject* stored
        cdef Py_ssize_t ordinal
        cdef dict plain = {}
        cdef bint is_whole = not names
        if is_whole and _is_untouched(self):
            # CPython clones the key table as a whole.
            names = self._layout.names
            PyDict_Update(plain, self._layout._template)
        elif is_whole:
            names = list(self)
        for name in names:
            stored = PyDict_GetItemWithError(self, name)
            if stored == NULL:
                raise KeyError(name)
            value = <object>stored
            if value is UNDECODED:
                ordinal = _ordinal(self, name)
                if _is_restricted(self):
                    if is_whole:
                        self._originals.policy.refuse_all(self, "to_dict()")
                    self._originals.policy.refuse(self, name)
                value = plain_property(self._owner, self._layout, &self._offsets, ordinal)
                if value is UNDECODED:
                    value = plain_value(_read_slowly(self, name, ordinal)[0])
            elif isinstance(value, (list, dict)):
                value = copy(value)
            PyDict_SetItem(plain, name, value)
        return plain

    def _serialised_values(self, names):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._serialised_values`."""
        return [_serialised_value(self, self._layout._ordinals[name]) for name in names]

    def _untouched(self, dict changed not None, deleted not None, bint keeps_key):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._untouched`."""
        return _untouched(self, changed, deleted, keeps_key)

    def _merge_untouched(self, target, dict changed not None, deleted not None, bint keeps_key):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._merge_untouched`."""
        target.MergeFromString(_untouched(self, changed, deleted, keeps_key))

    # What the wire says of the entity, whatever the caller changed since.

    def _wire_entity(self):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._wire_entity`."""
        if _is_restricted(self):
            return None
        entity = rest_of_entity(self._owner, self._layout, &self._offsets, <PyObject*>self)
        return None if entity is UNDECODED else entity

    def _wire_members(self, names):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._wire_members`."""
        cdef Value value
        cdef Py_ssize_t ordinal
        cdef dict ordinals = self._layout._ordinals
        numbers = bytearray()
        for name in names:
            ordinal = ordinals[name]
            if _parse(self, ordinal, &value):
                numbers.append(value.member >> 3)
            else:
                numbers.append(fallback.member_number(_serialised_value(self, ordinal)))
        return bytes(numbers)

    def _wire_key(self):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._wire_key`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._owner)
        cdef Bytes start
        cdef Bytes end
        cdef Originals originals = self._originals
        if originals is not None and originals.key is not None:
            return originals.key
        if not find_key(base + self._offsets.start, base + self._offsets.end, &start, &end):
            return None
        key = decode_key(start, end)
        if key is UNDECODED:
            key = fallback.key(self._raw)
        originals = _originals_of(self)
        if originals.key is None:
            originals.key = key
        return originals.key

    def _wire_excluded(self, names=None):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._wire_excluded`."""
        cdef int excluded
        cdef dict ordinals = self._layout._ordinals
        cdef Py_ssize_t ordinal
        found = set()
        for name in ordinals if names is None else names:
            ordinal = ordinals[name]
            excluded = _is_excluded(self, ordinal)
            if excluded < 0:
                excluded = fallback.excluded(self._raw, name, _message(self, name, ordinal))
            if excluded:
                found.add(name)
        return found

    def _wire_meanings(self, names=None):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._wire_meanings`."""
        cdef dict ordinals = self._layout._ordinals
        cdef Py_ssize_t ordinal
        meanings = {}
        for name in ordinals if names is None else names:
            ordinal = ordinals[name]
            if _has_no_meaning(self, ordinal):
                continue
            if meaning_of(_message(self, name, ordinal)) is None:
                continue
            if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
                _decode_anyway(self, name)
            read = self._originals.meanings if self._originals is not None else None
            if read is not None and name in read:
                meanings[name] = read[name]
            else:
                # Replaced or deleted before it was ever read: nobody holds the value that it had.
                value, meaning = _read_slowly(self, name, ordinal)
                meanings[name] = (meaning, value)
        return meanings

    # dict, without the sentinel ever coming out.

    def __getitem__(self, name):
        cdef PyObject* stored = PyDict_GetItemWithError(self, name)
        if stored == <PyObject*>UNDECODED:
            return _decode(self, name)
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
            return _decode(self, name)
        return <object>stored

    def __setitem__(self, name, value):
        _require_decoded(name, value)
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
            _require_all_decoded(given)
            PyDict_Update(self, given)
            return
        given = {}
        try:
            dict_update(given, *args, **kwargs)
        finally:
            # Also those before an error: dict sets one after the other.
            _require_all_decoded(given)
            PyDict_Update(self, given)

    def __ior__(self, other):
        LazyMapping.update(self, other)
        return self

    def setdefault(self, name, default=None, /):
        _require_decoded(name, default)
        value = dict_setdefault(self, name, default)
        return _decode(self, name) if value is UNDECODED else value

    def pop(self, name, /, *default):
        if PyDict_GetItemWithError(self, name) == <PyObject*>UNDECODED:
            _decode(self, name)
        return dict_pop(self, name, *default)

    def popitem(self):
        # Taken out first: which one is last can change while a value is decoded.
        name, value = item = dict_popitem(self)
        if value is not UNDECODED:
            return item
        try:
            return name, _read_deleted(self, name)
        except BaseException:
            dict_setdefault(self, name, UNDECODED)
            raise

    def items(self):
        if _is_restricted(self):
            return self._originals.policy.items(self)
        return self._all_items()

    def _all_items(self):
        """As :meth:`lazyentity.pure.mapping.LazyMapping._all_items`."""
        self._decode_all("items()")
        return dict_items(self)

    def values(self):
        self._decode_all("values()")
        return dict_values(self)

    def copy(self):
        self._decode_all("copy()")
        return dict_copy(self)

    def __or__(self, other):
        self._decode_all("|")
        return dict_or(self, other)

    def __ror__(self, other):
        self._decode_all("|")
        return dict_ror(self, other)

    def __eq__(self, other):
        if isinstance(other, dict):
            self._decode_all("==")
            if isinstance(other, LazyMapping):
                other._decode_all("==")
        return dict_eq(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __repr__(self):
        self._decode_all("repr()")
        return dict_repr(self)


cdef int _index(LazyMapping mapping, bytes owner, Py_ssize_t start, Py_ssize_t end) except -1:
    # Takes up a span of the owner's bytes; answers 0 if it is not in the canonical encoding.
    cdef Shape shape = index_entity(owner, start, end, &mapping._offsets)
    if shape is None:
        return 0
    mapping._owner = owner
    mapping._layout = shape
    if shape._template is None:
        for name in shape._ordinals:
            PyDict_SetItem(mapping, name, UNDECODED)
        return 1
    # CPython clones the key table as a whole when an empty dict is updated from a dict that never had
    # a key deleted.
    PyDict_Update(mapping, shape._template)
    return 1


cdef int _mark(LazyMapping mapping, object names, bytearray marks) except -1:
    # Marks the properties of the wire that are among the names.
    cdef PyObject* ordinal
    for name in names:
        ordinal = PyDict_GetItemWithError(mapping._layout._ordinals, name)
        if ordinal != NULL:
            marks[<Py_ssize_t><object>ordinal] = 1
    return 0


cdef bytes _untouched(LazyMapping mapping, dict changed, object deleted, bint keeps_key):
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(mapping._owner)
    cdef Bytes at = base + mapping._offsets.start
    cdef Bytes end = base + mapping._offsets.end
    cdef Bytes field
    cdef Bytes entry_end
    cdef Bytes name_end
    cdef Bytes kept_from = at
    cdef tuple names = mapping._layout.names
    cdef Py_ssize_t index = 0
    cdef bint is_kept
    cdef bint any_deleted = bool(deleted)
    cdef list kept = []
    cdef bytearray touched = None
    if keeps_key and not changed and not any_deleted:
        return mapping._raw
    if names:
        # Looked up once for each that was touched, not for each that there is.
        touched = bytearray(PyTuple_GET_SIZE(names))
        _mark(mapping, changed, touched)
        _mark(mapping, deleted, touched)
    while at < end:
        field = at
        if at[0] == ENTITY_PROPERTIES:
            at += 1
            if not read_length(&at, end, &entry_end):
                raise AssertionError("the scanner read this length")
            if touched is not None:
                is_kept = not touched[index]
            else:
                # Of several entries of one name, all stay or none.
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
    if kept_from == base + mapping._offsets.start:
        return mapping._raw
    kept.append(PyBytes_FromStringAndSize(<const char*>kept_from, end - kept_from))
    return b"".join(kept)


# The sentinel, where it does not belong.

cdef inline bint _is_container(PyObject* value) noexcept:
    return PyList_Check(<object>value) or PyDict_Check(<object>value)


cdef inline int _require_decoded(object name, object value) except -1:
    # As lazyentity.codec.undecoded.require_decoded().
    if value is UNDECODED or (_is_container(<PyObject*>value) and _holds_undecoded(value)):
        raise assigned(name)
    return 0


cdef int _require_all_decoded(dict values) except -1:
    cdef Py_ssize_t position = 0
    cdef PyObject* name_at
    cdef PyObject* value_at
    while PyDict_Next(values, &position, &name_at, &value_at):
        name = <object>name_at
        value = <object>value_at
        _require_decoded(name, value)
    return 0


cdef bint _holds_undecoded(object container) except -1:
    # As lazyentity.codec.undecoded.holds_undecoded(), of a list or a dict, with trusts_lazy.
    cdef Py_ssize_t index
    cdef PyObject* name
    cdef PyObject* item
    cdef bint keeps
    cdef list pending = None
    cdef set seen = None
    while True:
        index = 0
        # What is assigned to such a dict is checked then.
        keeps = PyDict_Check(container) and type(container) is not dict and (
            isinstance(container, LazyMapping) or keeps_undecoded(container)
        )
        while not keeps:
            if PyDict_Check(container):
                if not PyDict_Next(container, &index, &name, &item):
                    break
            else:
                if index >= PyList_GET_SIZE(container):
                    break
                item = <PyObject*>PyList_GET_ITEM(container, index)
                index += 1
            if item == <PyObject*>UNDECODED:
                return 1
            if _is_container(item):
                # Held, for what allocates may run the garbage collector, and so other threads.
                nested = <object>item
                if pending is None:
                    pending = []
                    seen = {<Py_ssize_t><PyObject*>container}
                address = <Py_ssize_t><PyObject*>nested
                if address not in seen:
                    seen.add(address)
                    pending.append(nested)
        if not pending:
            return 0
        container = pending.pop()


cdef int _require_received(LazyMapping mapping) except -1:
    # As LazyMapping._require_received() of the pure backend, for all undecoded properties.
    cdef tuple names = mapping._layout.names
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
            _require_name(mapping, <object>name)
        index += 1
    return 0


cdef Py_ssize_t _require_name(LazyMapping mapping, object name) except -1:
    # The ordinal of an undecoded property, if it is one.
    cdef PyObject* ordinal = PyDict_GetItemWithError(mapping._layout._ordinals, name)
    if ordinal == NULL:
        raise errors.undecoded_property(name, mapping._raw)
    return <object>ordinal


cdef bint _is_untouched(LazyMapping mapping):
    # Whether all properties of a learned shape are there, undecoded and in wire order.
    cdef tuple names = mapping._layout.names
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


cdef Originals _originals_of(LazyMapping mapping):
    cdef Originals made
    if mapping._originals is None:
        made = Originals.__new__(Originals)
        # Nobody was faster while that was allocated?
        if mapping._originals is None:
            mapping._originals = made
    return mapping._originals


cdef dict _meanings_read(LazyMapping mapping):
    cdef Originals originals = _originals_of(mapping)
    cdef dict made = {}
    if originals.meanings is None:
        originals.meanings = made
    return originals.meanings


# Decoding: functions that answer UNDECODED leave it to protobuf.

cdef inline bint _find(LazyMapping mapping, Py_ssize_t ordinal, Bytes* at, Bytes* end) noexcept:
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(mapping._owner)
    at[0] = end[0] = value_at(&mapping._offsets, mapping._layout, base, ordinal)
    return read_length(at, base + mapping._offsets.end, end)


cdef inline bint _parse(LazyMapping mapping, Py_ssize_t ordinal, Value* value) noexcept:
    cdef Bytes at
    cdef Bytes end
    return _find(mapping, ordinal, &at, &end) and parse_value(at, end, value)


cdef inline object _read(LazyMapping mapping, Py_ssize_t ordinal, Value* value):
    # The member is 0 afterwards if the value is a bare one: nothing but that and the meaning may then be
    # asked for.
    cdef Bytes at
    cdef Bytes end
    if not _find(mapping, ordinal, &at, &end):
        return UNDECODED
    value.member = 0
    value.meaning = 0
    read = decode_bare(at, end)
    if read is not UNDECODED:
        return read
    if not parse_value(at, end, value):
        return UNDECODED
    return _convert(mapping, value, 0)


cdef inline object _convert(LazyMapping mapping, Value* value, int array_depth):
    if value.member == VALUE_ENTITY:
        return _embedded(mapping, value)
    if value.member == VALUE_ARRAY:
        return _array(mapping, value, array_depth)
    return decode_leaf(value)


cdef object _embedded(LazyMapping mapping, Value* entity):
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(mapping._owner)
    cdef LazyMapping embedded = new(LazyMapping, <type>type(mapping), ())
    if _index(embedded, mapping._owner, entity.at - base, entity.end - base):
        return embedded
    return UNDECODED


cdef object _array(LazyMapping mapping, Value* array, int array_depth):
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
        item = _convert(mapping, &value, array_depth + 1)
        if item is UNDECODED:
            return UNDECODED
        items.append(item)
    return items


cdef bytes _serialised_value(LazyMapping mapping, Py_ssize_t ordinal):
    cdef Bytes at
    cdef Bytes end
    _find(mapping, ordinal, &at, &end)
    return PyBytes_FromStringAndSize(<const char*>at, end - at)


cdef object _message(LazyMapping mapping, object name, Py_ssize_t ordinal):
    # Has protobuf parse the value of a property.
    return fallback.value_message(_serialised_value(mapping, ordinal), name, mapping._raw)


cdef tuple _read_slowly(LazyMapping mapping, object name, Py_ssize_t ordinal):
    message = _message(mapping, name, ordinal)
    value = fallback.convert(mapping._raw, name, message, type(mapping)._from_raw)
    return value, meaning_of(message)


cdef object _keep(LazyMapping mapping, object name, object value, object meaning):
    # Puts a value in place unless somebody was faster; returns what is in place.
    # What allocates may run the garbage collector, and other threads, and so comes first.
    cdef object read = None
    cdef dict meanings = None
    cdef PyObject* current
    if meaning:
        read = (meaning, value)
        meanings = _meanings_read(mapping)
    current = PyDict_GetItemWithError(mapping, name)
    if current == NULL:
        # Somebody was faster to delete it.
        return value
    if current != <PyObject*>UNDECODED:
        return <object>current
    if read is not None:
        # The client writes a meaning back only with the very object it was read with.
        meanings[name] = read
    PyDict_SetItem(mapping, name, value)
    return value


cdef inline Py_ssize_t _ordinal(LazyMapping mapping, object name) except -1:
    # Properties are mostly read in order, and by the very strings that the entity gave out.
    cdef PyObject* names = <PyObject*>mapping._layout.names
    cdef Py_ssize_t ordinal = mapping._offsets.next_ordinal
    if (
        ordinal < PyTuple_GET_SIZE(<object>names)
        and <PyObject*>PyTuple_GET_ITEM(<object>names, ordinal) == <PyObject*>name
    ):
        return ordinal
    return _require_name(mapping, name)


cdef inline bint _is_restricted(LazyMapping mapping) noexcept:
    return mapping._originals is not None and mapping._originals.policy is not None


cdef inline object _decode(LazyMapping mapping, object name):
    # Decodes an undecoded property for who reads it, and keeps the value.
    if _is_restricted(mapping):
        mapping._originals.policy.refuse(mapping, name)
    return _decode_anyway(mapping, name)


cdef object _decode_anyway(LazyMapping mapping, object name):
    cdef Value parsed
    cdef Py_ssize_t ordinal = _ordinal(mapping, name)
    value = _read(mapping, ordinal, &parsed)
    if value is UNDECODED:
        value, meaning = _read_slowly(mapping, name, ordinal)
        return _keep(mapping, name, value, meaning)
    if _is_plain(&parsed) and type(name) is str:
        # Nothing was allocated that may run the garbage collector: nobody was faster.
        PyDict_SetItem(mapping, name, value)
        return value
    return _keep(mapping, name, value, parsed.meaning)


cdef object _read_deleted(LazyMapping mapping, object name):
    # Decodes an undecoded property that was taken out of storage.
    cdef Value parsed
    cdef Py_ssize_t ordinal
    if _is_restricted(mapping):
        mapping._originals.policy.refuse(mapping, name)
    ordinal = _require_name(mapping, name)
    value = _read(mapping, ordinal, &parsed)
    if value is UNDECODED:
        value, meaning = _read_slowly(mapping, name, ordinal)
    else:
        meaning = parsed.meaning
    if meaning:
        _meanings_read(mapping).setdefault(name, (meaning, value))
    return value


cdef inline bint _is_plain(Value* value) noexcept nogil:
    # Whether the value is of a type that the garbage collector takes no interest in, without a meaning;
    # a bare one always is.
    return value.member == 0 or (
        value.meaning == 0
        and (
            value.member == VALUE_STRING
            or value.member == VALUE_INTEGER
            or value.member == VALUE_BOOLEAN
            or value.member == VALUE_DOUBLE
            or value.member == VALUE_BLOB
            or value.member == VALUE_NULL
        )
    )


cdef int _is_excluded(LazyMapping mapping, Py_ssize_t ordinal):
    # Answers -1 if that is for protobuf to say.
    cdef Bytes at
    cdef Value value
    cdef Value item
    cdef int excluded = -1
    if not _parse(mapping, ordinal, &value):
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


cdef bint _has_no_meaning(LazyMapping mapping, Py_ssize_t ordinal):
    # Answers 0 as well if that is for protobuf to say.
    cdef Bytes at
    cdef Value value
    cdef Value item
    if not _parse(mapping, ordinal, &value) or value.meaning != 0:
        return 0
    if value.member == VALUE_ARRAY:
        at = value.at
        while at < value.end:
            if not next_item(&at, value.end, &item) or item.meaning != 0:
                return 0
    return 1


cdef object mapping_from_raw(type mapping_type, bytes raw):
    # As LazyMapping._from_raw(), for whoever has no need to call it by its name.
    cdef LazyMapping mapping = new(LazyMapping, mapping_type, ())
    if _index(mapping, raw, 0, PyBytes_GET_SIZE(raw)):
        return mapping
    try:
        for encoded in canonical_encodings(raw):
            if _index(mapping, encoded, 0, PyBytes_GET_SIZE(encoded)):
                return mapping
    except DecodeError as error:
        raise errors.undecodable_entity(error, raw) from error
    raise AssertionError("protobuf encodes a map as entries of one name and one value")
